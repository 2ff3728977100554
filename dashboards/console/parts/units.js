// Numbers and times as people read them. Every function takes what is missing and says "–".

import { faultText, language, t, word } from "../texts/texts.js";
import { h, list } from "./dom.js";

const NONE = "–";
const MOST_RANKS = 1_000_000;
const over = Date.parse(document.documentElement.dataset.until) / 1000;
let words = { faults: {}, metrics: {} };

/** Load titles, units and kinds from the vocabulary; without them ids are shown. */
export async function loadWords() {
  const answer = await fetch("console/words.json");
  if (answer.ok) words = await answer.json();
}

/** Return whether the past is shown, which is over: a diagnosis of what a dead job left. */
export function past() {
  return Number.isFinite(over);
}

/** Return the time in seconds since the epoch; of the past its end. */
export function now() {
  return past() ? over : Date.now() / 1000;
}

/** Return what of a summary stands in no other place: without fault and entity before the first "; ". */
export function noticed(summary) {
  return String(summary ?? "").split("; ").slice(1).join("; ") || String(summary ?? "");
}

/** Return a fault's title, its id when it has none. */
export function title(fault) {
  return faultText(fault, "title") ?? words.faults[fault]?.title ?? String(fault ?? "unknown");
}

/** Return the help of a fault; empty for one that the vocabulary does not know. */
export function help(fault) {
  return faultText(fault, "help") ?? words.faults[fault]?.help ?? "";
}

/** Return a text in which long device ids are cut: GPU-2759d52a… is enough to tell them apart. */
export function shortened(text) {
  return String(text).replace(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "$1…");
}

/** Return what a metric is called in the reader's language, its id where it has no other name. */
export function metricName(name) {
  return word("metric", name);
}

/** Return the id of a metric and what it is, for a tooltip. */
export function metricHelp(name) {
  const { help: text } = metric(name);
  return text ? `${name}: ${text}` : name;
}

/** Return {unit, kind, help} of a metric; empty for one that the vocabulary does not know. */
export function metric(name) {
  return words.metrics[name] ?? {};
}

/** Return every fault id and title, for a choice. */
export function faults() {
  return Object.keys(words.faults).map((id) => [id, title(id)]);
}

/** Return seconds since the epoch from RFC 3339 or a number, NaN when it is neither. */
export function epoch(at) {
  if (typeof at === "number") return at;
  return at ? Date.parse(at) / 1000 : NaN;
}

/** Return the time of day; with the date when it is not today. */
export function clock(at) {
  const seconds = epoch(at);
  if (!Number.isFinite(seconds)) return NONE;
  const moment = new Date(seconds * 1000);
  const time = moment.toLocaleTimeString("en-GB");
  if (moment.toDateString() === new Date().toDateString()) return time;
  return `${moment.toLocaleDateString(language() === "zh" ? "zh-CN" : "en-GB", { day: "numeric", month: "short" })} ${time}`;
}

/** Return how long ago a moment is; of the past, when it was. */
export function ago(at) {
  if (past()) return clock(at);
  const seconds = now() - epoch(at);
  return Number.isFinite(seconds) ? t("ago", { time: duration(Math.max(0, Math.round(seconds))) }) : NONE;
}

/** Return a time element: the time of day, the full moment as its title. */
export function moment(at) {
  return h("time", { datetime: utc(at), title: utc(at) }, clock(at));
}

/** Return the full moment in UTC, for tooltips and copying. */
export function utc(at) {
  const seconds = epoch(at);
  return Number.isFinite(seconds) ? new Date(seconds * 1000).toISOString() : "";
}

/** Return a length of time: 210 ms, 4.1 s, 12 min, 3.5 h, 2.1 d; `more` digits than usual. */
export function duration(seconds, more = 0) {
  if (!Number.isFinite(seconds)) return NONE;
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${digits(seconds * 1e6, more)} µs`;
  if (size < 1) return `${digits(seconds * 1e3, more)} ms`;
  if (size < 120) return `${digits(seconds, more)} s`;
  if (size < 7200) return t("unit.min", { n: digits(seconds / 60, more) });
  if (size < 172800) return t("unit.h", { n: digits(seconds / 3600, more) });
  return t("unit.d", { n: digits(seconds / 86400, more) });
}

/** Return lost accelerator time: 41 GPU-s, 12 GPU-min, 4.1 GPU-h. */
export function lost(seconds) {
  if (!Number.isFinite(seconds)) return NONE;
  if (seconds < 120) return t("lost.s", { n: digits(seconds) });
  if (seconds < 7200) return t("lost.min", { n: digits(seconds / 60) });
  return t("lost.h", { n: digits(seconds / 3600) });
}

/** Return a number with about three significant digits, or so many more. */
export function digits(value, more = 0) {
  const size = Math.abs(value);
  if (Number.isInteger(value) || (size >= 100 && !more)) return Math.round(value).toLocaleString("en-GB");
  if (size >= 100) return Number(value.toPrecision(3 + more)).toLocaleString("en-GB", { maximumFractionDigits: 12 });
  return String(Number(value.toPrecision((size >= 10 ? 3 : 2) + more)));
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL = { Hz: ["Hz", "kHz", "MHz", "GHz"], W: ["W", "kW"], J: ["J", "kJ", "MJ", "GJ"] };

/** Return a value in a unit of the vocabulary (`s`, `By`, `Hz`, `1`, `{step}`, ...), `more` digits than usual. */
export function quantity(value, unit, more = 0) {
  if (value === null || value === undefined || value === "") return NONE;
  if (typeof value !== "number") return String(value); // NaN, Inf and texts come as words
  if (unit === "s") return duration(value, more);
  if (unit === "By" || unit === "By/s") {
    const step = Math.min(BINARY.length - 1, Math.floor(Math.log2(Math.max(Math.abs(value), 1)) / 10));
    return `${digits(value / 1024 ** step, more)} ${BINARY[step]}${unit === "By/s" ? "/s" : ""}`;
  }
  if (DECIMAL[unit]) {
    const names = DECIMAL[unit];
    const step = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(Math.abs(value), 1)) / 3));
    return `${digits(value / 1000 ** step, more)} ${names[step]}`;
  }
  if (unit === "Cel") return `${digits(value, more)} °C`;
  if (!unit || unit === "1" || unit.startsWith("{")) return digits(value, more);
  return `${digits(value, more)} ${unit}`;
}

const MOST_MORE = 8;

/** Return the values at the ticks of an axis, with as many digits as tell one from the next. */
export function scale(values, unit) {
  for (let more = 0; ; more += 1) {
    const texts = values.map((value) => quantity(value, unit, more));
    if (more === MOST_MORE || new Set(texts).size === new Set(values).size) return texts;
  }
}

/** Return the unit in which a metric is compared and drawn: counters as their increase per second. */
export function unitOf(name) {
  const { unit, kind } = metric(name);
  if (name === "onset") return "s"; // how long after the symptom the evidence began
  if (kind !== "counter") return unit;
  return unit === "By" ? "By/s" : unit === "s" ? "s/s" : "/s";
}

/** Return a signed score in log-odds. */
export function weight(value) {
  if (!Number.isFinite(value)) return NONE;
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)}`;
}

/** Return a probability in percent, never all of it or nothing. */
export function chance(value) {
  if (value > 0.99) return t("chance.over");
  return value < 0.01 ? t("chance.under") : `${Math.round(value * 100)} %`;
}

/** Return where: `host gpu-12`, `rank 37 on gpu-12`, `gpu GPU-5f on gpu-12`. */
export function place(entity) {
  if (!entity?.type) return NONE;
  const home = entity.host && !["host", "nic", "process"].includes(entity.type);
  const named = `${word("entity", entity.type)} ${entity.id}`;
  return home ? t("place.on", { entity: named, host: entity.host }) : named;
}

/**
 * Return the rank numbers that a document lists: numbers, and ranges "0-1016:8" (both ends included,
 * a stride after the colon).
 */
export function rankNumbers(listed) {
  return list(listed).flatMap((one) => {
    const match = /^(\d+)(?:-(\d+)(?::(\d+))?)?$/.exec(String(one));
    if (!match) return [];
    const [from, to, stride] = [Number(match[1]), Number(match[2] ?? match[1]), Math.max(1, Number(match[3] ?? 1))];
    const count = Math.min(Math.floor((to - from) / stride) + 1, MOST_RANKS);
    return Array.from({ length: Math.max(0, count) }, (_, index) => from + index * stride);
  });
}

/** Return ranks as a short text: `ranks 2, 3`, `ranks 0–7`, `rank 5`, `ranks 0-1016:8`. */
export function ranks(listed) {
  const sorted = rankNumbers(listed).sort((a, b) => a - b);
  if (!sorted.length) return "";
  const strided = list(listed).some((one) => String(one).includes(":"));
  const parts = strided ? list(listed).map(String) : runs(sorted);
  return t(sorted.length > 1 ? "place.ranks" : "place.rank", { id: `${parts.slice(0, 8).join(", ")}${parts.length > 8 ? ", …" : ""}` });
}

function runs(sorted) {
  const found = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`));
}
