// What a job would gain without its slowest hosts, or ranks: a sentence, and a row for one, two and five of them.

import { h, list, table } from "../parts/dom.js";
import { duration, lost } from "../parts/units.js";
import { t } from "../texts/texts.js";

/** Return a figure of an answer of /slowest; null where nobody reports what ranks do in a step. */
export function slowestFigure(answer) {
  const rows = list(answer.without);
  if (!rows.length) return null;
  const names = answer.slowest.map((one) => (answer.by === "rank" ? t("place.rankon", { id: one.rank, host: one.host ?? "–" }) : one.host));
  const number = { number: true };
  const columns = [[t("slowest.without")], [t("column.steptime"), number], [t("slowest.interval"), number], [t("slowest.hour"), number]];
  const last = rows.at(-1);
  return h("figure", { class: "slowest" },
    h("figcaption", {}, t(last.removed === 1 ? "slowest.one" : "slowest.sentence", { step: duration(answer.step_seconds, 1), without: duration(last.without.step_seconds, 1), n: last.removed, name: names[0] })),
    table(columns, rows.map((row) => ({ cells: [
      names.slice(0, row.removed).join(", "), duration(row.without.step_seconds, 1),
      t("impact.between", { low: duration(row.without.low, 1), high: duration(row.without.high, 1) }), gain(row.an_hour),
    ] })), { class: "cards" }),
    h("p", { class: "fine" }, t("slowest.basis")));
}

/** Return GPU-hours that would be given back, their interval as a tooltip; "–" where nothing says. */
export function gain(hours, more = "") {
  if (!hours) return "–";
  return h("span", { title: [t("gains.interval", { low: lost(3600 * hours.low), high: lost(3600 * hours.high) }), more].filter(Boolean).join(" · ") }, lost(3600 * hours.gpu_hours));
}

/** Return what the repair of a host would bring, in a sentence; null where nothing says. */
export function repairGain(row) {
  if (!row?.past && !row?.an_hour) return null;
  const of = (hours) => (hours ? lost(3600 * hours.gpu_hours) : "–");
  return h("p", { class: "fine", "data-key": "gain" }, t("gains.sentence", { past: of(row.past), now: of(row.an_hour) }));
}
