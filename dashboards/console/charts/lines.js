// Lines over time, drawn by uPlot: a band of peers with its median, and the lines that stand out.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { h } from "../parts/dom.js";
import { clock, quantity, scale } from "../parts/units.js";
import { t } from "../texts/texts.js";
import { colours, onTheme } from "./colours.js";

const HEIGHT = 240;

/**
 * Return an element that holds the chart.
 *
 * times: seconds since the epoch. series: [{label, values, colour, width, fill, between, dash}]: colour and
 * fill name variables of the style, `between: index` fills down to the series of that number. marks:
 * [{at, label}] vertical lines. crosses: [seconds] at the top, where a value was not finite. reading:
 * which series are read out at the pointer, by number; all labelled ones where it is left out.
 */
export function lines({ times, series, unit, sentence, marks = [], crosses = [], height = HEIGHT, reading, hint = true }) {
  const frame = h("div", { class: "frame", tabindex: 0, role: "img", "aria-label": sentence });
  const read = h("p", { class: "fine reading", "aria-live": "polite" }, hint ? t("chart.read") : "");
  const top = ceiling(series);
  const read_out = reading ?? series.map((_, index) => index).filter((index) => series[index].label);
  let chart = null;
  let width = 0;

  function say(index) {
    const values = read_out.slice(0, 6).map((number) => `${series[number].label} ${quantity(near(series[number].values, index), unit)}`);
    read.textContent = `${clock(times[index])}: ${values.join(", ")}`;
  }

  function draw() {
    const tones = colours();
    chart?.destroy();
    const options = {
      width, height,
      legend: { show: false },
      padding: [14, 30, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: true }, y: { range: (_, low, high) => range(low, high, top) } },
      axes: [axis(tones, { values: (_, ticks) => dayTimes(ticks), space: 76 }), axis(tones, { size: 66, values: (_, ticks) => scale(ticks, unit) })],
      series: [{}, ...series.map((one) => ({
        stroke: tones[one.colour] ?? "transparent", width: one.width ?? 1, dash: one.dash, spanGaps: one.gaps ?? true,
        points: { show: times.length < 3, size: 5 },
      }))],
      bands: series.flatMap((one, index) => (one.between === undefined ? [] : [{ series: [index + 1, one.between + 1], fill: tones[one.fill] }])),
      hooks: {
        setCursor: [(self) => { if (self.cursor.idx !== null && self.cursor.left >= 0) say(self.cursor.idx); }],
        draw: [(self) => mark(self, tones, marks, crosses)],
      },
    };
    chart = new uPlot(options, [times, ...series.map((one) => one.values)], frame);
    frame.dataset.drawn = String(series.length);
  }

  frame.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || !chart) return;
    event.preventDefault();
    const last = times.length - 1;
    const index = Math.max(0, Math.min(last, (chart.cursor.left >= 0 ? chart.cursor.idx ?? last : last + (move < 0 ? 1 : 0)) + move));
    chart.setCursor({ left: chart.valToPos(times[index], "x"), top: 10 });
    say(index);
  });
  new ResizeObserver(() => {
    const now = Math.floor(frame.clientWidth);
    if (now < 120 || now === width) return;
    width = now;
    if (chart) chart.setSize({ width, height });
    else draw();
  }).observe(frame);
  onTheme(frame, () => { if (width) draw(); });
  return h("div", { class: "chart" }, frame, read);
}

function axis(tones, more) {
  const line = { stroke: tones.line, width: 1 };
  return { stroke: tones.soft, grid: line, ticks: { ...line, size: 4 }, font: "11.5px Inter, system-ui, sans-serif", gap: 6, ...more };
}

// A bucket of time in which a rank ended no step has no value: the one just before it is meant.
function near(values, index) {
  return values[index] ?? values[index - 1] ?? values[index - 2] ?? null;
}

// One wild point (a first step, a compilation) must not flatten everything else: scale to nearly all.
function ceiling(series) {
  const tops = series.map(({ values }) => {
    const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
    return sorted.length ? Math.min(sorted.at(-1), 2 * sorted[Math.ceil((sorted.length - 1) * 0.97)] || Infinity) : -Infinity;
  });
  const top = Math.max(...tops);
  return Number.isFinite(top) ? top : Infinity;
}

/** Return the ends of the scale: from zero, unless everything lies in a narrow stretch far above it. */
function range(low, highest, top) {
  if (low === null || highest === null) return [0, 1];
  const high = Math.max(Math.min(highest, top), low);
  const spread = high - low;
  const bottom = low >= 0 && spread > low * 0.25 ? 0 : low - (spread || Math.abs(low) || 1) * 0.08;
  return [bottom, high + (high - bottom || Math.abs(high) || 1) * 0.08];
}

function dayTimes(ticks) {
  const moments = ticks.map((at) => new Date(at * 1000));
  const seconds = moments.some((moment) => moment.getSeconds());
  return moments.map((moment) => moment.toLocaleTimeString("en-GB", seconds ? {} : { hour: "2-digit", minute: "2-digit" }));
}

function mark(self, tones, marks, crosses) {
  const { ctx, bbox } = self;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${11.5 * ratio}px Inter, system-ui, sans-serif`;
  for (const { at, label } of marks) {
    const x = self.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = tones.ink;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - 8 * ratio);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const late = x > bbox.left + bbox.width - 60 * ratio;
    ctx.textAlign = late ? "right" : "left";
    ctx.fillText(label, x + (late ? -5 : 5) * ratio, bbox.top - 2 * ratio);
  }
  ctx.setLineDash([]);
  ctx.strokeStyle = tones.culprit;
  ctx.lineWidth = 1.5 * ratio;
  for (const at of crosses) {
    const x = self.valToPos(at, "x", true);
    const y = bbox.top + 6 * ratio;
    ctx.beginPath();
    for (const side of [1, -1]) {
      ctx.moveTo(x - 3 * ratio, y - 3 * side * ratio);
      ctx.lineTo(x + 3 * ratio, y + 3 * side * ratio);
    }
    ctx.stroke();
  }
  ctx.restore();
}
