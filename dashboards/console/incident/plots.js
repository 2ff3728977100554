// The evidence of an incident as pictures: which signals can be drawn, and the one that is.

import { spreadFigure } from "../charts/spread.js";
import { get } from "../parts/api.js";
import { h, list, show, tabs } from "../parts/dom.js";
import { epoch, metric, metricHelp, metricName, now, past, rankNumbers, unitOf } from "../parts/units.js";
import { t } from "../texts/texts.js";
import { withoutCause } from "./answer.js";

const FALLBACKS = ["training.compute.duration", "training.progress.age", "training.step.duration"];
const LONGEST = 6 * 3600; // seconds; what the collector reads again at once
const MOST_RANKS = 64;
const BUSY_TRIES = 12;

/** Return {root, refresh(incident)}. The first signal with points of an accused rank is drawn. */
export function plotPanel(signal) {
  const root = h("section", { class: "panel" });
  const held = new Map(); // answers read from the journal, which do not change
  let chosen = null; // what the reader asked for
  let shown = "";

  /** Return the whole incident's distribution: from the windows, where these still hold its beginning. */
  async function distribution(job, name, range, culprits, also, waiting) {
    const path = `jobs/${encodeURIComponent(job)}/distribution`;
    const query = { metric: name, ...range, rank: [...culprits].slice(0, MOST_RANKS), peers: 12, points: 240 };
    const read = { ...query, ...settled(range) };
    const key = JSON.stringify(read);
    if (held.has(key)) return held.get(key);
    const recent = await get(path, query, signal).catch(quiet);
    if (recent && epoch(recent.held_from) <= range.from + 0.2 * (range.to - range.from)) return recent;
    waiting();
    // All signals in one pass: the collector keeps what is asked for next.
    const past = await patiently(() => get(path, { ...read, source: "journal", also }, signal)).catch(quiet);
    const found = past?.variants.length ? past : recent;
    if (past?.variants.length) held.set(key, past);
    return found;
  }

  async function refresh(incident) {
    const first = list(incident.root_cause?.hypotheses)[0];
    const job = incident.job ?? list(incident.jobs)[0];
    if (!first || !job) return show(root);
    const culprits = new Set(rankNumbers(first.entity?.ranks));
    const names = signals(first);
    const range = span(incident);
    const waiting = () => { if (!shown) show(root, h("h2", {}, t("plots.against")), h("p", { class: "muted", role: "status" }, t("plots.reading"))); };
    for (const name of chosen ? [chosen, ...names] : names) {
      const answer = await distribution(job, name, range, culprits, names, waiting);
      const drawn = speaking(list(answer?.variants), culprits);
      if (!drawn) continue;
      // Where everybody is accused nobody stands out.
      const accused = drawn.lines.length && drawn.lines.every((line) => culprits.has(line.rank)) && culprits.size >= drawn.count ? new Set() : culprits;
      const text = JSON.stringify([name, answer, incident.opened_at, incident.impact?.counterfactual]);
      if (text === shown) return undefined;
      shown = text;
      const label = Object.entries(drawn.attributes).filter(([key]) => key !== "host.name").map((pair) => pair.join("=")).join(", ");
      const figure = spreadFigure(answer, drawn, { name: label ? `${metricName(name)} (${label})` : metricName(name), culprits: accused, onset: epoch(incident.opened_at), unit: unitOf(name) ?? answer.unit });
      return show(root, h("h2", {}, accused.size ? t("plots.against") : t("plots.every")), choices(names, name, incident), figure, withoutCause(incident),
        answer.source === "journal" && h("p", { class: "fine" }, t("plots.journal")));
    }
    shown = "";
    return past() ? show(root) : show(root, h("h2", {}, t("plots.against")), h("p", { class: "muted" }, t("plots.gone")));
  }

  function choices(names, current, incident) {
    return tabs(t("plots.signal"), names.map((name) => [name, metricName(name), metricHelp(name)]), current, (name) => {
      chosen = name;
      refresh(incident).catch(() => {});
    });
  }

  return { root, refresh };
}

/** Return the variant that says something of an accused rank: of eight throttle reasons the active one. */
function speaking(variants, culprits) {
  const own = (variant) => variant.lines.filter((line) => culprits.has(line.rank));
  const after = (name) => Number(name.attributes.scope === "global"); // what every rank sees tells none apart
  const usable = variants.filter((variant) => !culprits.size || own(variant).length || variant.nonfinite.length).sort((a, b) => after(a) - after(b));
  const apart = (variant) => own(variant).some((line) => line.values.some((value, index) => value !== null && value !== variant.median[index] && value !== 0));
  return usable.find((variant) => variant.nonfinite.length || apart(variant)) ?? usable[0];
}

/** Return the metrics that name ranks: those of the evidence, strongest first, then the usual. */
function signals(hypothesis) {
  const supports = list(hypothesis.evidence).filter((line) => line.relation === "supports").map((line) => line.signal);
  return [...new Set([...supports, ...FALLBACKS])].filter((name) => metric(name).ranked).slice(0, 6);
}

/** Return the whole incident, with some time before it. */
function span(incident) {
  const opened = epoch(incident.opened_at);
  const resolved = epoch(incident.resolved_at);
  const end = Number.isFinite(resolved) ? resolved + 15 : Math.max(now(), epoch(incident.updated_at));
  const before = Math.max(60, Math.min(600, (end - opened) / 2));
  return { from: Math.round(opened - before), to: Math.round(Math.min(end, opened - before + LONGEST)) };
}

/** Return a range that stays the same for a while: that of an open incident grows by steps. */
function settled({ from, to }) {
  const step = Math.max(60, Math.round((to - from) / 20));
  return to < now() - step ? { from, to } : { from, to: Math.max(from + 1, Math.floor(to / step) * step) };
}

/** Return the answer once the collector has time for it: it reads the past for one at a time. */
async function patiently(ask) {
  for (let left = BUSY_TRIES; ; left -= 1) {
    try {
      return await ask();
    } catch (error) {
      if (!error.retryAfter || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
    }
  }
}

function quiet(error) {
  if (error.name === "AbortError") throw error;
  return null; // a series that is not there is no reason to hide the rest
}
