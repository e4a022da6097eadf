// What stands around the sentence: what can be done with what is chosen, labels, progress, candidates, the queue.

import { $, count, fill, make } from "./dom.js";
import { hint, labelKey } from "./label-keys.js";
import { STATES } from "./label-sentence.js";
import { keyOf } from "./picture/mentions.js";
import { note, swatch, typeName } from "./panels.js";
import { number } from "./picture/text.js";

const CANDIDATES = 8; // shown in the list
const PAGE = 100; // sentences of the queue at a time
const GLYPHS = { open: "", partial: "◐", done: "✓", skipped: "–" };
export const STATUSES = { open: "open", partial: "only what was decided is sure", done: "done", skipped: "skipped" };

/** A button for an action, with its key. */
function actionButton(action, title, on, options = {}) {
  const { shown, spoken } = hint(action);
  return make("button", { type: "button", "data-key": `do-${action}`, "aria-keyshortcuts": spoken, onclick: () => on(action), ...options },
    title, make("kbd", { "aria-hidden": "true" }, shown));
}

/** Buttons that move an end of what is chosen; what is forth in the text is to the left in some scripts. */
function endButtons(side, title, on, isRtl) {
  const one = (sign, where, isForth) => make("button", { type: "button", "data-key": `${side}-${where}`, "aria-label": `${title} one word to the ${where}`, onclick: () => on(`${side}${isForth ? "Forth" : "Back"}`) }, sign);
  return make("span", { className: "ends" }, title, one("←", "left", isRtl), one("→", "right", !isRtl));
}

const opened = new Set(); // names of the groups of further buttons that are open

/** Buttons for what is done more rarely, and by its key by those who do it often. */
function further(name, ...buttons) {
  const details = make("details", { className: "further", open: opened.has(name), ontoggle: () => opened[details.open ? "add" : "delete"](name) },
    make("summary", { "data-key": `further-${name}` }, "More"), make("div", { className: "buttons" }, ...buttons));
  return details;
}

/** What is chosen, and what can be done with it. */
export function drawCurrent(desk, on) {
  const { sentence, mention, place, colouring } = desk, { isRtl, words } = sentence;
  const span = mention ?? place.words;
  const text = make("bdi", { className: "words" }, words.excerpt(span, 80));
  const ends = [endButtons("start", "Start", on, isRtl), endButtons("end", "End", on, isRtl)];
  if (!mention)
    return fill($("current"), make("p", {}, place.isEdge ? "Beside: " : "Selected: ", text), make("div", { className: "buttons" },
      actionButton("escape", "Back", on), further("words", ...ends, actionButton("part", "Add a part", on), actionButton("type", "Label by name", on))));
  const isGuess = mention.state === "draft" || mention.state === "candidate";
  const known = isGuess && mention.probability != null ? ` ${number(mention.probability)}` : "";
  const what = make("p", {}, swatch(colouring, mention.label), typeName(colouring, mention.label), make("span", { className: "number" }, known),
    make("span", { className: `state ${mention.state}` }, mention.pending ? `${STATES[mention.state]}, not saved yet` : STATES[mention.state]), text,
    ...whyHere(desk, mention));
  return fill($("current"), what, make("div", { className: "buttons" },
    actionButton("accept", "Accept", on), actionButton("reject", "Reject", on),
    further("mention", ...ends, actionButton("part", "Add a part", on), actionButton("words", "Words", on),
      actionButton("type", "Type by name", on), actionButton("clear", "Clear", on, { disabled: isGuess }))));
}

/** Why a mention is worth a look: it has just joined the draft, or the model is less sure of it than of the others. */
function whyHere({ changed, doubtful }, mention) {
  if (mention.state !== "draft") return [];
  const why = changed.get(keyOf(mention))?.isNew ? "new in the draft" : doubtful?.key === keyOf(mention) ? doubtful.why : "";
  return why ? [make("span", { className: "why" }, why)] : [];
}

/** The labels with their keys, and how probable each is for the chosen words. */
export function drawPalette(desk, on) {
  const { session, colouring, mention } = desk, known = desk.probabilities;
  fill($("palette"), ...session.labels.slice(0, 24).map((label, index) =>
    make("button", { type: "button", "data-key": `label-${label}`, "aria-pressed": String(mention?.label === label), onclick: () => on(label) },
      labelKey(index) ? make("kbd", { "aria-hidden": "true" }, labelKey(index)) : null,
      swatch(colouring, label), make("bdi", {}, label),
      known.has(label) ? make("span", { className: "number" }, number(known.get(label))) : null)));
}

export function drawItemActions(on) {
  const button = (action, title, options) => actionButton(action, title, on, options);
  fill($("item-actions"),
    button("complete", "All is right", { className: "strong" }), button("sure", "Only sure of these"), button("skip", "Skip"), button("undo", "Undo"),
    further("sentence", button("note", "Note"), button("label", "New label"), button("previousItem", "Previous"), button("nextItem", "Next")));
}

export function drawProgress({ annotator, model, round, progress, draft, training }) {
  const { items, done, partial, skipped, words, mentions } = progress;
  $("who").textContent = [annotator, round ? `round ${round}` : model].filter(Boolean).join(" · ");
  $("who").title = model;
  $("progress-line").textContent = `${done + partial} of ${items.toLocaleString("en")}`;
  const meter = make("div", { className: "meter", role: "img", "aria-label": `${done} done, ${partial} partial, ${skipped} skipped, of ${items}` },
    ...[["done", done], ["partial", partial], ["skipped", skipped]].map(([kind, sum]) => {
      const part = make("i", { className: kind });
      part.style.width = `${(100 * sum) / Math.max(items, 1)}%`;
      return part;
    }));
  const decided = draft.accepted + draft.rejected + draft.added;
  fill($("progress"), meter,
    make("p", {}, `${GLYPHS.done} ${done} done, ${GLYPHS.partial} ${partial} partial, ${GLYPHS.skipped} ${skipped} skipped, ${items - done - partial - skipped} open`),
    note(`${count(words, "word")} and ${count(mentions, "mention")} labelled.`),
    ...(decided ? [note(`Of the draft ${draft.accepted} accepted, ${draft.rejected} rejected; ${draft.added} added.${draft.f1 == null ? "" : ` Its F1: ${(100 * draft.f1).toFixed(1)}.`}`)] : []));
  $("training").hidden = !training && !round;
  $("training-state").textContent = training ? `${training.message[0].toUpperCase()}${training.message.slice(1)}.` : `Round ${round}.`;
  $("training").classList.toggle("failed", training?.state === "failed");
}

/** Mentions that are less probable than those of the draft. */
export function drawCandidates(desk, on) {
  const found = [...desk.item.candidates].sort((a, b) => b.probability - a.probability);
  const rows = found.slice(0, CANDIDATES).map((mention) =>
    make("li", {}, make("button", { type: "button", className: "quiet", "data-key": `candidate-${keyOf(mention)}`, onclick: () => on.go(mention) },
      typeName(desk.colouring, mention.label), make("span", { className: "number" }, number(mention.probability)), make("bdi", {}, desk.sentence.words.excerpt(mention, 80)))));
  const all = found.length === 1 ? "it" : found.length === 2 ? "both" : `all ${found.length}`;
  fill($("candidates"), found.length ? make("ul", {}, ...rows) : note("None: no other mention has a probability of 0.05."),
    ...(found.length ? [actionButton("candidates", desk.showsCandidates ? `Hide ${all}` : `Show ${all} under the sentence`, on.toggle, { className: "quiet" })] : []));
}

/** The sentences around the current one, each with its status; arrow keys go from one to the next. */
export function drawQueue(queue, id, jump) {
  const at = Math.max(queue.findIndex((entry) => entry.id === id), 0), first = Math.floor(at / PAGE) * PAGE;
  const grid = make("div", { className: "queue", role: "group", "aria-label": "Sentences", onkeydown: moveFocus },
    ...queue.slice(first, first + PAGE).map((entry, index) => {
      const place = first + index, isIt = place === at;
      return make("button", { type: "button", className: entry.status, tabIndex: isIt ? 0 : -1, "data-key": `item-${entry.id}`, "aria-current": isIt ? "true" : undefined,
        "aria-label": `Sentence ${place + 1}: ${STATUSES[entry.status]}, ${count(entry.words, "word")}`, onclick: () => jump(entry.id) },
      String(place + 1), make("i", { "aria-hidden": "true" }, GLYPHS[entry.status]));
    }));
  const page = (title, to, isThere) => make("button", { type: "button", className: "quiet", "data-key": `page-${title}`, hidden: !isThere, onclick: () => jump(queue[to].id) }, title);
  const pages = queue.length <= PAGE ? "" : make("div", { className: "pages" },
    page("Earlier", first - PAGE, first > 0), `${first + 1}–${Math.min(first + PAGE, queue.length)} of ${queue.length.toLocaleString("en")}`, page("Later", first + PAGE, first + PAGE < queue.length));
  fill($("queue"), grid, pages);
}

function moveFocus(event) {
  const all = [...event.currentTarget.children], at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  all[Math.min(Math.max(to, 0), all.length - 1)].focus();
}
