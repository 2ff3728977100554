// Where the time of a step goes: phases on top of each other over time, and each one's share.

import { h } from "../parts/dom.js";
import { duration, epoch } from "../parts/units.js";
import { t, word } from "../texts/texts.js";
import { lines } from "./lines.js";

const ORDER = ["compute", "comm", "data", "optimizer", "checkpoint", "gc", "other"];

/** Return a figure of an answer of /phases; null where no phase is reported. */
export function phasesFigure(answer) {
  const names = ORDER.filter((name) => answer.seconds[name]?.some((value) => value > 0));
  if (!names.some((name) => name !== "other")) return null;
  const sums = answer.at.map(() => 0);
  const stacked = names.map((name) => answer.seconds[name].map((value, index) => (sums[index] += value ?? 0)));
  const mean = (values) => values.reduce((sum, value) => sum + (value ?? 0), 0) / values.length;
  const whole = mean(sums);
  const shares = names.map((name) => ({ name, seconds: mean(answer.seconds[name]) }));
  const most = shares.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  const sentence = t("phases.sentence", { step: duration(whole), phase: word("phase", most.name), share: Math.round((most.seconds / whole) * 100) });
  // Drawn from the top down, each filled to the one below it; the lowest fills to the axis.
  const top = names.length - 1;
  const series = [...names].reverse().map((name, index) => ({
    values: stacked[top - index], colour: `phase-${name}`, fill: `phase-${name}`, width: 0.5, between: index + 1, label: index ? null : t("phases.step"),
  }));
  series.push({ values: answer.at.map(() => 0), colour: "line", width: 0 });
  const chart = lines({ times: answer.at.map(epoch), series, unit: "s", sentence, reading: [0] });
  return h("figure", { class: "phases" },
    h("figcaption", {}, sentence),
    h("ul", { class: "shares" }, shares.map(({ name, seconds }) => h("li", {},
      h("span", { class: "swatch", "data-phase": name, "aria-hidden": "true" }), h("span", {}, word("phase", name)),
      h("span", { class: "number" }, `${Math.round((seconds / whole) * 100)} %`), h("span", { class: "fine number" }, duration(seconds))))),
    chart);
}
