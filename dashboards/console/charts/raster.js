// A matrix as a picture on a canvas: drawn once, at one cell a pixel, and scaled by the browser.

import { h } from "../parts/dom.js";
import { t } from "../texts/texts.js";
import { colours, onTheme, rgb } from "./colours.js";

export const NOTHING = 255; // the byte of a cell without a value
const LEVELS = 254;

/**
 * Return an element. cells: Uint8Array, row by row, 0 pale to 254 strong. describe(row, column): what
 * a cell says. top, left, right, bottom: texts at the edges. shape: height in CSS pixels a row, bounds.
 */
export function raster({ cells, rows, columns, sentence, describe, edges, height }) {
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const cross = h("span", { class: "cross", hidden: true, "aria-hidden": "true" });
  const stage = h("div", { class: "raster", tabindex: 0, role: "img", "aria-label": sentence }, canvas, cross);
  const read = h("p", { class: "fine reading", "aria-live": "polite" }, t("chart.readcells"));
  let place = null; // [row, column] that is read

  function paint() {
    const tones = colours();
    const palette = shades(rgb(tones.paper), rgb(tones.band), rgb(tones.culprit), rgb(tones.ink));
    const pixels = new Uint32Array(rows * columns);
    for (let index = 0; index < pixels.length; index += 1) pixels[index] = palette[cells[index]];
    canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0);
    stage.dataset.drawn = `${rows}x${columns}`;
  }

  function look(row, column) {
    place = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    cross.hidden = false;
    cross.style.left = `${((place[1] + 0.5) / columns) * 100}%`;
    cross.style.top = `${((place[0] + 0.5) / rows) * 100}%`;
    read.textContent = describe(...place);
  }

  stage.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    look(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  });
  stage.addEventListener("pointerleave", () => { cross.hidden = true; });
  stage.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    const [row, column] = place ?? [0, columns - 1];
    const [down, across] = [Math.ceil(rows / 64), Math.ceil(columns / 64)]; // a pixel would be no step
    look(row + move[0] * down, column + move[1] * across);
  });
  canvas.style.height = `${height}px`;
  paint();
  onTheme(stage, paint);
  return h("div", { class: "chart" },
    h("div", { class: "raster-edges" },
      h("span", { class: "edge-left fine" }, h("span", {}, edges.top), h("span", {}, edges.bottom)), stage,
      h("span", { class: "edge-below fine" }, h("span", {}, edges.left), h("span", {}, edges.middle ?? ""), h("span", {}, edges.right))),
    read);
}

/** Return the 256 colours as pixels: from the band's grey over the accent to its strongest; paper for none. */
function shades(paper, pale, accent, ink) {
  const strong = accent.map((part, index) => Math.round(part * 0.62 + ink[index] * 0.38));
  return Uint32Array.from({ length: 256 }, (_, level) => {
    if (level === NOTHING) return pixel(paper);
    const share = level / LEVELS;
    return pixel(share < 0.6 ? mixed(pale, accent, share / 0.6) : mixed(accent, strong, (share - 0.6) / 0.4));
  });
}

function mixed(from, to, share) {
  return from.map((part, index) => Math.round(part + (to[index] - part) * share));
}

function pixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
