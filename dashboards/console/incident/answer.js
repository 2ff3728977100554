// The head of an incident's page: what broke, where, how sure, what to do now, and what it costs.

import { command, h, link, list } from "../parts/dom.js";
import { chance, clock, digits, duration, epoch, help, lost, noticed, past, place, ranks, shortened, title, utc, weight } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";
import { feedbackPart } from "./feedback.js";

const SURE = { low: 1, medium: 2, high: 3 };

/** Return the line above the answer: how bad, which job, since when, and what people did. */
export function header(incident, act) {
  const delay = epoch(incident.detected_at) - epoch(incident.opened_at);
  const handling = incident.handling ?? {};
  const jobs = list(incident.jobs).length;
  const facts = [
    incident.job && h("span", {}, `${t("incident.job")} `, h("a", { href: `#/jobs/${encodeURIComponent(incident.job)}` }, incident.job)),
    jobs > 1 && t("incident.more", { n: jobs - 1 }),
    Number.isFinite(incident.attempt) && incident.attempt > 0 && t("incident.attempt", { n: incident.attempt }),
    incident.cluster && t("incident.cluster", { name: incident.cluster }),
    h("time", { datetime: utc(incident.opened_at), title: utc(incident.opened_at) }, t("incident.since", { at: clock(incident.opened_at) })),
    Number.isFinite(delay) && !past() && t("incident.detected", { time: duration(Math.max(0, delay)) }),
    handling.acknowledged && t("incident.acknowledged", { by: handling.acknowledged.by }),
    handling.assignee && t("incident.assigned", { to: handling.assignee }),
    incident.resolved_at && t("incident.resolved", { at: clock(incident.resolved_at) }),
  ].filter(Boolean);
  return h("header", { class: "incident-head", "data-severity": incident.severity },
    h("p", { class: "pills" }, h("span", { class: "severity" }, word("severity", incident.severity ?? "unknown")), " ",
      h("span", { class: "status", "data-status": incident.status }, word("status", incident.status))),
    h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))),
    act && incident.status !== "resolved" && h("p", { class: "doing" },
      incident.status === "open" && h("button", { type: "button", class: "quiet", "data-key": "ack", onclick: act("ack", {}, word("status", "acknowledged")) }, t("incident.ack")),
      h("button", { type: "button", class: "quiet", "data-key": "resolve", onclick: act("resolve", {}, word("status", "resolved")) }, t("incident.resolve"))));
}

/** Return the first cause in words a newcomer understands, with what the job shows. */
export function answerPart(incident, act) {
  const cause = incident.root_cause ?? {};
  const first = list(cause.hypotheses)[0];
  const known = first && first.fault !== "unknown";
  const text = (known && noticed(incident.summary)) || list(incident.symptoms)[0]?.text || t("answer.nosymptom");
  const shows = h("p", { class: "noticed" }, h("span", { class: "muted" }, `${t("answer.shows")} `), shortened(text));
  if (!known) {
    return h("section", { class: "answer" }, h("p", { class: "eyebrow" }, t("answer.likely")),
      h("h1", { class: "fault" }, t("answer.notknown")),
      first && h("p", { class: "place", title: place(first.entity) }, shortened(place(first.entity))),
      h("p", { class: "help" }, t("answer.nocause")),
      shows, act && first && feedbackPart(incident, act));
  }
  const named = first.entity ?? {};
  const sure = SURE[first.confidence] ?? 0;
  const explained = help(first.fault);
  return h("section", { class: "answer" },
    h("p", { class: "eyebrow" }, t("answer.likely")),
    h("h1", { class: "fault" }, title(first.fault)),
    h("p", { class: "place", title: place(named) }, shortened(place(named)), named.type !== "rank" && list(named.ranks).length > 0 && h("span", { class: "muted" }, ` · ${ranks(named.ranks)}`)),
    explained && h("p", { class: "help" }, explained),
    shows,
    h("p", { class: "sure" },
      h("span", { class: "dots", "data-sure": sure, "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {})),
      h("span", {}, word("confidence", first.confidence ?? "unknown")),
      Number.isFinite(first.probability) && h("span", {}, t("answer.probability", { value: chance(first.probability) })),
      cause.status && h("span", { class: "muted" }, word("settled", cause.status)),
      h("span", { class: "muted" }, t("answer.score", { value: weight(first.score) }), Number.isFinite(cause.unknown?.score) && ` ${t("answer.unknown", { value: weight(cause.unknown.score) })}`)),
    act && feedbackPart(incident, act));
}

/** Return what to do now, or, once the incident is over, if it comes back; with the runbook. */
export function doNow(first, over) {
  const steps = chosen(first, true);
  if (!steps.length && !first?.runbook) return null;
  return h("section", { class: "now" }, h("h2", {}, t(over ? "now.again" : "now.title")),
    steps.length ? stepList(steps) : h("p", { class: "muted" }, t("now.nothing")),
    first.runbook && h("p", { class: "fine" }, `${t("now.runbook")} `, runbook(first)));
}

/** Return a link to a runbook: ours are served by the collector, under the name of their fault. */
function runbook(first) {
  const ours = /^docs\/runbooks\/([\w.]+)\.md$/.exec(first.runbook);
  return ours ? link(`#/runbooks/${ours[1]}`, title(ours[1])) : link(first.runbook, first.runbook);
}

/** Return what to check next and which causes each check tells apart, then what to look into. */
export function nextChecks(cause) {
  const checks = list(cause.next_checks);
  const later = chosen(list(cause.hypotheses)[0], false);
  if (!checks.length && !later.length) return null;
  return h("section", { class: "checks" }, h("h2", {}, t("checks.title")),
    checks.length > 0 && h("ul", { class: "steps" }, checks.map((check) => h("li", {},
      shortened(check.text ?? ""), check.command && command(check.command),
      list(check.separates).length > 0 && h("p", { class: "fine" }, t("checks.separates", { causes: check.separates.map(title).join(", ") }))))),
    later.length > 0 && [h("h3", {}, t("checks.later")), stepList(later)]);
}

/** Return what the incident costs and how far it reaches. */
export function impact(incident) {
  const cost = incident.impact ?? {};
  const stopped = cost.slowdown === null || cost.slowdown === undefined;
  const held = (cost.ranks ?? 0) - (cost.ranks_at_cause ?? 0);
  const jobs = count("job", cost.jobs ?? list(incident.jobs).length);
  return h("section", {}, h("h2", {}, t("impact.title")), h("dl", { class: "figures" },
    figure(t(past() ? "impact.lost.past" : "impact.lost"), lost(cost.gpu_seconds_lost)),
    figure(t("impact.step"), stopped ? t("impact.nosteps") : cost.slowdown === 1 ? t("impact.usual") : `× ${digits(cost.slowdown)}`),
    cost.counterfactual && figure(t("impact.without"), without(cost.counterfactual)),
    cost.counterfactual && figure(t("impact.hour"), lost(3600 * cost.counterfactual.gpu_hours_an_hour)),
    figure(t("impact.ranks"), cost.ranks ?? "–"),
    figure(t("impact.nodes"), cost.nodes ?? "–")),
  cost.ranks_at_cause > 0 && h("p", { class: "fine" }, held > 0
    ? t("impact.held", { ranks: count("rank", cost.ranks_at_cause), held, jobs })
    : t("impact.all", { jobs })));
}

function without(found) {
  const { step_seconds, low, high } = found.without;
  return [duration(step_seconds), h("span", { class: "fine" }, ` ${t("impact.between", { low: duration(low), high: duration(high) })}`)];
}

/** Return what steps take, and what they would without the cause, in a sentence; null where nobody can tell. */
export function withoutCause(incident) {
  const found = incident.impact?.counterfactual;
  if (!found) return null;
  return h("p", { class: "fine without", "data-key": "without" }, t("plots.without", {
    step: duration(found.step_seconds, 1), without: duration(found.without.step_seconds, 1),
    low: duration(found.without.low, 1), high: duration(found.without.high, 1), basis: t(`plots.basis.${found.basis}`),
  }));
}

function figure(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

function chosen(first, now) {
  return list(first?.actions).filter((step) => (step.when === "now") === now);
}

function stepList(steps) {
  return h("ul", { class: "steps" }, steps.map((step) => h("li", {}, shortened(step.text ?? ""), step.command && command(step.command))));
}
