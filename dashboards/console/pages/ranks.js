// The ranks of a job as a table: those that are behind first, the rest when somebody asks for it.

import { get, items } from "../parts/api.js";
import { h, show, table } from "../parts/dom.js";
import { digits, duration, quantity, shortened } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const OPEN = 16; // more ranks than this are listed when they are asked for
const PAGE = 200;

/** Return {root, refresh(job)}. */
export function ranksPart(path, signal) {
  const body = h("div", {});
  const details = h("details", { "data-key": "ranks" }, h("summary", {}, h("h2", {}, t("ranks.title"))), body);
  const root = h("section", { class: "part-ranks" }, details);
  let current = null;
  let limit = PAGE;
  let opened = false;

  async function fill() {
    if (!details.open || !current) return;
    const answer = await get(`${path}/ranks`, { limit }, signal);
    show(body, rankTable(items(answer), current.step_seconds), answer.next_cursor && h("button", {
      type: "button", class: "quiet", onclick: () => { limit += PAGE; fill().catch(() => {}); },
    }, t("ranks.more", { n: count("rank", current.ranks) })));
  }

  details.addEventListener("toggle", () => { fill().catch(() => {}); });
  async function refresh(job) {
    current = job;
    if (!opened && job.ranks <= OPEN) details.open = true;
    opened = true;
    await fill();
  }
  return { root, refresh };
}

function rankTable(ranks, stepSeconds) {
  // Ranks report at different moments: a step or two apart means nothing, standing still does.
  const still = Math.max(2, 5 * (stepSeconds ?? 0));
  const newest = Math.max(...ranks.map((one) => one.last_step ?? -Infinity));
  const fewer = (one) => Number.isFinite(one.last_step) && one.last_step < newest - 1; // null: it tells of no step
  const behind = (one) => fewer(one) && one.progress_age > still;
  const number = { number: true };
  const columns = [[t("column.rank"), number], [t("column.host")], [t("column.localrank"), number], [t("column.device")], [t("column.process"), number], [t("column.laststep"), number], [t("column.sincestep"), number]];
  return table(columns, [...ranks].sort((a, b) => behind(b) - behind(a) || a.rank - b.rank).map((one) => ({ class: behind(one) ? "behind" : null, cells: [
    one.rank ?? "–",
    one.host ? h("a", { href: `#/nodes/${encodeURIComponent(one.host)}` }, one.host) : "–",
    one.local_rank ?? "–",
    h("span", { class: "id", title: one.hw_id || null }, one.hw_id ? shortened(one.hw_id) : "–"),
    one.pid ?? "–",
    [quantity(one.last_step, "1"), fewer(one) && h("span", { class: "fine" }, ` ${t("ranks.behind", { n: digits(newest - one.last_step) })}`)],
    duration(one.progress_age),
  ] })), { class: "ranks cards" });
}
