// The Markdown of our own runbooks as elements: headings, paragraphs, lists, commands. Everything becomes text nodes.

import { h } from "./dom.js";

const ITEM = /^(?:[-*]|\d+\.) +/;

/** Return the elements of a page; what is no heading, list or fence is a paragraph. `named(code)` may give an element for a word of code. */
export function markdown(text, named) {
  const lines = text.replaceAll("\r", "").split("\n");
  const found = [];
  while (lines.length) {
    const line = lines.shift();
    const heading = /^(#{1,3}) +(.*)$/.exec(line);
    if (!line.trim()) continue;
    if (line.startsWith("```")) {
      const end = lines.findIndex((one) => one.startsWith("```"));
      const code = lines.splice(0, end < 0 ? lines.length : end + 1).filter((one) => !one.startsWith("```"));
      found.push(h("pre", { tabindex: "0" }, h("code", {}, code.join("\n"))));
    } else if (heading) {
      found.push(h(`h${heading[1].length}`, {}, inline(heading[2], named)));
    } else if (ITEM.test(line)) {
      found.push(listOf([line, ...taken(lines, (one) => ITEM.test(one) || /^ {2,}\S/.test(one))], named));
    } else {
      found.push(h("p", {}, inline([line, ...taken(lines, (one) => one.trim() && !one.startsWith("```") && !one.startsWith("#") && !ITEM.test(one))].join(" "), named)));
    }
  }
  return found;
}

/** Take lines off the front for as long as they go on. */
function taken(lines, goesOn) {
  const end = lines.findIndex((one) => !goesOn(one));
  return lines.splice(0, end < 0 ? lines.length : end);
}

function listOf(lines, named) {
  const entries = [];
  for (const line of lines) {
    if (ITEM.test(line)) entries.push(line.replace(ITEM, ""));
    else entries[entries.length - 1] += ` ${line.trim()}`;
  }
  return h(/^\d/.test(lines[0]) ? "ol" : "ul", {}, entries.map((one) => h("li", {}, inline(one, named))));
}

/** Return a line's parts: what stands between back quotes is code, between double stars strong. */
function inline(text, named) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((part) => {
    if (part.startsWith("`") && part.length > 2) return named(part.slice(1, -1)) ?? h("code", {}, part.slice(1, -1));
    if (part.startsWith("**") && part.length > 4) return h("strong", {}, part.slice(2, -2));
    return part;
  });
}
