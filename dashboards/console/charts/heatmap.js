// A per-step metric of every rank: ranks down, steps across.

import { h } from "../parts/dom.js";
import { clock, digits, quantity } from "../parts/units.js";
import { count, t } from "../texts/texts.js";
import { NOTHING, raster } from "./raster.js";

/** Return a figure of an answer of /heatmap; `every()` asks for it with a cell for each rank and step. */
export function heatmapFigure(answer, { unit, name, every }) {
  if (!answer.cells) return h("p", { class: "muted" }, t("chart.nobody"));
  const cells = Uint8Array.from(atob(answer.cells), (letter) => letter.charCodeAt(0));
  const { rows, columns, ranks, steps, low, high } = answer;
  const value = (level) => (level === NOTHING ? t("chart.none") : `${level >= 254 ? "≥ " : ""}${quantity(low + (level / 254) * (high - low), unit)}`);
  const upTo = (firsts, index, last) => {
    const end = (firsts[index + 1] ?? last + 1) - 1;
    return end > firsts[index] ? `${digits(firsts[index])}–${digits(end)}` : digits(firsts[index]);
  };
  const lastRank = Math.round(ranks[0] + rows * answer.ranks_a_row) - 1;
  const lastStep = Math.round(steps.at(-1) + answer.steps_a_column) - 1;
  const sentence = t("heatmap.sentence", { name, ranks: count("rank", lastRank - ranks[0] + 1), from: digits(steps[0]), to: digits(lastStep), low: quantity(low, unit), high: quantity(high, unit), worst: worst(cells, answer) });
  const coarse = answer.ranks_a_row > 1 || answer.steps_a_column > 1;
  return h("figure", { class: "heatmap" },
    h("figcaption", {}, sentence),
    h("div", { class: "legend fine" }, h("span", {}, quantity(low, unit)), h("span", { class: "scale", "aria-hidden": "true" }), h("span", {}, `≥ ${quantity(high, unit)}`),
      coarse && h("span", {}, t("heatmap.coarse", { ranks: count("rank", Math.ceil(answer.ranks_a_row)), steps: count("step", Math.ceil(answer.steps_a_column)) })),
      coarse && every && h("button", { type: "button", class: "quiet", "data-key": "every", onclick: every }, t("heatmap.every"))),
    raster({ cells, rows, columns, sentence, height: Math.max(120, Math.min(420, rows * (rows > 64 ? 1.6 : 7))),
      edges: { top: t("place.rank", { id: ranks[0] }), bottom: t("place.rank", { id: lastRank }), left: `${t("heatmap.step", { n: digits(steps[0]) })} · ${clock(answer.first_at)}`, right: `${t("heatmap.step", { n: digits(lastStep) })} · ${clock(answer.last_at)}` },
      describe: (row, column) => t("heatmap.cell", { rank: upTo(ranks, row, lastRank), step: upTo(steps, column, lastStep), value: value(cells[row * columns + column]) }) }));
}

/** Return which ranks stand out: those whose row is on average furthest above the middle row. */
function worst(cells, { rows, columns, ranks }) {
  const means = Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    let held = 0;
    for (let column = 0; column < columns; column += 1) {
      const level = cells[row * columns + column];
      if (level !== NOTHING) { sum += level; held += 1; }
    }
    return held ? sum / held : 0;
  });
  const middle = [...means].sort((a, b) => a - b)[Math.floor((rows - 1) / 2)];
  const most = means.indexOf(Math.max(...means));
  return means[most] - middle > 20 ? t("heatmap.worst", { rank: ranks[most] }) : "";
}
