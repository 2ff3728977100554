// The network ports of a node: which are down or count errors, and how many are well.

import { h, show, table } from "../parts/dom.js";
import { digits } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

/** Show the ports among a node's readings in a section, a row for each in trouble; nothing without any port. */
export function showPorts(section, readings) {
  const ports = [...gathered(readings).values()].filter((port) => port.up !== undefined);
  if (!ports.length) return show(section);
  const trouble = ports.filter((port) => !port.up || port.errors.length).sort((a, b) => a.up - b.up || a.name.localeCompare(b.name, "en", { numeric: true }));
  const well = ports.length - trouble.length;
  return show(section, h("h2", {}, t("node.ports")),
    trouble.length > 0 && portTable(trouble),
    well > 0 && h("p", { class: "muted" }, t("node.ports.well", { ports: count("port", well) })));
}

function gathered(readings) {
  const ports = new Map();
  for (const row of readings) {
    if (!row.metric.startsWith("hw.network.") || !row.attributes.device) continue;
    const name = [row.attributes.device, row.attributes.port].filter(Boolean).join(":");
    if (!ports.has(name)) ports.set(name, { name, errors: [] });
    const port = ports.get(name);
    if (row.metric === "hw.network.up") port.up = row.value;
    if (row.metric === "hw.network.bandwidth.limit") port.rate = row.value;
    if (row.metric === "hw.network.errors" && row.value > 0) port.errors.push(`${row.attributes["error.type"]} ${digits(row.value)}`);
  }
  return ports;
}

/** Links are sold and read in bits a second, whatever the metric's unit is. */
function rate(bytes) {
  return Number.isFinite(bytes) ? `${digits((8 * bytes) / 1e9)} Gb/s` : "–";
}

function portTable(ports) {
  const columns = [[t("column.port")], [t("column.state")], [t("column.rate"), { number: true }], [t("column.counted")]];
  return table(columns, ports.map((port) => ({ class: port.up ? null : "behind", cells: [
    h("span", { class: "id" }, port.name), t(port.up ? "port.up" : "port.down"), rate(port.rate), port.errors.join(", ") || "–",
  ] })), { class: "ports cards" });
}
