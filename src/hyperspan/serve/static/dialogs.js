// The two dialogs: what is known about a model, and the key that a server may ask for.

import { $, count, fill, make } from "./dom.js";
import { markdown } from "./markdown.js";

export function showModelCard({ name, kind, labels, max_width: width, tokenizer, parameters, card, readme }) {
  const dialog = $("card-of-model"), { corpus, dev, test } = card.figures;
  const scores = Object.entries({ dev, test }).filter(([, score]) => score !== null).map(([part, score]) => `${score.toFixed(1)} (${part})`);
  const facts = {
    "Made for": card.domain.includes(card.language) ? card.domain : `${card.domain} (${card.language})`,
    Finds: meanings(labels, card.labels),
    [`F1 on ${corpus}`]: scores.join(", "),
    Licence: card.licence,
    "Longest mention": width ? count(width, "token") : "any length",
    Structure: kind,
    Tokenizer: tokenizer,
    Parameters: parameters?.toLocaleString("en"),
  };
  $("card-of-model-title").textContent = name;
  fill(dialog.querySelector("dl"), ...Object.entries(facts).filter(([, value]) => value)
    .flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  fill(dialog.querySelector(".readme"), ...markdown(readme.replace(/^# .*\n/, "") || card.description || "Its makers say no more about it."));
  dialog.showModal();
}

/** The labels with what they mean, where that is known. */
function meanings(labels, inWords) {
  if (!labels.some((label) => inWords[label])) return labels.join(", ");
  return make("ul", {}, ...labels.map((label) => make("li", {}, make("b", {}, label), inWords[label] ? `: ${inWords[label]}` : "")));
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
