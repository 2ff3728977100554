// Building pages out of text only. Nothing here parses HTML: a log line can never become markup.

import { t } from "../texts/texts.js";

const SVG = "http://www.w3.org/2000/svg";

/** Return an element. Attributes: `on...` functions listen, null and false are left out. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Return an SVG element; the same rules as `h`. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Return a link inside the console, or, for other addresses, only to http and https. */
export function link(address, ...children) {
  const text = String(address ?? "");
  if (text.startsWith("#/")) return h("a", { href: text }, ...children);
  if (/^https?:\/\//i.test(text)) {
    return h("a", { href: text, rel: "noopener noreferrer", target: "_blank" }, ...children);
  }
  return h("span", {}, ...children);
}

/** Replace what a container shows; opened details and the focus stay where they were. */
export function show(container, ...children) {
  const opened = new Set();
  const seen = new Set();
  for (const details of container.querySelectorAll("details[data-key]")) {
    seen.add(details.dataset.key);
    if (details.open) opened.add(details.dataset.key);
  }
  const focused = document.activeElement?.dataset?.key;
  const held = container.contains(document.activeElement) && focused;
  container.replaceChildren(...children.filter(Boolean));
  for (const details of container.querySelectorAll("details[data-key]")) {
    if (seen.has(details.dataset.key)) details.open = opened.has(details.dataset.key);
  }
  if (held) container.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

/**
 * Return a table. columns: [text, {number, wide}]; rows: {cells, ...attributes of the row}. Each cell carries its
 * column's text, under which a phone shows it as a line of a block.
 */
export function table(columns, rows, attributes = {}) {
  const kind = (index) => (columns[index][1]?.number ? "number" : null);
  return h("table", { ...attributes, class: `rows ${attributes.class ?? ""}`.trim() },
    h("thead", {}, h("tr", {}, columns.map(([text], index) => h("th", { scope: "col", class: kind(index) }, text)))),
    h("tbody", {}, rows.map(({ cells, ...more }) => h("tr", more, cells.map((cell, index) =>
      h("td", { class: kind(index), "data-label": index ? columns[index][0] : null }, cell))))));
}

/** Return a label with a choice among [value, text]; `changed` gets the value. */
export function choice(text, options, chosen, changed, { unseen = false } = {}) {
  return h("label", { class: "fine" }, h("span", { class: unseen ? "unseen" : null }, `${text} `),
    h("select", { "data-key": `choice ${text}`, onchange: (event) => changed(event.target.value) },
      options.map(([value, label]) => h("option", { value, selected: value === chosen }, label))));
}

/** Return buttons of which one is pressed; options: [value, text, title]. */
export function tabs(text, options, chosen, changed) {
  return h("div", { class: "tabs", role: "group", "aria-label": text }, options.map(([value, label, title]) => h("button", {
    type: "button", "data-key": `${text} ${value}`, "aria-pressed": String(value === chosen), title, onclick: () => changed(value),
  }, label)));
}

/** Return a command with a button that copies it. */
export function command(text) {
  const button = h("button", { type: "button", class: "quiet", "data-key": `copy ${text}` }, t("copy"));
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text)) ? t("copy.done") : t("copy.byhand");
    setTimeout(() => { button.textContent = t("copy"); }, 1600);
  });
  return h("div", { class: "command" }, h("code", {}, text), button);
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no clipboard outside https and localhost
  }
}

/** Return a list from what should be one: documents of other versions may lack it. */
export function list(value) {
  return Array.isArray(value) ? value : [];
}
