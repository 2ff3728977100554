// The culprit against its peers: thin grey lines, their median and middle half, and one that
// stands out. Drawn as SVG, at the width there is.

import { h, s } from "./dom.js";
import { band, middle, quantile, thin } from "./series.js";
import { clock, digits, quantity, ranks as rankText } from "./units.js";

const HEIGHT = 264;
const EDGE = { top: 22, right: 74, bottom: 28, left: 66 };
const PEERS = 40; // more thin lines than this say nothing that the band does not

/**
 * Return a figure. `series`: [{rank, points}], `culprits`: a Set of ranks, `onset`: seconds or NaN,
 * `unit`: of the values, `name`: what is plotted.
 */
export function plot({ series, culprits, onset, unit, name }) {
  const accused = series.filter((one) => culprits.has(one.rank));
  const peers = series.filter((one) => !culprits.has(one.rank));
  const times = series.flatMap((one) => [one.points[0][0], one.points.at(-1)[0]]);
  const from = Math.min(...times);
  const to = Math.max(...times, from + 1);
  const frame = h("div", { class: "frame" });
  const reading = h("p", { class: "fine reading", "aria-live": "polite" }, "Point at the plot, or use the arrow keys on it, to read values.");
  const sentence = summary(name, accused, peers, Number.isFinite(onset) ? onset : from, to, unit);
  const drawing = { accused, peers, from, to, onset, unit, top: ceiling(series), bottom: floor(series), reading, sentence };
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(frame.clientWidth);
    if (now < 120 || now === width) return;
    width = now;
    frame.replaceChildren(draw(drawing, width));
  }).observe(frame);
  return h("figure", { class: "plot" }, h("figcaption", {}, sentence), legend(accused, peers), frame, reading);
}

function summary(name, accused, peers, from, to, unit) {
  const own = middle(accused, from, to);
  const theirs = middle(peers, from, to);
  const broken = accused.some((one) => one.points.some(([at, value]) => at >= from && !Number.isFinite(value)));
  const who = rankText(accused.map((one) => one.rank));
  if (!accused.length) return `${name}: ${peers.length} ranks, median ${quantity(theirs, unit)}.`;
  const ours = broken ? "not finite" : `median ${quantity(own, unit)}`;
  const ratio = own / theirs;
  const apart = ratio > 1.1 || ratio < 0.9;
  const times = !broken && theirs > 0 && apart ? `, ${digits(ratio)} times as much` : "";
  const against = peers.length ? ` against ${quantity(theirs, unit)} on ${peers.length} peer${peers.length > 1 ? "s" : ""}${times}` : "; no peer reports it";
  return `Since the onset, ${name} of ${who}: ${ours}${against}.`;
}

// One wild point (a first step, a compilation) must not flatten everything else: scale to nearly all.
function ceiling(series) {
  const tops = series.map((one) => {
    const values = finite(one).sort((a, b) => a - b);
    return Math.min(values.at(-1) ?? -Infinity, 2 * quantile(values, 0.98));
  });
  const top = Math.max(...tops.filter(Number.isFinite), -Infinity);
  return Number.isFinite(top) ? top : 1;
}

function floor(series) {
  let low = Infinity;
  for (const one of series) for (const value of finite(one)) low = Math.min(low, value);
  return Number.isFinite(low) ? low : 0;
}

function finite(one) {
  return one.points.map(([, value]) => value).filter(Number.isFinite);
}

function legend(accused, peers) {
  return h("div", { class: "legend fine" },
    accused.length > 0 && h("span", { class: "key culprit" }, rankText(accused.map((one) => one.rank))),
    peers.length > 0 && h("span", { class: "key peer" }, `${peers.length} ${accused.length ? "peer" : "rank"}${peers.length > 1 ? "s" : ""}`),
    peers.length > 1 && h("span", { class: "key median" }, "their median and middle half"));
}

function draw(drawing, width) {
  const { accused, peers, from, to, onset, unit, sentence } = drawing;
  // From zero, unless everything lies in a narrow stretch far above it (a step count, a frequency).
  const spread = drawing.top - drawing.bottom;
  const low = drawing.bottom >= 0 && spread > drawing.bottom * 0.25 ? 0 : drawing.bottom - spread * 0.08;
  const high = drawing.top + (drawing.top - low || Math.abs(drawing.top) || 1) * 0.08;
  const right = width - EDGE.right;
  const base = HEIGHT - EDGE.bottom;
  const x = (at) => EDGE.left + ((at - from) / (to - from)) * (right - EDGE.left);
  const y = (value) => base - ((value - low) / (high - low)) * (base - EDGE.top);
  const inside = (value) => Math.max(EDGE.top - 4, Math.min(base, y(value)));
  const points = Math.max(60, Math.floor((right - EDGE.left) / 2));
  const path = (line) => trace(thinned(line, from, to, points), x, inside);

  const svg = s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": sentence, tabindex: 0 });
  svg.append(grid(low, high, y, unit, EDGE.left, right), axis(from, to, x, base, width));
  if (peers.length > 1) {
    const middleHalf = band(peers, from, to, Math.min(120, points));
    svg.append(s("path", { class: "band", d: area(middleHalf, x, inside) }));
    for (const line of some(peers)) svg.append(s("path", { class: "peer", d: path(line) }));
    svg.append(s("path", { class: "median", d: trace(middleHalf.map(({ at, middle: value }) => [at, value]), x, inside) }));
  } else {
    for (const line of peers) svg.append(s("path", { class: "peer alone", d: path(line) }));
  }
  if (onset >= from && onset <= to) {
    const late = x(onset) > right - 70;
    svg.append(s("g", { class: "onset" },
      s("line", { x1: x(onset), x2: x(onset), y1: 8, y2: base }),
      s("text", { x: x(onset) + (late ? -5 : 5), y: 15, "text-anchor": late ? "end" : "start" }, "onset")));
  }
  for (const line of accused) svg.append(s("path", { class: "culprit", "data-rank": line.rank, d: path(line) }));
  for (const line of [...some(peers), ...accused]) svg.append(crosses(line, x, accused.includes(line)));
  svg.append(labels(accused, y, right, EDGE.top, base));
  svg.append(pointer(svg, drawing, x, right, base));
  return svg;
}

function some(peers) {
  const stride = Math.ceil(peers.length / PEERS);
  return peers.filter((_, index) => index % stride === 0);
}

function thinned(line, from, to, points) {
  return line.points.length <= points * 2 ? line.points : thin(line.points, from, to, points);
}

/** Return a path through the finite points; it breaks where a value is none. */
function trace(points, x, y) {
  let path = "";
  let pen = "M";
  for (const [at, value] of points) {
    if (!Number.isFinite(value)) { pen = "M"; continue; }
    path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  }
  return path;
}

function area(rows, x, y) {
  if (!rows.length) return "";
  const upper = rows.map((row) => `${x(row.at).toFixed(1)} ${y(row.high).toFixed(1)}`);
  const lower = rows.map((row) => `${x(row.at).toFixed(1)} ${y(row.low).toFixed(1)}`).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}

/** Return marks along the top where a value was NaN or Inf: there the line has nowhere to go. */
function crosses(line, x, culprit) {
  const broken = line.points.filter(([, value]) => !Number.isFinite(value)).slice(0, 200);
  const group = s("g", { class: culprit ? "broken culprit-broken" : "broken" });
  for (const [at] of broken) group.append(s("path", { d: `M${x(at) - 3} ${EDGE.top - 3}l6 6m0 -6l-6 6` }));
  if (culprit && broken.length) group.append(s("text", { x: x(broken[0][0]) + 7, y: EDGE.top + 16 }, "NaN or Inf"));
  return group;
}

function labels(accused, y, right, top, base) {
  const group = s("g", { class: "labels" });
  const rows = accused.slice(0, 6)
    .map((line) => [line.rank, line.points.filter(([, value]) => Number.isFinite(value)).at(-1)?.[1]])
    .filter(([, value]) => value !== undefined)
    .map(([rank, value]) => [rank, Math.max(top + 4, Math.min(base, y(value) + 4))])
    .sort((a, b) => a[1] - b[1]);
  let before = -Infinity;
  for (const [rank, wanted] of rows) {
    before = Math.max(wanted, before + 14);
    group.append(s("text", { x: right + 8, y: before }, `rank ${rank}`));
  }
  return group;
}

function grid(low, high, y, unit, left, right) {
  const group = s("g", { class: "grid" });
  for (const value of ticks(low, high, 4)) {
    group.append(s("line", { x1: left, x2: right, y1: y(value), y2: y(value) }));
    group.append(s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, quantity(value, unit)));
  }
  return group;
}

/** Return round values between two, about `count` of them, in steps of 1, 2 or 5. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= raw) ?? raw;
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) values.push(Math.abs(value) < step / 1e6 ? 0 : Number(value.toPrecision(12)));
  return values;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];

function axis(from, to, x, base, width) {
  const group = s("g", { class: "axis" });
  const step = STEPS.find((seconds) => (to - from) / seconds <= Math.max(3, width / 130)) ?? 86400;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    group.append(s("line", { x1: x(at), x2: x(at), y1: base, y2: base + 4 }));
    group.append(s("text", { x: x(at), y: base + 18, "text-anchor": "middle" }, clock(at).split(" ").at(-1)));
  }
  return group;
}

/** Return the hair line that follows the pointer or the arrow keys, and fill in the reading. */
function pointer(svg, { accused, peers, from, to, unit, reading }, x, right, base) {
  const hair = s("line", { class: "hair", y1: EDGE.top, y2: base, visibility: "hidden" });
  let at = to;
  const read = (moment) => {
    at = Math.max(from, Math.min(to, moment));
    hair.setAttribute("x1", x(at));
    hair.setAttribute("x2", x(at));
    hair.setAttribute("visibility", "visible");
    const half = (to - from) / 60;
    const own = accused.slice(0, 4).map((line) => `rank ${line.rank} ${quantity(middle([line], at - half, at + half), unit)}`);
    const theirs = peers.length ? [`peers ${quantity(middle(peers, at - half, at + half), unit)}`] : [];
    reading.textContent = `${clock(at)}: ${[...own, ...theirs].join(", ")}`;
  };
  svg.addEventListener("pointermove", (event) => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    if (place >= EDGE.left && place <= right) read(from + ((place - EDGE.left) / (right - EDGE.left)) * (to - from));
  });
  svg.addEventListener("pointerleave", () => hair.setAttribute("visibility", "hidden"));
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    read(at + (move * (to - from)) / 60);
  });
  return hair;
}
