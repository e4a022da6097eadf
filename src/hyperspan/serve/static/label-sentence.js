// The sentence in large type: words that can be selected, and stacked bars under them. Lines are broken by measuring, so
// that each has the room that its bars need; text only ever becomes text nodes.

import { heights, innerFirst, joined, lanesOf, linked, withLabel, worth } from "./label-bars.js";
import { make } from "./dom.js";
import { cleaned, notTooDeep } from "./layout.js";
import { keyOf, partsOf, withParts } from "./mentions.js";
import { units } from "./offsets.js";
import { excerpt, number } from "./text.js";

const LANE = 1.45, LEAST = 0.34, MOST = 0.6; // heights of lanes in rem: with labels, and without
const DEEPEST = 200; // bars over one word
const WRAPPED = 30; // characters from which a word may be broken
const MARKS = { draft: "", accepted: "✓", added: "+", rejected: "✗", candidate: "?" };
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
  excerpt(mention, most) {
    const parts = partsOf(mention).map(([start, end]) => [this.spans[start][0], this.spans[end - 1][1]]);
    return excerpt(this.text, withParts({}, parts), most);
  }
}

export class SentenceView {
  #item = null;
  #lines = []; // {element, stack, first, last}
  #elements = []; // of the words
  #gaps = []; // what is between each word and the next one
  #boxes = []; // of the words: {line, rects}
  #bars = new Map(); // key of a mention -> its elements
  #kept = new Map(); // key -> lane, so that bars stay where they are
  #drawn = []; // what to draw again when the width changes
  #width = 0; // of the element when it was measured
  #room = 0; // for bars

  /** `on`: mention(mention), words(anchor, focus, isDone) when a pointer chooses one; part() before another part is chosen. */
  constructor(element, on) {
    Object.assign(this, { element, on, words: null, isRtl: false });
    element.addEventListener("pointerdown", (event) => this.#press(event));
    new ResizeObserver(() => {
      if (!this.#item || element.clientWidth === this.#width) return;
      this.#break();
      this.draw(this.#item, ...this.#drawn);
    }).observe(element);
  }

  draw(item, mentions, colouring, changed) {
    const isOther = item.id !== this.#item?.id || item.text !== this.#item.text;
    this.#item = item;
    this.#drawn = [mentions, colouring, changed];
    if (isOther) {
      this.words = new Words(item);
      this.#break();
    }
    const all = [...mentions].sort(innerFirst);
    const drawn = notTooDeep(all.map(({ start, end }) => [start, end]), all.map(worth), DEEPEST);
    this.leftOut = all.length - drawn.length;
    this.#drawBars(drawn.map((index) => all[index]), colouring, changed);
  }

  // -- words ------------------------------------------------------------------------------------------------------------

  /** Breaks the text into lines as the browser would, and measures its words. */
  #break() {
    const { element, words } = this;
    this.#kept.clear();
    this.#elements = words.spans.map(([start, end], index) =>
      make("span", { className: end - start > WRAPPED ? "word long" : "word", id: `word-${index}` }, words.text.slice(start, end)));
    this.#gaps = words.spans.map(([, end], index) => make("span", {}, words.text.slice(end, words.spans[index + 1]?.[0])));
    const flow = make("div", { className: "row" }, ...this.#pieces(0, words.count - 1));
    element.replaceChildren(flow);
    element.dir = "auto";
    this.#width = element.clientWidth;
    const size = parseFloat(getComputedStyle(flow).fontSize);
    const tops = this.#elements.map((word) => word.getClientRects()[0]?.top ?? 0);
    const firsts = tops.flatMap((top, index) => (index === 0 || top > tops[index - 1] + size / 2 ? [index] : []));
    this.isRtl = getComputedStyle(element).direction === "rtl";
    element.dir = this.isRtl ? "rtl" : "ltr"; // of all lines, whatever they begin with
    this.#lines = firsts.map((first, line) => {
      const last = (firsts[line + 1] ?? words.count) - 1;
      const stack = make("div", { className: "stack" });
      return { first, last, stack, element: make("div", { className: "line" }, make("div", { className: "row" }, ...this.#pieces(first, last)), stack) };
    });
    element.replaceChildren(...this.#lines.map((line) => line.element));
    this.#measure(size);
  }

  *#pieces(first, last) {
    for (let index = first; index <= last; index++) {
      yield this.#elements[index];
      yield this.#gaps[index];
    }
  }

  #measure(size) {
    this.size = size;
    this.#room = this.#lines[0]?.stack.clientWidth ?? 0;
    this.#boxes = [];
    this.#lines.forEach(({ stack, first, last }, line) => {
      const { left } = stack.getBoundingClientRect();
      for (let index = first; index <= last; index++) {
        const rects = [...this.#elements[index].getClientRects()];
        this.#boxes.push({ line, rects: rects.map((rect) => ({ left: rect.left - left, right: rect.right - left })) });
      }
    });
  }

  // -- bars -------------------------------------------------------------------------------------------------------------

  #drawBars(mentions, colouring, changed) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const all = mentions.map((mention) => {
      const key = keyOf(mention), change = changed?.get(key);
      return { mention, key, text: tagOf(mention, change), isNew: change?.isNew && mention.state === "draft" };
    });
    let boxes = this.#place(all, (text) => this.#widthOf(text, rem));
    let lanes = lanesOf(boxes, this.#kept), rows = heights(boxes, lanes, this.#lines.length);
    let lane = LANE * rem;
    const room = Math.max(0.75 * innerHeight, 24 * rem), tall = rows.reduce((sum, row) => sum + row, 0);
    const isDense = tall * lane > room && Math.max(...rows) > 6;
    if (isDense) { // bars alone, as thin as they must be; the label of the current one is beside the sentence
      boxes = this.#place(all, () => 0);
      lanes = lanesOf(boxes, this.#kept);
      rows = heights(boxes, lanes, this.#lines.length);
      lane = Math.min(Math.max(room / rows.reduce((sum, row) => sum + row, 0), LEAST * rem), MOST * rem);
    }
    this.#kept = lanes;
    this.element.classList.toggle("dense", isDense);
    this.#bars.clear();
    const content = this.#lines.map(() => []);
    boxes.forEach((box, number) => this.#bars.set(box.key, this.#bar(box, number, lanes.get(box.key) * lane, lane, colouring, content)));
    this.#lines.forEach(({ stack }, line) => {
      stack.style.height = `${rows[line] * lane}px`;
      stack.replaceChildren(...content[line]);
    });
  }

  /** The boxes of mentions: for each line that they touch the runs of words, the first with room for the label, and of gaps. */
  #place(all, widthOf) {
    const { isRtl } = this;
    return all.map((one) => {
      const parts = partsOf(one.mention), segments = [], labelled = new Set(); // lines
      for (const [number, part] of parts.entries()) {
        const inPart = this.#runs(part).map((run, index, runs) => ({ ...run, starts: index === 0, ends: index === runs.length - 1 }));
        for (const segment of inPart) {
          const isFirst = segments.length === 0, isNewLine = !labelled.has(segment.line);
          labelled.add(segment.line);
          const text = isFirst ? one.text : isNewLine ? `… ${one.text}` : "";
          segments.push({ ...segment, text, isFirst, ...withLabel(segment.run, text && widthOf(text), isRtl, this.#room) });
        }
        if (number + 1 === parts.length) continue;
        const near = [...inPart, ...this.#runs(parts[number + 1])];
        for (const { line, run } of this.#runs([part[1], parts[number + 1][0]])) {
          const link = linked(run, near.filter((other) => other.line === line).map((other) => other.run), this.size);
          segments.push({ line, run: link, isLink: true, text: "", ...withLabel(link, 0, isRtl, this.#room) });
        }
      }
      return { ...one, segments };
    });
  }

  /** The runs of words from one to another, line by line in the order of reading: {line, run}. */
  #runs([start, end]) {
    return [...Map.groupBy(this.#boxes.slice(start, end), (box) => box.line)].flatMap(([line, boxes]) => {
      const runs = joined(boxes.flatMap((box) => box.rects), this.size);
      return (this.isRtl ? runs.reverse() : runs).map((run) => ({ line, run }));
    });
  }

  #widthOf(text, rem) {
    this.context ??= document.createElement("canvas").getContext("2d");
    this.context.font = `600 ${0.78 * rem}px system-ui, "Segoe UI", "Noto Sans", sans-serif`;
    return Math.min(this.context.measureText(text).width + 0.3 * rem, 16 * rem);
  }

  #bar({ mention, key, segments, isNew }, number, top, lane, colouring, content) {
    return segments.map(({ line, run, text, x0, x1, label, isFirst, isLink, starts, ends }) => {
      const stroke = make("i", { className: [starts ? "starts" : "", ends ? "ends" : ""].join(" ") });
      const element = make(isFirst ? "button" : "div", { className: `bar ${mention.state}${mention.pending ? " pending" : ""}${isLink ? " link" : ""}${isNew ? " new" : ""}` }, stroke);
      element.style.cssText = `left:${x0}px;width:${x1 - x0}px;top:${top}px;height:${lane}px`;
      element.style.setProperty("--colour", colouring.colour(mention.label));
      element.style.setProperty("--share", `${(30 + 70 * (mention.probability ?? 1)).toFixed(0)}%`);
      stroke.style.cssText = `left:${run.x0 - x0}px;width:${run.x1 - run.x0}px`;
      if (text) {
        const tag = make("span", { className: "tag", "aria-hidden": "true" }, text);
        tag.style.setProperty(...(this.isRtl ? ["right", `${x1 - label[1]}px`] : ["left", `${label[0] - x0}px`]));
        element.append(tag);
      }
      if (isFirst) {
        Object.assign(element, { type: "button", tabIndex: -1, id: `mention-${number}` });
        element.setAttribute("aria-label", `${isNew ? "new, " : ""}${this.saying(mention)}`);
      } else element.setAttribute("aria-hidden", "true");
      element.mention = mention;
      element.dataset.key = key;
      content[line].push(element);
      return element;
    });
  }

  saying(mention) {
    const { label, state, probability, pending } = mention;
    const how = isGuess(mention) && probability != null ? ` ${number(probability)}` : "";
    return `${label}${how}, ${STATES[state]}${pending ? ", not saved yet" : ""}: ${this.words.excerpt(mention)}`;
  }

  // -- where one is -----------------------------------------------------------------------------------------------------

  /** Marks the mention or the words that the annotator is on. */
  mark(place, mention, colour) {
    const parts = partsOf(mention ?? place.words);
    this.#elements.forEach((word, index) => {
      const part = parts.find(([start, end]) => index >= start && index < end), isIn = part !== undefined;
      for (const [element, isLit] of [[word, isIn], [this.#gaps[index], isIn && index + 1 < part[1]]]) {
        element.classList.toggle("inside", isLit && Boolean(mention));
        element.classList.toggle("chosen", isLit && !mention && !place.isEdge);
      }
      word.classList.toggle("caret", !mention && index === place.focus);
    });
    this.element.style.setProperty("--current", mention ? colour : "var(--accent)");
    for (const other of this.element.querySelectorAll(".bar.current")) other.classList.remove("current");
    const bars = mention ? (this.#bars.get(keyOf(mention)) ?? []) : [];
    for (const bar of bars) bar.classList.add("current");
    const active = bars[0] ?? (mention ? null : this.#elements[place.focus]);
    for (const word of this.element.querySelectorAll(".word[role]")) ["role", "aria-label"].forEach((name) => word.removeAttribute(name));
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
    if (active && !mention) { // a word stands for all that are selected
      active.setAttribute("role", "group");
      active.setAttribute("aria-label", this.words.excerpt(place.words));
    }
    active?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // -- pointer ----------------------------------------------------------------------------------------------------------

  #press(event) {
    const bar = event.target.closest(".bar"), word = event.target.closest(".word");
    if (event.button !== 0) return;
    if (event.pointerType === "mouse") event.preventDefault(); // words are selected here, not by the browser
    this.element.focus({ preventScroll: true });
    if (bar) return this.on.mention(bar.mention);
    if (word && (event.ctrlKey || event.metaKey)) this.on.part(); // what is chosen stays, as lists have it
    if (word) this.#drag(event, this.#elements.indexOf(word));
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
      const at = word ? this.#elements.indexOf(word) : -1;
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
  return `${pending ? "… " : ""}${MARKS[state]}${MARKS[state] ? " " : ""}${label}${isGuess(mention) ? sure + arrow : ""}`;
}
