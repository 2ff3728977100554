// Evidence as a table: what was seen, what was expected, and what each line adds to the score.

import { h, list } from "./dom.js";
import { clock, place, quantity, shortened, unitOf, utc, weight } from "./units.js";

const SIGNS = { supports: "+", contradicts: "−", missing: "?" };
const GROUPS = [
  ["supports", "Speaks for it", "Nothing speaks for it."],
  ["contradicts", "Speaks against it", "Nothing speaks against it."],
  ["missing", "Expected, but not observed", "Nothing that was expected is missing."],
];
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
    h("tbody", {}, GROUPS.flatMap(([relation, name, nothing]) => {
      const chosen = lines.filter((line) => line.relation === relation);
      const head = h("tr", { class: chosen.length ? "group" : "group nothing-said" }, h("th", { colspan: 5, scope: "colgroup" }, chosen.length ? name : nothing));
      return [head, ...chosen.map((line) => row(line, most))];
    })));
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
      h("div", { title: line.text }, worded(line)),
      h("div", { class: "fine" }, [h("code", {}, line.signal ?? "–"), shortened(place(line.entity)), line.family, from && h("span", { title: seen }, `${clock(from)} – ${clock(to)}`)]
        .filter((part) => part && part !== "–").flatMap((part, index) => (index ? [" · ", part] : [part])))),
    figure("observed", quantity(line.observed, unit)),
    figure("expected", quantity(line.expected, unit)),
    h("td", { class: "weight", "data-label": "weight" }, bar(line.weight, most), h("span", { class: "number" }, weight(line.weight))));
}

function figure(label, text) {
  return h("td", { class: text === "–" ? "number none" : "number", "data-label": label }, text);
}

/** Return the text of a line; how frequent a cause is needs more words than the engine gives it. */
function worded(line) {
  const text = line.text ?? line.signal ?? "–";
  if (line.family !== "prior" || !text.startsWith("prior:")) return shortened(text);
  return `How frequent this cause is before any evidence:${text.slice("prior:".length)}`;
}

/** Return a bar that grows from a middle axis: to the right for, to the left against. */
function bar(value, most) {
  const share = Math.min(Math.abs(value ?? 0) / most, 1) * 50;
  const inner = h("span", { class: value < 0 ? "less" : "more" });
  inner.style.width = `${share}%`;
  return h("span", { class: "bar-weight", "aria-hidden": "true" }, inner);
}
