// Where the annotator is in a sentence: on a mention, or on words. Token positions; ends are not included.

import { byLabel, joinedParts, keyOf, partsOf, plain, withParts } from "./picture/mentions.js";

/** In the order of the text, what is around before what is inside. */
export function inOrder(mentions) {
  return [...mentions].sort((a, b) => a.start - b.start || b.end - a.end || byLabel(a, b));
}

export class Place {
  key = null; // of the mention, if on one
  anchor = 0; // the word where a selection began
  focus = 0; // the word where it ends; both belong to it
  held = []; // the parts of a discontinuous mention that were selected before
  source = null; // the mention that they are from
  isEdge = false; // whether it is before the first word or behind the last one, with nothing selected

  onMention(mention) {
    Object.assign(this, { key: keyOf(mention), anchor: mention.start, focus: mention.end - 1, held: [], source: null, isEdge: false });
  }

  onWords(anchor, focus = anchor) {
    Object.assign(this, { key: null, anchor, focus, isEdge: false });
  }

  /** Before the first word or behind the last one: what extends the selection from there begins with that word. */
  onEdge(word) {
    this.onWords(word);
    this.isEdge = true;
  }

  /** On the words of a mention, the last part of which can be extended. */
  onParts(parts) {
    const [start, end] = parts.at(-1);
    Object.assign(this, { key: null, anchor: start, focus: end - 1, held: parts.slice(0, -1), source: null, isEdge: false });
  }

  /** Keeps what is chosen as parts of a mention, and goes behind it, where its next part may begin. */
  hold(mention, count) {
    const parts = partsOf(mention ?? this.words), next = Math.min(parts.at(-1)[1] + 1, count - 1);
    Object.assign(this, { key: null, anchor: next, focus: next, held: parts, source: mention ?? this.source });
  }

  /** Forgets the parts that were kept; false if there are none. */
  release() {
    const { held, source } = this;
    if (source) this.onMention(source);
    else if (held.length) this.onParts(held.slice(-1));
    return held.length > 0;
  }

  /** What is selected now, without the parts before. */
  get part() {
    return { start: Math.min(this.anchor, this.focus), end: Math.max(this.anchor, this.focus) + 1 };
  }

  get words() {
    return withParts({}, joinedParts([...this.held, ...partsOf(this.part)]));
  }

  /** The mention that it is on; null on words, or where the mention is gone. */
  mention(mentions) {
    return (this.key !== null && mentions.find((mention) => keyOf(mention) === this.key)) || null;
  }

  /** To the next mention, or the one before; false past the last one. */
  step(mentions, by) {
    const ordered = inOrder(mentions);
    const at = ordered.findIndex((mention) => keyOf(mention) === this.key);
    const { start } = this.words;
    const isAfter = (mention) => (by > 0 ? mention.start >= start : mention.start < start);
    const near = by > 0 ? ordered.findIndex(isAfter) : ordered.findLastIndex(isAfter);
    const next = ordered[at >= 0 ? at + by : near];
    if (!next || (at < 0 && near < 0)) return false;
    this.onMention(next);
    return true;
  }

  /** To the first mention without a decision from here on, or before it; it stays where there is none. */
  toOpen(mentions) {
    const ordered = inOrder(mentions), at = ordered.findIndex((mention) => keyOf(mention) === this.key);
    const later = [...ordered.slice(at + 1), ...ordered.slice(0, at + 1)];
    const open = later.find((mention) => mention.state === "draft" && !mention.pending);
    if (open) this.onMention(open);
    return Boolean(open);
  }

  /** The word cursor, from an end of the mention that it was on. */
  stepWord(by, count, extends_) {
    if (this.isEdge && extends_) return this.onWords(this.focus);
    const from = this.key === null ? this.focus + by : by > 0 ? this.words.end - 1 : this.words.start;
    const to = Math.min(Math.max(from, 0), count - 1);
    return this.onWords(extends_ ? this.anchor : to, to);
  }

  /** Where to be once a sentence was drawn anew: near where it was. */
  settle(mentions, count) {
    if (this.key === null || this.mention(mentions)) return;
    const { start } = this.words;
    const [nearest] = [...mentions].sort((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start));
    if (nearest) this.onMention(nearest);
    else this.onWords(Math.min(start, Math.max(count - 1, 0)));
  }
}

/** A mention with one end moved by a word, without a part that is empty then; null where it would be empty or leave the sentence. */
export function moved(mention, side, by, count) {
  const parts = partsOf(mention).map((part) => [...part]);
  if (side === "start") parts[0][0] += by;
  else parts.at(-1)[1] += by;
  const kept = joinedParts(parts.filter(([start, end]) => start < end));
  return kept.length && kept[0][0] >= 0 && kept.at(-1)[1] <= count ? withParts(plain(mention), kept) : null;
}
