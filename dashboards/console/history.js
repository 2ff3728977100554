// The past of an incident: how its answer developed, what happened, and what was like it before.

import { h, list } from "./dom.js";
import { clock, place, shortened, title, utc } from "./units.js";

const VERDICTS = { correct: "the cause was right", wrong: "the cause was wrong", unsure: "not sure about the cause" };

/** Return each first cause that the incident had, since when, and why; null for one that never changed. */
export function development(incident) {
  const causes = list(incident.cause_history);
  if (!causes.length) return null;
  return h("section", {}, h("h2", {}, "How the answer developed"), h("ol", { class: "timeline" }, causes.map((one) => h("li", {},
    moment(one.at),
    h("span", {}, h("strong", {}, title(one.fault)), ` ${shortened(place(one.entity))}${one.fault === "unknown" ? "" : `, ${one.confidence} confidence`}`,
      h("span", { class: "fine block" }, `${one.status}: ${shortened(one.why)}`))))));
}

/** Return what happened, by the machine and by people. */
export function timeline(incident) {
  const moments = list(incident.timeline);
  return moments.length > 0 && h("section", {}, h("h2", {}, "Timeline"), h("ol", { class: "timeline" }, moments.map((one) => h("li", { "data-kind": one.kind },
    moment(one.at), h("span", { title: one.text }, shortened(one.text ?? one.kind))))));
}

/** Return past incidents like this one, with what people said of them. */
export function similarPart(rows) {
  if (!rows.length) return h("section", {}, h("h2", {}, "Similar past incidents"), h("p", { class: "muted" }, "None is kept."));
  return h("section", {}, h("h2", {}, "Similar past incidents"), h("ul", { class: "steps" }, rows.map((row) => h("li", {},
    h("a", { href: `#/incidents/${encodeURIComponent(row.id)}` }, title(row.fault ?? "unknown")), ` ${clock(row.opened_at)}`,
    h("p", { class: "fine" }, [list(row.reasons).join(", "), list(row.jobs).join(", "), shortened(place(row.entity))].filter((part) => part && part !== "–").join(" · ")),
    h("p", { class: "fine said" }, said(row))))));
}

function said(row) {
  const parts = list(row.feedback).map((one) => `${one.by}: ${VERDICTS[one.verdict] ?? one.verdict}${one.fault ? `, it was ${title(one.fault)}` : ""}${one.note ? `: ${one.note}` : ""}`);
  if (row.resolved?.note) parts.push(`${row.resolved.by} resolved it: ${row.resolved.note}`);
  return parts.length ? parts.join(" · ") : "nobody said whether the cause was right";
}

function moment(at) {
  return h("time", { datetime: utc(at), title: utc(at) }, clock(at));
}
