// Tokens a second of the whole job, from the tokens of each rank's step.

import { lines } from "../charts/lines.js";
import { h } from "../parts/dom.js";
import { digits, epoch } from "../parts/units.js";
import { t } from "../texts/texts.js";

/** Return a figure: an answer of /distribution for training.tokens, and the job's step time. */
export function throughput(answer, job) {
  const [variant] = answer.variants;
  const start = epoch(answer.start);
  const times = variant.mean.map((_, index) => start + answer.seconds * (index + 0.5));
  const each = variant.mean.map((value) => (value === null ? null : (value * variant.count) / (job.step_seconds || 1)));
  const known = each.filter((value) => value !== null).sort((a, b) => a - b);
  const sentence = t("throughput.sentence", { value: digits(known[Math.floor(known.length / 2)] ?? 0) });
  return h("figure", { class: "plot" }, h("figcaption", {}, sentence),
    lines({ times, unit: "{token}/s", sentence, height: 170, hint: false, series: [{ values: each, colour: "median", width: 1.5, label: t("throughput.label") }] }));
}
