// The head of an incident's page: what broke, where, how sure, what to do now, and what it costs.

import { command, h, link, list } from "./dom.js";
import { chance, clock, digits, duration, epoch, fault, lost, place, ranks, shortened, title, utc, weight } from "./units.js";

const SURE = { low: 1, medium: 2, high: 3 };
const SETTLED = {
  provisional: "it may still change as evidence comes in",
  stable: "it has stayed in first place",
  confirmed: "a person confirmed it",
};

/** Return the line above the answer: how bad, which job, since when, and what people did. */
export function header(incident, act) {
  const delay = epoch(incident.detected_at) - epoch(incident.opened_at);
  const handling = incident.handling ?? {};
  const facts = [
    incident.job && h("span", {}, "job ", h("a", { href: `#/jobs/${encodeURIComponent(incident.job)}` }, incident.job)),
    list(incident.jobs).length > 1 && `and ${incident.jobs.length - 1} more`,
    Number.isFinite(incident.attempt) && incident.attempt > 0 && `attempt ${incident.attempt}`,
    incident.cluster && `cluster ${incident.cluster}`,
    h("time", { datetime: utc(incident.opened_at), title: utc(incident.opened_at) }, `since ${clock(incident.opened_at)}`),
    Number.isFinite(delay) && `detected after ${duration(Math.max(0, delay))}`,
    handling.acknowledged && `acknowledged by ${handling.acknowledged.by}`,
    handling.assignee && `assigned to ${handling.assignee}`,
    incident.resolved_at && `resolved ${clock(incident.resolved_at)}`,
  ].filter(Boolean);
  return h("header", { class: "incident-head", "data-severity": incident.severity },
    h("p", { class: "pills" }, h("span", { class: "severity" }, incident.severity ?? "unknown"), " ",
      h("span", { class: "status", "data-status": incident.status }, incident.status ?? "–")),
    h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))),
    act && incident.status !== "resolved" && h("p", { class: "doing" },
      incident.status === "open" && h("button", { type: "button", class: "quiet", "data-key": "ack", onclick: act("ack", {}, "acknowledged") }, "Acknowledge"),
      h("button", { type: "button", class: "quiet", "data-key": "resolve", onclick: act("resolve", {}, "resolved") }, "Resolve")));
}

/** Return the first cause in words a newcomer understands, with what the job shows. */
export function answerPart(incident, act) {
  const cause = incident.root_cause ?? {};
  const first = list(cause.hypotheses)[0];
  const shows = list(incident.symptoms)[0]?.text ?? incident.summary;
  const noticed = h("p", { class: "noticed" }, h("span", { class: "muted" }, "What the job shows: "), shortened(shows ?? "no symptom is recorded"));
  if (!first || first.fault === "unknown") {
    return h("section", { class: "answer" }, h("p", { class: "eyebrow" }, "Most likely cause"),
      h("h1", { class: "fault" }, "Not known"),
      first && h("p", { class: "place", title: place(first.entity) }, shortened(place(first.entity))),
      h("p", { class: "help" }, "No cause of the catalogue has enough evidence. What is known stands below; the next checks narrow it down."),
      noticed);
  }
  const named = first.entity ?? {};
  const sure = SURE[first.confidence] ?? 0;
  const help = fault(first.fault).help;
  return h("section", { class: "answer" },
    h("p", { class: "eyebrow" }, "Most likely cause"),
    h("h1", { class: "fault" }, title(first.fault)),
    h("p", { class: "place", title: place(named) }, shortened(place(named)), named.type !== "rank" && list(named.ranks).length > 0 && h("span", { class: "muted" }, ` · ${ranks(named.ranks)}`)),
    help && h("p", { class: "help" }, help),
    noticed,
    h("p", { class: "sure" },
      h("span", { class: "dots", "data-sure": sure, "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {})),
      h("span", {}, `${first.confidence ?? "unknown"} confidence`),
      Number.isFinite(first.probability) && h("span", {}, `probability ${chance(first.probability)}`),
      cause.status && h("span", { class: "muted" }, `${cause.status}: ${SETTLED[cause.status] ?? ""}`),
      h("span", { class: "muted" }, "score ", h("span", { class: "number" }, weight(first.score)), Number.isFinite(cause.unknown?.score) && ` (unknown ${weight(cause.unknown.score)})`)),
    act && h("p", { class: "doing fine" }, h("span", {}, "Was this the cause?"),
      h("button", { type: "button", class: "quiet", "data-key": "right", onclick: act("feedback", { verdict: "correct" }, "noted") }, "Yes"),
      h("button", { type: "button", class: "quiet", "data-key": "wrong", onclick: act("feedback", { verdict: "wrong" }, "noted") }, "No")));
}

/** Return what to do now, with the runbook. */
export function doNow(first) {
  const steps = chosen(first, true);
  if (!steps.length && !first?.runbook) return null;
  return h("section", { class: "now" }, h("h2", {}, "What to do now"),
    steps.length ? stepList(steps) : h("p", { class: "muted" }, "Nothing urgent; see what to check next."),
    first.runbook && h("p", { class: "fine" }, "Runbook: ", link(first.runbook, first.runbook)));
}

/** Return what to check next and which causes each check tells apart, then what to look into. */
export function nextChecks(cause) {
  const checks = list(cause.next_checks);
  const later = chosen(list(cause.hypotheses)[0], false);
  if (!checks.length && !later.length) return null;
  return h("section", { class: "checks" }, h("h2", {}, "What to check next"),
    checks.length > 0 && h("ul", { class: "steps" }, checks.map((check) => h("li", {},
      shortened(check.text ?? ""), check.command && command(check.command),
      list(check.separates).length > 0 && h("p", { class: "fine" }, `separates: ${check.separates.map(title).join(", ")}`)))),
    later.length > 0 && [h("h3", {}, "To investigate once it runs again"), stepList(later)]);
}

/** Return what the incident costs and how far it reaches. */
export function impact(incident) {
  const cost = incident.impact ?? {};
  const stopped = cost.slowdown === null || cost.slowdown === undefined;
  const held = (cost.ranks ?? 0) - (cost.ranks_at_cause ?? 0);
  const jobs = cost.jobs ?? list(incident.jobs).length;
  return h("section", {}, h("h2", {}, "Impact"), h("dl", { class: "figures" },
    h("div", {}, h("dt", {}, "GPU time lost so far"), h("dd", {}, lost(cost.gpu_seconds_lost))),
    h("div", {}, h("dt", {}, "step time"), h("dd", {}, stopped ? "no steps" : cost.slowdown === 1 ? "as usual" : `× ${digits(cost.slowdown)}`)),
    h("div", {}, h("dt", {}, "affected ranks"), h("dd", {}, cost.ranks ?? "–")),
    h("div", {}, h("dt", {}, "on nodes"), h("dd", {}, cost.nodes ?? "–"))),
  cost.ranks_at_cause > 0 && h("p", { class: "fine" }, held > 0
    ? `${count(cost.ranks_at_cause, "rank")} at the cause, ${held} more held up by it; ${count(jobs, "job")}`
    : `every rank is at the cause; ${count(jobs, "job")}`));
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function chosen(first, now) {
  return list(first?.actions).filter((step) => (step.when === "now") === now);
}

function stepList(steps) {
  return h("ul", { class: "steps" }, steps.map((step) => h("li", {}, shortened(step.text ?? ""), step.command && command(step.command))));
}
