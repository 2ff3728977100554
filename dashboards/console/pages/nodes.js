// The nodes that report: what is wrong with them first, and what runs on each.

import { gain } from "../charts/slowest.js";
import { get, items } from "../parts/api.js";
import { h, list, show, table } from "../parts/dom.js";
import { choices, filterBar, holds, search, segments } from "../parts/filters.js";
import { ago, digits, epoch, now } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";
import { activeIncidents, worst } from "./jobs.js";

const SILENT = 60; // seconds after which a node stands out
const USUAL = { show: "all", find: "" };
const SHOWN = ["all", "trouble", "silent"];

/** Return the page: {root, refresh, close}. `query` holds the filters. */
export function nodesPage(query) {
  const abort = new AbortController();
  const body = h("div", {});
  const shownCount = h("span", { class: "muted", role: "status" });
  const { chosen, parts, change } = choices("nodes", query, USUAL, { show: SHOWN }, draw);
  let held = null;

  function draw() {
    if (!held) return;
    const matching = held.filter((row) => (chosen.show === "all" || (chosen.show === "silent" ? row.silent : row.active.length > 0))
      && holds(chosen.find, [row.host, row.switch, ...Object.keys(row.ranks)]));
    const silent = held.filter((row) => row.silent).length;
    const trouble = held.filter((row) => row.active.length).length;
    shownCount.textContent = held.length ? [count("host", held.length), trouble && t("nodes.trouble", { n: digits(trouble) }), silent && t("nodes.silent", { n: digits(silent) })].filter(Boolean).join(" · ") : "";
    if (!held.length) show(body, h("p", { class: "nothing muted" }, t("nodes.none")));
    else show(body, matching.length ? nodeRows(parts.first(matching)) : h("p", { class: "nothing muted" }, t("list.nomatch")), parts.more(matching, draw));
  }

  async function refresh() {
    const [rows, named, active, gains] = await Promise.all([get("hosts", {}, abort.signal).then(items),
      get("offenders", { type: "host", at_least: 1, limit: 1000 }, abort.signal).then(items), activeIncidents(abort.signal),
      get("gains", { limit: 1000 }, abort.signal).then(items)]);
    const back = new Map(gains.map((row) => [row.host, row]));
    const past = new Map(named.map((row) => [row.id, row.incidents]));
    held = rows.map((row) => ({ ...row, silent: now() - epoch(row.last_received) > SILENT, past: past.get(row.host) ?? 0, gain: back.get(row.host), active: active.filter((one) => accused(one) === row.host) }))
      .sort((a, b) => (b.active.length > 0) - (a.active.length > 0) || b.silent - a.silent || a.host.localeCompare(b.host, "en", { numeric: true }));
    draw();
  }

  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.nodes")), filterBar(
    segments(t("column.status"), "show", SHOWN.map((name) => [name, word("nodes.filter", name)]), chosen.show, (value) => change({ show: value })),
    search(t("nodes.find"), chosen.find, (find) => change({ find }))), shownCount), body);
  return { root, refresh, close: () => abort.abort() };
}

/** Return the host that an incident's first cause is on. */
function accused(incident) {
  const entity = list(incident.root_cause?.hypotheses)[0]?.entity;
  return entity?.host ?? (entity?.type === "host" ? entity.id : null);
}

function nodeRows(rows) {
  const number = { number: true };
  const columns = [[t("column.host")], [t("column.now")], [t("column.job")], [t("column.ranks"), number], [t("column.switch")], [t("column.past"), number], [t("column.gain"), number], [t("column.hour"), number], [t("column.lastsample"), number]];
  return table(columns, rows.map((row) => ({ class: row.silent ? "silent" : null, cells: [
    h("a", { class: "row-link id", href: `#/nodes/${encodeURIComponent(row.host)}`, "data-key": row.host }, row.host),
    row.active.length ? worst(row.active.length, row.active, `#/nodes/${encodeURIComponent(row.host)}`) : h("span", { class: row.silent ? "bad" : "muted" }, row.silent ? t("nodes.issilent") : "–"),
    Object.keys(row.ranks).length ? Object.keys(row.ranks).flatMap((job, index) => [index ? ", " : "", h("a", { href: `#/jobs/${encodeURIComponent(job)}` }, job)]) : "–",
    digits(Object.values(row.ranks).reduce((sum, ranks) => sum + ranks, 0)),
    row.switch ?? "–",
    row.past ? h("a", { href: `#/nodes/${encodeURIComponent(row.host)}` }, digits(row.past)) : "0",
    gain(row.gain?.past, list(row.gain?.bases).map((basis) => t(`plots.basis.${basis}`)).join(", ")),
    gain(row.gain?.an_hour, t("plots.basis.phases")),
    ago(row.last_received),
  ] })), { class: "nodes cards" });
}
