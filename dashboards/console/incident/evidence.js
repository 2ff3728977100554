// Evidence as a table: what was seen, what was expected, and what each line adds to the score.

import { h, list } from "../parts/dom.js";
import { clock, place, quantity, shortened, unitOf, utc, weight } from "../parts/units.js";
import { t, word } from "../texts/texts.js";

const SIGNS = { supports: "+", contradicts: "−", missing: "?" };
const RELATIONS = ["supports", "contradicts", "missing"];

/** Return the evidence of a hypothesis, strongest first: for, against, missing. */
export function evidenceTable(evidence) {
  const lines = [...list(evidence)].sort((a, b) => group(a) - group(b) || Math.abs(b.weight ?? 0) - Math.abs(a.weight ?? 0));
  if (!lines.length) return h("p", { class: "muted" }, t("evidence.none"));
  const most = Math.max(...lines.map((line) => Math.abs(line.weight ?? 0)), 0.1);
  return h("table", { class: "rows evidence" },
    h("thead", {}, h("tr", {},
      h("th", { scope: "col", colspan: 2 }, t("evidence.title")),
      h("th", { scope: "col", class: "number" }, t("evidence.observed")),
      h("th", { scope: "col", class: "number" }, t("evidence.expected")),
      h("th", { scope: "col", class: "weight" }, t("evidence.weight")))),
    h("tbody", {}, RELATIONS.flatMap((relation) => {
      const chosen = lines.filter((line) => line.relation === relation);
      const text = t(chosen.length ? `evidence.${relation}` : `evidence.${relation}.none`);
      const head = h("tr", { class: chosen.length ? "group" : "group nothing-said" }, h("th", { colspan: 5, scope: "colgroup" }, text));
      return [head, ...chosen.map((line) => row(line, most))];
    })));
}

function group(line) {
  return RELATIONS.indexOf(line.relation);
}

function row(line, most) {
  const unit = unitOf(line.signal);
  const [from, to] = list(line.window);
  const seen = from ? t("evidence.seen", { from: utc(from), to: utc(to) }) : null;
  const meaning = word("relation", line.relation);
  const parts = [h("code", {}, line.signal ?? "–"), shortened(place(line.entity)), line.family, from && h("span", { title: seen }, `${clock(from)} – ${clock(to)}`)];
  return h("tr", { "data-relation": line.relation },
    h("td", { class: "sign" }, h("span", { title: meaning, role: "img", "aria-label": meaning }, SIGNS[line.relation] ?? "·")),
    h("td", {},
      h("div", { title: line.text }, worded(line)),
      h("div", { class: "fine" }, parts.filter((part) => part && part !== "–").flatMap((part, index) => (index ? [" · ", part] : [part])))),
    figure(t("evidence.observed"), quantity(line.observed, unit)),
    figure(t("evidence.expected"), quantity(line.expected, unit)),
    h("td", { class: "weight", "data-label": t("evidence.weight.short") }, bar(line.weight, most), h("span", { class: "number" }, weight(line.weight))));
}

function figure(label, text) {
  return h("td", { class: text === "–" ? "number none" : "number", "data-label": label }, text);
}

/** Return the text of a line; how frequent a cause is needs more words than the engine gives it. */
function worded(line) {
  const text = line.text ?? line.signal ?? "–";
  if (line.family !== "prior" || !text.startsWith("prior:")) return shortened(text);
  return t("evidence.prior", { rest: text.slice("prior:".length).trim() });
}

/** Return a bar that grows from a middle axis: to the right for, to the left against. */
function bar(value, most) {
  const share = Math.min(Math.abs(value ?? 0) / most, 1) * 50;
  const inner = h("span", { class: value < 0 ? "less" : "more" });
  inner.style.width = `${share}%`;
  return h("span", { class: "bar-weight", "aria-hidden": "true" }, inner);
}
