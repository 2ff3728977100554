// Every cause that was considered, by score, each with its own evidence; and how good the data was.

import { h, list } from "../parts/dom.js";
import { duration, place, shortened, title, weight } from "../parts/units.js";
import { t } from "../texts/texts.js";
import { evidenceTable } from "./evidence.js";

/** Return all hypotheses with `unknown` among them. */
export function hypotheses(cause) {
  return h("section", {}, h("h2", {}, t("hypotheses.title")), h("p", { class: "fine" }, t("hypotheses.help")), contest(cause));
}

function contest(cause) {
  const [first, ...others] = list(cause.hypotheses);
  const unknown = cause.unknown ?? {};
  const rows = [first, ...others].filter(Boolean).map((one) => ({ score: one.score, one }));
  const named = rows.some(({ one }) => one.fault === "unknown"); // it may be the answer
  if (Number.isFinite(unknown.score) && !named) rows.push({ score: unknown.score, one: null });
  rows.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
  const best = Math.max(...rows.map((row) => row.score ?? 0), 0.1);
  const least = Math.min(...rows.map((row) => row.score ?? 0), 0);
  return h("div", { class: "contest" }, rows.map(({ score, one }) => {
    const bar = h("span", { class: one === first ? "score-bar leading" : "score-bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(1, (((score ?? 0) - least) / (best - least)) * 100)}%`;
    const line = [
      h("span", { class: "name" }, one ? title(one.fault) : title("unknown"), " ", h("span", { class: "muted" }, one ? shortened(place(one.entity)) : t("hypotheses.none"))),
      h("span", { class: "score-track" }, bar), h("span", { class: "number" }, weight(score)),
    ];
    if (one === first && one) return h("div", { class: "contender" }, line);
    const reasons = list(unknown.reasons).length ? unknown.reasons : [t("hypotheses.noreason")];
    return h("details", { class: "contender", "data-key": one ? `${one.fault} ${place(one.entity)}` : "unknown" },
      h("summary", {}, line),
      one ? evidenceTable(one.evidence) : h("ul", {}, reasons.map((reason) => h("li", {}, reason))));
  }));
}

/** Return which of the signals that causes predict were reported. */
export function quality(cause) {
  const data = cause.data_quality ?? {};
  const skew = data.clock_skew_seconds;
  const missing = list(data.missing).flatMap((name, index) => (index ? [", ", h("code", {}, name)] : [h("code", {}, name)]));
  return h("section", {}, h("h2", {}, t("quality.title")), h("p", { class: "fine" }, t("quality.help")), h("dl", { class: "pairs" },
    h("div", {}, h("dt", {}, t("quality.coverage")), h("dd", {}, Number.isFinite(data.coverage) ? `${Math.round(data.coverage * 100)} %` : "–")),
    h("div", {}, h("dt", {}, t("quality.skew")), h("dd", {}, Number.isFinite(skew) ? duration(skew) : t("quality.notknown"))),
    h("div", {}, h("dt", {}, t("quality.missing")), h("dd", {}, missing.length ? missing : t("quality.nothing")))),
  cause.engine && h("p", { class: "fine" }, t("quality.engine", { engine: cause.engine, catalogue: cause.catalogue ?? "–" })));
}
