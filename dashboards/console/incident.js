// One incident, the answer first: what broke, where, how sure; what to do; on what evidence; what else.

import { answerPart, doNow, header, impact, nextChecks } from "./answer.js";
import { get, items, mayAct, post } from "./api.js";
import { h, list, show } from "./dom.js";
import { evidenceTable } from "./evidence.js";
import { development, similarPart, timeline } from "./history.js";
import { plotPanel } from "./panel.js";
import { duration, place, shortened, title, weight } from "./units.js";

/** Return the page of an incident: {root, refresh, close}. */
export function incidentPage(id) {
  const abort = new AbortController();
  const back = h("p", { class: "crumb" }, h("a", { href: "#/incidents" }, "Incidents"), " / ", h("code", {}, id.slice(0, 12)));
  const head = h("div", {});
  const answer = h("div", {});
  const now = h("div", { class: "side" });
  const evidence = h("div", { class: "evidence-part" });
  const others = h("div", { class: "others" });
  const side = h("div", { class: "side" });
  const panel = plotPanel(abort.signal);
  const root = h("article", { class: "page incident" }, back, head,
    h("div", { class: "columns lead" }, answer, now),
    h("div", { class: "columns" }, h("div", { class: "main" }, evidence, panel.root, others), side));
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
    const alike = items(await get(`incidents/${encodeURIComponent(id)}/similar`, {}, abort.signal).catch(none));
    const text = JSON.stringify([incident, allowed, alike]);
    if (text !== shown) {
      shown = text;
      const cause = incident.root_cause ?? {};
      document.title = `${title(list(cause.hypotheses)[0]?.fault)} · Rankscope`;
      show(head, header(incident, allowed && act));
      const first = list(cause.hypotheses)[0];
      show(answer, answerPart(incident, allowed && act));
      show(now, doNow(first), impact(incident));
      show(evidence, ...evidenceParts(cause));
      show(others, hypotheses(cause), development(incident));
      show(side, nextChecks(cause), similarPart(alike), timeline(incident), quality(cause));
    }
    await panel.refresh(incident);
  }

  return { root, refresh, close: () => { abort.abort(); document.title = "Rankscope"; } };
}

/** An older collector has no such list; the rest of the page is shown all the same. */
function none(error) {
  if (error.name === "AbortError") throw error;
  return [];
}

function evidenceParts(cause) {
  const first = list(cause.hypotheses)[0];
  return [first && h("section", {}, h("h2", {}, `Why ${title(first.fault)}`),
    h("p", { class: "fine" }, "Each line moves the score of this cause up or down; +2.3 makes it ten times as likely (log-odds)."),
    evidenceTable(first.evidence))];
}

function hypotheses(cause) {
  const [first, ...others] = list(cause.hypotheses);
  return h("section", {}, h("h2", {}, "All hypotheses"),
    h("p", { class: "fine" }, "Every cause that was considered, by score. Open one to see its own evidence."),
    contest(cause, first, others));
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
      h("span", { class: "name" }, one ? title(one.fault) : "Unknown", " ", h("span", { class: "muted" }, one ? shortened(place(one.entity)) : "none of these")),
      h("span", { class: "score-track" }, bar), h("span", { class: "number" }, weight(score)),
    ];
    if (one === first && one) return h("div", { class: "contender" }, line);
    return h("details", { class: "contender", "data-key": one ? `${one.fault} ${place(one.entity)}` : "unknown" },
      h("summary", {}, line),
      one ? evidenceTable(one.evidence) : h("ul", {}, (list(unknown.reasons).length ? unknown.reasons : ["No reason is given."]).map((reason) => h("li", {}, reason))));
  }));
}

function quality(cause) {
  const data = cause.data_quality ?? {};
  const skew = data.clock_skew_seconds;
  return h("section", {}, h("h2", {}, "Data quality"), h("p", { class: "fine" }, "Which of the signals that causes predict were reported. What is missing lowers confidence."), h("dl", { class: "pairs" },
    h("div", {}, h("dt", {}, "coverage"), h("dd", {}, Number.isFinite(data.coverage) ? `${Math.round(data.coverage * 100)} %` : "–")),
    h("div", {}, h("dt", {}, "clock skew"), h("dd", {}, Number.isFinite(skew) ? duration(skew) : "not known")),
    h("div", {}, h("dt", {}, "missing"), h("dd", {}, list(data.missing).length ? data.missing.map((name) => h("code", {}, name)).flatMap((code, index) => (index ? [", ", code] : [code])) : "nothing"))),
  cause.engine && h("p", { class: "fine" }, `evaluated by ${cause.engine}, catalogue ${cause.catalogue ?? "–"}`));
}
