// Running text with an unbroken bar under it for each mention, thin in the gaps of a discontinuous one. The text is cut wherever a mention begins or ends; each piece
// is an inline element whose background shows the bars that run under it, as in render/bars.py. User text only ever becomes
// text nodes.

import { COLOURS, anchorEnd, barsOf, cells, firstIndex, parts, rightToLeft } from "./layout.js";
import { keyOf, mapped, partsOf } from "./mentions.js";

const LANE = 1.0, BAR = 0.17, TICK = 0.17, LABEL_SIZE = 0.66; // in font sizes (em), as in render/style.py
const THIN_BAR = 0.6; // of its lane
const TOOLTIPS = 12; // mentions that one names
const MANY = 5; // parts of which an excerpt has words
const DASHES = { draft: [".3em", ".12em"], candidate: [".13em", ".13em"] }; // what was not decided yet
const FAINT = ["candidate", "rejected"];

export const number = (probability) => (probability == null ? "< 0.01" : probability.toFixed(2));

/** The colour of a label, by its place among the model's labels, and its pattern once colours are used up. */
export class Colouring {
  constructor(labels) {
    this.numbers = new Map(labels.map((label, index) => [label, index]));
  }
  number(label) {
    if (!this.numbers.has(label)) this.numbers.set(label, this.numbers.size);
    return this.numbers.get(label);
  }
  colour(label, state) {
    return state === "rejected" ? "var(--soft)" : `var(--c${this.number(label) % COLOURS})`;
  }
  /** What a bar is filled with: the less probable, the paler; of a labelling session, by the `state` of the mention. */
  image(label, probability = 1, state = undefined) {
    const share = 25 + 75 * Math.max(probability ?? 0, 0);
    const full = this.colour(label, state);
    const colour = share < 99.6 ? `color-mix(in srgb,${full} ${share.toFixed(0)}%,var(--page))` : full;
    if (state) return DASHES[state] ? dashed(colour, ...DASHES[state]) : `linear-gradient(${colour} 0 0)`;
    const dash = Math.floor(this.number(label) / COLOURS);
    if (!dash) return `linear-gradient(${colour} 0 0)`;
    const on = Math.max(Math.floor(8 / dash), 1);
    return `repeating-linear-gradient(90deg,${colour} 0 ${on}px,transparent ${on}px ${on + 3}px)`;
  }
}

/** Draws a text part by part, and keeps the parts that did not change. */
export class RunningText {
  constructor(element) {
    this.element = element;
    this.drawn = new Map(); // what a part shows, as a string -> its elements
    this.pieces = new WeakMap(); // element -> {start, end, height, bars}, places relative to its part
    this.spans = new WeakMap(); // the element of a part -> where it starts and ends in the text
    this.undrawn = new WeakMap(); // the element of a part -> how many of its mentions are not drawn
    this.lit = [];
    this.seen = new Set(); // the elements of the parts on the screen, in which lines are measured
    this.watch = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => this.#see(target, isIntersecting)), { rootMargin: "50%" });
    new ResizeObserver(() => this.seen.forEach((part) => this.#labelLines(part))).observe(element);
  }

  /**
   * Mentions may have what is not read off them: a tag for the label, what it says, classes of it, and as `barsOf` has it. `options`:
   * colouring; breaks: as in `parts`; still: without a script; words: their spans, to have an element for each; lanes: key -> lane,
   * where bars stay if they can; most: bars over a place.
   */
  draw(text, mentions, options) {
    const shown = [...mentions].sort((a, b) => a.start - b.start || b.end - a.end);
    const before = this.drawn;
    this.drawn = new Map();
    const elements = [];
    let next = 0;
    for (const [start, end] of parts(text, shown, options.breaks)) {
      const inside = [];
      for (; next < shown.length && shown[next].start < end; next++) inside.push(shifted(shown[next], -start));
      elements.push(this.#part(text.slice(start, end), inside, start, options, before));
    }
    for (const [side, room] of Object.entries(options.still ? margins(text, shown) : {})) this.element.style.setProperty(`--${side}`, room);
    this.leftOut = elements.reduce((sum, element) => sum + this.undrawn.get(element), 0);
    this.element.replaceChildren(...elements);
    for (const element of [...before.values()].flat()) this.#see(element, false, this.watch.unobserve(element));
    if (!options.still) elements.forEach((element) => this.watch.observe(element));
  }

  #part(text, mentions, start, options, before) {
    const shown = mentions.map((m) => [keyOf(m), options.colouring.number(m.label), m.probability, m.tag, m.state, m.classes]);
    const key = JSON.stringify([text, shown]);
    const kept = before.get(key)?.pop();
    const element = kept ?? document.createElement("div");
    if (!kept) {
      const labelOf = options.still ? (m) => m.label : sureLabel; // pages without a script have tooltips
      const words = options.words?.map((span) => span.map((place) => place - start)), keyHere = (m) => keyOf(shifted(m, start));
      const bars = barsOf(text, mentions, labelOf, { most: options.most, kept: (m) => options.lanes?.get(keyHere(m)) });
      for (const { mention, top, height } of bars) if (height === 1) options.lanes?.set(keyHere(mention), top);
      element.className = "part";
      element.append(...this.#content(text, bars, { ...options, words }));
      this.undrawn.set(element, mentions.length - bars.length);
    }
    this.spans.set(element, [start, start + text.length]);
    this.drawn.set(key, [...(this.drawn.get(key) ?? []), element]);
    return element;
  }

  *#content(text, bars, options) {
    const starting = Map.groupBy(bars, (bar) => bar.mention.start);
    const labelled = new Map();
    const cuts = new Set([0, text.length]);
    for (const bar of bars) {
      for (const place of partsOf(bar.mention).flat()) cuts.add(place);
      for (const place of options.still ? bar.writtenAt.keys() : [bar.mention.start]) {
        if (!labelled.has(place)) labelled.set(place, []);
        labelled.get(place).push(bar);
        cuts.add(place).add(options.words ? Math.min(wordAfter(options.words, place)[1], text.length) : anchorEnd(text, place));
      }
    }
    const places = [...cuts].sort((a, b) => a - b);
    let open = [];
    for (let i = 0; i + 1 < places.length; i++) {
      const [start, end] = [places[i], places[i + 1]];
      open = open.filter((bar) => bar.mention.end > start).concat(starting.get(start) ?? []);
      if (!open.length) yield* inWords(text, start, end, options.words);
      else yield this.#piece(text, start, end, open.sort((a, b) => a.top - b.top), labelled.get(start) ?? [], options);
    }
  }

  #piece(text, start, end, bars, labelled, options) {
    const height = bars.at(-1).top + bars.at(-1).height;
    const [near, far] = rightToLeft(text, start) ? ["right", "left"] : ["left", "right"];
    const layers = []; // image, position, size
    for (const { mention, top, height: tall } of bars) {
      const image = options.colouring.image(mention.label, mention.probability, mention.state);
      const part = partAt(mention, start), isFaint = FAINT.includes(mention.state);
      const above = (height - top) * LANE, thick = tall < 1 ? THIN_BAR * tall : BAR, bar = part && !isFaint ? thick : thick / 3;
      layers.push([image, `left bottom ${(above - bar).toFixed(2)}em`, `100% ${bar.toFixed(2)}em`]);
      if (tall < 1 || !part) continue;
      for (const [side, isEnd] of [[near, start === part[0]], [far, end === part[1]]])
        if (isEnd) layers.push([image, `${side} bottom ${(above - 0.02).toFixed(2)}em`, `.13em ${TICK}em`]);
    }
    if (!options.still) // what `light` turns on
      layers.push(["linear-gradient(var(--hot,transparent) 0 0)", "left top", "100% calc(100% - var(--below,0em))"]);
    const room = document.createElement("span"), piece = document.createElement("span");
    room.className = "room";
    room.style.setProperty("--n", Number(height.toFixed(3)));
    piece.className = "bars";
    piece.style.backgroundImage = layers.map((layer) => layer[0]).join();
    piece.style.backgroundPosition = layers.map((layer) => layer[1]).join();
    piece.style.backgroundSize = layers.map((layer) => layer[2]).join();
    if (options.still) piece.title = tooltip(bars, text);
    const labels = labelled.filter((bar) => !options.still || bar.height === 1).map((bar) => this.#label(bar, start, height, near, text, options));
    piece.append(...labels, ...inWords(text, start, end, options.words));
    this.pieces.set(piece, { start, end, height, bars, near });
    room.append(piece);
    return room;
  }

  #label(bar, start, height, side, text, options) {
    const first = start === bar.mention.start && !options.still, thin = bar.height < 1;
    const label = document.createElement(first ? "button" : "b");
    if (first) {
      label.type = "button";
      label.tabIndex = -1;
      label.className = `tag${thin ? " thin" : ""} ${bar.mention.classes ?? ""}`.trim(); // a thin one is seen when the keyboard is on it
      label.setAttribute("aria-label", bar.mention.saying ?? saying(bar.mention, text));
    } else {
      label.setAttribute("aria-hidden", "true");
      if (bar.writtenAt.get(start)) label.className = "narrow";
    }
    label.style.setProperty(side, ".25em");
    label.style.bottom = `${(((height - bar.top - 1) * LANE) / LABEL_SIZE).toFixed(2)}em`;
    label.style.color = options.colouring.colour(bar.mention.label, bar.mention.state);
    label.textContent = bar.label;
    bar.colour = label.style.color;
    this.pieces.set(label, { start, end: start, height, bars: [bar] });
    return label;
  }

  // -- labels on further lines ------------------------------------------------------------------------------------------

  #see(part, isSeen) {
    if (!isSeen) return this.seen.delete(part);
    this.seen.add(part);
    return this.#labelLines(part);
  }

  /**
   * Writes the labels of bars that go on in a further line at its beginning, and moves those that reach beyond the end of theirs: where
   * lines end is known once they are laid out.
   */
  #labelLines(part) {
    const box = part.getBoundingClientRect(), em = parseFloat(getComputedStyle(part).fontSize);
    const lines = new Map(), stands = []; // bar -> the line that it was on last; where bars begin on a line
    for (const piece of part.querySelectorAll(".bars")) {
      const { start, height, bars, near } = this.pieces.get(piece);
      for (const { top, bottom, left, right } of piece.getClientRects()) {
        const line = Math.round(top);
        for (const bar of bars) {
          if (lines.get(bar) === line || !partAt(bar.mention, start)) continue;
          const isFurther = lines.has(bar), below = box.bottom - bottom + (height - bar.top - 1) * LANE * em;
          lines.set(bar, line);
          stands.push({ bar, line, near, isFurther, below, at: near === "left" ? left - box.left : box.right - right });
        }
      }
    }
    const labels = stands.filter(({ bar, isFurther }) => isFurther && bar.height === 1).flatMap((stand) => lineLabel(stand, stands, em));
    const beyond = [...part.querySelectorAll(".tag")].map((tag) => {
      const { left, right } = tag.getBoundingClientRect(), moved = parseFloat(tag.style.translate) || 0;
      return [tag, Math.min(box.right - right + moved, 0) || Math.max(box.left - left + moved, 0)];
    });
    for (const [tag, by] of beyond) tag.style.translate = by ? `${by}px` : "";
    for (const old of part.querySelectorAll(".again")) old.remove();
    part.append(...labels);
  }

  // -- what is where ----------------------------------------------------------------------------------------------------

  #shiftOf(element) {
    return this.spans.get(element.closest(".part"))?.[0] ?? 0;
  }

  /** The mention at a point, and all that cover the place, the one meant first, and whether the point is on the words alone; or null. */
  hit(target, x, y) {
    const label = target.closest?.(".tag, .bars b"), piece = target.closest?.(".bars");
    if (!piece || !this.pieces.has(piece)) return null;
    const shift = this.#shiftOf(piece);
    const { bars, height, start } = this.pieces.get(piece);
    const lane = laneAt(piece, height, x, y), meant = label ? this.pieces.get(label).bars[0] : barAt(bars, lane, height, start);
    const all = [meant, ...(bars.some((bar) => bar.height < 1) ? byProbability(bars) : bars).filter((bar) => bar !== meant)];
    return { mentions: all.map((bar) => shifted(bar.mention, shift)), element: label ?? piece, isOnWords: !label && lane === 0 };
  }

  /** The mention of a label's button. */
  mentionOf(button) {
    const info = this.pieces.get(button);
    return info ? shifted(info.bars[0].mention, this.#shiftOf(button)) : null;
  }

  get buttons() {
    return [...this.element.querySelectorAll("button.tag")];
  }

  /** From one label to the next with the arrow keys; the one that has the focus is the one that Tab comes to. */
  step(event) {
    const { buttons } = this, at = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1 };
    const to = { ...next, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    for (const button of buttons) button.tabIndex = -1;
    const button = buttons[Math.min(Math.max(to, 0), buttons.length - 1)];
    button.tabIndex = 0;
    button.focus();
  }

  /** Whether some mentions are drawn without their labels, because too many overlap. */
  get isDeep() {
    return this.element.querySelector(".thin") !== null;
  }

  /** Marks the words of a mention down to its bar, and nothing else; none: no words. */
  light(mention, colour) {
    for (const piece of this.lit) for (const name of ["--hot", "--below"]) piece.style.removeProperty(name);
    this.lit = [];
    for (const part of mention ? this.element.children : []) {
      const [shift, reach] = this.spans.get(part);
      if (shift > mention.start || reach < mention.end) continue;
      for (const piece of part.querySelectorAll(".bars")) {
        const { start, end, height, bars } = this.pieces.get(piece);
        if (!partsOf(mention).some((span) => span[0] <= start + shift && end + shift <= span[1])) continue;
        const bar = bars.find((other) => keyOf(shifted(other.mention, shift)) === keyOf(mention));
        piece.style.setProperty("--hot", `color-mix(in srgb,${colour} 20%,transparent)`);
        piece.style.setProperty("--below", `${((height - (bar?.top ?? 0)) * LANE).toFixed(2)}em`);
        this.lit.push(piece);
      }
    }
  }

  /** The characters between two ends of a selection, or null where it reaches beyond the text. */
  selected(range) {
    if (!this.element.contains(range.startContainer) || !this.element.contains(range.endContainer)) return null;
    const start = this.#placeOf(range.startContainer, range.startOffset);
    const end = this.#placeOf(range.endContainer, range.endOffset);
    return start < end ? [start, end] : null;
  }

  #placeOf(node, offset) {
    // What stands before the point, without labels: they are drawn, but not part of the text.
    const part = (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(".part");
    if (!part) return this.spans.get(this.element.children[offset])?.[0] ?? Infinity;
    const before = document.createRange();
    before.setStart(part, 0);
    before.setEnd(node, offset);
    const fragment = before.cloneContents();
    for (const label of fragment.querySelectorAll(".tag, b")) label.remove();
    return this.spans.get(part)[0] + fragment.textContent.length;
  }
}

/** A label with how probable its mention is, where that is known. */
const sureLabel = ({ tag, label, probability }) => tag ?? (probability == null ? label : `${label} ${number(probability)}`);

const dashed = (colour, on, off) => `repeating-linear-gradient(90deg,${colour} 0 ${on},transparent ${on} calc(${on} + ${off}))`;

/** The first of these spans that ends behind a place. */
const wordAfter = (words, place) => words[firstIndex(words, ([, end]) => end > place)] ?? [Infinity, Infinity];

/** A piece of a text; with the spans of `words` an element for each, and for what is between them. */
function* inWords(text, start, end, words) {
  if (!words) return yield document.createTextNode(text.slice(start, end));
  for (let at = start, next; at < end; at = next) {
    const [from, to] = wordAfter(words, at), element = document.createElement("span"), isWord = at >= from;
    next = Math.min(isWord ? to : from, end);
    element.className = isWord ? "word" : "gap";
    element.textContent = text.slice(at, next);
    yield element;
  }
}

/** The label of a bar at the beginning of a further line, up to the next bar in its lane; none where there is no room. */
function lineLabel({ bar, line, near, below, at }, stands, em) {
  const next = stands.filter((other) => other.line === line && other.bar.top === bar.top && other.at > at);
  const room = Math.min(...next.map((other) => other.at - at)) - 0.4 * em;
  if (room < 2 * LABEL_SIZE * em) return [];
  const label = document.createElement("b");
  label.className = `again ${bar.mention.classes ?? ""}`;
  label.dataset.label = bar.label; // the style sheet writes it, so that it is no part of the text
  label.setAttribute("aria-hidden", "true");
  Object.assign(label.style, { [near]: `${at + 0.16 * em}px`, bottom: `${below}px`, color: bar.colour });
  if (room < Infinity) label.style.maxWidth = `${room}px`;
  return [label];
}

const shifted = (mention, by) => mapped(mention, (place) => place + by);

/** The part of a mention that a place is in; none in its gaps. */
function partAt(mention, place) {
  const all = partsOf(mention), part = all[firstIndex(all, ([start]) => start > place) - 1];
  return part && place < part[1] ? part : undefined;
}

function saying(mention, text) {
  return `${mention.label}${mention.probability == null ? "" : ` ${number(mention.probability)}`}: ${excerpt(text, mention)}`;
}

const byProbability = (bars) => [...bars].sort((a, b) => (b.mention.probability ?? 1) - (a.mention.probability ?? 1));

/** The note where too many mentions overlap; empty where all are drawn. */
export const leftOutNote = (count) => (count ? `${count.toLocaleString("en")} more not drawn, because too many overlap. The table lists them.` : "");

/** The mentions over a piece; of many, the most probable. */
function tooltip(bars, text) {
  const named = (bars.length > TOOLTIPS ? byProbability(bars).slice(0, TOOLTIPS) : bars).map((bar) => saying(bar.mention, text));
  if (bars.length > TOOLTIPS) named.push(`and ${bars.length - TOOLTIPS} more, which the table lists`);
  return named.join("\n");
}

/** The words of a mention on one line, with … between its parts; at most so many characters of them. */
export function excerpt(text, mention, most = 90) {
  const words = partsOf(mention).slice(0, MANY).map(([start, end]) => text.slice(start, Math.min(end, start + most + 1)));
  const shown = words.join(" … ").replace(/\s+/g, " ").trim();
  return shown.length <= most ? shown : `${shown.slice(0, most - 1).toWellFormed().replace(/\ufffd$/, "")}…`;
}

/** The same with both ends of what is longer: mentions differ at their ends. */
export function ends(text, mention, most = 80) {
  const words = partsOf(mention).map(([start, end]) => text.slice(start, end)).join(" … ").replace(/\s+/g, " ").trim();
  if (words.length <= most) return words;
  const half = most >> 1, whole = (part) => part.toWellFormed().replaceAll("\ufffd", "");
  return `${whole(words.slice(0, half)).replace(/ \S*$/, "")} … ${whole(words.slice(-half)).replace(/^\S* /, "")}`;
}

/** How many lanes a point is below the words; 0 on the words themselves. */
function laneAt(piece, height, x, y) {
  const em = parseFloat(getComputedStyle(piece).fontSize);
  const rects = [...piece.getClientRects()];
  const rect = rects.find((r) => y >= r.top && y <= r.bottom && x >= r.left && x <= r.right) ?? rects[0];
  return Math.max(height - (rect.bottom - y) / (LANE * em), 0);
}

/** The bar that a point is on; on the words themselves, one that covers them before one that has a gap there. */
function barAt(bars, place, height, start) {
  const passesOver = (bar) => (place === 0 && !partAt(bar.mention, start) ? height : 0);
  const distance = (bar) => Math.max(bar.top - place, place - bar.top - bar.height, 0) + passesOver(bar);
  return bars.reduce((best, bar) => (distance(bar) < distance(best) ? bar : best));
}

/** Room beside the text for labels that are longer than the words over them, where those end a line. */
function margins(text, mentions) {
  const beyond = { left: 0, right: 0 };
  for (const mention of mentions) {
    const { start } = mention, side = rightToLeft(text, start) ? "left" : "right";
    beyond[side] = Math.max(beyond[side], cells(sureLabel(mention)) - (anchorEnd(text, start) - start));
  }
  const room = (sum) => `${Math.min(0.4 * sum, 6).toFixed(2)}em`;
  return { left: room(beyond.left), right: room(beyond.right) };
}
