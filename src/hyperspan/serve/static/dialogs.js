// The two dialogs: what is known about a model, and the key that a server may ask for.

import { $, count, fill, make } from "./dom.js";

export function showModelCard({ name, kind, labels, max_width: width, tokenizer, parameters, description, card }) {
  const dialog = $("card-of-model");
  const facts = {
    Finds: labels.join(", "),
    "Longest mention": width ? count(width, "word") : "any length",
    Structure: kind,
    Tokenizer: tokenizer,
    Parameters: parameters?.toLocaleString("en"),
  };
  $("card-of-model-title").textContent = name;
  fill(dialog.querySelector("dl"), ...Object.entries(facts).filter(([, value]) => value)
    .flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  dialog.querySelector("pre").textContent = card || description || "There is no card.";
  dialog.showModal();
}

let asking = null; // several requests may be refused at once, and one key is enough

/** Asks for the key; null if the reader gives none. */
export function askKey(wasWrong) {
  const dialog = $("key");
  $("key-title").textContent = wasWrong ? "The server does not know this key" : "This server asks for a key";
  asking ??= new Promise((done) => {
    $("key-value").value = "";
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      asking = null;
      done(dialog.returnValue === "use" ? $("key-value").value : null);
    }, { once: true });
  });
  return asking;
}
