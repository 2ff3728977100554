// The list of incidents: one row a cause, worst and newest first.

import { get, items } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { filterBar, remember, segments } from "../parts/filters.js";
import { duration, epoch, faults, lost, moment, noticed, now, place, shortened, title } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";

const FILTERS = ["status", "severity", "fault", "job"];
const STATUSES = ["active", "resolved", "all"];
const WORST = { critical: 0, warning: 1, info: 2 };
const PAGE = 50;

/** Return the page: {root, refresh, close}. `query` holds the filters, so that a link keeps them. */
export function incidentsPage(query) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  filters.status ||= "active";
  const abort = new AbortController();
  const body = h("div", {});
  const shownCount = h("span", { class: "muted", role: "status" });
  let limit = PAGE;
  let shown = "";

  function changed() {
    remember("incidents", filters, { status: "active" });
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
    const text = JSON.stringify([incidents, more, jobs, Math.floor(now() / 5)]);
    if (text === shown) return;
    shown = text;
    shownCount.textContent = incidents.length ? t("incidents.shown", { n: `${incidents.length}${more ? "+" : ""}` }) : "";
    show(body, incidents.length ? incidentRows(incidents) : nothing(filters, jobs), more && h("p", {}, h("button", {
      type: "button", class: "quiet", onclick: () => { limit += PAGE; refresh().catch(() => {}); },
    }, t("more"))));
  }

  const root = h("div", { class: "page" },
    h("div", { class: "bar" }, h("h1", {}, t("nav.incidents")), controls(filters, changed), shownCount),
    body);
  return { root, refresh, close: () => abort.abort() };
}

/** Put the worst of those that are open first, then the newest. */
export function order(a, b) {
  const settled = (a.status === "resolved") - (b.status === "resolved");
  const worse = (WORST[a.severity] ?? 3) - (WORST[b.severity] ?? 3);
  return settled || (a.status === "resolved" ? 0 : worse) || epoch(b.opened_at) - epoch(a.opened_at);
}

function controls(filters, changed) {
  const set = (name) => (value) => { filters[name] = value.trim(); changed(); };
  return filterBar(
    segments(t("column.status"), "status", STATUSES.map((value) => [value, word("filter", value)]), filters.status, set("status")),
    choice(t("column.severity"), [["", t("incidents.anyseverity")], ...Object.keys(WORST).map((name) => [name, word("severity", name)])], filters.severity, set("severity"), { unseen: true }),
    choice(t("column.fault"), [["", t("incidents.anyfault")], ...faults()], filters.fault, set("fault"), { unseen: true }),
    h("label", {}, h("span", { class: "unseen" }, t("column.job")), h("input", { type: "search", value: filters.job, placeholder: t("incidents.jobid"), spellcheck: "false", onchange: (event) => set("job")(event.target.value) })));
}

/** Return the table of incidents. */
export function incidentRows(incidents) {
  const number = { number: true };
  const columns = [[t("column.what")], [t("column.where")], [t("column.job")], [t("column.opened"), number], [t("column.lasted"), number], [t("column.lost"), number], [t("column.status")]];
  return table(columns, incidents.map((incident) => row(incident)), { class: "incidents cards" });
}

function row(incident) {
  const first = list(incident.root_cause?.hypotheses)[0];
  const until = epoch(incident.resolved_at);
  const lasted = (Number.isFinite(until) ? until : now()) - epoch(incident.opened_at);
  const jobs = list(incident.jobs).length;
  return { "data-severity": incident.severity, "data-status": incident.status, cells: [
    [h("a", { class: "row-link", href: `#/incidents/${encodeURIComponent(incident.id)}`, "data-key": incident.id },
      h("span", { class: "severity" }, word("severity", incident.severity ?? "unknown")), " ", h("strong", {}, title(first?.fault))),
    h("div", { class: "summary", title: incident.summary }, shortened(noticed(incident.summary)))],
    h("span", { title: first ? place(first.entity) : null }, first ? shortened(place(first.entity)) : "–"),
    h("span", { class: "id" }, incident.job ?? "–", jobs > 1 && ` +${jobs - 1}`),
    moment(incident.opened_at),
    duration(Math.max(0, Math.round(lasted))),
    lost(incident.impact?.gpu_seconds_lost),
    h("span", { class: "status", "data-status": incident.status }, word("status", incident.status)),
  ] };
}

function nothing(filters, jobs) {
  const narrowed = filters.severity || filters.fault || filters.job;
  const watched = jobs?.length
    ? [t("incidents.watched", { jobs: count("job", jobs.length) }), " ", h("a", { href: "#/jobs" }, t("incidents.seejobs"))]
    : [t("jobs.nonereported"), " ", h("code", {}, "rankscope demo")];
  return h("div", { class: "nothing" },
    h("p", { class: "large" }, narrowed ? t("incidents.nomatch") : t(`incidents.none.${filters.status}`)),
    h("p", { class: "muted" }, watched));
}
