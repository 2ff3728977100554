// What was done about a cause, or would have been, in words; a veto before it, an undo after it.

import { acting } from "./acting.js";
import { h, list } from "./dom.js";
import { digits, duration, moment, shortened } from "./units.js";
import { t, word } from "../texts/texts.js";

const OUTCOMES = ["recovered", "not_recovered", "undetermined"];
const UNCHECKED = ["exclude_node", "exclude_device"];
const UNDOABLE = ["exclude_node", "exclude_device", "pause"];

/** Return what is asked for, as "take gpu-12 out of service". */
export function asked(row) {
  return t(`remedy.${row.action}`, { host: row.host ?? "–", job: row.job });
}

/** Return how an action stands: its state, and what came of it. */
export function standing(row) {
  return h("span", {},
    h("span", { class: "status", "data-state": row.state }, word("remedied", row.state)),
    row.mode === "dry_run" && h("span", { class: "muted" }, ` ${t("actions.dry")}`),
    row.outcome && h("span", { class: "status", "data-outcome": row.outcome }, ` ${word("outcome", row.outcome)}`),
    row.undo && h("span", { class: "muted" }, ` ${word("undo", row.undo)}`));
}

function stepWord(state) {
  return word(OUTCOMES.includes(state) ? "outcome" : "remedied", state);
}

/** Return the step time of the job before and after, "" where neither is known. */
export function paces(row) {
  const [before, after] = [row.job_step_seconds_before, row.job_step_seconds_after];
  if (!Number.isFinite(before) && !Number.isFinite(after)) return "";
  const said = (seconds) => (Number.isFinite(seconds) ? duration(seconds) : t("impact.nosteps"));
  return t("actions.paces", { before: said(before), after: Number.isFinite(after) ? said(after) : "–" });
}

/** Return the buttons of what a person may still decide about an action. */
export function decisions(row, refresh) {
  const send = acting(`actions/${encodeURIComponent(row.id)}`, refresh);
  const undoable = row.mode === "act" && row.state === "done" && !row.undo && UNDOABLE.includes(row.action);
  return [
    row.state === "planned" && h("button", { type: "button", class: "quiet", "data-key": `veto ${row.id}`, onclick: send("veto", {}, word("remedied", "vetoed")) }, t("actions.veto")),
    undoable && h("button", { type: "button", class: "quiet", "data-key": `undo ${row.id}`, onclick: send("undo", {}, word("undo", "wanted")) }, t("actions.undo")),
    undoable && UNCHECKED.includes(row.action) && h("details", { class: "unchecked", "data-key": `unchecked ${row.id}` }, h("summary", {}, t("actions.unchecked")), h("button", { type: "button", class: "quiet", "data-key": `unchecked undo ${row.id}`, onclick: send("undo", { without_check: true }, word("undo", "wanted")) }, t("actions.undo_unchecked"))),
  ];
}

/** Return the part of an incident's page about actions, null where there are none. */
export function remediesPart(rows, allowed, refresh) {
  if (!rows.length) return null;
  return h("section", { class: "remedies" }, h("h2", {}, t("actions.title")), h("ul", { class: "steps" }, rows.map((row) => h("li", { "data-action": row.id },
    h("strong", {}, asked(row)), " ", standing(row),
    h("p", { class: "fine" }, [row.state === "planned" ? [t("actions.due"), " ", moment(row.due_at)] : shortened(row.reason), paces(row) && ` · ${paces(row)}`, Number.isFinite(row.probability) && ` · ${t("answer.probability", { value: digits(row.probability) })}`]),
    allowed && h("p", { class: "doing" }, decisions(row, refresh)),
    h("details", { "data-key": `steps ${row.id}` }, h("summary", {}, t("actions.steps")), h("ol", { class: "timeline" }, list(row.steps).map((step) => h("li", {},
      moment(step.at), h("span", { title: step.text }, `${stepWord(step.state)} · ${step.by}${step.text ? `: ${shortened(step.text)}` : ""}`)))))))));
}
