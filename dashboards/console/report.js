// The show-back report: GPU time used and lost, by week, user, job or cause; and repeat offenders.

import { get, items, text } from "./api.js";
import { h, list, show } from "./dom.js";
import { clock, digits, duration, place, shortened, title } from "./units.js";

const BY = [["week,user", "week and user"], ["user", "user"], ["user,job", "user and job"], ["job", "job"], ["week", "week"], ["fault", "cause"]];
const SINCE = [["", "all that is kept"], ["7", "the last 7 days"], ["30", "the last 30 days"], ["90", "the last 90 days"]];
const NAMES = { week: "Week", user: "User", job: "Job", fault: "Cause" };

/** Return the page: {root, refresh, close}. What is chosen stands in the address. */
export function reportPage(query) {
  const abort = new AbortController();
  const by = BY.some(([name]) => name === query.get("by")) ? query.get("by") : "week,user";
  const days = SINCE.some(([name]) => name === query.get("days")) ? query.get("days") : "";
  const since = days ? Math.floor(Date.now() / 1000 - days * 86400) : "";
  const go = (change) => { location.hash = `#/report?${new URLSearchParams({ by, days, ...change })}`; };
  const table = h("div", {});
  const offenders = h("div", {});
  const root = h("article", { class: "page report-page" }, h("h1", {}, "Report"),
    h("p", { class: "muted" }, "GPU time that jobs used, and what incidents took of it. Goodput is the share that was left; times are means."),
    h("div", { class: "bar" }, h("div", { class: "filters" },
      choice("By", BY, by, (value) => go({ by: value })),
      choice("Since", SINCE, days, (value) => go({ days: value })),
      h("button", { type: "button", class: "quiet", "data-key": "csv", onclick: () => download({ by, since }) }, "Download CSV"))),
    table, offenders);
  let shown = "";

  async function refresh() {
    const [report, named] = await Promise.all([
      get("report", { by, since, limit: 200 }, abort.signal), get("offenders", { since, limit: 20 }, abort.signal)]);
    const now = JSON.stringify([report, named]);
    if (now === shown) return;
    shown = now;
    show(table, reportTable(by.split(","), items(report)), report.next_cursor && h("p", { class: "fine" }, "More rows are in the CSV."));
    show(offenders, offendersPart(items(named)));
  }

  return { root, refresh, close: () => abort.abort() };
}

function reportTable(keys, rows) {
  if (!rows.length) return h("p", { class: "nothing muted" }, "Nothing was used, and nothing lost.");
  const column = (name) => h("th", { scope: "col", class: "number" }, name);
  return h("div", { class: "wide" }, h("table", { class: "rows report" },
    h("thead", {}, h("tr", {}, keys.map((key) => h("th", { scope: "col" }, NAMES[key])),
      column("GPU-h used"), column("GPU-h lost"), column("Goodput"), column("Incidents"),
      h("th", { scope: "col", class: "number", title: "mean time from onset to first report" }, "To detect"),
      h("th", { scope: "col", class: "number", title: "mean time from report to acknowledgement" }, "To acknowledge"),
      h("th", { scope: "col", class: "number", title: "mean time from onset to resolution" }, "To resolve"),
      h("th", { scope: "col" }, "Costliest cause"))),
    h("tbody", {}, rows.map((row) => h("tr", {}, keys.map((key) => h("td", {}, keyed(key, row[key]))),
      number(hours(row.gpu_hours_used), "GPU-h used"), number(hours(row.gpu_hours_lost), "GPU-h lost"),
      number(Number.isFinite(row.goodput) ? `${digits(row.goodput * 100)} %` : "–", "goodput"), number(row.incidents, "incidents"),
      number(time(row.mttd_seconds), "to detect"), number(time(row.mtta_seconds), "to acknowledge"), number(time(row.mttr_seconds), "to resolve"),
      h("td", { "data-label": "costliest cause" }, row.costliest_fault ? title(row.costliest_fault) : "–"))))));
}

function offendersPart(rows) {
  return h("section", {}, h("h2", {}, "Repeat offenders"),
    h("p", { class: "fine" }, "Devices, links and nodes that incidents keep naming, those in most jobs first. Open one to see its record."),
    rows.length ? h("div", { class: "contest" }, rows.map(offender)) : h("p", { class: "muted" }, "Nothing was named twice."));
}

function offender(row) {
  const counts = Object.entries(row.faults ?? {}).map(([fault, count]) => `${title(fault)} ${count}`).join(", ");
  return h("details", { class: "contender", "data-key": `${row.type} ${row.id}` },
    h("summary", { class: "offender" },
      h("span", { class: "name", title: place(row) }, shortened(place(row)), " ", h("span", { class: "muted" }, counts)),
      h("span", { class: "fine" }, `${row.incidents} incidents, ${list(row.jobs).length} jobs`),
      h("span", { class: "number" }, `${hours(row.gpu_hours_lost)} h`)),
    h("ul", {}, list(row.record).map((one) => h("li", {},
      h("a", { href: `#/incidents/${encodeURIComponent(one.incident)}` }, title(one.fault)), ` ${clock(one.opened_at)} · ${list(one.jobs).join(", ")} · ${shortened(one.entity)} · ${one.verdict ? `feedback: ${one.verdict}` : "no feedback"}`))));
}

function keyed(key, value) {
  if (key === "fault") return title(value);
  if (key === "job" && value) return h("a", { href: `#/jobs/${encodeURIComponent(value)}` }, value);
  return value || h("span", { class: "muted" }, key === "user" ? "no user label" : "–");
}

function number(content, label) {
  return h("td", { class: "number", "data-label": label }, content);
}

function time(seconds) {
  return seconds === null ? "–" : duration(seconds);
}

function hours(value) {
  return Number.isFinite(value) ? digits(value) : "–";
}

function choice(name, options, chosen, change) {
  return h("label", { class: "fine" }, `${name} `, h("select", { "data-key": `choice ${name}`, onchange: (event) => change(event.target.value) },
    options.map(([value, label]) => h("option", { value, selected: value === chosen }, label))));
}

/** A link to the CSV could not send the token: it is fetched, and saved from memory. */
async function download(parameters) {
  const address = URL.createObjectURL(new Blob([await text("report.csv", parameters)], { type: "text/csv" }));
  h("a", { href: address, download: "rankscope-report.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
