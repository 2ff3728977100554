// One job: what it trains, where its time goes, who holds it up, and what its devices do.

import { heatmapFigure } from "../charts/heatmap.js";
import { phasesFigure } from "../charts/phases.js";
import { slowestFigure } from "../charts/slowest.js";
import { spreadFigure } from "../charts/spread.js";
import { waitsFigure } from "../charts/waits.js";
import { get, items } from "../parts/api.js";
import { choice, command, h, list, show, tabs } from "../parts/dom.js";
import { ago, digits, duration, epoch, metricHelp, metricName, place, rankNumbers, shortened, title, unitOf } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";
import { collectivesPart } from "./collectives.js";
import { order } from "./incidents.js";
import { goodput, jobStatus } from "./jobs.js";
import { observationsPart } from "./observations.js";
import { ranksPart } from "./ranks.js";
import { throughput } from "./throughput.js";

const BY_STEP = ["training.step.duration", "training.compute.duration", "training.comm.duration", "training.data.duration"];
const FIRST = [BY_STEP[1], BY_STEP[0], ...BY_STEP.slice(2)]; // the first that is reported is shown until one is chosen
const CURVES = [
  ["training", ["training.loss", "training.grad_norm", "training.learning_rate", "training.tokens"]],
  ["resources", ["training.data.duration", "training.memory.allocated"]],
  ["devices", ["hw.gpu.utilization", "hw.temperature", "hw.power", "hw.frequency"]],
];
const BY_STEPS = ["heat", "phases", "waits", "slowest"]; // parts that only steps fill
const RANGES = [["600", "range.10m"], ["3600", "range.1h"], ["21600", "range.6h"]];
const POINTS = 160;
const FEW = 4; // more accused ranks than this are no few among their peers
const EVERYTHING = { rows: 4096, columns: 4096 };

/** Return the page of one job: {root, refresh, close}. */
export function jobPage(id) {
  const abort = new AbortController();
  const path = `jobs/${encodeURIComponent(id)}`;
  const ranks = ranksPart(path, abort.signal);
  const collectives = collectivesPart(path, abort.signal);
  const seen = observationsPart({ job: literal(id) }, abort.signal);
  const parts = Object.fromEntries(["head", "training", ...BY_STEPS, "resources", "devices"].map((name) => [name, h("section", { class: `part-${name}` })]));
  const root = h("article", { class: "page job" },
    h("p", { class: "crumb" }, h("a", { href: "#/jobs" }, t("nav.jobs"))),
    parts.head, seen.root, parts.training, parts.heat, parts.phases, parts.waits, parts.slowest, collectives.root, parts.resources, parts.devices, ranks.root);
  const wanted = { metric: "", seconds: "600", full: false };
  let drawn = "";
  let range = {};
  let accused = [];

  async function refresh() {
    const [job, incidents] = await Promise.all([get(path, {}, abort.signal), get("incidents", { job: id, limit: 20 }, abort.signal).then(items)]);
    accused = accusedRanks(incidents);
    const again = (change) => { Object.assign(wanted, change); drawn = ""; refresh().catch(() => {}); };
    show(parts.head, header(id, job, incidents), choice(t("job.range"), RANGES.map(([value, key]) => [value, t(key)]), wanted.seconds, (seconds) => again({ seconds, full: false })));
    const counted = Promise.all([collectives.refresh(), seen.refresh()]); // counters move, or stand, also while no step ends
    const end = epoch(job.last_at);
    const text = JSON.stringify([job.last_at, job.last_step, wanted]);
    if (!Number.isFinite(end) || text === drawn) return counted;
    if (!drawn && !parts.heat.hasChildNodes()) show(parts.heat, h("p", { class: "muted", role: "status" }, t("loading")));
    drawn = text;
    range = { from: end - Number(wanted.seconds), to: end };
    const steps = Number.isFinite(job.last_step);
    if (!steps) for (const name of BY_STEPS) show(parts[name]);
    await Promise.all([...(steps ? bySteps(again, job) : []), ...CURVES.map(([name, metrics]) => drawCurves(name, metrics, job)), ranks.refresh(job), counted]);
    if (!steps && !parts.training.hasChildNodes()) show(parts.training, nothingOfSteps());
  }

  function bySteps(again, job) {
    const by = list(job.hosts).length > 1 ? "host" : "rank";
    return [drawHeat(again), drawPart("phases", t("job.phases"), phasesFigure, { points: POINTS }), drawPart("waits", t("job.waits"), waitsFigure),
      drawPart("slowest", t("job.slowest"), slowestFigure, { by }, {})];
  }

  async function drawHeat(again) {
    let answer = null;
    let chosen = "";
    for (chosen of wanted.metric ? [wanted.metric] : FIRST) {
      answer = await ask("heatmap", { metric: chosen, ...(wanted.full && EVERYTHING) });
      if (answer?.cells) break;
    }
    if (!answer || (!answer.cells && !wanted.metric)) return show(parts.heat);
    const choices = tabs(t("plots.signal"), BY_STEP.map((name) => [name, metricName(name), metricHelp(name)]), chosen, (name) => again({ metric: name }));
    const figure = heatmapFigure(answer, { unit: "s", name: metricName(chosen), every: () => again({ full: true }) });
    show(parts.heat, h("h2", {}, t("job.heat")), choices, figure);
  }

  async function drawPart(name, heading, figure, query = {}, over = range) {
    const answer = await ask(name, query, over);
    const drawn = answer && figure(answer);
    show(parts[name], drawn && h("h2", {}, heading), drawn);
  }

  async function drawCurves(part, metrics, job) {
    const answers = await Promise.all(metrics.map((name) => ask("distribution", { metric: name, points: POINTS, rank: accused })));
    const figures = answers.filter((answer) => answer?.variants.length).map((answer) => curve(answer, job));
    show(parts[part], figures.length > 0 && h("h2", {}, t(`job.${part}`)), figures.length > 0 && h("div", { class: "grid" }, figures));
  }

  function curve(answer, job) {
    if (answer.metric === "training.tokens") return throughput(answer, job);
    const variant = answer.variants.find(usual) ?? answer.variants[0];
    const label = Object.values(variant.attributes).join(", ");
    return spreadFigure(answer, variant, { name: label ? `${metricName(answer.metric)} (${label})` : metricName(answer.metric), unit: unitOf(answer.metric) ?? answer.unit, height: 170, small: true, culprits: new Set(accused) });
  }

  function ask(what, query, over = range) {
    return get(`${path}/${what}`, { ...over, ...query }, abort.signal).catch((error) => {
      if (error.name === "AbortError" || error.status === 0) throw error;
      return null; // one part that is not there is no reason to hide the rest
    });
  }

  return { root, refresh, close: () => abort.abort() };
}

/** Return the pattern that fits one job id and no other. */
function literal(id) {
  return id.replace(/[*?[]/g, "[$&]");
}

/** Return what stands in the place of training curves where only devices and hosts are measured. */
function nothingOfSteps() {
  return h("div", {}, h("h2", {}, t("job.nosteps")), h("p", { class: "help" }, t("job.nosteps.help")), command("RANKSCOPE_PROBE=1 torchrun ... train.py"));
}

/** Return the ranks that incidents accuse which are not resolved, of those that accuse but a few. */
function accusedRanks(incidents) {
  const named = incidents.filter((incident) => incident.status !== "resolved").sort(order)
    .map((incident) => rankNumbers(list(incident.root_cause?.hypotheses)[0]?.entity?.ranks)).filter((ranks) => ranks.length <= FEW);
  return [...new Set(named.flat())].slice(0, 2 * FEW).sort((a, b) => a - b);
}

/** Tell whether a variant is the one that people look at first: reduced, of the core. */
function usual({ attributes }) {
  return attributes.scope !== "local" && attributes.domain !== "memory" && attributes["hw.sensor"] !== "memory";
}

function header(id, job, incidents) {
  const facts = [
    Number.isFinite(job.attempt) && t("incident.attempt", { n: job.attempt }),
    job.ranks && count("rank", job.ranks),
    list(job.hosts).length && count("host", job.hosts.length),
    Number.isFinite(job.last_step) && t("heatmap.step", { n: digits(job.last_step) }),
    Number.isFinite(job.step_seconds) && t("job.astep", { time: duration(job.step_seconds) }),
    Number.isFinite(job.goodput) && t("job.goodput", { share: goodput(job.goodput) }),
    t("job.lastsample", { ago: ago(job.last_at) }),
  ].filter(Boolean);
  return h("header", {}, h("div", { class: "titled" }, h("h1", { class: "id" }, id), jobStatus(job)), h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))), incidentList(incidents));
}

function incidentList(incidents) {
  if (!incidents.length) return h("p", { class: "muted plain" }, t("job.noincidents"));
  return h("ul", { class: "plain" }, [...incidents].sort(order).slice(0, 6).map((incident) => {
    const first = list(incident.root_cause?.hypotheses)[0];
    return h("li", { "data-severity": incident.severity, "data-status": incident.status },
      h("a", { class: "row-link", href: `#/incidents/${encodeURIComponent(incident.id)}`, "data-key": incident.id }, h("span", { class: "severity" }, word("severity", incident.severity ?? "unknown")), " ", title(first?.fault)),
      h("span", { class: "muted" }, ` ${shortened(place(first?.entity))} · ${ago(incident.opened_at)} · ${word("status", incident.status)}`));
  }));
}
