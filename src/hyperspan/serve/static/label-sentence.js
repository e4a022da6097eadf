// The sentence in large type: words that can be selected, over the picture of its mentions. Text only ever becomes text nodes.

import { cleaned, rightToLeft } from "./picture/layout.js";
import { keyOf, partsOf, withParts } from "./picture/mentions.js";
import { RunningText, excerpt, number } from "./picture/text.js";
import { units } from "./offsets.js";

const DEEPEST = 200; // bars over one word
const WRAPPED = 30; // characters from which a word may be broken
const MARKS = { draft: "", accepted: "✓ ", added: "+ ", rejected: "✗ ", candidate: "? " };
export const STATES = { draft: "draft", accepted: "accepted", added: "added", rejected: "rejected", candidate: "candidate" };

/** The words of an item by token positions. */
export class Words {
  constructor({ text, tokens }) {
    this.text = cleaned(text).replace(/[\n\t]/g, " ");
    const at = units(this.text);
    this.spans = tokens.map(([start, end]) => [at[start], at[end]]);
  }
  get count() {
    return this.spans.length;
  }
  /** The mention by places in the text. */
  inText(mention) {
    return withParts(mention, partsOf(mention).map(([start, end]) => [this.spans[start][0], this.spans[end - 1][1]]));
  }
  excerpt(mention, most) {
    return excerpt(this.text, this.inText(mention), most);
  }
}

export class SentenceView {
  #item = null;
  #words = []; // their elements
  #gaps = []; // what is between each word and the next one
  #labels = new Map(); // key of a mention, by places in the text -> its label
  #lanes = new Map(); // so that bars stay where they are

  /** `on`: mention(mention), words(anchor, focus, isDone) when a pointer chooses one; part() before another part is chosen. */
  constructor(element, on) {
    Object.assign(this, { element, on, words: null, isRtl: false, picture: new RunningText(element) });
    element.addEventListener("pointerdown", (event) => this.#press(event));
  }

  /** How many mentions are not drawn. */
  get leftOut() {
    return this.picture.leftOut;
  }

  draw(item, mentions, colouring, changed) {
    if (item.id !== this.#item?.id || item.text !== this.#item.text) {
      this.words = new Words(item);
      this.isRtl = rightToLeft(this.words.text, 0);
      this.element.dir = this.isRtl ? "rtl" : "ltr";
      this.#lanes.clear();
    }
    this.#item = item;
    const shown = mentions.map((mention) => this.#shown(mention, changed?.get(keyOf(mention))));
    this.picture.draw(this.words.text, shown, { colouring, words: this.words.spans, lanes: this.#lanes, most: DEEPEST });
    this.#words = [];
    this.#gaps = [];
    for (const element of this.element.querySelectorAll(".word, .gap")) {
      if (element.className === "gap") this.#gaps[this.#words.length - 1] = element;
      else this.#words.push(element);
    }
    this.#words.forEach((word, index) => (word.id = `word-${index}`, word.classList.toggle("long", word.textContent.length > WRAPPED)));
    this.#labels = new Map(this.picture.buttons.map((label, index) => (label.id = `mention-${index}`, [keyOf(this.picture.mentionOf(label)), label])));
  }

  /** A mention as the picture shows it: what is annotated nearest to the words, what was rejected and what is only possible furthest. */
  #shown(mention, change) {
    const { state, probability, pending } = mention, isNew = change?.isNew && state === "draft";
    return {
      ...this.words.inText(mention),
      source: mention,
      probability: state === "draft" ? (probability ?? undefined) : undefined,
      rank: { candidate: 2, rejected: 1 }[state] ?? 0,
      worth: { draft: probability ?? 1, rejected: -1, candidate: (probability ?? 1) - 3 }[state] ?? 2,
      tag: tagOf(mention, change),
      saying: `${isNew ? "new, " : ""}${this.saying(mention)}`,
      classes: `${state}${pending ? " pending" : ""}${isNew ? " new" : ""}`,
    };
  }

  saying(mention) {
    const { label, state, probability, pending } = mention;
    const how = isGuess(mention) && probability != null ? ` ${number(probability)}` : "";
    return `${label}${how}, ${STATES[state]}${pending ? ", not saved yet" : ""}: ${this.words.excerpt(mention)}`;
  }

  // -- where one is -----------------------------------------------------------------------------------------------------

  /** Marks the mention or the words that the annotator is on. */
  mark(place, mention, colour) {
    const parts = mention || place.isEdge ? [] : partsOf(place.words), shown = mention && this.words.inText(mention);
    this.#words.forEach((word, index) => {
      const part = parts.find(([start, end]) => index >= start && index < end);
      word.classList.toggle("chosen", part !== undefined);
      this.#gaps[index]?.classList.toggle("chosen", part !== undefined && index + 1 < part[1]);
      word.classList.toggle("caret", !mention && index === place.focus);
      for (const name of ["role", "aria-label"]) word.removeAttribute(name);
    });
    this.picture.light(shown, colour);
    this.element.querySelector(".current")?.classList.remove("current");
    const active = mention ? this.#labels.get(keyOf(shown)) : this.#words[place.focus];
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
    if (mention) active?.classList.add("current");
    else if (active) { // a word stands for all that are selected
      active.setAttribute("role", "group");
      active.setAttribute("aria-label", this.words.excerpt(place.words));
    }
    active?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // -- pointer ----------------------------------------------------------------------------------------------------------

  #press(event) {
    const hit = this.picture.hit(event.target, event.clientX, event.clientY), word = event.target.closest(".word");
    if (event.button !== 0) return;
    if (event.pointerType === "mouse") event.preventDefault(); // words are selected here, not by the browser
    this.element.focus({ preventScroll: true });
    if (hit && !hit.isOnWords) return this.on.mention(hit.mentions[0].source);
    if (word && (event.ctrlKey || event.metaKey)) this.on.part(); // what is chosen stays, as lists have it
    if (word) this.#drag(event, this.#words.indexOf(word));
  }

  /** Selects the words that the pointer is drawn over. */
  #drag(event, first) {
    const stopped = new AbortController(), { signal } = stopped;
    const from = event.shiftKey ? null : first;
    let last = first;
    this.on.words(from, first, false);
    const over = ({ clientX, clientY, pointerId }) => {
      if (pointerId !== event.pointerId) return;
      const word = document.elementFromPoint(clientX, clientY)?.closest(".word");
      const at = word ? this.#words.indexOf(word) : -1;
      if (at >= 0 && at !== last) this.on.words(from, (last = at), false);
    };
    addEventListener("pointermove", over, { signal });
    addEventListener("pointerup", () => (stopped.abort(), this.on.words(from, last, true)), { signal });
    addEventListener("pointercancel", () => stopped.abort(), { signal });
  }
}

const isGuess = ({ state }) => state === "draft" || state === "candidate";

function tagOf(mention, change) {
  const { state, label, probability, pending } = mention;
  const arrow = change?.isNew ? " new" : change?.was == null ? "" : change.now > change.was ? " ↑" : " ↓";
  const sure = probability == null ? "" : ` ${number(probability)}`;
  return `${pending ? "… " : ""}${MARKS[state]}${label}${isGuess(mention) ? sure + arrow : ""}`;
}
