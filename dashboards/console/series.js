// Series before they are drawn: points as numbers, rates of counters, medians of peers.

import { list } from "./dom.js";
import { epoch } from "./units.js";

const WORDS = { Inf: Infinity, "-Inf": -Infinity };

/**
 * Return [{rank, label, points: [[at, value]]}] with finite times; NaN and infinities are kept.
 * `label` says which variant of the metric it is: `scope=local`, empty where there is one only.
 */
export function read(answer, kind) {
  return list(answer?.series).map((one) => {
    const points = list(one.points)
      .map(([at, value]) => [epoch(at), typeof value === "number" ? value : WORDS[value] ?? NaN])
      .filter(([at]) => Number.isFinite(at))
      .sort((a, b) => a[0] - b[0]);
    return { rank: one.rank ?? null, label: label(one.attributes), points: kind === "counter" ? rate(points) : points };
  }).filter((one) => one.points.length > 0);
}

function label(attributes) {
  const pairs = Object.entries(attributes ?? {}).filter(([key]) => key !== "host.name");
  return pairs.map(([key, value]) => `${key}=${value}`).join(", ");
}

/** Return [[label, series]]: series of one variant each, those of single ranks' own values first. */
export function variants(series) {
  const found = new Map();
  for (const one of series) {
    if (!found.has(one.label)) found.set(one.label, []);
    found.get(one.label).push(one);
  }
  const later = (name) => Number(name.includes("scope=global"));
  return [...found].sort(([a], [b]) => later(a) - later(b));
}

/** Return the increase of a counter per second; a reset or a gap gives no point. */
function rate(points) {
  const rates = [];
  for (let index = 1; index < points.length; index += 1) {
    const [before, from] = points[index - 1];
    const [at, to] = points[index];
    if (at > before && to >= from) rates.push([at, (to - from) / (at - before)]);
  }
  return rates;
}

/** Return the value below which a share of the sorted numbers lies. */
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

/** Return the median of the finite values of points between two times. */
export function middle(series, from, to) {
  const values = series.flatMap((one) => one.points.filter(([at, value]) => at >= from && at <= to && Number.isFinite(value)).map(([, value]) => value));
  return quantile(values.sort((a, b) => a - b), 0.5);
}

/** Return at most `count` points of one line, each the median of its time range. */
export function thin(points, from, to, count) {
  if (points.length <= count) return points;
  return buckets([{ points }], from, to, count).map(({ at, values }) => [at, quantile(values, 0.5)]);
}

/** Return [{at, low, middle, high}]: quartiles over all lines, by time range. */
export function band(series, from, to, count) {
  return buckets(series, from, to, count).map(({ at, values }) => ({
    at, low: quantile(values, 0.25), middle: quantile(values, 0.5), high: quantile(values, 0.75),
  }));
}

function buckets(series, from, to, count) {
  const width = (to - from) / count || 1;
  const filled = new Map();
  for (const { points } of series) {
    for (const [at, value] of points) {
      if (at < from || at > to || !Number.isFinite(value)) continue;
      const slot = Math.min(count - 1, Math.floor((at - from) / width));
      if (!filled.has(slot)) filled.set(slot, []);
      filled.get(slot).push(value);
    }
  }
  return [...filled.keys()].sort((a, b) => a - b).map((slot) => ({
    at: from + (slot + 0.5) * width, values: filled.get(slot).sort((a, b) => a - b),
  }));
}
