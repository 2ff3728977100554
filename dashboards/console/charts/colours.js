// The style's colours for canvases, which know no variables; and who draws anew when they change.

const NAMES = ["paper", "ink", "soft", "faint", "line", "culprit", "peer", "median", "band", "good", "warning", "critical",
  "phase-compute", "phase-comm", "phase-data", "phase-optimizer", "phase-checkpoint", "phase-gc", "phase-other",
  "line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7", "line-8"];

/** Return the colours of the style by name, as they are now. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Return [red, green, blue] of a colour #rrggbb. */
export function rgb(colour) {
  const number = Number.parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

const watching = new Set();

/** Draw anew when light becomes dark, as long as the element is in the page. */
export function onTheme(element, draw) {
  watching.add({ element, draw });
}

/** Tell every chart that the colours changed. */
export function themeChanged() {
  for (const one of watching) {
    if (one.element.isConnected) one.draw();
    else watching.delete(one);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
