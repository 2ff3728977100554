// The HTTP API as a list, made of the collector's own description.

import { getRoot } from "../parts/api.js";
import { h, show } from "../parts/dom.js";
import { t } from "../texts/texts.js";

/** Return the page: {root, refresh, close}. */
export function apiPage() {
  const abort = new AbortController();
  const body = h("div", {});
  const root = h("div", { class: "page api-page" }, h("h1", {}, t("api.title")),
    h("p", { class: "muted" }, t("api.help"), " ", h("a", { href: "openapi.json" }, h("code", {}, "/openapi.json"))), body);
  let shown = false;

  async function refresh() {
    if (shown) return;
    const description = await getRoot("openapi.json", abort.signal);
    shown = true;
    show(body, ...byTag(description).map(([tag, rows]) => h("section", {}, h("h2", {}, tag), h("ul", { class: "plain operations" }, rows.map(operation)))));
  }

  return { root, refresh, close: () => abort.abort() };
}

function byTag(description) {
  const found = new Map();
  for (const [path, operations] of Object.entries(description.paths ?? {})) {
    for (const [method, one] of Object.entries(operations)) {
      const tag = one.tags?.[0] ?? "";
      if (!found.has(tag)) found.set(tag, []);
      found.get(tag).push({ path, method, one });
    }
  }
  return [...found].sort(([a], [b]) => a.localeCompare(b));
}

function operation({ path, method, one }) {
  const names = (one.parameters ?? []).map((parameter) => parameter.name).filter((name) => !path.includes(`{${name}}`));
  return h("li", {}, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path), h("span", {}, ` ${one.summary ?? ""}`),
    names.length > 0 && h("span", { class: "fine block" }, names.join(", ")));
}
