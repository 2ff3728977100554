// What was sent to whom: webhooks, their deliveries, what was given up, and sending it again.

import { get, items, mayAct, post } from "../parts/api.js";
import { choice, h, list, show, table } from "../parts/dom.js";
import { digits, moment } from "../parts/units.js";
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
  let shown = "";

  async function refresh() {
    const allowed = await mayAct(abort.signal);
    const hooks = items(await get("webhooks", {}, abort.signal));
    const rows = await Promise.all(hooks.map((hook) => get(`webhooks/${encodeURIComponent(hook.id)}/deliveries`, { state, limit: PAGE }, abort.signal)));
    const text = JSON.stringify([hooks, rows, allowed]);
    if (text === shown) return;
    shown = text;
    show(body, ...(hooks.length ? hooks.map((hook, index) => hookPart(hook, rows[index], allowed)) : [h("p", { class: "nothing muted" }, t("deliveries.nohook"), " ", h("code", {}, "POST /api/v1/webhooks"))]));
  }

  function hookPart(hook, answer, allowed) {
    const deliveries = items(answer);
    const dead = deliveries.filter((row) => row.state === "dead").length;
    return h("section", {}, h("h2", {}, `${hook.format} `, h("code", {}, hook.url), " ", !hook.enabled && h("span", { class: "status", "data-severity": "warning" }, t("deliveries.disabled"))),
      h("p", { class: "fine" }, [list(hook.events).join(", "), list(hook.severities).map((one) => word("severity", one)).join(", "), list(hook.jobs).join(", ")].filter(Boolean).join(" · "), hook.disabled_reason && ` · ${hook.disabled_reason}`),
      allowed && h("p", { class: "doing" },
        h("button", { type: "button", class: "quiet", "data-key": `replay ${hook.id}`, disabled: !hook.enabled, onclick: send(`webhooks/${encodeURIComponent(hook.id)}/replay`, (done) => t("deliveries.replayed", { n: count("message", done.replayed) })) }, t("deliveries.replay")),
        h("button", { type: "button", class: "quiet", "data-key": `test ${hook.id}`, onclick: send(`webhooks/${encodeURIComponent(hook.id)}/test`, (done) => (done.delivered ? t("deliveries.tested") : t("deliveries.failed", { why: done.error ?? done.status ?? "–" }))) }, t("deliveries.test"))),
      dead > 0 && h("p", { class: "problem" }, t("deliveries.dead", { n: count("message", dead) })),
      deliveries.length ? deliveryTable(deliveries) : h("p", { class: "muted" }, t("deliveries.none")),
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

function deliveryTable(rows) {
  const number = { number: true };
  const columns = [[t("column.state")], [t("column.event")], [t("column.incident")], [t("column.created"), number], [t("column.attempts"), number], [t("column.answer"), number], [t("column.error")]];
  return table(columns, rows.map((row) => ({ "data-state": row.state, cells: [
    h("span", { class: "state" }, word("delivery", row.state)),
    row.type,
    row.incident ? h("a", { href: `#/incidents/${encodeURIComponent(row.incident)}` }, h("code", {}, row.incident.slice(0, 12))) : "–",
    moment(row.created_at),
    digits(row.attempts),
    row.last_status ?? "–",
    row.last_error || "–",
  ] })), { class: "deliveries cards" });
}
