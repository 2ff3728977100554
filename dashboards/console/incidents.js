// The list of incidents: one row a cause, worst and newest first.

import { get, items } from "./api.js";
import { h, list, show } from "./dom.js";
import { clock, duration, epoch, faults, lost, place, title, utc } from "./units.js";

const FILTERS = ["status", "severity", "fault", "job"];
const STATUSES = [["active", "Active"], ["resolved", "Resolved"], ["all", "All"]];
const WORST = { critical: 0, warning: 1, info: 2 };
const PAGE = 50;

/** Return the page: {root, refresh, close}. `query` holds the filters, so that a link keeps them. */
export function incidentsPage(query) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  filters.status ||= "active";
  const abort = new AbortController();
  const table = h("div", {});
  const count = h("span", { class: "muted", role: "status" });
  let limit = PAGE;
  let shown = "";

  function changed() {
    const kept = Object.entries(filters).filter(([name, value]) => value && !(name === "status" && value === "active"));
    const text = new URLSearchParams(kept).toString();
    history.replaceState(null, "", `#/incidents${text ? `?${text}` : ""}`);
    limit = PAGE;
    refresh().catch(() => {}); // the frame asks again and says what is wrong
  }

  async function refresh() {
    const wanted = filters.status === "active" ? ["open", "acknowledged"] : [filters.status === "all" ? "" : filters.status];
    const { severity, fault, job } = filters;
    const answers = await Promise.all(wanted.map((status) => get("incidents", { status, severity, fault, job, limit }, abort.signal)));
    const incidents = answers.flatMap(items).sort(order);
    const more = answers.some((answer) => answer?.next_cursor);
    const jobs = incidents.length ? null : items(await get("jobs", {}, abort.signal).catch(() => null));
    const now = Date.now() / 1000;
    const text = JSON.stringify([incidents, more, jobs, Math.floor(now / 5)]);
    if (text === shown) return;
    shown = text;
    count.textContent = incidents.length ? `${incidents.length}${more ? "+" : ""} shown` : "";
    show(table, incidents.length ? rows(incidents, now) : nothing(filters, jobs), more && h("p", {}, h("button", {
      type: "button",
      class: "quiet",
      onclick: () => { limit += PAGE; refresh().catch(() => {}); },
    }, "Show more")));
  }

  const root = h("div", { class: "page" },
    h("div", { class: "bar" }, h("h1", {}, "Incidents"), controls(filters, changed), count),
    table);
  return { root, refresh, close: () => abort.abort() };
}

function order(a, b) {
  const settled = (a.status === "resolved") - (b.status === "resolved");
  const worse = (WORST[a.severity] ?? 3) - (WORST[b.severity] ?? 3);
  return settled || (a.status === "resolved" ? 0 : worse) || epoch(b.opened_at) - epoch(a.opened_at);
}

function controls(filters, changed) {
  const set = (name) => (event) => { filters[name] = event.target.value.trim(); changed(); };
  return h("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "Status"), STATUSES.map(([value, text]) =>
      h("label", {}, h("input", { type: "radio", name: "status", value, checked: filters.status === value, onchange: set("status") }), text))),
    choice("Severity", filters.severity, [["", "any severity"], ...Object.keys(WORST).map((name) => [name, name])], set("severity")),
    choice("Fault", filters.fault, [["", "any fault"], ...faults()], set("fault")),
    h("label", {}, h("span", { class: "unseen" }, "Job"), h("input", { type: "search", value: filters.job, placeholder: "job id", spellcheck: "false", onchange: set("job") })));
}

function choice(name, value, options, changed) {
  return h("label", {}, h("span", { class: "unseen" }, name), h("select", { onchange: changed },
    options.map(([id, text]) => h("option", { value: id, selected: id === value }, text))));
}

function rows(incidents, now) {
  return h("table", { class: "rows incidents" },
    h("thead", {}, h("tr", {}, ["What", "Where", "Job", "Opened", "Lasted", "Lost", "Status"].map((name) =>
      h("th", { scope: "col", class: ["Opened", "Lasted", "Lost"].includes(name) ? "number" : null }, name)))),
    h("tbody", {}, incidents.map((incident) => row(incident, now))));
}

function row(incident, now) {
  const first = list(incident.root_cause?.hypotheses)[0];
  const address = `#/incidents/${encodeURIComponent(incident.id)}`;
  const until = epoch(incident.resolved_at);
  const lasted = (Number.isFinite(until) ? until : now) - epoch(incident.opened_at);
  return h("tr", { "data-severity": incident.severity, "data-status": incident.status },
    h("td", {},
      h("a", { class: "row-link", href: address, "data-key": incident.id },
        h("span", { class: "severity" }, incident.severity ?? "unknown"), " ",
        h("strong", {}, title(first?.fault))),
      h("div", { class: "summary" }, incident.summary ?? "")),
    h("td", {}, first ? place(first.entity) : "–"),
    h("td", { class: "id" }, incident.job ?? "–", list(incident.jobs).length > 1 && ` +${incident.jobs.length - 1}`),
    h("td", { class: "number" }, h("time", { datetime: utc(incident.opened_at), title: utc(incident.opened_at) }, clock(incident.opened_at))),
    h("td", { class: "number" }, duration(lasted)),
    h("td", { class: "number" }, lost(incident.impact?.gpu_seconds_lost)),
    h("td", {}, h("span", { class: "status", "data-status": incident.status }, incident.status ?? "–")));
}

function nothing(filters, jobs) {
  const narrowed = filters.severity || filters.fault || filters.job;
  const word = filters.status === "all" ? "" : `${filters.status} `;
  const watched = jobs?.length ? [jobs.length === 1 ? "One job is" : `${jobs.length} jobs are`, " watched: ", h("a", { href: "#/jobs" }, "see them"), "."] : ["No job has reported yet. Attach a probe, or start ", h("code", {}, "rankscope demo"), "."];
  return h("div", { class: "nothing" },
    h("p", { class: "large" }, narrowed ? "No incident matches these filters." : `No ${word}incident.`),
    h("p", { class: "muted" }, watched));
}
