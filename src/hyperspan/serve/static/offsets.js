// Places in a text: JavaScript counts UTF-16 units, files count Unicode code points, models count tokens.

import { joinedParts, partsOf, withParts } from "./picture/mentions.js";

/** A function from places in UTF-16 units to places in code points. */
export function codePoints(text) {
  const pairs = []; // where the second halves of surrogate pairs are
  for (let i = 1; i < text.length; i++) {
    const unit = text.charCodeAt(i), before = text.charCodeAt(i - 1);
    if (unit >= 0xdc00 && unit < 0xe000 && before >= 0xd800 && before < 0xdc00 && pairs.at(-1) !== i - 1) pairs.push(i);
  }
  return (place) => place - countBelow(pairs, place);
}

/** For each place in code points, up to the end, the place in UTF-16 units. */
export function units(text) {
  const places = [0];
  for (const sign of text) places.push(places.at(-1) + sign.length);
  return places;
}

function countBelow(sorted, limit) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** How many words a text has, as people count them: "brother's" and "IL-2" are one each, and a full stop is none. */
export function wordsIn(text) {
  let words = 0;
  for (const [chunk] of text.matchAll(/\S*[\p{L}\p{N}]\S*/gu))
    words += UNSPACED.test(chunk) ? [...new Intl.Segmenter("und", { granularity: "word" }).segment(chunk)].filter((one) => one.isWordLike).length : 1;
  return words;
}

/** The span of the tokens that a selection touches, with the words in it; or what is wrong with it. */
export function snapped([start, end], sentences, maxWidth) {
  const touched = sentences.filter((sentence) => sentence.start < end && sentence.end > start);
  if (!touched.length) return { problem: "There are no words in the selection." };
  const tokens = touched[0].tokens.filter(([from, to]) => from < end && to > start);
  if (touched.length > 1 && touched[1].tokens.some(([from, to]) => from < end && to > start))
    return { problem: "A mention lies in one sentence, and the selection is in several." };
  if (!tokens.length) return { problem: "There are no words in the selection." };
  if (maxWidth && tokens.length > maxWidth)
    return { problem: `This model knows mentions of at most ${maxWidth} words, and ${tokens.length} are selected.` };
  return { start: tokens[0][0], end: tokens.at(-1)[1], words: tokens.length };
}

/** Which part of a text was replaced: the place, how many units went, and what came. */
function edit(before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0, tail = 0;
  while (head < most && before[head] === after[head]) head++;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return { at: head, gone: before.length - head - tail, come: after.slice(head, after.length - tail) };
}

/** The spans after an edit of the text: moved with their words, and without those whose words were changed. */
export function afterEdit(spans, before, after) {
  const { at, gone, come } = edit(before, after);
  const word = /[\p{L}\p{M}\p{N}_]/u;
  const removed = before.slice(at, at + gone);
  const touchesWord = (sign) => sign !== undefined && word.test(sign);
  const moved = ([start, end]) => {
    if (at >= end) return at === end && (touchesWord(come[0]) || touchesWord(removed[0])) ? null : [start, end];
    if (at + gone > start) return null;
    if (at + gone === start && (touchesWord(come.at(-1)) || touchesWord(removed.at(-1)))) return null;
    return [start, end].map((place) => place + come.length - gone);
  };
  return spans.flatMap((span) => {
    const parts = partsOf(span).map(moved);
    return parts.includes(null) || joinedParts(parts).length < parts.length ? [] : [withParts(span, parts)];
  });
}
