// Inside the processes of an incident: where ranks stand while nothing goes on, and what a profile found.

import { save } from "../parts/api.js";
import { h, list, table } from "../parts/dom.js";
import { clock, digits, ranks } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";

/** Return the stacks of a job that stands still, folded over ranks, the odd ones out first; null without any. */
export function stacks(incident) {
  const groups = list(incident.stacks);
  if (!groups.length) return null;
  const ordered = [...groups.filter((one) => one.odd), ...groups.filter((one) => !one.odd)];
  return h("section", { class: "stacks" }, h("h2", {}, t("stacks.title")), h("p", { class: "fine" }, t("stacks.help")), ordered.map((one, place) => h("details", { "data-key": `stack-${list(one.ranks).join(",")}`, open: one.odd || place === 0 },
    h("summary", {}, `${count("rank", one.count)}: ${ranks(list(one.ranks))}`, one.odd && h("strong", {}, ` ${t("stacks.odd")}`)),
    h("pre", {}, one.text))));
}

/** Return the profiles that were made for an incident: what differs per step, and the traces; null without any. */
export function profiles(incident) {
  const rows = list(incident.profiles);
  return rows.length > 0 && h("section", { class: "profiles" }, h("h2", {}, t("profiles.title")), rows.map((one) => [
    h("p", {}, clock(one.at), " ", one.text),
    list(one.rows).length > 0 && table(
      [[t(one.per === "second" ? "profiles.second" : "profiles.what"), {}], [t("profiles.suspect", { rank: one.suspect }), { number: true }], [t("profiles.peer", { rank: one.peer }), { number: true }], [t("profiles.difference"), { number: true }]],
      one.rows.map((row) => ({ cells: [row.name ? `${kind(row.kind)}: ${row.name}` : kind(row.kind), amount(row.suspect), amount(row.peer), milliseconds(row.difference_seconds)] }))),
    list(one.traces).map((path) => h("button", { type: "button", class: "quiet", onclick: () => save(path.replace("/api/v1/", ""), `profile-${one.id}-${path.split("/").at(-2)}.json.gz`) }, t("profiles.trace", { rank: path.split("/").at(-2) }))),
    list(one.traces).length > 0 && h("p", { class: "fine" }, t("profiles.open"))]));
}

const kind = (name) => word("profiled", name);
const milliseconds = (seconds) => `${digits(seconds * 1e3)} ms`;
const amount = (one) => `${milliseconds(one.seconds)} × ${digits(one.count)}`;
