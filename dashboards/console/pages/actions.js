// What was done about causes, or would have been, and how often it was right.

import { get, items, mayAct } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { digits, moment, title } from "../parts/units.js";
import { asked, decisions, paces, standing } from "../parts/remedies.js";
import { t, word } from "../texts/texts.js";

const STATES = ["", "planned", "started", "done", "failed", "vetoed", "withdrawn", "undone"];
const PAGE = 50;

/** Return the page: {root, refresh, close}. The state that is looked for stands in the address. */
export function actionsPage(query) {
  const abort = new AbortController();
  const state = STATES.includes(query.get("state")) ? query.get("state") : "";
  const body = h("div", {});
  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.actions")),
    choice(t("column.state"), STATES.map((name) => [name, word("remedied", name || "any")]), state, (value) => { location.hash = `#/actions${value ? `?state=${value}` : ""}`; })), body);
  let shown = "";

  async function refresh() {
    const allowed = await mayAct(abort.signal);
    const answer = await get("actions", { state: state || undefined, limit: PAGE }, abort.signal);
    const text = JSON.stringify([answer, allowed]);
    if (text === shown) return;
    shown = text;
    const rows = items(answer);
    show(body, h("p", { class: "help" }, t("actions.help")),
      ...(rows.length ? [...tally(list(answer.record)), h("h2", {}, t("actions.newest")), actionTable(rows, allowed, refresh)] : [nothing(state)]),
      answer.next_cursor && h("p", { class: "fine" }, t("deliveries.newest", { n: PAGE })));
  }

  return { root, refresh, close: () => abort.abort() };
}

function nothing(state) {
  return h("div", { class: "nothing" }, h("p", { class: "large" }, t(state ? "list.nomatch" : "actions.none")),
    !state && h("p", { class: "muted" }, t("actions.switch")), !state && h("pre", { class: "sample", tabindex: "0" }, "actions:\n  mode: dry_run"));
}

function tally(rows) {
  const number = { number: true };
  const counted = ["taken", "right", "wrong", "undetermined", "vetoed", "withdrawn", "failed", "undone"];
  const columns = [[t("report.fault")], [t("column.executor")], ...counted.map((name) => [t(`actions.${name}`), number])];
  return [h("h2", {}, t("actions.record")), table(columns, rows.map((row) => ({ cells: [
    title(row.cause),
    [row.executor, row.mode === "dry_run" && h("span", { class: "muted" }, ` ${t("actions.dry")}`)],
    ...counted.map((name) => digits(row[name])),
  ] })), { class: "tally cards" })];
}

function actionTable(rows, allowed, refresh) {
  return table([[t("column.what")], [t("report.fault")], [t("column.job")], [t("column.state")], [t("column.steptime")], [t("column.created"), { number: true }], [""]], rows.map((row) => ({ "data-action": row.id, cells: [
    asked(row),
    h("a", { href: `#/incidents/${encodeURIComponent(row.incident)}` }, title(row.cause)),
    h("a", { href: `#/jobs/${encodeURIComponent(row.job)}` }, row.job),
    [standing(row), h("div", { class: "fine" }, row.reason)],
    paces(row) || "–",
    moment(row.at),
    allowed ? decisions(row, refresh) : "",
  ] })), { class: "actions cards" });
}
