// The show-back report: GPU time used and lost, by week, user, job or cause; and repeat offenders.

import { gain } from "../charts/slowest.js";
import { bar } from "../charts/waits.js";
import { get, items, text } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { clock, digits, duration, lost, now, place, shortened, title } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const BY = ["week,user", "user", "user,job", "job", "week", "fault"];
const SINCE = ["", "7", "30", "90"];

/** Return the page: {root, refresh, close}. What is chosen stands in the address. */
export function reportPage(query) {
  const abort = new AbortController();
  const by = BY.includes(query.get("by")) ? query.get("by") : "week,user";
  const days = SINCE.includes(query.get("days")) ? query.get("days") : "";
  const since = days ? Math.floor(now() - days * 86400) : "";
  const go = (change) => { location.hash = `#/report?${new URLSearchParams({ by, days, ...change })}`; };
  const totals = h("div", {});
  const table = h("div", {});
  const offenders = h("div", {});
  const root = h("article", { class: "page report-page" }, h("h1", {}, t("nav.report")),
    h("p", { class: "muted" }, t("report.help")),
    h("div", { class: "bar" }, h("div", { class: "filters" },
      choice(t("report.by"), BY.map((keys) => [keys, keys.split(",").map((key) => t(`report.${key}`)).join(" + ")]), by, (value) => go({ by: value })),
      choice(t("report.since"), SINCE.map((value) => [value, value ? t("report.lastdays", { n: value }) : t("report.everything")]), days, (value) => go({ days: value })),
      h("button", { type: "button", class: "quiet", "data-key": "csv", onclick: () => download({ by, since }) }, t("report.download")))),
    totals, table, offenders);
  let shown = "";

  async function refresh() {
    const [report, named, users, stats] = await Promise.all([
      get("report", { by, since, limit: 200 }, abort.signal), get("offenders", { since, limit: 20 }, abort.signal),
      get("report", { by: "user", since, limit: 1000 }, abort.signal), get("stats", { since }, abort.signal)]);
    const now = JSON.stringify([report, named, users, stats]);
    if (now === shown) return;
    shown = now;
    show(totals, summary(items(users), stats));
    show(table, reportTable(by.split(","), items(report)), report.next_cursor && h("p", { class: "fine" }, t("report.more")));
    show(offenders, offendersPart(items(named)));
  }

  return { root, refresh, close: () => abort.abort() };
}

/** Return what was used and lost in all. A user stands for each job once, so their rows add up. */
function summary(users, stats) {
  const used = users.reduce((sum, row) => sum + (row.gpu_hours_used ?? 0), 0);
  const gone = stats.gpu_hours_lost ?? 0;
  const open = (stats.incidents?.open ?? 0) + (stats.incidents?.acknowledged ?? 0);
  const part = (name, value, more) => h("div", {}, h("dt", {}, name), h("dd", {}, value), more && h("dd", { class: "fine" }, more));
  return h("dl", { class: "figures wide-figures" },
    part(t("report.used"), hours(used)),
    part(t("report.lost"), hours(gone), used > 0 && t("report.share", { share: `${digits((100 * gone) / used)} %` })),
    part(t("report.incidents"), digits(open + (stats.incidents?.resolved ?? 0)), open > 0 && t("report.open", { n: digits(open) })),
    part(t("report.detect"), time(stats.mttd_seconds ?? null)),
    part(t("report.resolve"), time(stats.mttr_seconds ?? null)));
}

function reportTable(keys, rows) {
  if (!rows.length) return h("p", { class: "nothing muted" }, t("report.nothing"));
  const most = Math.max(...rows.map((row) => row.gpu_hours_lost ?? 0), 1e-9);
  const columns = [...keys.map((key) => [t(`report.${key}`)]), ...["used", "lost", "gained", "goodput", "incidents", "detect", "ack", "resolve"].map((name) => [t(`report.${name}`), { number: true }]), [t("report.costliest")]];
  return table(columns, rows.map((row) => ({ cells: [
    ...keys.map((key) => keyed(key, row[key])), hours(row.gpu_hours_used), [bar((row.gpu_hours_lost ?? 0) / most), h("span", {}, hours(row.gpu_hours_lost))], gained(row),
    Number.isFinite(row.goodput) ? `${digits(row.goodput * 100)} %` : "–", digits(row.incidents),
    time(row.mttd_seconds), time(row.mtta_seconds), time(row.mttr_seconds),
    row.costliest_fault ? h("a", { href: `#/incidents?${new URLSearchParams({ status: "all", fault: row.costliest_fault, ...(row.job ? { job: row.job } : {}) })}` }, title(row.costliest_fault)) : "–",
  ] })), { class: "report cards" });
}

function gained(row) {
  if (!Number.isFinite(row.gpu_hours_gained)) return "–";
  return gain({ gpu_hours: row.gpu_hours_gained, low: row.gpu_hours_gained_low, high: row.gpu_hours_gained_high });
}

function offendersPart(rows) {
  return h("section", {}, h("h2", {}, t("offenders.title")),
    h("p", { class: "fine" }, t("offenders.help")),
    rows.length ? h("div", { class: "contest" }, rows.map(offender)) : h("p", { class: "muted" }, t("offenders.none")));
}

function offender(row) {
  const counts = Object.entries(row.faults ?? {}).map(([fault, count]) => `${title(fault)} × ${count}`).join(", ");
  return h("details", { class: "contender", "data-key": `${row.type} ${row.id}` },
    h("summary", { class: "offender" },
      h("span", { class: "name", title: place(row) }, shortened(place(row)), " ", h("span", { class: "muted" }, counts)),
      h("span", { class: "fine" }, `${count("incident", row.incidents)}, ${count("job", list(row.jobs).length)}`),
      h("span", { class: "number" }, lost(3600 * row.gpu_hours_lost))),
    h("ul", {}, list(row.record).map((one) => h("li", {},
      h("a", { href: `#/incidents/${encodeURIComponent(one.incident)}` }, title(one.fault)), ` ${clock(one.opened_at)} · ${list(one.jobs).join(", ")} · ${shortened(one.entity)} · ${one.verdict ? t("offenders.feedback", { verdict: t(`verdict.${one.verdict}`) }) : t("offenders.nofeedback")}`))));
}

function keyed(key, value) {
  if (key === "fault") return title(value);
  if (key === "job" && value) return h("a", { href: `#/jobs/${encodeURIComponent(value)}` }, value);
  return value || h("span", { class: "muted" }, key === "user" ? t("report.nouser") : "–");
}

function time(seconds) {
  return seconds === null ? "–" : duration(seconds);
}

function hours(value) {
  return Number.isFinite(value) ? digits(value) : "–";
}

/** A link to the CSV could not send the token: it is fetched, and saved from memory. */
async function download(parameters) {
  const address = URL.createObjectURL(new Blob([await text("report.csv", parameters)], { type: "text/csv" }));
  h("a", { href: address, download: "rankscope-report.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
