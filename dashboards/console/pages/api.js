// The HTTP API, made of the collector's own description: what to ask, with which parameters, and an example.

import { getRoot } from "../parts/api.js";
import { command, h, list, show, table } from "../parts/dom.js";
import { filterBar, holds, search } from "../parts/filters.js";
import { t } from "../texts/texts.js";

/** Return the page: {root, refresh, close}. */
export function apiPage() {
  const abort = new AbortController();
  const body = h("div", {});
  let rows = null;
  let tags = [];
  let find = "";

  function draw() {
    if (!rows) return;
    const found = rows.filter(({ path, method, one }) => holds(find, [`${method} ${path}`, one.summary, one.tags?.[0]]));
    show(body, ...byTag(found, tags).map(([tag, some]) => h("section", { class: "operations" }, h("h2", {}, tag.name), tag.description && h("p", { class: "muted" }, tag.description), some.map(operation))),
      !found.length && h("p", { class: "nothing muted" }, t("list.nomatch")));
  }

  async function refresh() {
    if (rows) return;
    const description = await getRoot("openapi.json", abort.signal);
    tags = list(description.tags);
    rows = Object.entries(description.paths ?? {}).flatMap(([path, operations]) => Object.entries(operations).map(([method, one]) => ({ path, method: method.toUpperCase(), one })));
    draw();
  }

  const root = h("div", { class: "page api-page" }, h("div", { class: "bar" }, h("h1", {}, t("api.title")),
    filterBar(search(t("api.find"), find, (text) => { find = text; draw(); }))),
  h("p", { class: "muted" }, t("api.help"), " ", h("a", { href: "openapi.json" }, h("code", {}, "/openapi.json")), t("api.token")), body);
  return { root, refresh, close: () => abort.abort() };
}

/** Return [tag, operations] in the order of the description's tags, and what has none of these after them. */
function byTag(rows, tags) {
  const found = new Map(tags.map((tag) => [tag.name, [tag, []]]));
  for (const row of [...rows].sort((a, b) => a.path.localeCompare(b.path))) {
    const name = row.one.tags?.[0] ?? "";
    if (!found.has(name)) found.set(name, [{ name }, []]);
    found.get(name)[1].push(row);
  }
  return [...found.values()].filter(([, some]) => some.length);
}

function operation({ path, method, one }) {
  const details = h("details", { "data-key": `${method} ${path}` }, h("summary", {},
    h("span", { class: "method", "data-method": method }, method), h("code", {}, path), h("span", { class: "muted" }, one.summary ?? "")));
  details.addEventListener("toggle", () => { if (details.open && !details.querySelector(".operation")) details.append(inside(path, method, one)); });
  return details;
}

function inside(path, method, one) {
  const parameters = one.parameters ?? [];
  const answer = Object.entries(one.responses ?? {}).find(([status]) => status.startsWith("2"))?.[1];
  const sent = example(one.requestBody);
  return h("div", { class: "operation" },
    one.description && h("p", {}, one.description),
    parameters.length > 0 && table([[t("api.parameter")], [t("api.kind")], [t("api.meaning")]], parameters.map((parameter) => ({ cells: [
      [h("code", {}, parameter.name), parameter.required && h("span", { class: "fine" }, ` ${t("api.required")}`)],
      kind(parameter.schema ?? {}),
      parameter.description ?? parameter.schema?.description ?? "–",
    ] })), { class: "cards" }),
    command(curl(path, method, sent)),
    sent && [h("h3", {}, t("api.sent")), h("pre", { tabindex: "0" }, written(sent))],
    example(answer) && [h("h3", {}, t("api.answer")), h("pre", { tabindex: "0" }, written(example(answer)))]);
}

function example(part) {
  return part?.content?.["application/json"]?.example;
}

function written(value) {
  return JSON.stringify(value, null, 2);
}

/** Return the type of a parameter in a word or its values: `string`, `integer`, `open | resolved`. */
function kind(schema) {
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.const !== undefined) return String(schema.const);
  const some = (schema.anyOf ?? []).filter((one) => one.type !== "null");
  if (some.length) return [...new Set(some.map(kind))].join(" | ");
  if (schema.type === "array") return `${kind(schema.items ?? {})} …`;
  return schema.format ?? schema.type ?? "–";
}

function curl(path, method, sent) {
  const open = !/^\/(?:api|v1)\//.test(path); // health and metrics ask for no token
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), ...(open ? [] : ["-H 'Authorization: Bearer TOKEN'"])];
  if (sent) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(sent).replaceAll("'", "'\\''")}'`);
  const shown = path.replace(/\{(\w+)(?::\w+)?\}/g, (_, name) => name.toUpperCase());
  return [...parts, `'${location.origin}${shown}'`].join(" ");
}
