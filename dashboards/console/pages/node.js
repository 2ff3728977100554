// One node: its devices, the ranks placed there, its own metrics, and the incidents that name it.

import { lines } from "../charts/lines.js";
import { repairGain } from "../charts/slowest.js";
import { get, items } from "../parts/api.js";
import { h, list, show, table, tabs } from "../parts/dom.js";
import { ago, digits, epoch, lost, metric, metricHelp, metricName, moment, quantity, ranks as rankText, shortened, title, unitOf } from "../parts/units.js";
import { order } from "./incidents.js";
import { count, t, word } from "../texts/texts.js";
import { observationsPart } from "./observations.js";
import { showPorts } from "./ports.js";

const CURVES = ["hw.temperature", "hw.power", "hw.gpu.utilization", "hw.frequency", "hw.gpu.memory.usage"];
const DEVICE = ["hw.gpu.utilization", "hw.gpu.memory.usage", "hw.temperature", "hw.power", "hw.frequency"];
const TONES = 8;
const SILENT_SECONDS = 60;

/** Return the page: {root, refresh, close}. */
export function nodePage(host) {
  const abort = new AbortController();
  const path = `hosts/${encodeURIComponent(host)}`;
  const parts = Object.fromEntries(["head", "incidents", "devices", "curves", "ports", "readings"].map((name) => [name, h("section", { class: `part-${name}` })]));
  const seen = observationsPart({ host }, abort.signal);
  const { head, incidents, ...below } = parts;
  const root = h("article", { class: "page node" }, h("p", { class: "crumb" }, h("a", { href: "#/nodes" }, t("nav.nodes"))), head, incidents, seen.root, ...Object.values(below));
  let chosen = CURVES[0];
  let drawn = "";

  async function refresh() {
    const [node, named, gains] = await Promise.all([get(path, {}, abort.signal), get("offenders", { type: "host", at_least: 1, limit: 1000 }, abort.signal).then(items).catch(() => []),
      get("gains", { host }, abort.signal).then(items).catch(() => [])]);
    show(parts.head, header(node));
    show(parts.devices, h("h2", {}, t("node.devices")), node.devices.length ? deviceTable(node.devices, epoch(node.last_received)) : h("p", { class: "muted" }, t("node.nodevices")));
    show(parts.incidents, h("h2", {}, t("node.incidents")), incidentList(named.find((row) => row.id === host)), repairGain(gains[0]));
    showPorts(parts.ports, node.readings);
    show(parts.readings, h("details", { "data-key": "readings" }, h("summary", {}, h("h2", {}, t("node.readings"))), readingTable(node.readings)));
    await Promise.all([seen.refresh(), draw(node)]);
  }

  async function draw(node) {
    const text = JSON.stringify([node.last_received, chosen]);
    if (text === drawn) return;
    drawn = text;
    const answer = await get(`${path}/series`, { metric: chosen }, abort.signal);
    const choices = tabs(t("plots.signal"), CURVES.map((name) => [name, metricName(name), metricHelp(name)]), chosen, (name) => { chosen = name; draw(node).catch(() => {}); });
    const users = new Map(node.devices.map((device) => [device.hw_id, device]));
    show(parts.curves, h("h2", {}, t("node.recent")), choices, deviceLines(answer, users) ?? h("p", { class: "muted" }, t("chart.nobody")));
  }

  return { root, refresh, close: () => abort.abort() };
}

function header(node) {
  const jobs = Object.entries(node.ranks);
  const facts = [node.switch && t("topology.switch", { name: node.switch }), count("device", node.devices.length), t("job.lastsample", { ago: ago(node.last_received) })].filter(Boolean);
  return h("header", {}, h("h1", { class: "id" }, node.host), h("p", { class: "facts" }, facts.map((fact) => h("span", {}, fact))),
    jobs.length ? h("ul", { class: "plain" }, jobs.map(([job, ranks]) => h("li", {}, h("a", { class: "row-link id", href: `#/jobs/${encodeURIComponent(job)}` }, job), h("span", { class: "muted" }, ` ${rankText(ranks)}`))))
      : h("p", { class: "muted" }, t("node.nojobs")));
}

/** Return the table. A device that has not answered for a while shows since when, and no old values. */
function deviceTable(devices, now) {
  const number = { number: true };
  const columns = [[t("column.device")], [t("column.rank"), number], ...DEVICE.map((name) => [metricName(name), number]), [t("device.throttle")], [t("device.links")], [t("device.errors"), number]];
  return table(columns, [...devices].sort(byPlace).map((device) => {
    const newest = Math.max(...device.readings.map((row) => epoch(row.at)));
    const silent = now - newest > SILENT_SECONDS;
    const of = (name) => device.readings.find((row) => row.metric === name && now - epoch(row.at) <= SILENT_SECONDS && !/^(memory)$/.test(row.attributes["hw.sensor"] ?? row.attributes.domain ?? ""));
    const active = device.readings.filter((row) => row.metric === "hw.gpu.throttle" && row.value > 0 && now - epoch(row.at) <= SILENT_SECONDS && row.attributes.reason !== "idle").map((row) => row.attributes.reason);
    const errors = device.readings.filter((row) => row.metric === "hw.errors" && row.attributes["error.type"] === "uncorrected").reduce((sum, row) => sum + row.value, 0);
    const state = device.readings.find((row) => row.metric === "hw.status" && row.value > 0 && row.attributes["hw.state"] !== "ok")?.attributes["hw.state"];
    const broken = links(device.readings);
    return { class: active.length || errors || state || silent || broken ? "behind" : null, cells: [
      [h("span", { class: "id", title: [device.model, device.hw_id].filter(Boolean).join(" · ") }, named(device)), (state || silent) && h("div", { class: "fine bad" }, [state && word("state", state), silent && t("node.silent", { ago: ago(new Date(newest * 1000).toISOString()) })].filter(Boolean).join(" · "))],
      device.rank ?? "–",
      ...DEVICE.map((name) => (name.endsWith("utilization") ? share(of(name)?.value) : quantity(of(name)?.value, metric(name).unit))),
      active.join(", ") || "–",
      broken || "–",
      digits(errors),
    ] };
  }), { class: "devices cards" });
}

/** Return how a node's own tools call a device, by its number there, and its id, which is known elsewhere too. */
function named(device) {
  const id = shortened(device.hw_id);
  return typeof device.index === "number" ? `${t("place.gpu", { id: device.index })} · ${id}` : id;
}

/** Order devices by their number on the node, else by the rank that uses them. */
function byPlace(a, b) {
  return (a.index ?? a.rank ?? 1e9) - (b.index ?? b.rank ?? 1e9);
}

/** Return what is wrong with a device's links, in words; empty where nothing is. */
function links(readings) {
  const value = (name) => readings.find((row) => row.metric === name)?.value;
  const down = readings.filter((row) => row.metric === "hw.gpu.nvlink.up" && row.value === 0).length;
  const [width, most] = [value("hw.gpu.pcie.width"), value("hw.gpu.pcie.width.max")];
  return [down && t("device.nvlinks", { n: digits(down) }), width < most && t("device.pcie", { width: digits(width), most: digits(most) })].filter(Boolean).join(", ");
}

function share(value) {
  return typeof value === "number" ? `${Math.round(value * 100)} %` : "–";
}

/** Return a figure with a line for each device, named by rank where one uses it, else by its number. */
function deviceLines(answer, users) {
  const rows = list(answer.series).filter((row) => row.points.length && !/^memory$/.test(row.attributes["hw.sensor"] ?? row.attributes.domain ?? ""))
    .sort((a, b) => byPlace(users.get(a.attributes["hw.id"]) ?? {}, users.get(b.attributes["hw.id"]) ?? {})).slice(0, TONES);
  if (!rows.length) return null;
  const times = [...new Set(rows.flatMap((row) => row.points.map(([at]) => Math.round(epoch(at)))))].sort((a, b) => a - b);
  const series = rows.map((row, index) => {
    const held = new Map(row.points.map(([at, value]) => [Math.round(epoch(at)), typeof value === "number" ? value : null]));
    return { values: times.map((at) => held.get(at) ?? null), colour: `line-${index + 1}`, width: 1.4, label: label(users.get(row.attributes["hw.id"]), row.attributes["hw.id"]) };
  });
  const newest = series.map((one) => one.values.findLast((value) => value !== null)).filter((value) => value !== undefined);
  const unit = unitOf(answer.metric) ?? answer.unit;
  const sentence = t("node.sentence", { name: metricName(answer.metric), n: count("device", rows.length), low: quantity(Math.min(...newest), unit), high: quantity(Math.max(...newest), unit) });
  return h("figure", { class: "plot" }, h("figcaption", {}, sentence),
    h("div", { class: "legend fine" }, series.map((one, index) => h("span", { class: "key", "data-line": index + 1 }, one.label))),
    lines({ times, series, unit, sentence, reading: series.map((_, index) => index) }));
}

function label(device, id) {
  if (typeof device?.rank === "number") return t("place.rank", { id: device.rank });
  return typeof device?.index === "number" ? t("place.gpu", { id: device.index }) : shortened(id ?? "").slice(0, 12);
}

function incidentList(row) {
  if (!row) return h("p", { class: "muted" }, t("job.noincidents"));
  return h("ul", { class: "plain" }, [...list(row.record)].sort(order).slice(0, 12).map((one) => h("li", { "data-severity": one.severity, "data-status": one.status },
    h("a", { class: "row-link", href: `#/incidents/${encodeURIComponent(one.incident)}` }, h("span", { class: "severity" }), title(one.fault)),
    h("span", { class: "muted" }, ` ${list(one.jobs).join(", ")} · `, moment(one.opened_at), ` · ${lost(3600 * one.gpu_hours_lost)} · ${word("status", one.status)}`))));
}

function readingTable(readings) {
  if (!readings.length) return h("p", { class: "muted" }, t("chart.nobody"));
  return table([[t("column.metric")], [t("column.of")], [t("column.value"), { number: true }], [t("column.lastsample"), { number: true }]], readings.map((row) => ({ cells: [
    h("code", { title: metric(row.metric).help }, row.metric),
    Object.entries(row.attributes).map((pair) => pair.join("=")).join(" ") || "–",
    quantity(row.value, metric(row.metric).unit),
    ago(row.at),
  ] })), { class: "readings cards" });
}
