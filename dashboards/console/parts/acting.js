// Buttons that ask the collector to do something, and say on the spot what came of it.

import { post } from "./api.js";
import { h } from "./dom.js";

/** Return a maker of listeners, (verb, body, done): each posts `path/verb`, says `done`, and shows the page anew. */
export function acting(path, refresh) {
  return (verb, body, done) => async (event) => {
    const button = event.target;
    button.disabled = true;
    try {
      await post(`${path}/${verb}`, body);
      button.replaceWith(h("span", { class: "fine", role: "status" }, done));
      await refresh();
    } catch (error) {
      button.disabled = false;
      button.parentElement.querySelector(".refused")?.remove();
      button.after(h("span", { class: "fine refused", role: "alert" }, ` ${error.message}`));
    }
  };
}
