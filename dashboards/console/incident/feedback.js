// Whether the cause was right; where it was not, which fault of what it really was.

import { h, list } from "../parts/dom.js";
import { faults, title } from "../parts/units.js";
import { t } from "../texts/texts.js";

/** Return the question and, after No, the form. `act(action, body, done)` gives a listener that sends. */
export function feedbackPart(incident, act) {
  const form = h("form", { class: "feedback", hidden: true, "aria-label": t("feedback.title"), onsubmit: (event) => event.preventDefault() });
  const open = (event) => {
    form.hidden = false;
    event.target.setAttribute("aria-expanded", "true");
    form.querySelector("select").focus();
  };
  fill(form, incident, act);
  return h("div", {},
    h("p", { class: "doing fine" }, h("span", {}, t("feedback.question")),
      h("button", { type: "button", class: "quiet", "data-key": "right", onclick: act("feedback", { verdict: "correct" }, t("feedback.noted")) }, t("yes")),
      h("button", { type: "button", class: "quiet", "data-key": "wrong", "aria-expanded": "false", onclick: open }, t("feedback.no"))),
    form);
}

function fill(form, incident, act) {
  const fault = h("select", { name: "fault", "data-key": "feedback fault" }, h("option", { value: "" }, t("feedback.unknown")), families());
  const entity = h("input", { name: "entity", list: "feedback-entities", maxlength: 200, spellcheck: "false", placeholder: t("feedback.entity.example"), "data-key": "feedback entity" });
  const note = h("input", { name: "note", maxlength: 4000, "data-key": "feedback note" });
  const send = h("button", {
    type: "button", class: "primary", "data-key": "feedback send",
    onclick: (event) => act("feedback", body(fault.value, entity.value.trim(), note.value.trim()), t("feedback.noted"))(event),
  }, t("feedback.send"));
  form.append(
    h("label", {}, h("span", {}, t("feedback.fault")), fault),
    h("label", {}, h("span", {}, t("feedback.entity")), entity),
    h("datalist", { id: "feedback-entities" }, entities(incident).map((id) => h("option", { value: id }))),
    h("label", {}, h("span", {}, t("feedback.note")), note),
    h("div", { class: "row" }, send));
}

function body(fault, entity, note) {
  return { verdict: "wrong", ...(fault && { fault }), ...(entity && { entity }), ...(note && { note }) };
}

/** Return the faults of the catalogue by family: gpu, network, ... */
function families() {
  const found = new Map();
  for (const [id, name] of faults()) {
    const family = id.includes(".") ? id.slice(0, id.indexOf(".")) : "";
    if (!family) continue;
    if (!found.has(family)) found.set(family, []);
    found.get(family).push(h("option", { value: id }, name));
  }
  return [...found].map(([family, options]) => h("optgroup", { label: t(`family.${family}`) }, options));
}

/** Return ids that may be meant: those of the other hypotheses, and where these are. */
function entities(incident) {
  const named = list(incident.root_cause?.hypotheses).flatMap((one) => [one.entity?.id, one.entity?.host]);
  return [...new Set(named.filter(Boolean))].slice(0, 40);
}

/** Return what a person said of a cause, in words. */
export function said(one) {
  const verdict = t(`verdict.${one.verdict}`);
  const really = one.fault ? t("verdict.really", { fault: title(one.fault) }) : "";
  return `${one.by}: ${verdict}${really}${one.note ? `: ${one.note}` : ""}`;
}
