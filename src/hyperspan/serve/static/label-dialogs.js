// Dialogs of the labelling page: the list of labels, a field to write in, the keys.

import { $, fill, make } from "./dom.js";
import { KEYS, keysOf, labelKey } from "./label-keys.js";
import { swatch } from "./panels.js";
import { number } from "./picture/text.js";

const SHOWN = 50; // labels at most in the list

/**
 * Lets the annotator choose a label by its beginning, its number or the arrows, or write a new one; null: none.
 * `probabilities`: label -> its probability for these words, where known.
 */
export function chooseLabel(title, labels, probabilities, colouring) {
  const dialog = $("choose"), filter = $("choose-filter"), list = $("choose-list");
  let at = 0, chosen = null, found = [];
  const draw = () => {
    found = matching(labels, filter.value.trim());
    at = Math.min(Math.max(at, 0), found.length - 1);
    fill(list, ...found.map((label, index) => option(label, index, index === at, labels, probabilities, colouring, () => take(label))));
    filter.setAttribute("aria-activedescendant", found.length ? `label-${at}` : "");
    list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };
  const take = (label) => {
    chosen = label;
    dialog.close();
  };
  const press = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const digit = !filter.value && /^\d$/.test(event.key) ? labels[(Number(event.key) || 10) - 1] : undefined;
    if (event.isComposing || (by === undefined && event.key !== "Enter" && !digit)) return;
    event.preventDefault();
    if (!by) return found.length || digit ? take(digit ?? found[at]) : undefined;
    at += by;
    return draw();
  };
  const write = () => {
    at = 0;
    draw();
  };
  $("choose-title").textContent = title;
  filter.value = "";
  return shown(dialog, () => {
    filter.addEventListener("keydown", press);
    filter.addEventListener("input", write);
    draw();
    filter.focus();
  }, () => {
    filter.removeEventListener("keydown", press);
    filter.removeEventListener("input", write);
    return chosen;
  });
}

/** Labels that begin so, then those that contain it, and the text itself as a new label. */
function matching(labels, text) {
  const low = text.toLowerCase();
  const begin = labels.filter((label) => label.toLowerCase().startsWith(low));
  const contain = labels.filter((label) => !begin.includes(label) && label.toLowerCase().includes(low));
  const found = [...begin, ...contain].slice(0, SHOWN);
  return text && !labels.includes(text) ? [...found, text] : found;
}

function option(label, index, isChosen, labels, probabilities, colouring, onclick) {
  const at = labels.indexOf(label), isNew = at < 0;
  const found = probabilities.get(label);
  return make("li", { role: "option", id: `label-${index}`, "aria-selected": String(isChosen), onclick },
    make("kbd", { "aria-hidden": "true" }, !isNew && at < 10 ? labelKey(at) : ""),
    isNew ? "" : swatch(colouring, label),
    make("bdi", {}, isNew ? `New label “${label}”` : label),
    make("span", { className: "number" }, found == null ? "" : number(found)));
}

/** Asks for a text; null if the annotator gives none. */
export function askText(title, text, hint) {
  const dialog = $("write"), field = $("write-text");
  const press = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    dialog.close("save");
  };
  $("write-title").textContent = title;
  $("write-hint").textContent = hint;
  field.value = text;
  dialog.returnValue = "";
  return shown(dialog, () => {
    field.addEventListener("keydown", press);
    field.focus();
    field.select();
  }, () => {
    field.removeEventListener("keydown", press);
    return dialog.returnValue === "save" ? field.value.trim() : null;
  });
}

function shown(dialog, open, result) {
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(result()), { once: true });
    dialog.showModal();
    open();
  });
}

export function showKeys() {
  fill($("keys-list"), ...Object.entries(KEYS).map(([group, rows]) =>
    make("table", {}, make("caption", {}, group), make("tbody", {}, ...rows.map((row) =>
      make("tr", {}, make("td", {}, ...keysOf(row).map((key) => make("kbd", {}, key))), make("td", {}, row[0])))))));
  $("keys").showModal();
}
