// Evidence as a table: what was seen, what was expected, and what each line adds to the score.

import { h, list } from "./dom.js";
import { clock, place, quantity, unitOf, utc, weight } from "./units.js";

const SIGNS = { supports: "+", contradicts: "−", missing: "?" };
const WORDS = { supports: "supports it", contradicts: "contradicts it", missing: "expected, not reported" };

/** Return the evidence of a hypothesis, strongest first: for, against, missing. */
export function evidenceTable(evidence) {
  const lines = [...list(evidence)].sort((a, b) => group(a) - group(b) || Math.abs(b.weight ?? 0) - Math.abs(a.weight ?? 0));
  if (!lines.length) return h("p", { class: "muted" }, "No evidence is listed.");
  const most = Math.max(...lines.map((line) => Math.abs(line.weight ?? 0)), 0.1);
  return h("table", { class: "rows evidence" },
    h("thead", {}, h("tr", {},
      h("th", { scope: "col", colspan: 2 }, "Evidence"),
      h("th", { scope: "col", class: "number" }, "Observed"),
      h("th", { scope: "col", class: "number" }, "Expected"),
      h("th", { scope: "col", class: "weight" }, "Weight (log-odds)"))),
    h("tbody", {}, lines.map((line) => row(line, most))));
}

function group(line) {
  return ["supports", "contradicts", "missing"].indexOf(line.relation);
}

function row(line, most) {
  const unit = unitOf(line.signal);
  const [from, to] = list(line.window);
  const seen = from ? `${utc(from)} to ${utc(to)}` : null;
  return h("tr", { "data-relation": line.relation },
    h("td", { class: "sign" }, h("span", { title: WORDS[line.relation], "aria-label": WORDS[line.relation] }, SIGNS[line.relation] ?? "·")),
    h("td", {},
      h("div", {}, line.text ?? line.signal ?? "–"),
      h("div", { class: "fine" }, [h("code", {}, line.signal ?? "–"), place(line.entity), line.family, from && h("span", { title: seen }, `${clock(from)} – ${clock(to)}`)]
        .filter((part) => part && part !== "–").flatMap((part, index) => (index ? [" · ", part] : [part])))),
    h("td", { class: "number" }, quantity(line.observed, unit)),
    h("td", { class: "number" }, quantity(line.expected, unit)),
    h("td", { class: "weight" }, bar(line.weight, most), h("span", { class: "number" }, weight(line.weight))));
}

/** Return a bar that grows from a middle axis: to the right for, to the left against. */
function bar(value, most) {
  const share = Math.min(Math.abs(value ?? 0) / most, 1) * 50;
  const inner = h("span", { class: value < 0 ? "less" : "more" });
  inner.style.width = `${share}%`;
  return h("span", { class: "bar-weight", "aria-hidden": "true" }, inner);
}
