// What stands above a list: which rows are shown. What is chosen stands in the address, so that a link keeps it.

import { h } from "./dom.js";
import { t } from "../texts/texts.js";

const PAGE = 100;

/** Return a group of which one is chosen; options: [value, text]. `changed` gets the value. */
export function segments(legend, name, options, chosen, changed) {
  return h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, legend), options.map(([value, text]) =>
    h("label", {}, h("input", { type: "radio", name, value, checked: chosen === value, onchange: () => changed(value) }), text)));
}

/** Return a field for a text to look for; `changed` gets it at each letter. */
export function search(label, value, changed) {
  return h("label", {}, h("span", { class: "unseen" }, label), h("input", {
    type: "search", value, placeholder: label, spellcheck: "false", oninput: (event) => changed(event.target.value.trim()),
  }));
}

/** Return the form around them. */
export function filterBar(...parts) {
  return h("form", { class: "filters", "aria-label": t("incidents.filters"), onsubmit: (event) => event.preventDefault() }, parts);
}

/** Write what is chosen behind the page's name in the address; what is as usual is left out. */
export function remember(page, chosen, usual) {
  const kept = Object.entries(chosen).filter(([name, value]) => value && value !== usual[name]);
  const text = new URLSearchParams(kept).toString();
  history.replaceState(null, "", `#/${page}${text ? `?${text}` : ""}`);
}

/** Return whether one of the values holds the text, whatever its case. */
export function holds(text, values) {
  const wanted = text.toLowerCase();
  return values.some((value) => String(value ?? "").toLowerCase().includes(wanted));
}

/**
 * Return what is chosen above a page's list, {chosen, parts, change(some)}; each change is drawn anew.
 * `query` holds it from the start where it is allowed: `usual` names all of it, `allowed` values of some.
 */
export function choices(page, query, usual, allowed, draw) {
  const parts = inParts();
  const given = (name) => query.get(name) !== null && (allowed[name] ?? [query.get(name)]).includes(query.get(name));
  const chosen = Object.fromEntries(Object.keys(usual).map((name) => [name, given(name) ? query.get(name) : usual[name]]));
  function change(some) {
    Object.assign(chosen, some);
    remember(page, chosen, usual);
    parts.back();
    draw();
  }
  return { chosen, parts, change };
}

/** Return {first(rows), more(rows, again), back()}: a long list is shown a hundred rows at a time. */
function inParts() {
  let limit = PAGE;
  return {
    first: (rows) => rows.slice(0, limit),
    back: () => { limit = PAGE; },
    more: (rows, again) => rows.length > limit && h("p", {}, h("button", { type: "button", class: "quiet", "data-key": "more", onclick: () => { limit += PAGE; again(); } }, t("more"))),
  };
}
