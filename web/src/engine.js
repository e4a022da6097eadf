// From a text to its mentions with a model: the counterpart of runtime/annotator.py and runtime/decoding.py.

import { check } from "./errors.js";
import { bestSets } from "./kbest.js";
import { Kernels, utf16 } from "./kernels.js";
import { openModel } from "./model.js";

const WINDOW = 4_000; // words that are read at a time
const ENTRIES = 40_000; // sentences × words × widths of a batch
const PROBABLE = 0.1; // words may be skipped if only mentions of at least this probability are wanted
const NEVER = 2; // more than any probability

export class Engine {
  /** From the bytes of the kernels and of a model's files, by name. */
  static async of(wasm, files) {
    return new Engine(await Kernels.of(wasm), files);
  }

  constructor(kernels, files) {
    this.kernels = kernels;
    this.model = openModel(kernels, files);
    const { labels, names } = this.model;
    this.labels = labels.filter((label) => !Object.hasOwn(names, label));
    this.nameLabels = labels.filter((label) => Object.hasOwn(names, label)).map((label) => names[label]);
  }

  /**
   * Yields how many words are done, window by window, and returns {mentions, candidates, alternatives}. `options`: threshold, types, names, topK,
   * candidates, as in index.d.ts.
   */
  *annotate(text, options = {}) {
    check(typeof text === "string", `a text to annotate is a ${typeof text}, but must be a string`);
    const wanted = this.#wanted(options), found = { mentions: [], candidates: [], alternatives: [] };
    const sentences = this.#cut(text);
    for (let first = 0, last; first < sentences.length; first = last) {
      let words = 0;
      for (last = first; last < sentences.length && (last === first || words + sentences[last].count <= WINDOW); last++) words += sentences[last].count;
      this.#annotateWindow(text, sentences.slice(first, last), wanted, found);
      yield sentences[last - 1].first + sentences[last - 1].count;
    }
    for (const list of [found.mentions, found.candidates]) list.sort(inOrder);
    found.alternatives.sort((a, b) => a.start - b.start);
    return { mentions: found.mentions, ...(wanted.candidates && { candidates: found.candidates }), ...(wanted.topK && { alternatives: found.alternatives }) };
  }

  // -- options ------------------------------------------------------------------------------------------------------------

  #wanted({ threshold = null, types = null, names = false, topK = 0, candidates = null, ...unknown }) {
    const { model } = this, [first] = Object.keys(unknown);
    check(first === undefined, `there is no option ${JSON.stringify(first)} here; there are threshold, types, names, topK and candidates`);
    check(!names || this.nameLabels.length, "this model does not mark names, so that it cannot find names alone; leave the option names out");
    const known = names ? this.nameLabels : this.labels.length === model.labels.length ? model.labels : model.labels.filter((label) => !types || types.includes(label) || this.labels.includes(label));
    const asked = types ?? (names ? this.nameLabels : this.labels);
    const byLabel = threshold === null || typeof threshold === "object" ? threshold : { "*": threshold };
    check(Array.isArray(asked), `types is ${JSON.stringify(types)}; it must be a list of labels`);
    for (const label of [...asked, ...Object.keys(byLabel ?? {}).filter((one) => one !== "*")])
      check(known.includes(label) || (!names && model.labels.includes(label)), `the label ${JSON.stringify(label)} is not among those of the model; it knows ${known.join(", ")}`);
    const isProbability = (value) => typeof value === "number" && value > 0 && value <= 1;
    for (const value of Object.values(byLabel ?? {})) check(isProbability(value), `the threshold is ${value}; it must be a probability above 0 and at most 1`);
    check(candidates === null || isProbability(candidates), `the least probability of candidates is ${candidates}; it must be above 0 and at most 1`);
    const most = model.parts > 1 ? 100 : 1000; // gaps have many more choices
    check(Number.isInteger(topK) && topK >= 0 && topK <= most, `topK is ${topK}; for this model it must be a whole number from 0 to ${most}`);
    const reported = model.labels.map((label) => (names ? (model.names[label] ?? null) : label));
    const isWanted = reported.map((label) => label !== null && asked.includes(label));
    const least = (of) => Float32Array.from(reported, (label, type) => (isWanted[type] ? of(label) : NEVER));
    const thresholds = byLabel && least((label) => byLabel[label] ?? byLabel["*"] ?? 0.5);
    const lowest = Math.min(1, candidates ?? 1, ...(thresholds ?? []));
    return {
      reported,
      topK,
      skip: !topK && lowest >= PROBABLE ? model.quickSkip : model.skip,
      best: thresholds === null,
      thresholds: thresholds ?? least(() => 1),
      candidates: candidates === null ? null : least(() => candidates),
      types: isWanted.flatMap((isOne, type) => (isOne ? [type] : [])),
    };
  }

  // -- text ---------------------------------------------------------------------------------------------------------------

  /** The sentences of a text: {first, count, units, points}, where units and points are [start, end, start, end, …] of tokens. */
  #cut(text) {
    const { kernels } = this;
    kernels.with([utf16(text)], (at) => kernels.calls.cut_text(at, text.length));
    const [sentences, , firsts, points, units] = kernels.ints(kernels.calls.cut_result(), 5);
    const from = kernels.ints(firsts, sentences + 1);
    const spans = (at, i) => kernels.ints(at, 2 * from[sentences]).slice(2 * from[i], 2 * from[i + 1]);
    return Array.from({ length: sentences }, (_, i) => ({ first: from[i], count: from[i + 1] - from[i], units: spans(units, i), points: spans(points, i) }));
  }

  #annotateWindow(text, sentences, wanted, found) {
    const { kernels } = this;
    const tokens = sentences.flatMap(({ units }) => Array.from({ length: units.length / 2 }, (_, i) => text.slice(units[2 * i], units[2 * i + 1])));
    const lines = utf16(tokens.join("\n")), lower = utf16(tokens.join("\n").toLowerCase());
    kernels.with([lines, lower], (at, lowered) => kernels.calls.read_tokens(at, lines.length, lowered, lower.length, tokens.length));
    for (const batch of batches(sentences, this.model.maxWidth)) {
      const places = Int32Array.from(batch.flatMap(({ first, count }) => [first - sentences[0].first, count]));
      const failed = kernels.with([places], (at) => kernels.calls.compute(batch.length, at, wanted.skip));
      check(failed !== -2, "this model gives scores that are not numbers; train it again");
      this.#read(text, batch, wanted.best, wanted.thresholds, wanted.reported, found.mentions);
      if (wanted.candidates) this.#read(text, batch, false, wanted.candidates, wanted.reported, found.candidates);
      if (wanted.topK) found.alternatives.push(...this.#alternatives(text, batch, wanted));
    }
  }

  // -- mentions -----------------------------------------------------------------------------------------------------------

  #read(text, batch, best, least, reported, to) {
    const { kernels } = this;
    const count = kernels.with([least], (at) => kernels.calls.mentions(Number(best), at));
    const fields = kernels.ints(kernels.calls.batch_result(), 18);
    const stride = 2 + 2 * this.model.parts, rows = kernels.ints(fields[16], stride * count), probabilities = kernels.floats(fields[17], count);
    for (let i = 0; i < count; i++) {
      const [sentence, type, ...places] = rows.subarray(stride * i, stride * (i + 1));
      to.push(mentionAt(text, batch[sentence], places, reported[type], probabilities[i]));
    }
  }

  *#alternatives(text, batch, { topK, types, reported }) {
    const { kernels } = this;
    kernels.enough(kernels.calls.rank_menus());
    const [n, c, m, gaps, later, ...addresses] = kernels.ints(kernels.calls.batch_result(), 16), stages = Array.from({ length: this.model.parts - 1 }, (_, i) => i);
    const sizes = [m, m, (c - 1) * m, (c - 1) * m, c * m, c * m, c * m, c * m, later * m, gaps * m, 2 * later * m];
    for (const [index, sentence] of batch.entries()) {
      const values = (kind, stage = 0) => addresses[kind] && kernels.floats(addresses[kind] + 4 * (stage * batch.length + index) * n * sizes[kind], n * sizes[kind]);
      const [absent, present, extend, branch, close, sums, best, more, last] = sizes.map((_, kind) => values(kind));
      const gapItems = stages.map((stage) => values(9, stage)), partItems = stages.slice(1).map((stage) => values(10, stage - 1));
      const ranked = bestSets({ absent, present, extend, branch, close, sums, best, more, last, gapItems, partItems, gaps, later, c, m }, sentence.count, types, topK);
      yield {
        start: sentence.units[0], end: sentence.units.at(-1), codePoints: [sentence.points[0], sentence.points.at(-1)],
        sets: ranked.map(({ probability, mentions }) => ({
          probability,
          mentions: mentions.map(({ type, places }) => mentionAt(text, sentence, places, reported[type])).sort(inOrder),
        })),
      };
    }
  }
}

/** A mention of a sentence; `places` are the first token of each part and the one after its last, then negative ones. */
function mentionAt(text, { units, points }, places, label, probability) {
  const parts = [];
  for (let i = 0; places[i] >= 0; i += 2) parts.push([2 * places[i], 2 * places[i + 1] - 1]);
  const spans = (of) => parts.map(([first, last]) => [of[first], of[last]]), [inUnits, inPoints] = [spans(units), spans(points)];
  const whole = (all) => [all[0][0], all.at(-1)[1]], [start, end] = whole(inUnits);
  return {
    start, end, codePoints: whole(inPoints), ...(parts.length > 1 && { fragments: inUnits, fragmentCodePoints: inPoints }),
    label, ...(probability !== undefined && { probability }), text: text.slice(start, end),
  };
}

/** By place, the longest first, then by label. */
const inOrder = (a, b) => a.start - b.start || b.end - a.end || (a.label < b.label ? -1 : Number(a.label > b.label));

/** Sentences of similar length, longest first. */
function* batches(sentences, maxWidth) {
  const order = sentences.filter(({ count }) => count).sort((a, b) => b.count - a.count);
  for (let first = 0, size; first < order.length; first += size) {
    const { count } = order[first];
    size = Math.max(Math.floor(ENTRIES / (count * Math.min(maxWidth || count, count))), 1);
    yield order.slice(first, first + size);
  }
}
