// Jobs: which are watched, and the ranks of one.

import { get, items } from "./api.js";
import { h, list, show } from "./dom.js";
import { plot } from "./plot.js";
import { read, variants } from "./series.js";
import { clock, digits, duration, epoch, metric, place, quantity, title, unitOf, utc } from "./units.js";

const PLOTTED = ["training.step.duration", "training.compute.duration", "training.comm.duration"];
const RANGE = 600; // seconds of the plot

/** Return the list of jobs: {root, refresh, close}. */
export function jobsPage() {
  const abort = new AbortController();
  const table = h("div", {});
  async function refresh() {
    const jobs = items(await get("jobs", {}, abort.signal)).sort((a, b) => (epoch(b.last_at) || 0) - (epoch(a.last_at) || 0));
    show(table, jobs.length ? rows(jobs) : h("div", { class: "nothing" }, h("p", { class: "large" }, "No job has reported yet."),
      h("p", { class: "muted" }, "Attach a probe to a training loop, or start ", h("code", {}, "rankscope demo"), ".")));
  }
  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, "Jobs")), table);
  return { root, refresh, close: () => abort.abort() };
}

function rows(jobs) {
  return h("table", { class: "rows" },
    h("thead", {}, h("tr", {}, ["Job", "Attempt", "Ranks", "Hosts", "Last step", "Step time", "First sample", "Last sample"].map((name, index) =>
      h("th", { scope: "col", class: index ? "number" : null }, name)))),
    h("tbody", {}, jobs.map((job) => h("tr", {},
      h("td", { class: "id" }, h("a", { class: "row-link", href: `#/jobs/${encodeURIComponent(name(job))}`, "data-key": name(job) }, name(job))),
      h("td", { class: "number" }, job.attempt ?? "–"),
      h("td", { class: "number" }, many(job.ranks) ?? "–", job.world_size > many(job.ranks) && ` of ${job.world_size}`),
      h("td", { class: "number" }, many(job.hosts) ?? "–"),
      h("td", { class: "number" }, quantity(job.last_step, "1")),
      h("td", { class: "number" }, duration(job.step_seconds)),
      h("td", { class: "number" }, h("time", { datetime: utc(job.first_at), title: utc(job.first_at) }, clock(job.first_at))),
      h("td", { class: "number" }, ago(job.last_at))))));
}

function name(job) {
  return String(job.job ?? job.id ?? "");
}

function many(value) {
  return Array.isArray(value) ? value.length : value;
}

function ago(at) {
  const seconds = Date.now() / 1000 - epoch(at);
  return Number.isFinite(seconds) ? `${duration(Math.max(0, Math.round(seconds)))} ago` : "–";
}

/** Return the page of one job: {root, refresh, close}. */
export function jobPage(id) {
  const abort = new AbortController();
  const head = h("div", {});
  const body = h("div", {});
  const figures = h("section", { class: "panel" });
  const root = h("article", { class: "page" }, h("p", { class: "crumb" }, h("a", { href: "#/jobs" }, "Jobs")), head, figures, body);
  const path = `jobs/${encodeURIComponent(id)}`;
  let chosen = PLOTTED[0];
  let drawn = "";

  async function refresh() {
    const [job, ranks, incidents] = await Promise.all([
      get(path, {}, abort.signal),
      get(`${path}/ranks`, {}, abort.signal).then(items),
      get("incidents", { job: id, limit: 20 }, abort.signal).then(items),
    ]);
    show(head, header(id, job));
    show(body, ranks.length > 0 && rankTable(ranks, job.step_seconds), incidentList(incidents));
    await draw(job);
  }

  async function draw(job) {
    const end = epoch(job.last_at) || Date.now() / 1000;
    const answer = await get(`${path}/series`, { metric: chosen, from: end - RANGE, to: end }, abort.signal);
    const [[, series] = ["", []]] = variants(read(answer, metric(chosen).kind));
    const text = JSON.stringify([chosen, series]);
    if (text === drawn) return;
    drawn = text;
    const choices = h("div", { class: "tabs", role: "group", "aria-label": "Signal" }, PLOTTED.map((one) => h("button", {
      type: "button", "data-key": `signal ${one}`, "aria-pressed": String(one === chosen), title: metric(one).help,
      onclick: () => { chosen = one; draw(job).catch(() => {}); },
    }, one)));
    show(figures, h("h2", {}, "Every rank, last ten minutes"), choices, series.length
      ? plot({ name: chosen, series, culprits: new Set(), onset: NaN, unit: unitOf(chosen) ?? answer.unit })
      : h("p", { class: "muted" }, "No rank reports this signal."));
  }

  return { root, refresh, close: () => abort.abort() };
}

function header(id, job) {
  const facts = [
    Number.isFinite(job.attempt) && `attempt ${job.attempt}`,
    many(job.ranks) && `${many(job.ranks)} ranks`,
    many(job.hosts) && `${many(job.hosts)} hosts`,
    Number.isFinite(job.last_step) && `step ${digits(job.last_step)}`,
    Number.isFinite(job.step_seconds) && `${duration(job.step_seconds)} a step`,
    `last sample ${ago(job.last_at)}`,
  ].filter(Boolean);
  return h("header", {}, h("h1", { class: "id" }, id), h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))));
}

function rankTable(ranks, stepSeconds) {
  // Ranks report at different moments: a step or two apart means nothing, standing still does.
  const still = Math.max(2, 5 * (stepSeconds ?? 0));
  const newest = Math.max(...ranks.map((one) => one.last_step ?? -Infinity));
  return h("section", {}, h("h2", {}, "Ranks"), h("table", { class: "rows" },
    h("thead", {}, h("tr", {}, ["Rank", "Host", "Local rank", "Device", "Process", "Last step", "Since that step"].map((one, index) =>
      h("th", { scope: "col", class: [0, 2, 4, 5, 6].includes(index) ? "number" : null }, one)))),
    h("tbody", {}, [...ranks].sort((a, b) => a.rank - b.rank).map((one) => h("tr", { class: one.last_step < newest - 1 && one.progress_age > still ? "behind" : null },
      h("td", { class: "number" }, one.rank ?? "–"),
      h("td", {}, one.host ?? "–"),
      h("td", { class: "number" }, one.local_rank ?? "–"),
      h("td", { class: "id" }, one.hw_id || "–"),
      h("td", { class: "number" }, one.pid ?? "–"),
      h("td", { class: "number" }, quantity(one.last_step, "1"), one.last_step < newest - 1 && h("span", { class: "fine" }, ` ${digits(newest - one.last_step)} behind`)),
      h("td", { class: "number" }, duration(one.progress_age)))))));
}

function incidentList(incidents) {
  return h("section", {}, h("h2", {}, "Incidents of this job"), incidents.length ? h("ul", { class: "plain" }, incidents.map((incident) => {
    const first = list(incident.root_cause?.hypotheses)[0];
    return h("li", { "data-severity": incident.severity },
      h("a", { class: "row-link", href: `#/incidents/${encodeURIComponent(incident.id)}`, "data-key": incident.id }, h("span", { class: "severity" }, incident.severity ?? "unknown"), " ", title(first?.fault)),
      h("span", { class: "muted" }, ` ${place(first?.entity)} · ${clock(incident.opened_at)} · ${incident.status ?? "–"}`));
  })) : h("p", { class: "muted" }, "None."));
}
