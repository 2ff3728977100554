// The cluster at one look: what is wrong now, what runs, what was lost to what, and which nodes repeat.

import { bar } from "../charts/waits.js";
import { get, items } from "../parts/api.js";
import { h, show } from "../parts/dom.js";
import { digits, duration, lost, now, past, title } from "../parts/units.js";
import { count, t } from "../texts/texts.js";
import { incidentRows, order } from "./incidents.js";
import { goodput, jobOrder, jobRows, noJobs } from "./jobs.js";

const DAYS = 7;
const MOST = { incidents: 6, jobs: 10, causes: 8, nodes: 8 };

/** Return the page: {root, refresh, close}. */
export function overviewPage() {
  const abort = new AbortController();
  const [figures, open, jobsPart, lossPart, nodesPart] = ["figures-part", "", "", "", ""].map((name) => h("section", { class: name }));
  const root = h("div", { class: "page overview" }, h("h1", {}, t("nav.overview")), figures, open, jobsPart, h("div", { class: "two" }, lossPart, nodesPart));
  let shown = "";

  async function refresh() {
    const since = Math.floor(now() / 300) * 300 - DAYS * 86400;
    const ask = (path, query) => get(path, query, abort.signal);
    const [jobs, stats, nodes, ...incidents] = await Promise.all([
      ask("jobs").then(items), ask("stats", { since }), ask("offenders", { type: "host", at_least: 1, since, limit: 50 }).then(items),
      ask("incidents", { status: "open", limit: 50 }).then(items), ask("incidents", { status: "acknowledged", limit: 50 }).then(items),
    ]);
    const text = JSON.stringify([jobs, stats, nodes, incidents, Math.floor(now() / 5)]);
    if (text === shown) return;
    shown = text;
    const active = incidents.flat().sort(order);
    show(figures, summary(jobs, stats, active));
    show(open, h("h2", {}, t(past() ? "overview.past" : "overview.now")), active.length ? incidentRows(active.slice(0, MOST.incidents)) : h("p", { class: "good" }, t("overview.fine")),
      active.length > MOST.incidents && h("p", {}, h("a", { href: "#/incidents" }, t("overview.all", { n: active.length }))));
    const sorted = jobs.sort(jobOrder);
    show(jobsPart, h("h2", {}, t("nav.jobs")), sorted.length ? jobRows(sorted.slice(0, MOST.jobs), active) : noJobs(),
      sorted.length > MOST.jobs && h("p", {}, h("a", { href: "#/jobs" }, t("overview.alljobs", { n: sorted.length }))));
    show(lossPart, h("h2", {}, t("overview.causes", { n: DAYS })), causes(stats));
    show(nodesPart, h("h2", {}, t("overview.nodes", { n: DAYS })), worstNodes(nodes));
  }

  return { root, refresh, close: () => abort.abort() };
}

function summary(jobs, stats, active) {
  const running = jobs.filter((job) => job.status === "running");
  const shares = running.filter((job) => Number.isFinite(job.goodput));
  const ranks = shares.reduce((sum, job) => sum + (job.ranks ?? 0), 0);
  const mean = ranks ? shares.reduce((sum, job) => sum + job.goodput * (job.ranks ?? 0), 0) / ranks : NaN;
  const critical = active.filter((incident) => incident.severity === "critical").length;
  return h("dl", { class: "figures wide-figures" },
    figure(t("overview.open"), digits(active.length), critical ? t("overview.critical", { n: critical }) : null, critical ? "critical" : null),
    figure(t("overview.running"), digits(running.length), count("rank", running.reduce((sum, job) => sum + (job.ranks ?? 0), 0))),
    figure(t("overview.goodput"), goodput(mean), t("overview.goodput.help")),
    figure(t("overview.lost", { n: DAYS }), lost(3600 * (stats.gpu_hours_lost ?? 0)), null),
    figure(t("overview.detect"), stats.mttd_seconds === null ? "–" : duration(stats.mttd_seconds), t("overview.detect.help")));
}

function figure(name, value, more, severity) {
  return h("div", { "data-severity": severity }, h("dt", {}, name), h("dd", {}, value), more && h("dd", { class: "fine" }, more));
}

function causes(stats) {
  const rows = (stats.lost_by_fault ?? []).filter((row) => row.gpu_hours > 0).slice(0, MOST.causes);
  if (!rows.length) return h("p", { class: "muted" }, t("overview.nothinglost"));
  const most = rows[0].gpu_hours;
  return h("ol", { class: "ranking" }, rows.map((row) => h("li", {},
    h("a", { href: `#/incidents?status=all&fault=${encodeURIComponent(row.fault)}` }, title(row.fault)), bar(row.gpu_hours / most),
    h("span", { class: "fine number" }, `${lost(3600 * row.gpu_hours)} · ${count("incident", row.incidents)}`))));
}

function worstNodes(nodes) {
  const rows = nodes.filter((row) => row.gpu_hours_lost > 0).sort((a, b) => b.gpu_hours_lost - a.gpu_hours_lost || b.incidents - a.incidents).slice(0, MOST.nodes);
  if (!rows.length) return h("p", { class: "muted" }, t("overview.nonodes"));
  const most = Math.max(rows[0].gpu_hours_lost, 1e-9);
  return h("ol", { class: "ranking" }, rows.map((row) => h("li", {},
    h("a", { href: `#/nodes/${encodeURIComponent(row.id)}` }, row.id), bar(row.gpu_hours_lost / most),
    h("span", { class: "fine number" }, lost(3600 * row.gpu_hours_lost)),
    h("span", { class: "fine below" }, Object.keys(row.faults ?? {}).map(title).join(", ")))));
}
