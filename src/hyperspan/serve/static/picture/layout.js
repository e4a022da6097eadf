// Who stands where: lanes for overlapping spans, and places for their labels. The counterpart of render/layout.py and of
// the first half of render/bars.py, which draw the same picture without a browser.

import { byLabel, partsOf } from "./mentions.js";

export const COLOURS = 10;
const DEEP = 8, MOST = 40, NAMED = 5, SURE = 0.5, THIN = [0.12, 0.3]; // as in render/layout.py
const REPEAT = 35; // a label is written again after so many characters: by then a new line has probably begun
const SHORT = 400, LONG = 4_000; // characters: shorter lines are drawn together, longer ones apart
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u;
const NOTHING = /\p{M}|\p{Cf}/u;
const DIRECTED = /(\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko})|\p{L}/u;
const ANCHOR = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]\p{M}*|[\p{L}\p{M}\p{N}_]+|[^]/uy;

/** The numbers of the spans to draw: at most `most` over any place, the more probable and then the earlier ones. */
export function notTooDeep(spans, probabilities, most) {
  const leftOut = new Set();
  let reaching = []; // what is drawn so far and ends after the next one begins
  for (const i of [...spans.keys()].sort((a, b) => spans[a][0] - spans[b][0])) {
    reaching = reaching.filter((other) => spans[other][1] > spans[i][0]);
    reaching.push(i);
    if (reaching.length <= most) continue;
    const least = reaching.reduce((a, b) => (probabilities[a] - probabilities[b] || b - a) < 0 ? a : b);
    reaching.splice(reaching.indexOf(least), 1);
    leftOut.add(least);
  }
  return [...spans.keys()].filter((i) => !leftOut.has(i));
}

/** For each half-open span its lane of `kept` where that is free, or the first in which it meets no other; `most` if it finds none before it. */
export function lanes(spans, most = Infinity, kept = []) {
  const taken = []; // the spans of a lane, from left to right
  const put = (span, lane) => {
    const others = (taken[lane] ??= []);
    const place = upperBound(others, span);
    const before = others[place - 1], after = others[place];
    const isFree = (!before || before[1] <= span[0]) && (!after || span[1] <= after[0]);
    if (isFree) others.splice(place, 0, span);
    return isFree;
  };
  const stays = spans.map((span, i) => kept[i] < most && put(span, kept[i]));
  return spans.map((span, i) => {
    let lane = stays[i] ? kept[i] : 0;
    if (!stays[i]) while (lane < most && !put(span, lane)) lane++;
    return lane;
  });
}

/** Where a span belongs among sorted ones, after those that equal it. */
const upperBound = (spans, [start, end]) => firstIndex(spans, ([s, e]) => s > start || (s === start && e > end));

/** The index of the first for which something holds, which then holds for all after it. */
export function firstIndex(all, holds) {
  let low = 0, high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(all[middle])) high = middle;
    else low = middle + 1;
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
 * The mentions as bars, those worth most where more than `most` overlap: each with the top of its lane and the lane's height, in
 * full lanes, and the places where its label is written (true: on narrow pages only). `kept(mention)`: the lane that it had.
 */
export function barsOf(text, mentions, labelOf, { most = MOST, kept = () => undefined } = {}) {
  const every = [...mentions].sort(shortestFirst), worth = (m) => m.worth ?? m.probability ?? 1;
  const drawn = notTooDeep(every.map((m) => [m.start, m.end]), every.map(worth), most);
  const order = drawn.map((i) => every[i]);
  const labels = order.map(labelOf);
  const widths = labels.map(cells);
  const room = order.map((m, i) => [m.start, Math.max(m.end, m.start + widths[i] + 1)]);
  const places = stack(order.map((m) => [m.start, m.end]), room, order.map(worth), order.map(kept));
  return order.map((mention, i) => ({
    mention,
    ...places[i],
    label: labels[i],
    writtenAt: places[i].height < 1 ? new Map([[mention.start, false]]) : labelPlaces(text, mention, widths[i] + 1),
  }));
}

/** A lane for each span, whose label needs `room`, and thin lanes below them where spans overlap too deep. */
export function stack(spans, room, probabilities, kept) {
  let rows = lanes(room, DEEP, kept);
  const groups = overlapping(spans), places = rows.map((top) => ({ top, height: 1 }));
  const inDeep = new Set(groups.filter((group) => group.some((i) => rows[i] === DEEP)).flat());
  if (!inDeep.size) return places;
  const named = [...spans.keys()].filter((i) => !inDeep.has(i) || probabilities[i] >= SURE);
  rows = lanes(named.map((i) => room[i]), DEEP);
  const placed = new Set(named.filter((i, at) => rows[at] < (inDeep.has(i) ? NAMED : DEEP)));
  named.forEach((i, at) => (places[i].top = rows[at]));
  const full = [...placed].sort((a, b) => room[a][0] - room[b][0]);
  const longest = room.reduce((most, [start, reach], i) => (reach > spans[i][1] ? Math.max(most, reach - start) : most), 0);
  for (const group of groups) {
    const thin = group.filter((i) => !placed.has(i)).sort((a, b) => spans[a][0] - spans[b][0] || spans[b][1] - spans[a][1] || a - b);
    if (!thin.length) continue;
    const start = spans[group[0]][0], end = group.reduce((most, i) => Math.max(most, spans[i][1]), 0);
    const near = full.slice(firstIndex(full, (i) => room[i][0] >= start - longest), firstIndex(full, (i) => room[i][0] >= end));
    const top = near.reduce((most, i) => (start < room[i][1] ? Math.max(most, places[i].top + 1) : most), 0);
    const found = lanes(thin.map((i) => spans[i]));
    const height = Math.min(Math.max(NAMED / (found.reduce((a, b) => Math.max(a, b)) + 1), THIN[0]), THIN[1]);
    thin.forEach((i, at) => (places[i] = { top: top + found[at] * height, height }));
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

/** What is inside stands nearer to the text than what is around it, and what has a lower `rank` than what has a higher one. */
function shortestFirst(a, b) {
  return (a.rank ?? 0) - (b.rank ?? 0) || a.end - a.start - (b.end - b.start) || a.start - b.start || byLabel(a, b);
}

/** At the beginning, on a new line and now and then, never in a gap. */
function labelPlaces(text, mention, room) {
  const { start, end } = mention, inner = text.slice(0, end), all = partsOf(mention);
  const places = new Map();
  let place = start, narrow = false;
  for (;;) {
    if (place === start || inner[place] !== "\n") places.set(place, narrow); // an empty line shows no bar
    let found = inner.slice(place, place + REPEAT).indexOf("\n");
    narrow = found < 0 && !narrow;
    found = found < 0 ? inner.indexOf(" ", place + REPEAT) : found + place;
    if (found < 0) return places;
    const part = all[firstIndex(all, (span) => found + 1 < span[1])];
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
