// The lists beside the text: types with their counts, and constraints.

import { $, count, fill, make } from "./dom.js";
import { keyOf } from "./picture/mentions.js";
import { excerpt } from "./picture/text.js";

/** A sample of the bars of a label. */
export function swatch(colouring, label) {
  const sample = make("i", { className: "swatch", "aria-hidden": "true" });
  sample.style.backgroundImage = colouring.image(label);
  return sample;
}

/** A label in its colour. */
export function typeName(colouring, label) {
  const name = make("b", { className: "type" }, label);
  name.style.color = colouring.colour(label);
  return name;
}

export const note = (text) => make("p", { className: "note" }, text);

/** `on`: toggle(label, isShown), least(label, probability or null). */
export function buildTypes(view, colouring, on) {
  const items = view.labels.map((label) => {
    const box = make("input", {
      type: "checkbox",
      autocomplete: "off",
      "data-key": `type-${label}`,
      onchange: () => on.toggle(label, box.checked),
    });
    const least = make("input", {
      type: "number",
      className: "least",
      autocomplete: "off",
      inputMode: "decimal",
      min: 0.01,
      max: 0.99,
      step: 0.01,
      title: `Least probability of ${label}; empty: as for all`,
      "aria-label": `Least probability of ${label}`,
      oninput: () => on.least(label, least.value === "" ? null : least.valueAsNumber),
    });
    const name = make("span", { className: "label" }, label);
    const title = make("label", { title: view.model.card.labels[label] ?? "" }, box, swatch(colouring, label), name, make("small"));
    return make("li", { "data-label": label }, title, least);
  });
  fill($("types"), ...items);
  fill($("absent-types"));
  $("names").closest("label").hidden = !view.model.name_labels.length;
  Object.assign($("names"), { checked: view.names });
  Object.assign($("pronouns"), { checked: view.pronouns });
}

export function updateTypes(view) {
  const counts = new Map();
  for (const mention of view.chosen) counts.set(mention.label, (counts.get(mention.label) ?? 0) + 1);
  foldAbsent(view, counts);
  for (const item of document.querySelectorAll(".types li")) {
    const { label } = item.dataset, least = item.querySelector(".least");
    item.querySelector("small").textContent = (counts.get(label) ?? 0).toLocaleString("en");
    item.querySelector("[type=checkbox]").checked = !view.hidden.has(label);
    least.hidden = view.mode !== "threshold";
    least.placeholder = view.least.toFixed(2);
    if (document.activeElement !== least) least.value = view.byLabel[label]?.toFixed(2) ?? "";
  }
}

/** Types without a mention are folded away if they are several, unless something was chosen about them. */
function foldAbsent(view, counts) {
  const items = new Map([...document.querySelectorAll(".types li")].map((item) => [item.dataset.label, item]));
  const isAbsent = (label) => view.answer && !counts.get(label) && !view.hidden.has(label) && view.byLabel[label] === undefined;
  const absent = view.labels.filter((label) => isAbsent(label) && !items.get(label).contains(document.activeElement));
  const folded = new Set(absent.length > 1 ? absent : []);
  for (const [id, isHere] of [["types", (label) => !folded.has(label)], ["absent-types", (label) => folded.has(label)]]) {
    const wanted = view.labels.filter(isHere).map((label) => items.get(label));
    if (wanted.some((item, index) => item !== $(id).children[index])) $(id).replaceChildren(...wanted);
  }
  $("more-types").hidden = !folded.size;
  $("more-types").querySelector("summary").textContent = `${count(folded.size, "type")} without a mention`;
}

/** `on`: remove(constraints), light(mention or null). */
export function drawConstraints(view, colouring, on) {
  const items = [...view.constraints].sort((a, b) => a.start - b.start).map((constraint) => constraintItem(view, colouring, on, constraint));
  if (items.length > 1) {
    const all = make("button", { className: "quiet", onclick: () => on.remove(view.constraints) }, "Remove all");
    items.push(make("li", { className: "all" }, all));
  }
  fill($("constraints"), ...(items.length ? items : [make("li", { className: "note" }, "None: nothing is required or forbidden.")]));
}

function constraintItem(view, colouring, on, constraint) {
  const words = excerpt(view.text, constraint, 60), kind = constraint.kind === "require" ? "Required" : "Forbidden";
  const remove = make("button", {
    className: "quiet",
    "aria-label": `Remove: ${kind.toLowerCase()} ${constraint.label}, ${words}`,
    "data-key": `constraint-${keyOf(constraint)}`,
    onclick: () => on.remove([constraint]),
  }, "×");
  return make("li", { className: constraint.kind, onmouseenter: () => on.light(constraint), onmouseleave: () => on.light(null) },
    make("span", { className: "kind" }, kind),
    make("span", { className: "words" }, make("bdi", {}, words), " ", typeName(colouring, constraint.label)),
    remove);
}

/** Buttons to require and to forbid a mention, pressed where it is. */
export function constraintButtons(view, mention, onConstrain, words) {
  const now = view.constraintOf(mention);
  return [["require", "Require"], ["forbid", "Forbid"]].map(([kind, title]) =>
    make("button", {
      className: `constraint ${kind}`,
      "aria-pressed": String(now === kind),
      "aria-label": `${title} ${mention.label}, ${words}`,
      "data-key": `${kind}-${keyOf(mention)}`,
      onclick: () => onConstrain(kind, mention),
    }, title));
}
