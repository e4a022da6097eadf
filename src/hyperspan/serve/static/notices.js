// Sentences for the reader: notices that stay until they are settled, and announcements for screen readers.

import { $, debounced, make } from "./dom.js";

const shown = new Map(); // kind -> element

/** Shows a notice, one of each kind; no text: it goes. `action`: [title, function]. */
export function notice(kind, text, action) {
  shown.get(kind)?.remove();
  shown.delete(kind);
  if (!text) return;
  const element = make("div", { className: `notice ${kind}`, role: kind === "server" ? "alert" : "status" },
    make("span", {}, text),
    ...(action ? [make("button", { className: "quiet", onclick: action[1] }, action[0])] : []),
    make("button", { className: "quiet", "aria-label": "Dismiss", onclick: () => notice(kind, "") }, "×"));
  shown.set(kind, element);
  $("notices").append(element);
}

const speak = debounced((text) => ($("said").textContent = text));

/** Says something to screen readers once the reader pauses. */
export const say = (text) => speak(900, text);
