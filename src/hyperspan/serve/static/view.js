// What the reader chose, what the server answered, and what follows from both: the mentions to show.

import { keyOf, plain } from "./picture/mentions.js";
import { afterEdit, codePoints } from "./offsets.js";

const CANDIDATES = 0.01; // mentions come along down to this probability, which is where the slider ends
const SHORT = 1_000; // characters up to which alternatives come with the mentions: they take longer
const WITHOUT_ASKING = 20_000; // characters up to which they come at all without being asked for

export class View {
  models = [];
  limits = {}; // of the server
  version = ""; // of hyperspan
  model = null; // one of models
  text = "";
  name = ""; // of the file that the text is from
  tab = "mentions";
  mode = "set"; // or "threshold" or "promise"
  least = 0.5;
  recall = 0.9; // what is promised
  byLabel = {};
  hidden = new Set();
  names = false; // whether names alone are asked for
  pronouns = true;
  constraints = []; // {kind: "require" | "forbid", start, end, label, fragments}
  ranks = new Map(); // sentence -> which of its best sets is shown, where not the first
  sets = 5; // how many of them are asked for
  setsAnyway = false; // although the text is long
  answer = null; // {text, shownText, model, document, place, alternatives: null while they are on the way}

  get topK() {
    const most = Math.min(this.sets, this.limits.alternatives ?? Infinity);
    return this.text.length <= WITHOUT_ASKING || this.setsAnyway ? most : 0;
  }

  get candidates() {
    return Math.max(CANDIDATES, this.limits.least_probability ?? 0);
  }

  /** Why the text is not sent, if it is not. */
  get tooLong() {
    const most = this.limits.characters ?? Infinity;
    if (this.text.length <= most || codePoints(this.text)(this.text.length) <= most) return "";
    const limit = `${most.toLocaleString("en")} characters`;
    return `The text has more than the ${limit} that this server takes at once. Shorten it, or use “hyperspan annotate” for it.`;
  }

  /** The labels that are asked for. */
  get labels() {
    return this.names ? this.model.name_labels : this.model.labels;
  }

  get shownLabels() {
    return this.labels.filter((label) => !this.hidden.has(label));
  }

  /** The body of a request for all that can be shown without another one. */
  get request() {
    const constrained = (kind) => this.constraints.filter((constraint) => constraint.kind === kind).map(plain);
    return {
      text: this.text.toWellFormed(),
      model: this.model.name,
      require: constrained("require"),
      forbid: constrained("forbid"),
      candidates: this.candidates,
      recall: this.mode === "promise" ? this.recall : null,
      top_k: this.hidden.size || this.text.length > SHORT ? 0 : this.topK,
      names: this.names,
      pronouns: this.pronouns,
      offset_unit: "utf16",
    };
  }

  /** The same for the alternatives alone, among the types that are shown. */
  get alternativesRequest() {
    return { ...this.request, candidates: null, recall: null, types: this.shownLabels, top_k: this.topK };
  }

  /** A new text; constraints move with their words, and the number of those that cannot is given back. */
  edit(text) {
    const before = this.constraints.length;
    this.constraints = afterEdit(this.constraints, this.text, text);
    this.ranks = new Map();
    this.text = text;
    return before - this.constraints.length;
  }

  /** What a link or the browser's history keeps. */
  get snapshot() {
    const { text, name, tab, mode, least, recall, byLabel, names, pronouns, constraints, ranks } = this;
    const model = this.model.name, hidden = [...this.hidden];
    return { text, name, model, tab, mode, least, recall, byLabel, names, pronouns, hidden, constraints, ranks };
  }

  /** Takes over what was kept; false if the model is not there. */
  restore(kept, text) {
    const model = this.models.find((other) => other.name === kept.model);
    const { mode, least, byLabel, tab } = kept;
    Object.assign(this, { mode, least, recall: kept.recall ?? 0.9, tab, text, byLabel: { ...byLabel }, hidden: new Set(kept.hidden) });
    Object.assign(this, { name: kept.name ?? "", names: kept.names ?? false, pronouns: kept.pronouns ?? true });
    this.answer = null;
    this.constraints = kept.constraints.filter((constraint) => constraint.end <= text.length);
    this.choose(model ?? this.model);
    this.ranks = new Map(kept.ranks);
    return model !== undefined || !kept.model;
  }

  choose(model) {
    this.model = model;
    this.names &&= model.name_labels.length > 0;
    const { labels } = this;
    this.constraints = this.constraints.filter((constraint) => labels.includes(constraint.label));
    this.hidden = new Set([...this.hidden].filter((label) => labels.includes(label)));
    if (this.hidden.size >= labels.length) this.hidden.clear();
    this.byLabel = Object.fromEntries(Object.entries(this.byLabel).filter(([label]) => labels.includes(label)));
    this.ranks = new Map();
    this.#withoutPromise();
  }

  /** Whether the server can promise something: of all mentions, as the model finds them. */
  get canPromise() {
    return this.model.promises && !this.names && this.pronouns && !this.constraints.length;
  }

  #withoutPromise() {
    if (this.mode === "promise" && !this.canPromise) this.mode = "set";
  }

  constraintOf(mention) {
    return this.constraints.find((constraint) => keyOf(constraint) === keyOf(mention))?.kind;
  }

  /** Requires or forbids a mention; neither, if that is what it already is. */
  constrain(kind, mention) {
    const [span] = afterEdit([plain(mention)], this.answer.text, this.text); // the text may have gone on
    if (!span) return;
    const was = this.constraintOf(span);
    this.constraints = this.constraints.filter((constraint) => keyOf(constraint) !== keyOf(span));
    if (was !== kind) this.constraints.push({ kind, ...span });
    this.ranks = new Map();
    this.#withoutPromise();
  }

  leastOf(label) {
    return this.byLabel[label] ?? this.least;
  }

  // -- what the answer holds --------------------------------------------------------------------------------------------

  get alternatives() {
    return this.answer?.alternatives ?? [];
  }

  get lists() {
    return this.alternatives.map((sentence) => sentence.sets);
  }

  /** The mentions to show, those of hidden types too. */
  get chosen() {
    if (!this.answer) return [];
    const { mentions, candidates } = this.answer.document;
    if (this.mode === "promise") return mentions;
    if (this.mode === "threshold") return candidates.filter((m) => m.probability >= this.leastOf(m.label));
    const ranks = [...this.ranks].filter(([sentence, rank]) => this.alternatives[sentence]?.sets[rank]);
    if (!ranks.length) return mentions;
    const others = ranks.map(([sentence]) => this.alternatives[sentence]);
    const kept = mentions.filter((m) => this.hidden.has(m.label) || !others.some((s) => m.start >= s.start && m.end <= s.end));
    const sets = ranks.map(([sentence, rank]) => this.alternatives[sentence].sets[rank]);
    return kept.concat(sets.flatMap((set) => set.mentions.map((m) => this.candidate(m) ?? { ...m, probability: null })));
  }

  get shown() {
    return this.chosen.filter((m) => !this.hidden.has(m.label));
  }

  /** The mention with its probability, if that is not too small to have come along. */
  candidate(mention) {
    if (!this.answer) return undefined;
    const { candidates, mentions } = this.answer.document;
    this.answer.byKey ??= new Map([...candidates, ...mentions].map((m) => [keyOf(m), m]));
    return this.answer.byKey.get(keyOf(mention));
  }

  /** The mentions of some sentences, with these of their sets chosen. */
  mentionsOf(ranks, sentences) {
    return sentences.flatMap((sentence) => this.lists[sentence][ranks.get(sentence) ?? 0].mentions);
  }
}
