// The plot on an incident's page: which signals can be drawn, and the one that is.

import { get } from "./api.js";
import { h, list, show } from "./dom.js";
import { plot } from "./plot.js";
import { read, variants } from "./series.js";
import { epoch, metric, rankNumbers, unitOf } from "./units.js";

const FALLBACKS = ["training.compute.duration", "training.progress.age", "training.step.duration"];
const LONGEST = 3600; // seconds; beyond that a plot of every step says nothing

/** Return {root, refresh(incident)}. The first signal with points of an accused rank is drawn. */
export function plotPanel(signal) {
  const root = h("section", { class: "panel" });
  let chosen = null; // what the reader asked for
  let shown = "";

  async function refresh(incident) {
    const first = list(incident.root_cause?.hypotheses)[0];
    const job = incident.job ?? list(incident.jobs)[0];
    if (!first || !job) return show(root);
    const culprits = new Set(rankNumbers(first.entity?.ranks));
    const names = signals(first);
    const range = span(incident);
    for (const name of chosen ? [chosen, ...names] : names) {
      const answer = await get(`jobs/${encodeURIComponent(job)}/series`, { metric: name, ...range }, signal).catch(quiet);
      const found = variants(read(answer, metric(name).kind));
      const mine = ([, lines]) => lines.filter((one) => !culprits.size || culprits.has(one.rank));
      // Of several variants (one a throttle reason) the one that says something.
      const drawn = found.find((variant) => mine(variant).some((one) => one.points.some(([, value]) => value !== 0))) ?? found.find((variant) => mine(variant).length);
      if (!drawn) continue;
      const [label, series] = drawn;
      // Where everybody is accused nobody stands out.
      const accused = series.every((one) => culprits.has(one.rank)) ? new Set() : culprits;
      const text = JSON.stringify([name, series, incident.opened_at]);
      if (text === shown) return undefined;
      shown = text;
      const figure = plot({ name: label ? `${name} (${label})` : name, series, culprits: accused, onset: epoch(incident.opened_at), unit: unitOf(name) ?? answer.unit });
      return show(root, h("h2", {}, accused.size ? "Against its peers" : "Every rank"), tabs(names, name, incident), figure);
    }
    shown = "";
    return show(root, h("h2", {}, "Against its peers"), h("p", { class: "muted" }, "The collector no longer holds, or never had, a signal to draw here."));
  }

  function tabs(names, current, incident) {
    return h("div", { class: "tabs", role: "group", "aria-label": "Signal" }, names.map((name) => h("button", {
      type: "button",
      "data-key": `signal ${name}`,
      "aria-pressed": String(name === current),
      title: metric(name).help,
      onclick: () => { chosen = name; refresh(incident).catch(() => {}); },
    }, name)));
  }

  return { root, refresh };
}

/** Return the metrics that name ranks: those of the evidence, strongest first, then the usual. */
function signals(hypothesis) {
  const supports = list(hypothesis.evidence).filter((line) => line.relation === "supports").map((line) => line.signal);
  return [...new Set([...supports, ...FALLBACKS])].filter((name) => metric(name).ranked).slice(0, 6);
}

function span(incident) {
  const opened = epoch(incident.opened_at);
  const resolved = epoch(incident.resolved_at);
  const end = Number.isFinite(resolved) ? resolved + 15 : Math.max(Date.now() / 1000, epoch(incident.updated_at));
  const before = Math.max(60, Math.min(600, (end - opened) / 2));
  return { from: opened - before, to: Math.min(end, opened + LONGEST) };
}

function quiet(error) {
  if (error.name === "AbortError") throw error;
  return null; // a series that is not there is no reason to hide the rest
}
