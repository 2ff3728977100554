// The topology of a job as a drawing: switches, the hosts under them, and the culprit's devices.

import { h, s } from "../parts/dom.js";
import { place, rankNumbers, shortened } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const CELL = 26; // a host, pixels
const GAP = 6;
const LABELLED = 48; // more hosts than this have no room for their names
const NAMED = 92; // width of a host with its name
const DEVICES = 16;

/**
 * Return a figure. answer: /topology with detail=hosts; ranks: of the culprit's host, [{rank, hw_id}];
 * entity: the culprit.
 */
export function topologyFigure(answer, ranks, entity) {
  const hosts = answer.nodes.filter((node) => node.type === "host");
  if (!hosts.length) return null;
  const accused = culpritHosts(entity, hosts);
  const groups = bySwitch(answer, hosts);
  const switches = groups.filter(([name]) => name).length;
  const sentence = t(switches ? "topology.sentence" : "topology.hosts", { where: accused.size > 3 ? count("host", accused.size) : [...accused].join(", ") || shortened(place(entity)), hosts: count("host", hosts.length), switches: count("switch", switches) });
  const frame = h("div", { class: "topology" });
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(frame.clientWidth);
    if (now < 120 || now === width) return;
    width = now;
    frame.replaceChildren(draw({ groups, accused, ranks, entity, sentence, named: hosts.length <= LABELLED }, width));
  }).observe(frame);
  return h("figure", { class: "topology-figure" }, h("figcaption", {}, sentence), frame);
}

function culpritHosts(entity, hosts) {
  const named = new Set(hosts.map((host) => host.id));
  if (entity?.type === "switch") return new Set();
  if (entity?.host && named.has(entity.host)) return new Set([entity.host]);
  const ranks = new Set(rankNumbers(entity?.ranks));
  return new Set(hosts.filter((host) => rankNumbers(host.ranks).some((rank) => ranks.has(rank))).map((host) => host.id));
}

/** Return [[switch or "", [host]]], switches by name. */
function bySwitch(answer, hosts) {
  const up = new Map(answer.edges.filter((edge) => edge.relation === "uplink").map((edge) => [edge.from.id, edge.to.id]));
  const groups = new Map();
  for (const host of hosts) {
    const name = up.get(host.id) ?? "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(host);
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
}

function draw({ groups, accused, ranks, entity, sentence, named }, width) {
  const svg = s("svg", { width, role: "group", "aria-label": sentence });
  const cell = named ? NAMED : CELL;
  const across = Math.max(1, Math.floor((width - 2 * GAP) / (cell + GAP)));
  let y = 0;
  for (const [name, hosts] of groups) {
    const rows = Math.ceil(hosts.length / across);
    const height = 24 + rows * (CELL + GAP) + GAP;
    const guilty = entity?.type === "switch" && entity.id === name;
    svg.append(s("rect", { class: guilty ? "switch culprit" : "switch", x: 0.5, y: y + 0.5, width: width - 1, height, rx: 5 }));
    svg.append(s("text", { class: guilty ? "culprit" : "", x: GAP + 2, y: y + 16 }, name ? t("topology.switch", { name }) : t("topology.noswitch")));
    hosts.forEach((host, index) => {
      const x = GAP + (index % across) * (cell + GAP);
      const top = y + 24 + Math.floor(index / across) * (CELL + GAP);
      const bad = accused.has(host.id);
      svg.append(s("a", { href: `#/nodes/${encodeURIComponent(host.id)}`, "aria-label": host.id },
        s("rect", { class: bad ? "host culprit" : "host", "data-host": host.id, x, y: top, width: cell, height: CELL, rx: 3 }),
        s("title", {}, host.id),
        named && s("text", { class: bad ? "on-culprit" : "", x: x + cell / 2, y: top + 17, "text-anchor": "middle" }, short(host.id))));
    });
    y += height + GAP;
  }
  if (accused.size === 1 && ranks.length) y = drawDevices(svg, { host: [...accused][0], ranks, entity, width, y });
  svg.setAttribute("height", y + 2);
  svg.setAttribute("viewBox", `0 0 ${width} ${y + 2}`);
  return svg;
}

/** Draw the devices of the one host that is accused; return where the drawing ends. */
function drawDevices(svg, { host, ranks, entity, width, y }) {
  const guilty = new Set(rankNumbers(entity.ranks));
  const shown = ranks.slice(0, DEVICES);
  const across = Math.min(shown.length, Math.max(1, Math.floor((width - 2 * GAP) / 78)));
  const cell = (width - 2 * GAP) / across - GAP;
  svg.append(s("text", { class: "culprit", x: GAP + 2, y: y + 18 }, t("topology.host", { host })));
  shown.forEach((one, index) => {
    const x = GAP + (index % across) * (cell + GAP);
    const top = y + 26 + Math.floor(index / across) * 40;
    const bad = guilty.has(one.rank);
    svg.append(s("rect", { class: bad ? "device culprit" : "device", "data-rank": one.rank, x, y: top, width: cell, height: 34, rx: 3 }));
    svg.append(s("text", { class: bad ? "on-culprit" : "", x: x + cell / 2, y: top + 21, "text-anchor": "middle" }, t("place.rank", { id: one.rank })));
  });
  return y + 30 + Math.ceil(shown.length / across) * 40;
}

function short(name) {
  return name.length > 12 ? `…${name.slice(-11)}` : name;
}
