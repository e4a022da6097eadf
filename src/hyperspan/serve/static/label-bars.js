// Where the bars of a sentence stand: boxes on its lines, and lanes in which they do not touch.

import { byLabel, keyOf } from "./mentions.js";

const GAP = 0.7; // between words of one bar, in font sizes; a wider one means that others stand between them
const APART = 6; // pixels between two bars of a lane

/** The boxes of words on one line, joined where they are neighbours, from left to right. */
export function joined(rects, size) {
  const runs = [];
  for (const { left, right } of [...rects].sort((a, b) => a.left - b.left)) {
    const last = runs.at(-1);
    if (last && left - last.x1 <= GAP * size) last.x1 = Math.max(last.x1, right);
    else runs.push({ x0: left, x1: right });
  }
  return runs;
}

/** A run over the words of a gap, as far as the bars on its sides. */
export function linked(run, bars, size) {
  const isNear = (a, b) => Math.abs(a - b) <= GAP * size;
  const before = bars.find((bar) => isNear(bar.x1, run.x0)), after = bars.find((bar) => isNear(bar.x0, run.x1));
  return { x0: before?.x1 ?? run.x0, x1: after?.x0 ?? run.x1 };
}

/** The widths that a run and its label take, label first at the side where reading begins, inside the line. */
export function withLabel({ x0, x1 }, width, isRtl, room) {
  const label = Math.min(width, room);
  const from = Math.max(Math.min(isRtl ? x1 - label : x0, room - label), 0);
  return { x0: Math.min(x0, from), x1: Math.max(x1, from + label), label: [from, from + label] };
}

/** What is inside stands nearer to the words; what was rejected and what is only possible stand furthest. */
export function innerFirst(a, b) {
  const last = ({ state }) => (state === "rejected" ? 1 : state === "candidate" ? 2 : 0);
  const width = ({ start, end }) => end - start;
  return last(a) - last(b) || width(a) - width(b) || a.start - b.start || byLabel(a, b);
}

/** How much a mention is worth drawing: first what is annotated, then drafts, what was rejected, and what is only possible. */
export function worth({ state, probability }) {
  return { draft: probability ?? 1, rejected: -1, candidate: (probability ?? 1) - 3 }[state] ?? 2;
}

/** A lane for each of `boxes` ({key, segments: [{line, x0, x1}]}): the one it had, where it is free, or the first free one. */
export function lanesOf(boxes, kept) {
  const taken = [], lanes = new Map(); // of a lane: line -> what is there
  const meets = (a, b) => a.x0 < b.x1 + APART && b.x0 < a.x1 + APART;
  const isFree = (lane, segments) => !segments.some((segment) => taken[lane]?.get(segment.line)?.some((other) => meets(segment, other)));
  const put = ({ key, segments }, lane) => {
    const lines = (taken[lane] ??= new Map());
    for (const segment of segments) {
      if (!lines.has(segment.line)) lines.set(segment.line, []);
      lines.get(segment.line).push(segment);
    }
    lanes.set(key, lane);
  };
  for (const box of boxes) if (kept.has(box.key) && isFree(kept.get(box.key), box.segments)) put(box, kept.get(box.key));
  for (const box of boxes) {
    if (lanes.has(box.key)) continue;
    let lane = 0;
    while (!isFree(lane, box.segments)) lane++;
    put(box, lane);
  }
  return lanes;
}

/** How many lanes each line has. */
export function heights(boxes, lanes, lines) {
  const sums = new Array(lines).fill(0);
  for (const { key, segments } of boxes)
    for (const { line } of segments) sums[line] = Math.max(sums[line], lanes.get(key) + 1);
  return sums;
}

/** What of the draft changed from one view of a sentence to the next: key -> {was, now, isNew}; the probabilities, and whether it joined. */
export function changes(before, after) {
  const there = new Map(before.mentions.map((mention) => [keyOf(mention), mention.probability]));
  const possible = new Map(before.candidates.map((mention) => [keyOf(mention), mention.probability]));
  const found = new Map();
  for (const mention of after.mentions) {
    const key = keyOf(mention), isNew = !there.has(key), was = (isNew ? possible : there).get(key), now = mention.probability;
    if (mention.state === "draft" && (isNew || Math.abs((was ?? now) - now) >= 0.005)) found.set(key, { was, now, isNew });
  }
  return found;
}
