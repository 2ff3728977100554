// Who waits for whom: a matrix, and those that are awaited most in words.

import { h } from "../parts/dom.js";
import { digits, duration } from "../parts/units.js";
import { count, t } from "../texts/texts.js";
import { raster } from "./raster.js";

const LISTED = 5;

/** Return a figure of an answer of /waits; null where nobody reports how long it waits. */
export function waitsFigure(answer) {
  const { names, seconds, awaited, by, steps } = answer;
  if (!names.length) return null;
  const most = Math.max(...seconds.flat().map((value) => value ?? 0), 1e-9);
  const cells = Uint8Array.from(seconds.flat(), (value) => Math.round((Math.max(0, value ?? 0) / most) * 254));
  const name = (index) => (by === "rank" ? t("place.rank", { id: names[index] }) : names[index]);
  const total = seconds.flat().reduce((sum, value) => sum + (value ?? 0), 0);
  const first = awaited[0];
  const sentence = first ? t("waits.sentence", { rank: first.rank, host: first.host ?? "–", share: Math.round((first.seconds / Math.max(total, first.seconds)) * 100), last: first.steps, steps: count("step", steps) }) : t("waits.nobody");
  return h("figure", { class: "waits" },
    h("figcaption", {}, sentence),
    h("div", { class: "two" },
      raster({ cells, rows: names.length, columns: names.length, sentence, height: 300,
        edges: { top: name(0), bottom: name(names.length - 1), left: name(0), middle: t("waits.axes"), right: name(names.length - 1) },
        describe: (row, column) => t("waits.cell", { waiting: name(row), awaited: name(column), value: duration(seconds[row][column]) }) }),
      h("ol", { class: "ranking" }, awaited.slice(0, LISTED).map((one) => h("li", {},
        h("span", {}, t("place.rankon", { id: one.rank, host: one.host ?? "–" })),
        bar(one.seconds / awaited[0].seconds),
        h("span", { class: "fine number" }, t("waits.lost", { seconds: digits(one.seconds), steps: count("step", one.steps) })))))));
}

/** Return a bar of a share of the whole width. */
export function bar(share, tone = "") {
  const inner = h("i", { class: tone });
  inner.style.width = `${Math.max(0.5, Math.min(1, share || 0) * 100)}%`;
  return h("span", { class: "share", "aria-hidden": "true" }, inner);
}
