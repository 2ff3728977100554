// The check of a node that would tell an incident's causes apart: its command, a button, what came of it.

import { command, h, list } from "../parts/dom.js";
import { digits, moment, shortened, title } from "../parts/units.js";
import { t, word } from "../texts/texts.js";

/** Return the part of an incident's page about checks of nodes, null where there is nothing to say. */
export function separatingPart(found, incident, allowed, act) {
  const { next, requests, results } = { requests: [], results: [], ...found };
  if (!next && !requests.length && !results.length) return null;
  const open = requests.some((row) => ["waiting", "running"].includes(row.status));
  return h("section", { class: "separating" }, h("h2", {}, t("separating.title")),
    next && h("div", { "data-check": next.check },
      h("p", {}, h("strong", {}, next.check), ` ${t("separating.on", { host: next.host })}`),
      h("p", { class: "fine" }, next.help, " · ", t("separating.gain", { bits: digits(next.gain_bits), seconds: digits(next.device_seconds) })),
      h("p", { class: "fine" }, t("checks.separates", { causes: suspected(next, incident).map(title).join(", ") })),
      command(next.command),
      allowed && next.requestable && !open && incident.status !== "resolved" && h("p", { class: "doing" }, h("button", { type: "button", class: "quiet", "data-key": "check", onclick: act("checks", { check: next.check }, t("separating.asked")) }, t("separating.ask", { host: next.host })))),
    !next && found.why && h("p", { class: "muted" }, found.why),
    requests.length > 0 && h("ul", { class: "steps" }, requests.map((row) => h("li", { "data-request": row.status },
      moment(row.at), ` ${row.check} · ${row.host} · `, h("span", { class: "status", "data-state": row.status }, word("request", row.status)), ` · ${row.by}`, row.text && h("p", { class: "fine" }, shortened(row.text))))),
    results.length > 0 && h("ul", { class: "steps" }, results.map((row) => h("li", { "data-verdict": row.verdict },
      h("strong", {}, `${row.check} · ${row.device}`), " ", h("span", { class: "status", "data-verdict": row.verdict }, word("verdict", row.verdict)), h("p", { class: "fine" }, shortened(row.reason))))));
}

/** Return those causes that the check shows which the incident has, in its order. */
function suspected(next, incident) {
  const faults = list(incident.root_cause?.hypotheses).map((row) => row.fault);
  return faults.filter((fault) => list(next.separates).includes(fault));
}
