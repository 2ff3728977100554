// The runbook of a fault, as this version of the collector ships it.

import { text } from "../parts/api.js";
import { h, show } from "../parts/dom.js";
import { markdown } from "../parts/markdown.js";
import { faults, help, title } from "../parts/units.js";
import { t } from "../texts/texts.js";

/** Return the page: {root, refresh, close}. It is read once: it changes with the version only. */
export function runbookPage(fault) {
  const body = h("div", { class: "runbook" });
  const root = h("article", { class: "page" },
    h("p", { class: "crumb" }, h("a", { href: "#/incidents" }, t("nav.incidents")), " / ", t("runbook.crumb")),
    h("header", {}, h("h1", {}, title(fault)), h("p", { class: "facts" }, h("code", {}, fault)), h("p", { class: "help" }, help(fault))), body,
    h("p", {}, h("a", { href: `#/incidents?status=all&fault=${encodeURIComponent(fault)}` }, t("runbook.incidents"))));
  let shown = false;

  async function refresh() {
    if (shown) return;
    const known = new Set(faults().map(([id]) => id).filter((id) => id !== fault));
    const linked = (code) => (known.has(code) ? h("a", { href: `#/runbooks/${code}`, title: title(code) }, h("code", {}, code)) : null);
    const [, ...rest] = markdown(await text(`runbooks/${encodeURIComponent(fault)}`), linked); // its title stands above
    shown = true;
    show(body, ...rest);
  }

  return { root, refresh, close: () => {} };
}
