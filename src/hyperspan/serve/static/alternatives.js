// The list of the best sets of mentions, of the whole text and of each sentence, to choose one from.

import { $, count, fill, make } from "./dom.js";
import { note, typeName } from "./panels.js";
import { bestChoices, changes, logOf, probabilityText, shareText } from "./sets.js";
import { ends, excerpt } from "./picture/text.js";

const SENTENCES = 40; // that are listed one by one
const CHANGES = 12; // of a set that are listed
const SURE = 0.995; // a sentence whose best set is as probable as this has no alternatives worth listing
const MOST = 40; // sets that are asked for

let isOpen = false; // the list by sentence

/** `on`: choose(ranks), more(), anyway(), light(mention or null). */
export function drawSets(view, colouring, on) {
  const { lists } = view;
  if (!view.answer) return fill($("sets"), note("They come with a text."));
  if (!view.shownLabels.length) return fill($("sets"), note("No type is shown."));
  if (!view.topK) {
    const ask = make("button", { className: "quiet", "data-key": "anyway", onclick: on.anyway }, "Show them anyway");
    return fill($("sets"), note("For long texts they take a while."), ask);
  }
  if (!view.answer.alternatives) return fill($("sets"), note("They are being computed."));
  if (!lists.length || !lists.every((sets) => sets.length)) return fill($("sets"), note("There are none."));
  const choices = bestChoices(lists, view.sets);
  const shown = view.mode === "set" ? new Map([...view.ranks].filter(([sentence, rank]) => lists[sentence]?.[rank])) : null;
  if (shown && !choices.some(({ ranks }) => same(shown, ranks))) choices.push({ ranks: shown, log: logOf(lists, shown) });
  const rows = choices.map(({ ranks, log }, index) => row(view, colouring, on, ranks, {
    name: "set",
    key: `set-${index}`,
    log,
    share: Math.exp(log - choices[0].log),
    checked: shown !== null && same(shown, ranks),
    choose: () => on.choose(ranks),
  }));
  nameSentences(rows, choices);
  const whole = lists.length > 1 ? "the whole text" : "the sentence";
  const title = `The most probable sets of ${whole}`;
  const group = make("div", { role: "radiogroup", className: "sets", "aria-label": title }, ...rows);
  const best = `The best one has the probability ${probabilityText(choices[0].log)}.`;
  const children = [note(`${title}: how they differ from the best, and how probable they are compared to it. ${best}`), group];
  if (lists.some((sets) => sets.length >= view.sets) && view.sets < MOST)
    children.push(make("button", { className: "quiet", "data-key": "more-sets", onclick: on.more }, "More"));
  if (lists.length > 1) children.push(bySentence(view, colouring, on));
  fill($("sets"), ...children);
}

const same = (a, b) => a.size === b.size && [...a].every(([sentence, rank]) => b.get(sentence) === rank);

/** Rows that would look the same, because the text repeats itself, say which sentence they are about. */
function nameSentences(rows, choices) {
  const looks = Map.groupBy(rows.keys(), (index) => rows[index].querySelector(".how").textContent);
  for (const indices of looks.values())
    for (const index of indices.length > 1 ? indices : []) {
      const numbers = [...choices[index].ranks.keys()].map((sentence) => sentence + 1).sort((a, b) => a - b);
      rows[index].querySelector(".how").append(make("small", {}, `in sentence ${numbers.join(", ")}`));
    }
}

function row(view, colouring, on, ranks, { name, key, log, share, checked, choose }) {
  const changed = [...ranks.keys()];
  const found = changes(view.mentionsOf(new Map(), changed), view.mentionsOf(ranks, changed));
  const how = found.slice(0, CHANGES).map((change) => changeLine(view.answer.text, colouring, on, change));
  if (found.length > CHANGES) how.push(`and ${found.length - CHANGES} more`);
  const element = make("label", { className: "set", title: `Probability ${probabilityText(log)}` },
    make("input", { type: "radio", autocomplete: "off", name, checked, "data-key": key, onchange: choose }),
    make("span", { className: "p" }, shareText(share)),
    make("span", { className: "how" }, ...(how.length ? how : ["the best set"])));
  element.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  return element;
}

/** One mention that a set has or lacks, or has with another type or other words. */
function changeLine(text, colouring, on, { from, to }) {
  const [sign, word] = !from ? ["+", "with"] : !to ? ["−", "without"] : ["±", "instead"];
  const shown = from && to && from.label === to.label ? grown(text, from, to) : [ends(text, from ?? to)];
  const types = from && to && from.label !== to.label ? [typeName(colouring, from.label), " → ", typeName(colouring, to.label)] : [typeName(colouring, (to ?? from).label)];
  return make("span", {
    className: { "+": "plus", "−": "minus", "±": "other" }[sign],
    onmouseenter: () => on.light(to ?? from),
    onmouseleave: () => on.light(null),
  },
  make("span", { "aria-hidden": "true" }, sign), make("span", { className: "unseen" }, word), " ",
  make("bdi", {}, ...shown), " ", ...types);
}

/** The words of a mention, with those that it gains or loses marked. */
function grown(text, from, to) {
  if (from.fragments || to.fragments) return [make("del", {}, ends(text, from)), " ", make("ins", {}, ends(text, to))];
  const [start, end] = [Math.max(from.start, to.start), Math.min(from.end, to.end)];
  const marked = (first, last) => {
    if (first >= last) return [];
    const isNew = to.start <= first && last <= to.end;
    return [make(isNew ? "ins" : "del", {}, ends(text, { start: first, end: last }))];
  };
  const gap = (place) => (/^\s|\s$/.test(text.slice(place - 1, place + 1)) ? " " : "");
  const [before, after] = [marked(Math.min(from.start, to.start), start), marked(end, Math.max(from.end, to.end))];
  return [...before, before.length ? gap(start) : "", ends(text, { start, end }, 40), after.length ? gap(end) : "", ...after];
}

/** The sets of each sentence by itself; made when someone looks. */
function bySentence(view, colouring, on) {
  const unsure = view.lists.map((sets, sentence) => [sets, sentence]).filter(([sets]) => sets[1] && sets[0].probability < SURE);
  const title = make("summary", { "data-key": "by-sentence" }, `By sentence (${unsure.length.toLocaleString("en")})`);
  const details = make("details", { className: "by-sentence", open: isOpen }, title);
  const build = () => {
    isOpen = details.open;
    if (!isOpen || details.childElementCount > 1) return;
    details.append(...unsure.slice(0, SENTENCES).map(([sets, sentence]) => setsOf(view, colouring, on, sets, sentence)));
    if (unsure.length > SENTENCES) details.append(note(`And ${count(unsure.length - SENTENCES, "more sentence")}.`));
  };
  details.addEventListener("toggle", build);
  build();
  return details;
}

function setsOf(view, colouring, on, sets, sentence) {
  const words = excerpt(view.answer.text, view.alternatives[sentence], 110);
  const rows = sets.map((set, rank) => row(view, colouring, on, new Map(rank ? [[sentence, rank]] : []), {
    name: `set-${sentence}`,
    key: `set-${sentence}-${rank}`,
    log: Math.log(set.probability),
    share: set.probability / sets[0].probability,
    checked: view.mode === "set" && (view.ranks.get(sentence) ?? 0) === rank,
    choose: () => {
      const ranks = new Map(view.ranks);
      if (rank) ranks.set(sentence, rank);
      else ranks.delete(sentence);
      on.choose(ranks);
    },
  }));
  const title = make("p", { lang: "" }, make("bdi", {}, words));
  return make("div", { role: "radiogroup", className: "sets", "aria-label": words }, title, ...rows);
}
