// Texts in the reader's language. English is the reference: what another language lacks is shown in it.

import en from "./en.js";

const KEY = "rankscope.language";
export const LANGUAGES = { en: "English", zh: "中文" };

let chosen = en;
let name = "en";

/** Return the text of a key; `{name}` in it is replaced by a value. */
export function t(key, values = {}) {
  const text = chosen[key] ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, slot) => values[slot] ?? whole);
}

/** Return a number with its noun: `count("rank", 3)` is "3 ranks". */
export function count(noun, number) {
  const shown = typeof number === "number" ? number.toLocaleString("en-GB") : number;
  return t(`count.${noun}.${number === 1 ? "one" : "other"}`, { n: shown });
}

/** Return the word for a value of the API (`open`, `critical`), itself where there is none. */
export function word(kind, value) {
  const key = `${kind}.${value}`;
  return chosen[key] ?? en[key] ?? String(value ?? "–");
}

/** Return the title or help of a fault in the reader's language, null where only English has one. */
export function faultText(fault, part) {
  return chosen[`fault.${fault}.${part}`] ?? null;
}

/** Return the language that is shown. */
export function language() {
  return name;
}

/** Show the remembered language, else the browser's where it is one of ours. */
export async function loadTexts() {
  const kept = localStorage.getItem(KEY);
  const own = navigator.language?.slice(0, 2).toLowerCase();
  await use(kept in LANGUAGES ? kept : own in LANGUAGES ? own : "en");
}

/** Show another language, and remember it. */
export async function changeLanguage(next) {
  localStorage.setItem(KEY, next);
  await use(next);
}

async function use(next) {
  chosen = next === "en" ? en : (await import(`./${next}.js`)).default;
  name = next;
  document.documentElement.lang = next === "zh" ? "zh-Hans" : next;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label-text]")) element.setAttribute("aria-label", t(element.dataset.labelText));
}
