// The past of an incident: how its answer developed, what happened, and what was like it before.

import { h, list } from "../parts/dom.js";
import { clock, moment, place, shortened, title } from "../parts/units.js";
import { t, word } from "../texts/texts.js";
import { said } from "./feedback.js";

/** Return each first cause that the incident had, since when, and why; null for one that never changed. */
export function development(incident) {
  const causes = list(incident.cause_history);
  if (!causes.length) return null;
  return h("section", {}, h("h2", {}, t("history.title")), h("ol", { class: "timeline" }, causes.map((one) => h("li", {},
    moment(one.at),
    h("span", {}, h("strong", {}, title(one.fault)), ` ${shortened(place(one.entity))}${one.fault === "unknown" ? "" : `, ${word("confidence", one.confidence)}`}`,
      h("span", { class: "fine block" }, `${word("cause", one.status)}: ${shortened(one.why)}`))))));
}

/** Return what happened, by the machine and by people. */
export function timeline(incident) {
  const moments = list(incident.timeline);
  return moments.length > 0 && h("section", {}, h("h2", {}, t("timeline.title")), h("ol", { class: "timeline" }, moments.map((one) => h("li", { "data-kind": one.kind },
    moment(one.at), h("span", { title: one.text }, shortened(one.text ?? one.kind))))));
}

/** Return past incidents like this one, with what people said of them. */
export function similarPart(rows) {
  const head = h("h2", {}, t("similar.title"));
  if (!rows.length) return h("section", {}, head, h("p", { class: "muted" }, t("similar.none")));
  return h("section", {}, head, h("ul", { class: "steps" }, rows.map((row) => h("li", {},
    h("a", { href: `#/incidents/${encodeURIComponent(row.id)}` }, title(row.fault ?? "unknown")), ` ${clock(row.opened_at)}`,
    h("p", { class: "fine" }, [list(row.reasons).join(", "), list(row.jobs).join(", "), shortened(place(row.entity))].filter((part) => part && part !== "–").join(" · ")),
    h("p", { class: "fine said" }, everything(row))))));
}

function everything(row) {
  const parts = list(row.feedback).map(said);
  if (row.resolved?.note) parts.push(t("similar.resolved", { by: row.resolved.by, note: row.resolved.note }));
  return parts.length ? parts.join(" · ") : t("similar.nobody");
}
