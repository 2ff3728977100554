// Jobs: which run, which ended, what is wrong with them, and what they lost.

import { bar } from "../charts/waits.js";
import { get, items } from "../parts/api.js";
import { h, list, show, table } from "../parts/dom.js";
import { choices, filterBar, holds, search, segments } from "../parts/filters.js";
import { ago, digits, duration, epoch, moment, quantity, title } from "../parts/units.js";
import { t, word } from "../texts/texts.js";
import { order } from "./incidents.js";

const USUAL = { status: "all", find: "" };
const STATUSES = ["all", "running", "ended"];

/** Return the list of jobs: {root, refresh, close}. `query` holds the filters. */
export function jobsPage(query) {
  const abort = new AbortController();
  const body = h("div", {});
  const shownCount = h("span", { class: "muted", role: "status" });
  const { chosen, parts, change } = choices("jobs", query, USUAL, { status: STATUSES }, draw);
  let held = null; // [jobs, active incidents]

  function draw() {
    if (!held) return;
    const [jobs, active] = held;
    const matching = jobs.filter((job) => (chosen.status === "all" || job.status === chosen.status) && holds(chosen.find, [job.job, job.user, job.cluster, ...list(job.hosts)]));
    const running = jobs.filter((job) => job.status === "running").length;
    shownCount.textContent = jobs.length ? t("jobs.counted", { running: digits(running), ended: digits(jobs.length - running) }) : "";
    if (!jobs.length) show(body, noJobs());
    else show(body, matching.length ? jobRows(parts.first(matching), active) : h("p", { class: "nothing muted" }, t("list.nomatch")), parts.more(matching, draw));
  }

  async function refresh() {
    const [jobs, active] = await Promise.all([get("jobs", {}, abort.signal).then(items), activeIncidents(abort.signal)]);
    held = [jobs.sort(jobOrder), active];
    draw();
  }

  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.jobs")), filterBar(
    segments(t("column.status"), "status", STATUSES.map((name) => [name, word("jobs.filter", name)]), chosen.status, (status) => change({ status })),
    search(t("jobs.find"), chosen.find, (find) => change({ find }))), shownCount), body);
  return { root, refresh, close: () => abort.abort() };
}

/** Return the newest incidents that are not resolved, the worst first. */
export async function activeIncidents(signal) {
  const found = await Promise.all(["open", "acknowledged"].map((status) => get("incidents", { status, limit: 50 }, signal).then(items)));
  return found.flat().sort(order);
}

/** Return what stands in the place of a list without a job. */
export function noJobs() {
  return h("div", { class: "nothing" }, h("p", { class: "large" }, t("jobs.nonereported")),
    h("p", { class: "muted" }, `${t("jobs.attach")} `, h("code", {}, "rankscope demo")));
}

/** Put what runs first, jobs with an incident before others, then by name, so that no row moves by itself; then what was received last. */
export function jobOrder(a, b) {
  const ended = (a.status === "ended") - (b.status === "ended");
  if (ended) return ended;
  const wrong = (b.incidents > 0) - (a.incidents > 0);
  return a.status === "ended" ? (epoch(b.last_at) || 0) - (epoch(a.last_at) || 0) : wrong || a.job.localeCompare(b.job, "en", { numeric: true });
}

/** Return the table of jobs; `active` are incidents, of which each row shows its job's worst. */
export function jobRows(jobs, active = []) {
  const number = { number: true };
  const columns = [[t("column.job")], [t("column.status")], [t("column.worst")], [t("column.ranks"), number], [t("column.hosts"), number], [t("column.laststep"), number], [t("column.steptime"), number],
    [t("column.goodput"), number], [t("column.firstsample"), number], [t("column.lastsample"), number]];
  return table(columns, jobs.map((job) => ({ "data-status": job.status, cells: [
    [h("a", { class: "row-link id", href: `#/jobs/${encodeURIComponent(job.job)}`, "data-key": job.job }, job.job), about(job)],
    jobStatus(job),
    worst(job.incidents, active.filter((one) => list(one.jobs).includes(job.job) || one.job === job.job), `#/incidents?job=${encodeURIComponent(job.job)}`),
    [quantity(many(job.ranks), "1"), job.world_size > many(job.ranks) && ` / ${digits(job.world_size)}`],
    many(job.hosts) ?? "–",
    quantity(job.last_step, "1"),
    duration(job.step_seconds),
    Number.isFinite(job.goodput) ? [bar(job.goodput), h("span", {}, goodput(job.goodput))] : "–",
    moment(job.first_at),
    ago(job.last_at),
  ] })), { class: "jobs cards" });
}

/** Return the worst of some incidents as a link, and how many more there are; `number` counts them all. */
export function worst(number, incidents, address) {
  const [first] = incidents;
  if (!first) return number ? h("a", { href: address }, digits(number)) : h("span", { class: "muted" }, "–");
  const more = Math.max(number ?? 0, incidents.length) - 1;
  return h("span", { "data-severity": first.severity, class: "worst" },
    h("a", { href: `#/incidents/${encodeURIComponent(first.id)}` }, h("span", { class: "severity", title: word("severity", first.severity) }), title(list(first.root_cause?.hypotheses)[0]?.fault)),
    more > 0 && h("a", { class: "fine", href: address }, ` +${digits(more)}`));
}

function about(job) {
  const facts = [job.user, job.cluster, job.attempt > 0 && t("incident.attempt", { n: job.attempt })].filter(Boolean);
  return facts.length > 0 && h("div", { class: "fine" }, facts.join(" · "));
}

/** Return whether a job runs, as a word with a dot. */
export function jobStatus(job) {
  return h("span", { class: "job-status", "data-job-status": job.status ?? "ended" }, word("job", job.status ?? "ended"));
}

/** Return a share of GPU time in percent. */
export function goodput(value) {
  return Number.isFinite(value) ? `${digits(value * 100)} %` : "–";
}

function many(value) {
  return Array.isArray(value) ? value.length : value;
}
