// Who stands where: lanes for overlapping spans, and places for their labels. The counterpart of render/layout.py and of
// the first half of render/html.py, which draw the same picture without a browser.

import { byLabel, partsOf } from "./mentions.js";

export const COLOURS = 10;
const DEEP = 8, NAMED = 5, SURE = 0.5, THIN = [0.12, 0.3]; // as in render/layout.py
const REPEAT = 35; // a label is written again after so many characters: by then a new line has probably begun
const SHORT = 400, LONG = 4_000; // characters: shorter lines are drawn together, longer ones apart
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u;
const NOTHING = /\p{M}|\p{Cf}/u;
const DIRECTED = /(\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko})|\p{L}/u;
const ANCHOR = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]\p{M}*|[\p{L}\p{M}\p{N}_]+|[^]/uy;

/** For each half-open span the first lane in which it meets none of the spans before it. */
export function lanes(spans) {
  const taken = []; // the spans of a lane, from left to right
  return spans.map((span) => {
    for (let lane = 0; ; lane++) {
      const others = (taken[lane] ??= []);
      const place = upperBound(others, span);
      const before = others[place - 1], after = others[place];
      if ((!before || before[1] <= span[0]) && (!after || span[1] <= after[0])) {
        others.splice(place, 0, span);
        return lane;
      }
    }
  });
}

function upperBound(spans, [start, end]) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const [s, e] = spans[middle];
    if (s < start || (s === start && e <= end)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Columns that a text takes up: two for wide characters, none for marks. */
export function cells(text) {
  let sum = 0;
  for (const sign of text) sum += NOTHING.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1;
  return sum;
}

/**
 * The mentions as bars: each with the top of its lane and the lane's height, in full lanes, and the places where its label is
 * written (true: on narrow pages only).
 */
export function barsOf(text, mentions, labelOf) {
  const order = [...mentions].sort(shortestFirst);
  const labels = order.map(labelOf);
  const widths = labels.map(cells);
  const room = order.map((m, i) => [m.start, Math.max(m.end, m.start + widths[i] + 1)]);
  const places = stack(order.map((m) => [m.start, m.end]), room, order.map((m) => m.probability ?? 1));
  return order.map((mention, i) => ({
    mention,
    ...places[i],
    label: labels[i],
    writtenAt: places[i].height < 1 ? new Map([[mention.start, false]]) : labelPlaces(text, mention, widths[i] + 1),
  }));
}

/** A lane for each span, whose label needs `room`, and thin lanes below them where spans overlap too deep. */
export function stack(spans, room, probabilities) {
  let rows = lanes(room);
  const deep = overlapping(spans).filter((group) => Math.max(...group.map((i) => rows[i])) >= DEEP);
  const places = rows.map((top) => ({ top, height: 1 }));
  if (!deep.length) return places;
  const inDeep = new Set(deep.flat());
  const named = [...spans.keys()].filter((i) => !inDeep.has(i) || probabilities[i] >= SURE);
  rows = lanes(named.map((i) => room[i]));
  const placed = new Set(named.filter((i, at) => !inDeep.has(i) || rows[at] < NAMED));
  named.forEach((i, at) => (places[i].top = rows[at]));
  for (const group of deep) {
    const start = Math.min(...group.map((i) => spans[i][0])), end = Math.max(...group.map((i) => spans[i][1]));
    const above = [...placed].filter((i) => room[i][0] < end && start < room[i][1]).map((i) => places[i].top + places[i].height);
    const thin = group.filter((i) => !placed.has(i)).sort((a, b) => spans[a][0] - spans[b][0] || spans[b][1] - spans[a][1] || a - b);
    const found = lanes(thin.map((i) => spans[i]));
    const height = Math.min(Math.max(NAMED / (Math.max(0, ...found) + 1), THIN[0]), THIN[1]);
    thin.forEach((i, at) => (places[i] = { top: Math.max(0, ...above) + found[at] * height, height }));
  }
  return places;
}

/** The numbers of the spans in groups that overlap, directly or by others. */
function overlapping(spans) {
  const groups = [];
  let reach = -1;
  for (const i of [...spans.keys()].sort((a, b) => spans[a][0] - spans[b][0] || spans[a][1] - spans[b][1])) {
    if (spans[i][0] >= reach) groups.push([]);
    groups.at(-1).push(i);
    reach = Math.max(reach, spans[i][1]);
  }
  return groups;
}

/** What is inside stands nearer to the text than what is around it. */
function shortestFirst(a, b) {
  return a.end - a.start - (b.end - b.start) || a.start - b.start || byLabel(a, b);
}

/** At the beginning, on a new line and now and then, never in a gap. */
function labelPlaces(text, mention, room) {
  const { start, end } = mention, inner = text.slice(0, end);
  const places = new Map();
  let place = start, narrow = false;
  for (;;) {
    if (place === start || inner[place] !== "\n") places.set(place, narrow); // an empty line shows no bar
    let found = inner.slice(place, place + REPEAT).indexOf("\n");
    narrow = found < 0 && !narrow;
    found = found < 0 ? inner.indexOf(" ", place + REPEAT) : found + place;
    if (found < 0) return places;
    const part = partsOf(mention).find((span) => found + 1 < span[1]);
    place = part ? Math.max(found + 1, part[0]) : end;
    if (place + room > end) return places;
  }
}

/** Where the word (or the sign) at a place ends; no line break comes between a label and its bar. */
export function anchorEnd(text, place) {
  ANCHOR.lastIndex = place;
  return ANCHOR.test(text) ? ANCHOR.lastIndex : place;
}

/** Whether the first letter from here on that has a direction is written from right to left. */
export function rightToLeft(text, place) {
  const found = DIRECTED.exec(text.slice(place, place + 50));
  return found !== null && found[1] !== undefined;
}

/** Characters that a page may show, as many as before. */
export function cleaned(text) {
  const shown = text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/g, "\ufffd");
  return shown.replace(/\r\n/g, " \n").replace(/\r/g, "\n");
}

/**
 * The text cut into parts, so that one can be drawn anew without the others: at line breaks, and where no line breaks for
 * long at one of `breaks` (the starts of sentences, in order); never inside a mention.
 */
export function parts(text, mentions, breaks = []) {
  const inside = [...mentions].sort((a, b) => a.start - b.start);
  const cut = [];
  let from = 0, next = 0, reach = 0;
  const end = (at) => {
    for (; next < inside.length && inside[next].start < at; next++) reach = Math.max(reach, inside[next].end);
    if (reach > at) return;
    cut.push([from, at]);
    from = at;
  };
  let sentence = 0;
  for (let at = 0; at >= 0; ) {
    at = text.indexOf("\n", Math.max(at, from));
    const line = at < 0 ? text.length : at + 1;
    for (; breaks[sentence] < line; sentence++)
      if (line - from > 2 * LONG && breaks[sentence] - from >= LONG) end(breaks[sentence]);
    if (at >= 0 && line - from >= SHORT) end(line);
    if (at >= 0) at = line;
  }
  if (from < text.length) cut.push([from, text.length]);
  return cut;
}
