// The collector's API as the console uses it: one way to ask, one stream of news.

import { t } from "../texts/texts.js";

const KEY = "rankscope.token";
let asking = null; // the one open question for a token, shared by everybody who waits for it

/** A problem document of the collector (RFC 9457), or what stood in its place. */
export class Problem extends Error {
  constructor(status, title, detail, retryAfter = 0) {
    super(detail ? `${title}: ${detail}` : title);
    this.status = status;
    this.retryAfter = retryAfter; // seconds; 0: asking again does not help
  }
}

/** Return the JSON at a path below /api/v1, or raise a Problem. Asks for a token when needed. */
export async function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(parameters).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one]))
    .filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const answer = await ask(`api/v1/${path}${query.size ? `?${query}` : ""}`, signal);
  return answer.json();
}

/** Return the text at a path below /api/v1, such as a report as CSV; raises a Problem. */
export async function text(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return (await ask(`api/v1/${path}?${query}`)).text();
}

/** Save the file at a path below /api/v1 under a name; raises a Problem. By a request of ours, which carries the token. */
export async function save(path, name) {
  const address = URL.createObjectURL(await (await ask(`api/v1/${path}`)).blob());
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(address);
}

/** Return the JSON of a file at the root, such as the description of the API. */
export async function getRoot(path, signal) {
  return (await ask(path, signal)).json();
}

let role = null; // {token, answer} of the last question for it

/** Return whether the collector lets this reader acknowledge, resolve and give feedback. */
export async function mayAct(signal) {
  const token = sessionStorage.getItem(KEY);
  if (role?.token !== token) {
    const answer = await get("session", {}, signal).catch((error) => {
      if (error.status === 404) return { role: "admin" }; // a collector before this endpoint
      throw error;
    });
    role = { token: sessionStorage.getItem(KEY), answer };
  }
  return role.answer.role === "admin";
}

/** Do something about what a path names, and return the answer; raises a Problem. */
export async function post(path, body) {
  const answer = await ask(`api/v1/${path}`, undefined, { method: "POST", body: JSON.stringify(body) });
  return answer.json();
}

async function ask(address, signal, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    let answer;
    try {
      const headers = token ? { Authorization: `Bearer ${token}` } : {};
      if (options.body) headers["Content-Type"] = "application/json";
      answer = await fetch(address, { ...options, signal, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, t("problem.noanswer"), t("problem.trying"));
    }
    if (answer.ok) return answer;
    if (answer.status === 401) {
      if (token === sessionStorage.getItem(KEY)) sessionStorage.removeItem(KEY);
      await tokenFromPerson();
      continue;
    }
    throw await problem(answer);
  }
}

async function problem(answer) {
  try {
    const body = await answer.json();
    return new Problem(answer.status, body.title ?? answer.statusText, body.detail, Number(answer.headers.get("Retry-After")) || 0);
  } catch {
    return new Problem(answer.status, t("problem.status", { status: answer.status }), answer.statusText);
  }
}

function tokenFromPerson() {
  if (sessionStorage.getItem(KEY)) return Promise.resolve(); // somebody was quicker
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token");
    const text = document.getElementById("token-text");
    const use = () => {
      const token = text.value.trim();
      if (!token) return;
      sessionStorage.setItem(KEY, token);
      text.value = "";
      dialog.close();
      asking = null;
      resolve();
    };
    document.getElementById("token-use").onclick = use;
    text.onkeydown = (event) => { if (event.key === "Enter") use(); };
    dialog.oncancel = (event) => event.preventDefault(); // nothing can be shown without it
    dialog.showModal();
    text.focus();
  });
  return asking;
}

/** Return the items of a list page (`items`); a bare list is taken too. */
export function items(answer) {
  if (Array.isArray(answer)) return answer;
  return Array.isArray(answer?.items) ? answer.items : [];
}

/**
 * Follow the collector's events for ever; `news()` is called for each, and every few seconds while
 * the stream is away. `state(word)` gets "live", "polling" or "offline". EventSource cannot send a
 * token, so the stream is read by hand.
 */
export async function follow(news, state) {
  let pause = 2;
  // A page that the browser keeps for "back" must not keep one of its few connections to us.
  let stream = new AbortController();
  window.addEventListener("pagehide", () => stream.abort());
  for (;;) {
    stream = new AbortController();
    try {
      const answer = await ask("api/v1/events", stream.signal);
      state("live");
      news();
      pause = 2;
      await read(answer, news);
      state("polling");
    } catch (error) {
      state(error.status === 0 ? "offline" : "polling");
    }
    await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    news();
    pause = Math.min(pause * 1.5, 10);
  }
}

async function read(answer, news) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const records = (held + value.replaceAll("\r", "")).split("\n\n");
    held = records.pop();
    if (records.some((record) => /^data:/m.test(record))) news();
  }
}
