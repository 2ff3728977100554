// One incident: what broke, where, how sure, on what evidence, what to do, and what it costs.

import { get, mayAct, post } from "./api.js";
import { command, h, link, list, show } from "./dom.js";
import { evidenceTable } from "./evidence.js";
import { plotPanel } from "./panel.js";
import { clock, digits, duration, epoch, lost, place, ranks, title, utc, weight } from "./units.js";

const SURE = { low: 1, medium: 2, high: 3 };

/** Return the page of an incident: {root, refresh, close}. */
export function incidentPage(id) {
  const abort = new AbortController();
  const back = h("p", { class: "crumb" }, h("a", { href: "#/incidents" }, "Incidents"), " / ", h("code", {}, id.slice(0, 12)));
  const head = h("div", {});
  const answer = h("div", {});
  const evidence = h("div", {});
  const side = h("div", { class: "side" });
  const panel = plotPanel(abort.signal);
  const root = h("article", { class: "page incident" }, back, head,
    h("div", { class: "columns" }, h("div", { class: "main" }, answer, panel.root, evidence), side));
  let shown = "";

  // An action goes to the collector; the page then shows the incident as it is after it.
  const act = (action, body, done) => async (event) => {
    event.target.disabled = true;
    try {
      await post(`incidents/${encodeURIComponent(id)}/${action}`, body);
      event.target.replaceWith(h("span", { class: "fine", role: "status" }, done));
      await refresh();
    } catch (error) {
      event.target.disabled = false;
      event.target.after(h("span", { class: "fine refused", role: "alert" }, ` ${error.message}`));
    }
  };

  async function refresh() {
    const incident = await get(`incidents/${encodeURIComponent(id)}`, {}, abort.signal);
    const allowed = await mayAct(abort.signal);
    const text = JSON.stringify([incident, allowed]);
    if (text !== shown) {
      shown = text;
      const cause = incident.root_cause ?? {};
      document.title = `${title(list(cause.hypotheses)[0]?.fault)} · Rankscope`;
      show(head, header(incident, allowed && act));
      show(answer, firstCause(cause, allowed && act));
      show(evidence, ...evidenceParts(cause));
      show(side, actions(list(cause.hypotheses)[0]), nextChecks(cause), impact(incident), timeline(incident), quality(cause));
    }
    await panel.refresh(incident);
  }

  return { root, refresh, close: () => { abort.abort(); document.title = "Rankscope"; } };
}

function header(incident, act) {
  const delay = epoch(incident.detected_at) - epoch(incident.opened_at);
  const facts = [
    incident.job && h("a", { href: `#/jobs/${encodeURIComponent(incident.job)}` }, incident.job),
    Number.isFinite(incident.attempt) && `attempt ${incident.attempt}`,
    incident.cluster && `cluster ${incident.cluster}`,
    h("time", { datetime: utc(incident.opened_at), title: utc(incident.opened_at) }, `since ${clock(incident.opened_at)}`),
    Number.isFinite(delay) && `detected after ${duration(Math.max(0, delay))}`,
    incident.resolved_at && `resolved ${clock(incident.resolved_at)}`,
  ].filter(Boolean);
  return h("header", { class: "incident-head", "data-severity": incident.severity },
    h("p", { class: "pills" }, h("span", { class: "severity" }, incident.severity ?? "unknown"), " ",
      h("span", { class: "status", "data-status": incident.status }, incident.status ?? "–")),
    h("h1", { class: "summary-line" }, incident.summary || "This incident has no summary."),
    h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))),
    act && incident.status !== "resolved" && h("p", { class: "doing" },
      incident.status === "open" && h("button", { type: "button", class: "quiet", "data-key": "ack", onclick: act("ack", {}, "acknowledged") }, "Acknowledge"),
      h("button", { type: "button", class: "quiet", "data-key": "resolve", onclick: act("resolve", {}, "resolved") }, "Resolve")));
}

function firstCause(cause, act) {
  const first = list(cause.hypotheses)[0];
  if (!first) {
    return h("section", { class: "answer" }, h("p", { class: "eyebrow" }, "First cause"),
      h("h2", { class: "fault" }, "Not known"), h("p", { class: "muted" }, "No hypothesis has evidence yet."));
  }
  const named = first.entity ?? {};
  const sure = SURE[first.confidence] ?? 0;
  return h("section", { class: "answer" },
    h("p", { class: "eyebrow" }, "First cause", cause.status && h("span", { class: "muted" }, ` · ${cause.status}`)),
    h("h2", { class: "fault" }, title(first.fault)),
    h("p", { class: "place" }, place(named), named.type !== "rank" && list(named.ranks).length > 0 && h("span", { class: "muted" }, ` · ${ranks(named.ranks)}`)),
    h("p", { class: "sure" },
      h("span", { class: "dots", "data-sure": sure, "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {})),
      h("span", {}, `${first.confidence ?? "unknown"} confidence`),
      Number.isFinite(first.probability) && h("span", {}, `probability ${Math.round(first.probability * 100)} %`),
      h("span", { class: "muted" }, "score ", h("span", { class: "number" }, weight(first.score))),
      h("code", { class: "muted" }, first.fault)),
    act && h("p", { class: "doing fine" }, h("span", {}, "Was this the cause?"),
      h("button", { type: "button", class: "quiet", "data-key": "right", onclick: act("feedback", { verdict: "correct" }, "noted") }, "Yes"),
      h("button", { type: "button", class: "quiet", "data-key": "wrong", onclick: act("feedback", { verdict: "wrong" }, "noted") }, "No")));
}

function evidenceParts(cause) {
  const [first, ...others] = list(cause.hypotheses);
  return [
    first && h("section", {}, h("h2", {}, "Evidence"), evidenceTable(first.evidence)),
    h("section", {}, h("h2", {}, "All hypotheses"), contest(cause, first, others)),
  ];
}

/** Return every hypothesis with `unknown` among them, each with a bar and its own evidence. */
function contest(cause, first, others) {
  const unknown = cause.unknown ?? {};
  const rows = [first, ...others].filter(Boolean).map((one) => ({ score: one.score, one }));
  const named = rows.some(({ one }) => one.fault === "unknown"); // it may be the answer
  if (Number.isFinite(unknown.score) && !named) rows.push({ score: unknown.score, one: null });
  rows.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
  const best = Math.max(...rows.map((row) => row.score ?? 0), 0.1);
  const least = Math.min(...rows.map((row) => row.score ?? 0), 0);
  return h("div", { class: "contest" }, rows.map(({ score, one }) => {
    const bar = h("span", { class: one === first ? "score-bar leading" : "score-bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(1, (((score ?? 0) - least) / (best - least)) * 100)}%`;
    const line = [
      h("span", { class: "name" }, one ? title(one.fault) : "Unknown", " ", h("span", { class: "muted" }, one ? place(one.entity) : "none of these")),
      h("span", { class: "score-track" }, bar), h("span", { class: "number" }, weight(score)),
    ];
    if (one === first && one) return h("div", { class: "contender" }, line);
    return h("details", { class: "contender", "data-key": one ? `${one.fault} ${place(one.entity)}` : "unknown" },
      h("summary", {}, line),
      one ? evidenceTable(one.evidence) : h("ul", {}, (list(unknown.reasons).length ? unknown.reasons : ["No reason is given."]).map((reason) => h("li", {}, reason))));
  }));
}

function actions(first) {
  const steps = list(first?.actions);
  if (!steps.length && !first?.runbook) return null;
  const part = (when, name) => {
    const chosen = steps.filter((step) => (step.when === "now") === (when === "now"));
    return chosen.length > 0 && [h("h3", {}, name), h("ul", { class: "steps" }, chosen.map((step) => h("li", {}, step.text ?? "", step.command && command(step.command))))];
  };
  return h("section", {}, h("h2", {}, "Actions"), part("now", "Now"), part("investigate", "To investigate"),
    first.runbook && h("p", { class: "fine" }, "Runbook: ", link(first.runbook, first.runbook)));
}

function nextChecks(cause) {
  const checks = list(cause.next_checks);
  return checks.length > 0 && h("section", {}, h("h2", {}, "Next checks"), h("ul", { class: "steps" }, checks.map((check) => h("li", {},
    check.text ?? "", check.command && command(check.command),
    list(check.separates).length > 0 && h("p", { class: "fine" }, `separates: ${check.separates.map(title).join(", ")}`)))));
}

function impact(incident) {
  const cost = incident.impact ?? {};
  const stopped = cost.slowdown === null || cost.slowdown === undefined;
  return h("section", {}, h("h2", {}, "Impact"), h("dl", { class: "figures" },
    h("div", {}, h("dt", {}, "lost so far"), h("dd", {}, lost(cost.gpu_seconds_lost))),
    h("div", {}, h("dt", {}, "step time"), h("dd", {}, stopped ? "no steps" : `× ${digits(cost.slowdown)}`)),
    h("div", {}, h("dt", {}, "ranks"), h("dd", {}, cost.ranks ?? "–")),
    h("div", {}, h("dt", {}, "nodes"), h("dd", {}, cost.nodes ?? "–"))));
}

function timeline(incident) {
  const moments = list(incident.timeline);
  return moments.length > 0 && h("section", {}, h("h2", {}, "Timeline"), h("ol", { class: "timeline" }, moments.map((moment) => h("li", { "data-kind": moment.kind },
    h("time", { datetime: utc(moment.at), title: utc(moment.at) }, clock(moment.at)), h("span", {}, moment.text ?? moment.kind)))));
}

function quality(cause) {
  const data = cause.data_quality ?? {};
  const skew = data.clock_skew_seconds;
  return h("section", {}, h("h2", {}, "Data quality"), h("dl", { class: "pairs" },
    h("div", {}, h("dt", {}, "coverage"), h("dd", {}, Number.isFinite(data.coverage) ? `${Math.round(data.coverage * 100)} %` : "–")),
    h("div", {}, h("dt", {}, "clock skew"), h("dd", {}, Number.isFinite(skew) ? duration(skew) : "not known")),
    h("div", {}, h("dt", {}, "missing"), h("dd", {}, list(data.missing).length ? data.missing.map((name) => h("code", {}, name)).flatMap((code, index) => (index ? [", ", code] : [code])) : "nothing"))),
  cause.engine && h("p", { class: "fine" }, `evaluated by ${cause.engine}, catalogue ${cause.catalogue ?? "–"}`));
}
