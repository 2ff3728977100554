// What was sent to whom: webhooks, their deliveries, what was given up, and sending it again.

import { get, items, mayAct, post } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { digits, epoch, duration, moment, place, shortened, title } from "../parts/units.js";
import { count, t, word } from "../texts/texts.js";

const STATES = ["", "pending", "delivered", "dead", "suppressed"];
const PAGE = 30;

/** Return the page: {root, refresh, close}. The state that is looked for stands in the address. */
export function deliveriesPage(query) {
  const abort = new AbortController();
  const state = STATES.includes(query.get("state")) ? query.get("state") : "";
  const body = h("div", {});
  const root = h("div", { class: "page" }, h("div", { class: "bar" }, h("h1", {}, t("nav.deliveries")),
    choice(t("deliveries.state"), STATES.map((name) => [name, word("delivery", name || "any")]), state, (value) => { location.hash = `#/deliveries${value ? `?state=${value}` : ""}`; })), body);
  const known = new Map(); // incidents by id, null where one is gone
  let shown = "";

  async function refresh() {
    const allowed = await mayAct(abort.signal);
    const hooks = items(await get("webhooks", {}, abort.signal));
    const rows = await Promise.all(hooks.map((hook) => get(`webhooks/${encodeURIComponent(hook.id)}/deliveries`, { state, limit: PAGE }, abort.signal)));
    await learn(rows.flatMap(items));
    const text = JSON.stringify([hooks, rows, allowed]);
    if (text === shown) return;
    shown = text;
    show(body, ...(hooks.length ? hooks.map((hook, index) => hookPart(hook, rows[index], allowed)) : [nobody()]));
  }

  /** Ask for the newest incidents when a delivery is about one that was not seen yet. */
  async function learn(deliveries) {
    const wanted = deliveries.map((row) => row.incident).filter((id) => id && !known.has(id));
    if (!wanted.length) return;
    for (const one of items(await get("incidents", { limit: 100 }, abort.signal))) known.set(one.id, one);
    for (const id of wanted) if (!known.has(id)) known.set(id, null);
  }

  function hookPart(hook, answer, allowed) {
    const deliveries = items(answer);
    const dead = deliveries.filter((row) => row.state === "dead").length;
    const who = [
      list(hook.events).map((one) => word("event", one)).join(", "),
      list(hook.severities).map((one) => word("severity", one)).join(", "),
      list(hook.jobs).length > 0 && `${t("column.job")}: ${hook.jobs.join(", ")}`,
      list(hook.faults).length > 0 && `${t("column.fault")}: ${hook.faults.join(", ")}`,
    ].filter(Boolean);
    return h("section", { class: "hook" }, h("div", { class: "titled" }, h("h2", {}, word("format", hook.format)), h("code", {}, hook.url),
      !hook.enabled && h("span", { class: "status bad" }, t("deliveries.disabled"), hook.disabled_reason && `: ${hook.disabled_reason}`)),
    h("p", { class: "fine" }, t("deliveries.for"), " ", who.join(" · ")),
    allowed && h("p", { class: "doing" },
      h("button", { type: "button", class: "quiet", "data-key": `test ${hook.id}`, onclick: send(`webhooks/${encodeURIComponent(hook.id)}/test`, (done) => (done.delivered ? t("deliveries.tested") : t("deliveries.failed", { why: done.error ?? done.status ?? "–" }))) }, t("deliveries.test")),
      h("button", { type: "button", class: "quiet", "data-key": `replay ${hook.id}`, disabled: !hook.enabled, onclick: send(`webhooks/${encodeURIComponent(hook.id)}/replay`, (done) => t("deliveries.replayed", { n: count("message", done.replayed) })) }, t("deliveries.replay"))),
    dead > 0 && h("p", { class: "problem" }, t("deliveries.dead", { n: count("message", dead) })),
    deliveries.length ? deliveryTable(deliveries, known) : h("p", { class: "muted" }, t("deliveries.none")),
    answer.next_cursor && h("p", { class: "fine" }, t("deliveries.newest", { n: PAGE })));
  }

  /** Return a listener that posts, says what came of it, and shows the page anew. */
  function send(path, words) {
    return async (event) => {
      const button = event.target;
      button.disabled = true;
      button.parentElement.querySelector("[role]")?.remove();
      const say = (text, role) => button.parentElement.append(h("span", { class: role === "alert" ? "fine refused" : "fine", role }, text));
      try {
        say(words(await post(path, {})), "status");
      } catch (error) {
        say(error.message, "alert");
      }
      button.disabled = false;
    };
  }

  return { root, refresh, close: () => abort.abort() };
}

/** Return what stands there while nobody is notified, with the lines that change it. */
function nobody() {
  return h("div", { class: "nothing" }, h("p", { class: "large" }, t("deliveries.nohook")), h("p", { class: "muted" }, t("deliveries.add")),
    h("pre", { class: "sample", tabindex: "0" }, "webhooks:\n  - url: ADDRESS\n    format: slack"));
}

function deliveryTable(rows, known) {
  const number = { number: true };
  const columns = [[t("column.state")], [t("column.event")], [t("column.incident")], [t("column.created"), number], [t("column.took"), number], [t("column.attempts"), number], [t("column.answer")]];
  return table(columns, rows.map((row) => ({ "data-state": row.state, cells: [
    h("span", { class: "state" }, word("delivery", row.state)),
    word("event", row.type),
    row.incident ? about(row.incident, known.get(row.incident)) : "–",
    moment(row.created_at),
    row.finished_at ? duration(Math.max(0, epoch(row.finished_at) - epoch(row.created_at))) : row.state === "pending" ? t("deliveries.due", { at: moment(row.due_at).textContent }) : "–",
    digits(row.attempts),
    [row.last_status ?? "", row.last_error].filter(Boolean).join(" · ") || "–",
  ] })), { class: "deliveries cards" });
}

function about(id, incident) {
  const first = list(incident?.root_cause?.hypotheses)[0];
  const address = `#/incidents/${encodeURIComponent(id)}`;
  if (!first) return h("a", { href: address }, h("code", {}, id.slice(0, 12)));
  return [h("a", { href: address }, title(first.fault)), h("div", { class: "fine" }, [shortened(place(first.entity)), incident.job].filter(Boolean).join(" · "))];
}
