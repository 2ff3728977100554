// The nodes that report: which are silent, and what runs on each.

import { get, items } from "../parts/api.js";
import { h, show, table } from "../parts/dom.js";
import { ago, digits, epoch } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const SILENT = 60; // seconds after which a node stands out

/** Return the page: {root, refresh, close}. */
export function nodesPage() {
  const abort = new AbortController();
  const body = h("div", {});
  const shownCount = h("span", { class: "muted", role: "status" });
  async function refresh() {
    const [rows, named] = await Promise.all([get("hosts", {}, abort.signal).then(items), get("offenders", { type: "host", at_least: 1, limit: 200 }, abort.signal).then(items)]);
    const incidents = new Map(named.map((row) => [row.id, row.incidents]));
    shownCount.textContent = rows.length ? count("host", rows.length) : "";
    show(body, rows.length ? nodeRows(rows, incidents) : h("p", { class: "nothing muted" }, t("nodes.none")));
  }
  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.nodes")), shownCount), body);
  return { root, refresh, close: () => abort.abort() };
}

function nodeRows(rows, incidents) {
  const now = Date.now() / 1000;
  const number = { number: true };
  const columns = [[t("column.host")], [t("column.switch")], [t("column.job")], [t("column.ranks"), number], [t("column.incidents"), number], [t("column.lastsample"), number]];
  return table(columns, rows.map((row) => ({ class: now - epoch(row.last_received) > SILENT ? "silent" : null, cells: [
    h("a", { class: "row-link id", href: `#/nodes/${encodeURIComponent(row.host)}`, "data-key": row.host }, row.host),
    row.switch ?? "–",
    Object.keys(row.ranks).flatMap((job, index) => [index ? ", " : "", h("a", { href: `#/jobs/${encodeURIComponent(job)}` }, job)]),
    digits(Object.values(row.ranks).reduce((sum, ranks) => sum + ranks, 0)),
    digits(incidents.get(row.host) ?? 0),
    ago(row.last_received),
  ] })), { class: "nodes cards" });
}
