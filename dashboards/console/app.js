// The frame: which page is shown, when it is shown anew, and the theme.

import { themeChanged } from "./charts/colours.js";
import { incidentPage } from "./incident/page.js";
import { actionsPage } from "./pages/actions.js";
import { apiPage } from "./pages/api.js";
import { deliveriesPage } from "./pages/deliveries.js";
import { incidentsPage } from "./pages/incidents.js";
import { jobPage } from "./pages/job.js";
import { jobsPage } from "./pages/jobs.js";
import { nodePage } from "./pages/node.js";
import { nodesPage } from "./pages/nodes.js";
import { overviewPage } from "./pages/overview.js";
import { reportPage } from "./pages/report.js";
import { runbookPage } from "./pages/runbook.js";
import { follow } from "./parts/api.js";
import { h, show } from "./parts/dom.js";
import { clock, loadWords, now, past } from "./parts/units.js";
import { LANGUAGES, changeLanguage, language, loadTexts, t, word } from "./texts/texts.js";

const content = document.getElementById("content");
let current = null; // {refresh, close} of the page that is shown

const PAGES = [
  [/^#\/incidents\/([^/?]+)$/, (id) => incidentPage(id), "incidents"],
  [/^#\/incidents(?:\?(.*))?$/, (query) => incidentsPage(new URLSearchParams(query)), "incidents"],
  [/^#\/jobs\/([^/?]+)$/, (job) => jobPage(job), "jobs"],
  [/^#\/jobs(?:\?(.*))?$/, (query) => jobsPage(new URLSearchParams(query)), "jobs"],
  [/^#\/nodes\/([^/?]+)$/, (host) => nodePage(host), "nodes"],
  [/^#\/nodes(?:\?(.*))?$/, (query) => nodesPage(new URLSearchParams(query)), "nodes"],
  [/^#\/report(?:\?(.*))?$/, (query) => reportPage(new URLSearchParams(query)), "report"],
  [/^#\/actions(?:\?(.*))?$/, (query) => actionsPage(new URLSearchParams(query)), "actions"],
  [/^#\/deliveries(?:\?(.*))?$/, (query) => deliveriesPage(new URLSearchParams(query)), "deliveries"],
  [/^#\/runbooks\/([^/?]+)$/, (fault) => runbookPage(fault), "incidents"],
  [/^#\/api$/, () => apiPage(), "api"],
  [/^#?\/?$/, () => overviewPage(), "overview"],
];

function open() {
  current?.close();
  const hash = location.hash;
  for (const [pattern, page, name] of PAGES) {
    const match = pattern.exec(hash);
    if (!match) continue;
    for (const entry of document.querySelectorAll("nav a")) {
      if (entry.dataset.page === name) entry.setAttribute("aria-current", "page");
      else entry.removeAttribute("aria-current");
    }
    current = page(hash.includes("?") ? match[1] : decoded(match[1]));
    current.root.append(h("p", { class: "muted loading", role: "status" }, t("loading")));
    content.replaceChildren(current.root);
    content.scrollIntoView({ block: "nearest" });
    window.scrollTo(0, 0);
    refresh();
    return;
  }
  current = null;
  show(content, h("h1", {}, t("problem.nopage")), h("p", {}, h("a", { href: "#/" }, t("nav.overview"))));
}

function decoded(text) {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return text;
  }
}

// News come in bursts: show them once, and never twice at a time.
let waiting = false;
let busy = false;

async function refresh() {
  if (busy) { waiting = true; return; }
  busy = true;
  do {
    waiting = false;
    const page = current;
    try {
      await page?.refresh();
      page?.root.querySelector(":scope > .problem")?.remove();
      loaded(page);
    } catch (error) {
      if (error.name !== "AbortError" && page === current) complain(page.root, error);
      if (error.name !== "AbortError") loaded(page);
    }
  } while (waiting);
  busy = false;
}

function loaded(page) {
  page?.root.querySelector(":scope > .loading")?.remove();
}

function complain(root, error) {
  root.querySelector(":scope > .problem")?.remove();
  root.prepend(h("p", { class: "problem", role: "alert" }, error.message));
}

let soon = null;
function news() {
  soon ??= setTimeout(() => { soon = null; refresh(); }, 250);
}

const live = document.getElementById("live");
function state(name) {
  live.textContent = name === "past" ? t("live.past", { at: clock(now()) }) : word("live", name);
  live.dataset.state = name;
}

const THEMES = ["system", "light", "dark"];
const theme = document.getElementById("theme");
function useTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  theme.textContent = t("theme", { name: word("theme", name) });
  theme.title = t("theme.title");
  theme.dataset.name = name;
  themeChanged();
}
theme.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(theme.dataset.name) + 1) % THEMES.length];
  localStorage.setItem("rankscope.theme", next);
  useTheme(next);
});

const languages = document.getElementById("language");
languages.replaceChildren(...Object.entries(LANGUAGES).map(([value, text]) => h("option", { value, lang: value }, text)));
languages.addEventListener("change", async () => {
  await changeLanguage(languages.value);
  useTheme(theme.dataset.name);
  state(live.dataset.state);
  open();
});

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after # is the page
  content.focus();
});

// j and k walk through the rows of a list, as in a mail reader.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key !== "j" && event.key !== "k") return;
  const rows = [...content.querySelectorAll("a.row-link")];
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, event.key === "j" ? at + 1 : at - 1))]?.focus();
});

window.addEventListener("hashchange", open);
await Promise.all([loadTexts(), loadWords().catch(() => {})]); // ids are readable without their titles
languages.value = language();
const kept = localStorage.getItem("rankscope.theme");
useTheme(THEMES.includes(kept) ? kept : "system");
state(past() ? "past" : "connecting");
open();
if (!past()) {
  follow(news, state);
  setInterval(news, 5000); // ages move, and a plot grows, without any event
}
