// Where the annotator is in a sentence: on a mention, or on words. Token positions; ends are not included.

import { keyOf } from "./mentions.js";

/** In the order of the text, what is around before what is inside. */
export function inOrder(mentions) {
  return [...mentions].sort((a, b) => a.start - b.start || b.end - a.end || (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
}

export class Place {
  key = null; // of the mention, if on one
  anchor = 0; // the word where a selection began
  focus = 0; // the word where it ends; both belong to it

  onMention(mention) {
    Object.assign(this, { key: keyOf(mention), anchor: mention.start, focus: mention.end - 1 });
  }

  onWords(anchor, focus = anchor) {
    Object.assign(this, { key: null, anchor, focus });
  }

  get words() {
    return { start: Math.min(this.anchor, this.focus), end: Math.max(this.anchor, this.focus) + 1 };
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
    const from = this.key === null ? this.focus + by : by > 0 ? this.words.end - 1 : this.words.start;
    const to = Math.min(Math.max(from, 0), count - 1);
    this.onWords(extends_ ? this.anchor : to, to);
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

/** A mention with one end moved by a word; null where it would be empty or leave the sentence. */
export function moved({ start, end, label }, side, by, count) {
  const to = side === "start" ? { start: start + by, end, label } : { start, end: end + by, label };
  return to.start >= 0 && to.end <= count && to.start < to.end ? to : null;
}
