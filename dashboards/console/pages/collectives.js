// The collectives of a job by group and rank: how far each is, how long they take, who comes late.

import { get, items } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { ago, digits, duration, epoch, past, quantity } from "../parts/units.js";
import { count, t } from "../texts/texts.js";

const MOST_PAGES = 5; // of a thousand members each
const MANY = 1000; // members, which are asked for less often
const MANY_SECONDS = 30;
const OPEN = 16; // ranks that are listed until more are asked for
const PAGE = 200;
const NEWEST = 8;
const STANDS = 10; // seconds without a change: counts of ranks that move differ for a moment

/** Return {root, refresh()}; nothing is shown of a job whose collectives nobody reports. */
export function collectivesPart(path, signal) {
  const root = h("section", { class: "part-collectives" });
  const wanted = { group: "", op: "", limit: OPEN };
  let members = [];
  let asked = 0;

  async function refresh() {
    if (members.length < MANY || Date.now() - asked > MANY_SECONDS * 1000) {
      asked = Date.now();
      members = await all(`${path}/collectives`, signal);
    }
    await draw();
  }

  async function draw() {
    const groups = grouped(members);
    const counted = (one) => Number.isFinite(one.enqueued) || Number.isFinite(one.completed) || list(one.operations).length;
    if (!groups.length || (past() && !members.some(counted))) return show(root);
    const group = groups.find((one) => one.name === wanted.group) ?? groups[0];
    const single = await get(`${path}/operations`, { group: group.name, limit: NEWEST }, signal).catch(absent);
    const also = single && !items(single).length && group.also[0] ? await get(`${path}/operations`, { group: group.also[0], limit: NEWEST }, signal).catch(absent) : single;
    const again = (change) => { Object.assign(wanted, change); draw().catch(() => {}); };
    show(root, h("h2", {}, t("collectives.title")), ...part(group, groups, wanted, again), newest(also));
  }
  return { root, refresh };
}

/** Return every member, page by page; none where the collector does not answer to it. */
async function all(path, signal) {
  const found = [];
  let cursor = "";
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await get(path, { cursor }, signal).catch(absent);
    found.push(...items(answer));
    cursor = answer?.next_cursor;
    if (!cursor) break;
  }
  return found;
}

function absent(error) {
  if (error.name === "AbortError" || error.status === 0) throw error;
  return null;
}

/** Return {name, label, also, members, behind}, those in which somebody is behind and the largest first. */
function grouped(members) {
  const byName = new Map();
  for (const one of members) {
    if (!byName.has(one.group)) byName.set(one.group, []);
    byName.get(one.group).push(one);
  }
  return [...byName].map(([name, held]) => ({
    name, also: list(held[0].also), members: held, size: held[0].size, behind: lags(held),
    label: `${held[0].kind} · ${held[0].description || name} · ${count("rank", held[0].size)}`,
  })).sort((a, b) => b.behind.size - a.behind.size || b.size - a.size || a.name.localeCompare(b.name));
}

/** Return by rank how many collectives it is behind and stands; sources number them differently. */
function lags(members) {
  const found = new Map();
  for (const counter of ["enqueued", "completed"]) {
    const most = new Map();
    for (const one of members) if (one[counter] !== null) most.set(one.source, Math.max(most.get(one.source) ?? 0, one[counter]));
    for (const one of members) {
      const lag = one[counter] === null ? 0 : most.get(one.source) - one[counter];
      if (lag > 0 && standing(one) > STANDS) found.set(one.rank, Math.max(lag, found.get(one.rank) ?? 0));
    }
  }
  return found;
}

/** Return since how many seconds a rank's counters have not moved, as of its last report. */
function standing(one) {
  return epoch(one.at) - epoch(one.changed_at);
}

function part(group, groups, wanted, again) {
  const kinds = operations(group.members);
  const op = kinds.includes(wanted.op) ? wanted.op : kinds[0];
  const of = (one) => list(one.operations).find((each) => each.op === op) ?? {};
  const rows = group.members.map((one) => ({ ...one, lag: group.behind.get(one.rank) ?? 0, of: of(one) }))
    .sort((a, b) => b.lag - a.lag || (b.of.lateness ?? 0) - (a.of.lateness ?? 0) || a.rank - b.rank);
  return [
    h("p", { class: "sentence" }, ...sentences(rows, op)),
    h("p", { class: "choices" },
      groups.length > 1 && choice(t("collectives.group"), groups.map((one) => [one.name, one.label]), group.name, (name) => again({ group: name, op: "", limit: OPEN })),
      kinds.length > 1 && choice(t("collectives.operation"), kinds.map((kind) => [kind, kind]), op, (kind) => again({ op: kind }))),
    memberTable(rows.slice(0, wanted.limit)),
    rows.length > wanted.limit && h("button", { type: "button", class: "quiet", "data-key": "collectives more", onclick: () => again({ limit: wanted.limit + PAGE }) }, t("ranks.more", { n: count("rank", rows.length) })),
  ];
}

/** Return the kinds of operations of a group, those that take most of the time first. */
function operations(members) {
  const seconds = new Map();
  for (const one of members.flatMap((member) => list(member.operations))) {
    seconds.set(one.op, (seconds.get(one.op) ?? 0) + (one.duration ?? 0) * (one.count ?? 1));
  }
  return [...seconds].sort((a, b) => b[1] - a[1]).map(([op]) => op);
}

function sentences(rows, op) {
  const found = [];
  const behind = rows.filter((one) => one.lag > 0);
  const counts = rows.map((one) => one.completed ?? one.enqueued).filter((value) => value !== null);
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  if (behind.length) {
    const [first] = behind;
    found.push(h("strong", { class: "broken" }, t("collectives.behind", { rank: first.rank, host: first.host ?? "–", n: digits(first.lag), time: duration(standing(first)) })), " ");
    if (behind.length > 1) found.push(t("collectives.more", { ranks: count("rank", behind.length) }), " ");
  } else if (!counts.length) found.push(t("collectives.nocounts"), " ");
  else if (low === high) found.push(t("collectives.together", { ranks: count("rank", counts.length), n: digits(high) }), " ");
  else found.push(t("collectives.apart", { low: digits(low), high: digits(high) }), " ");
  const late = rows.reduce((worst, one) => ((one.of.lateness ?? 0) > (worst?.of.lateness ?? 0) ? one : worst), null);
  if (late) found.push(t("collectives.late", { rank: late.rank, time: duration(late.of.lateness), op }));
  return found;
}

function memberTable(rows) {
  const number = { number: true };
  const columns = [
    [t("column.rank"), number, (one) => one.rank],
    [t("column.host"), {}, (one) => one.host && h("a", { href: `#/nodes/${encodeURIComponent(one.host)}` }, one.host)],
    [t("column.process"), number, (one) => one.pid],
    [t("column.device"), {}, (one) => one.pci_bus_id && h("span", { class: "id" }, one.pci_bus_id)],
    [t("collectives.enqueued"), number, (one) => counted(one.enqueued)],
    [t("collectives.completed"), number, (one) => counted(one.completed)],
    [t("collectives.lag"), number, (one) => one.lag > 0 && digits(one.lag)],
    [t("collectives.moved"), number, (one) => one.changed_at && ago(one.changed_at)],
    [t("collectives.duration"), number, (one) => timed(one.of.duration)],
    [t("collectives.longest"), number, (one) => timed(one.of.duration_max)],
    [t("collectives.bandwidth"), number, (one) => one.of.bus_bandwidth && quantity(one.of.bus_bandwidth, "By/s")],
    [t("collectives.lateness"), number, (one) => timed(one.of.lateness)],
    [t("collectives.source"), {}, (one) => [...new Set([one.source, one.of.source])].filter(Boolean).join(", ")],
  ];
  // What no source of this group reports has no column.
  const shown = columns.filter(([, , cell]) => rows.some((one) => present(cell(one))));
  return table(shown, rows.map((one) => ({ class: one.lag > 0 ? "behind" : null, cells: shown.map(([, , cell]) => (present(cell(one)) ? cell(one) : "–")) })), { class: "members cards" });
}

function present(cell) {
  return cell !== null && cell !== undefined && cell !== false && cell !== "";
}

function counted(value) {
  return Number.isFinite(value) ? digits(value) : null;
}

function timed(seconds) {
  return Number.isFinite(seconds) ? duration(seconds) : null;
}

/** Return single collectives, and how far the hosts' clocks are apart. */
function newest(answer) {
  const found = items(answer);
  if (!found.length) return null;
  const number = { number: true };
  const offsets = list(answer.clock_offsets).map((one) => t("collectives.clock", { host: one.host, offset: duration(one.seconds), unsure: duration(one.uncertainty_seconds) }));
  return h("details", { "data-key": "collectives newest" }, h("summary", {}, t("collectives.newest")),
    table([[t("collectives.collective")], [t("collectives.size"), number], [t("collectives.longest"), number], [t("collectives.last")], [t("collectives.lateness"), number], [t("column.ranks"), number]],
      found.map((one) => {
        const members = list(one.members);
        const last = members.reduce((worst, each) => ((each.lateness ?? 0) > (worst?.lateness ?? 0) ? each : worst), null);
        return { cells: [`${one.op} ${digits(one.sequence)}`, quantity(one.size, "By"), timed(Math.max(...members.map((each) => each.seconds ?? -Infinity))) ?? "–",
          last ? t("place.rankon", { id: last.rank, host: last.host ?? "–" }) : "–", timed(last?.lateness) ?? "–", members.length] };
      }), { class: "collectives cards" }),
    offsets.length > 0 && h("p", { class: "fine" }, t("collectives.clocks", { hosts: offsets.join(", ") })));
}
