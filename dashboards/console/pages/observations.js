// What was seen of a job or a node and is no incident: a list below its incidents, folded.

import { get, items } from "../parts/api.js";
import { h, show, table } from "../parts/dom.js";
import { duration, epoch, moment, now, place, shortened } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const MOST = 50;

/** Return the part: {root, refresh}; `wanted` says whose observations, as {job} or {host}. */
export function observationsPart(wanted, signal) {
  const root = h("section", { class: "part-observations" });

  async function refresh() {
    const rows = await get("observations", { ...wanted, limit: MOST }, signal).then(items).catch((error) => {
      if (error.status === 404) return []; // a collector before this endpoint
      throw error;
    });
    show(root, rows.length > 0 && h("details", { "data-key": "observations" },
      h("summary", {}, h("h2", {}, t("observations.title")), h("span", { class: "muted" }, ` ${count("observation", rows.length)}`)),
      h("p", { class: "help" }, t("observations.help")), observationTable(rows)));
  }

  return { root, refresh };
}

function observationTable(rows) {
  const number = { number: true };
  return table([[t("column.what")], [t("column.where")], [t("column.since"), number], [t("column.lasted"), number]], rows.map((row) => {
    const until = row.until === null ? now() : epoch(row.until);
    return { cells: [
      shortened(row.text),
      h("span", { title: place(row.entity) }, shortened(place(row.entity))),
      moment(row.at),
      duration(Math.max(0, Math.round(until - epoch(row.at)))),
    ] };
  }), { class: "observations cards" });
}
