// The culprit against its peers: their middle half and median, single peers thin, the culprit on top.

import { h } from "../parts/dom.js";
import { digits, epoch, quantity, ranks as rankText } from "../parts/units.js";
import { count, t } from "../texts/texts.js";
import { lines } from "./lines.js";

/**
 * Return a figure of one variant of /distribution. `culprits`: a Set of rank numbers, `onset`: seconds or
 * NaN, then of the culprits only the one that is apart from the others is drawn as such; `unit`: of the values, `name`: what is drawn.
 */
export function spreadFigure(answer, variant, { culprits = new Set(), onset = NaN, unit, name, height, small = false }) {
  const start = epoch(answer.start);
  const times = variant.median.map((_, index) => start + answer.seconds * (index + 0.5));
  const since = Number.isFinite(onset);
  const accused = variant.lines.filter((line) => culprits.has(line.rank));
  const own = since ? accused : furthest(accused, variant);
  const peers = variant.lines.filter((line) => !culprits.has(line.rank));
  const bad = variant.nonfinite.filter((one) => small || !culprits.size || culprits.has(one.rank));
  const others = variant.count - own.length;
  const sentence = summary(since ? t("chart.since", { name }) : name, { own: !since && bad.length ? [] : own, variant, others, times, onset, bad, unit });
  const band = others > 2;
  const middled = band || peers.length < others; // nobody asked for the lines of these few
  const series = [
    ...(band ? [
      { values: variant.high, colour: "band", between: 1, fill: "band", width: 0 },
      { values: variant.low, colour: "band", width: 0 },
    ] : []),
    ...peers.slice(0, band ? 40 : 3).map((line) => ({ values: line.values, colour: "peer", width: band ? 0.7 : 1.2 })),
    ...(middled ? [{ values: variant.median, colour: "median", width: 1.5, label: t("chart.median") }] : []),
    ...own.map((line) => ({ values: line.values, colour: "culprit", width: 2, label: t("place.rank", { id: line.rank }) })),
  ];
  if (!band) series.filter((one) => one.colour === "peer").forEach((one, index) => { one.label = who(peers[index]); });
  const figure = h("figure", { class: "plot", "data-culprits": own.map((line) => line.rank).join(), "data-peers": String(others) },
    h("figcaption", {}, sentence),
    !small && legend(own, others, band),
    lines({ times, series, unit, sentence, height, hint: !small,
      marks: Number.isFinite(onset) ? [{ at: onset, label: t("chart.onset") }] : [],
      crosses: bad.flatMap((one) => one.at.map(epoch)) }));
  if (bad.length) figure.append(h("p", { class: "fine broken" }, t("chart.nonfinite")));
  return figure;
}

function who(line) {
  return line.rank === null ? line.host : t("place.rank", { id: line.rank });
}

function legend(own, others, band) {
  return h("div", { class: "legend fine" },
    own.length > 0 && h("span", { class: "key culprit" }, rankText(own.map((line) => line.rank))),
    others > 0 && h("span", { class: "key peer" }, count(own.length ? "peer" : "rank", others)),
    band && h("span", { class: "key median" }, t("chart.middle")));
}

/** Return the accused line that is furthest from the middle, none where all of them are with it. */
function furthest(own, variant) {
  const usual = middle(variant.median);
  const apart = own.map((line) => [Math.abs(middle(line.values) / usual - 1), line]).sort((a, b) => b[0] - a[0]);
  return apart.length && (apart[0][0] > 0.1 || !(usual > 0)) ? [apart[0][1]] : [];
}

/** Return what the picture shows in one sentence, for those who read and for those who listen. */
function summary(name, { own, variant, others, times, onset, bad, unit }) {
  const after = (values) => middle(values.filter((_, index) => !(times[index] < onset)));
  const theirs = after(variant.median);
  if (!own.length && !bad.length) return t("chart.all", { name, n: count("rank", variant.count), value: quantity(theirs, unit) });
  const ours = after(own.flatMap((line) => line.values.filter((_, index) => !(times[index] < onset))));
  const value = bad.length ? t("chart.notfinite") : t("chart.medianvalue", { value: quantity(ours, unit) });
  const ranks = rankText((own.length ? own : bad).map((line) => line.rank));
  if (others < 1) return t("chart.nopeers", { name, ranks, value });
  // The median over all ranks is that of the peers where these are many; of few it is read from their lines.
  const peers = peersMiddle(variant, own, times, onset) ?? theirs;
  const ratio = ours / peers;
  const apart = !bad.length && peers > 0 && (ratio > 1.1 || ratio < 0.9);
  return t(apart ? "chart.against.times" : "chart.against", { name, ranks, value, peers: count("peer", others), theirs: quantity(peers, unit), times: digits(ratio) });
}

function peersMiddle(variant, own, times, onset) {
  const accused = new Set(own);
  const values = variant.lines.filter((line) => !accused.has(line)).flatMap((line) => line.values.filter((_, index) => !(times[index] < onset)));
  return values.some((value) => value !== null) ? middle(values) : null;
}

function middle(values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] : NaN;
}
