// What a diagnosis of a dead job rests on: the lines of its logs that say so, what was read, what is missing.

import { h, list, show } from "../parts/dom.js";
import { moment, ranks } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";

const KINDS = 12; // that are shown at once

/** Return the lines that tell, the first of each role and signature, those of no job apart, and what is missing; null without any. */
export function quotedLines(left) {
  const lines = list(left?.lines);
  const missing = list(left?.missing);
  if (!lines.length && !missing.length) return null;
  const told = kinds(lines.filter((line) => line.role !== "background"));
  const apart = kinds(lines.filter((line) => line.role === "background"));
  const body = h("ol", { class: "quotes" });
  const fill = (most) => show(body, ...told.slice(0, most).map(quote), told.length > most && h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => fill(told.length) }, t("more"))));
  fill(KINDS);
  return h("section", { class: "leftovers" }, h("h2", {}, t("left.lines")), h("p", { class: "fine" }, t("left.lines.help")), body,
    missing.map((text) => h("p", {}, h("span", { class: "muted" }, `${t("left.missing")} `), text)),
    apart.length > 0 && h("details", { "data-key": "left apart" }, h("summary", {}, t("left.apart", { lines: count("line", lines.filter((line) => line.role === "background").length) })), h("ol", { class: "quotes" }, apart.map(quote))));
}

/** Return which files were read, as what, and which were not. */
export function sources(left) {
  if (!left) return null;
  const read = Object.entries(left.read ?? {});
  const unread = Object.entries(left.unread ?? {});
  const part = (name, rows) => rows.length > 0 && [h("h3", {}, name), h("ul", { class: "plain files" }, rows.map(([file, how]) => h("li", {}, h("code", {}, file), " ", h("span", { class: "fine" }, how))))];
  return h("section", { class: "leftovers" }, h("h2", {}, t("left.title")),
    part(t("left.read"), read), part(t("left.unread"), unread));
}

/** Return [first, how many more] of each role and signature, in the order of the first ones. */
function kinds(lines) {
  const found = new Map();
  for (const line of lines) {
    const key = `${line.role} ${line.signature}`;
    const held = found.get(key);
    if (held) held[1] += 1;
    else found.set(key, [line, 0]);
  }
  return [...found.values()];
}

function quote([line, more]) {
  const facts = [line.at !== null && moment(line.at), line.rank !== null && ranks([line.rank]), line.host, h("code", {}, `${line.file}:${line.line}`), more > 0 && t("left.alike", { n: more })].filter(Boolean);
  return h("li", { "data-role": line.role },
    h("p", { class: "fine" }, h("span", { class: "role" }, word("role", line.role)), facts.flatMap((fact) => [" · ", fact])),
    h("pre", {}, line.text));
}
