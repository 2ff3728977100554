// Jobs: which are watched, running or ended, and what they lost.

import { get, items } from "../parts/api.js";
import { h, show, table } from "../parts/dom.js";
import { ago, digits, duration, epoch, moment, quantity } from "../parts/units.js";
import { t, word } from "../texts/texts.js";

/** Return the list of jobs: {root, refresh, close}. */
export function jobsPage() {
  const abort = new AbortController();
  const body = h("div", {});
  async function refresh() {
    const jobs = items(await get("jobs", {}, abort.signal)).sort(jobOrder);
    show(body, jobs.length ? jobRows(jobs) : h("div", { class: "nothing" }, h("p", { class: "large" }, t("jobs.nonereported")),
      h("p", { class: "muted" }, `${t("jobs.attach")} `, h("code", {}, "rankscope demo"))));
  }
  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.jobs"))), body);
  return { root, refresh, close: () => abort.abort() };
}

/** Put what runs first, then what was heard of last. */
export function jobOrder(a, b) {
  return (a.status === "ended") - (b.status === "ended") || (epoch(b.last_at) || 0) - (epoch(a.last_at) || 0);
}

/** Return the table of jobs. */
export function jobRows(jobs) {
  const number = { number: true };
  const columns = [[t("column.job")], [t("column.status")], [t("column.ranks"), number], [t("column.hosts"), number], [t("column.laststep"), number], [t("column.steptime"), number],
    [t("column.goodput"), number], [t("column.incidents"), number], [t("column.firstsample"), number], [t("column.lastsample"), number]];
  return table(columns, jobs.map((job) => ({ "data-status": job.status, cells: [
    h("a", { class: "row-link id", href: `#/jobs/${encodeURIComponent(job.job)}`, "data-key": job.job }, job.job),
    jobStatus(job),
    [many(job.ranks) ?? "–", job.world_size > many(job.ranks) && ` / ${job.world_size}`],
    many(job.hosts) ?? "–",
    quantity(job.last_step, "1"),
    duration(job.step_seconds),
    goodput(job.goodput),
    job.incidents ? h("a", { href: `#/incidents?job=${encodeURIComponent(job.job)}` }, digits(job.incidents)) : "0",
    moment(job.first_at),
    ago(job.last_at),
  ] })), { class: "jobs cards" });
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
