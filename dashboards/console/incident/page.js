// One incident, the answer first: what broke, where, how sure; what to do; on what evidence; what else.

import { topologyFigure } from "../charts/topology.js";
import { acting } from "../parts/acting.js";
import { get, items, mayAct } from "../parts/api.js";
import { h, list, show } from "../parts/dom.js";
import { remediesPart } from "../parts/remedies.js";
import { past, title } from "../parts/units.js";
import { t } from "../texts/texts.js";
import { answerPart, doNow, header, impact, nextChecks } from "./answer.js";
import { evidenceTable } from "./evidence.js";
import { development, similarPart, timeline } from "./history.js";
import { hypotheses, quality } from "./hypotheses.js";
import { profiles, stacks } from "./inside.js";
import { separatingPart } from "./separating.js";
import { quotedLines, sources } from "./leftovers.js";
import { plotPanel } from "./plots.js";

/** Return the page of an incident: {root, refresh, close}. */
export function incidentPage(id) {
  const abort = new AbortController();
  const path = `incidents/${encodeURIComponent(id)}`;
  const back = h("p", { class: "crumb" }, h("a", { href: "#/incidents" }, t("nav.incidents")), " / ", h("code", {}, id.slice(0, 12)));
  const [head, answer] = [h("div", {}), h("div", { class: "answer-part" })];
  const [now, side] = [h("div", { class: "now-part" }), h("div", { class: "side" })];
  const evidence = h("div", { class: "evidence-part" });
  const where = h("section", { class: "where" });
  const others = h("div", { class: "others" });
  const panel = plotPanel(abort.signal);
  const root = h("article", { class: "page incident" }, back, head,
    h("div", { class: "columns" }, h("div", { class: "main" }, answer, evidence, panel.root, where, others), h("div", { class: "aside" }, now, side)));
  let shown = "";
  let drawn = "";

  const act = acting(path, () => refresh());

  async function refresh() {
    const incident = await get(path, {}, abort.signal);
    const allowed = await mayAct(abort.signal);
    const alike = items(await get(`${path}/similar`, {}, abort.signal).catch(none));
    const separating = past() || !list(incident.root_cause?.hypotheses).length ? null : await get(`${path}/checks`, {}, abort.signal).catch(nothing);
    const done = past() ? [] : items(await get("actions", { incident: id }, abort.signal).catch(none));
    const text = JSON.stringify([incident, allowed, alike, done, separating]);
    const writing = answer.contains(document.activeElement) && answer.querySelector("form:not([hidden])");
    if (text !== shown && !writing) {
      shown = text;
      const cause = incident.root_cause ?? {};
      const first = list(cause.hypotheses)[0];
      document.title = `${title(first?.fault)} · Rankscope`;
      show(head, header(incident, allowed && act));
      show(answer, answerPart(incident, allowed && act));
      show(now, remediesPart(done, allowed, refresh), doNow(first, incident.status === "resolved"), impact(incident));
      show(evidence, quotedLines(incident.leftovers), first && h("section", {}, h("h2", {}, t("evidence.why", { fault: title(first.fault) })), h("p", { class: "fine" }, t("evidence.help")), evidenceTable(first.evidence)));
      show(others, stacks(incident), profiles(incident), hypotheses(cause), development(incident), sources(incident.leftovers));
      show(side, nextChecks(cause), separating && separatingPart(separating, incident, allowed, acting(path, refresh)), !past() && similarPart(alike), timeline(incident), quality(cause));
    }
    await Promise.all([panel.refresh(incident), drawWhere(incident)]);
  }

  /** Draw the job's topology with the culprit in it, where the collector still holds it. */
  async function drawWhere(incident) {
    const entity = list(incident.root_cause?.hypotheses)[0]?.entity;
    const job = incident.job ?? list(incident.jobs)[0];
    const text = JSON.stringify([job, entity]);
    if (!entity || !job || text === drawn) return;
    const answer = await get("topology", { job, detail: "hosts" }, abort.signal).catch(none);
    if (!list(answer.nodes).length) return;
    const host = entity.host;
    const ranks = host ? items(await get(`jobs/${encodeURIComponent(job)}/ranks`, { host }, abort.signal).catch(none)) : [];
    const figure = topologyFigure(answer, ranks, entity);
    drawn = text;
    show(where, figure && h("h2", {}, t("topology.title")), figure);
  }

  return { root, refresh, close: () => { abort.abort(); document.title = "Rankscope"; } };
}

function nothing(error) {
  none(error);
  return null;
}

/** An older collector has no such list; the rest of the page is shown all the same. */
function none(error) {
  if (error.name === "AbortError") throw error;
  return [];
}
