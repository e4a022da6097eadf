// What the annotator works on: the sentence, where he is in it, what he decides, and what of it is not saved yet.

import { Place, moved } from "./label-place.js";
import { keyOf, plain } from "./picture/mentions.js";
import { Colouring } from "./picture/text.js";

const PAUSE = 700; // milliseconds after the last move of a boundary until it is sent
const MOMENT = 800; // milliseconds in which one cannot have looked at what is new
const SURE = 0.95; // a draft with at least this probability is no more worth a look than the others

export class Desk {
  session = null;
  item = null;
  place = new Place();
  colouring = new Colouring([]);
  showsCandidates = sessionStorage.getItem("hyperspan-label-candidates") === "1";
  changed = new Map(); // of the draft: key of a mention -> what changed by the last decision; new ones stay until they are decided
  doubtful = null; // {key, why}: the mention that one begins with, if it is not just the first
  #joined = new Map(); // key of a mention that is new in the draft -> when it came
  #edit = null; // {from, to}: a boundary that is being moved
  #timer = 0;

  /** `sentence`: the view of it; `outbox`: where decisions go; `on`: say(text), draw(). */
  constructor(sentence, outbox, on) {
    Object.assign(this, { sentence, outbox, on });
  }

  setSession(session) {
    const queue = session.queue ?? this.session?.queue ?? [];
    this.session = { ...session, queue };
    this.colouring = new Colouring(session.labels);
  }

  /** Shows an item; the place in it stays if it is the same one. */
  setItem(item) {
    const isSame = item.id === this.item?.id;
    if (!isSame) this.changed = new Map();
    else if (item.revision !== this.item.revision) this.changed = this.#changes(item);
    this.#joined = new Map([...this.changed].filter(([, { isNew }]) => isNew).map(([key]) => [key, this.#joined.get(key) ?? performance.now()]));
    this.item = item;
    this.outbox.see(item);
    const entry = this.session.queue.find((other) => other.id === item.id);
    if (entry) entry.status = item.status;
    if (!isSame) {
      this.drop();
      this.place = new Place();
      this.doubtful = mostDoubtful(item.mentions);
      if (this.doubtful) this.place.onMention(this.doubtful.mention);
      else if (!this.place.toOpen(item.mentions)) this.place.onWords(0);
    }
  }

  /** What changes in the draft; what joined it before and has no decision yet stays new. */
  #changes(item) {
    const found = changes(this.item, item), drafts = item.mentions.filter(({ state }) => state === "draft");
    for (const { probability, ...mention } of drafts) {
      const key = keyOf(mention), change = found.get(key);
      if (this.changed.get(key)?.isNew) found.set(key, { was: change?.was, now: probability, isNew: true });
    }
    return found;
  }

  /** Goes to a mention that joined the draft in this moment, which nobody can have looked at; false if there is none. */
  toJoined() {
    const now = performance.now();
    const key = [...this.#joined].find(([, time]) => now - time < MOMENT)?.[0];
    const mention = key && this.mentions.find((other) => keyOf(other) === key);
    if (mention) this.place.onMention(mention);
    return Boolean(mention);
  }

  // -- what there is ----------------------------------------------------------------------------------------------------

  get count() {
    return this.item.tokens.length;
  }

  /** The mentions to show: as the server has them, with what is on its way to it. */
  get mentions() {
    const found = new Map(this.item.mentions.map((mention) => [keyOf(mention), mention]));
    if (this.showsCandidates)
      for (const mention of this.item.candidates) found.set(keyOf(mention), { ...mention, state: "candidate" });
    const put = (mention, state) => found.set(keyOf(mention), { ...mention, state, pending: true });
    const move = (from, to) => {
      if (found.get(keyOf(from))?.state === "added") found.delete(keyOf(from));
      else put(from, "rejected");
      put(to, "added");
    };
    for (const { action, mention, to } of this.outbox.of(this.item.id)) {
      if (action === "change") move(mention, to);
      else if (action === "clear") put(mention, "draft");
      else if (mention) put(mention, { accept: "accepted", add: "added", reject: "rejected" }[action]);
    }
    if (this.#edit) {
      found.delete(keyOf(this.#edit.from));
      put(this.#edit.to, "added");
    }
    return [...found.values()];
  }

  get mention() {
    return this.place.mention(this.mentions);
  }

  /** How probable each label is for the words of the current mention or selection, as far as that is known. */
  get probabilities() {
    const words = this.mention ?? this.place.words, isHere = (m) => keyOf({ ...words, label: m.label }) === keyOf(m);
    const here = [...this.item.candidates, ...this.item.mentions.filter((mention) => mention.state === "draft")];
    return new Map(here.filter((m) => isHere(m) && m.probability != null).map((m) => [m.label, m.probability]));
  }

  saying(mention) {
    return `${mention.label} “${this.sentence.words.excerpt(mention, 60)}”`;
  }

  // -- decisions about mentions -----------------------------------------------------------------------------------------

  decide(action, rest = {}) {
    this.commit();
    return this.#send({ action, ...rest });
  }

  #send(decision) {
    return this.outbox.add({ item: this.item.id, text: this.item.text, ...decision });
  }

  accept() {
    const { mention } = this;
    if (this.#edit) {
      this.commit();
      return this.#goOn();
    }
    if (!mention) return this.on.say("Choose a mention, or press a digit to give these words a label.");
    const isNew = mention.state === "candidate";
    if (!isNew && mention.state !== "draft" && mention.state !== "rejected") return this.#goOn();
    this.decide(isNew ? "add" : "accept", { mention: plain(mention) });
    return this.#goOn();
  }

  reject() {
    this.drop();
    const { mention } = this;
    if (!mention) return this.on.say("Choose a mention to reject.");
    if (mention.state !== "rejected") this.decide("reject", { mention: plain(mention) });
    return this.#goOn();
  }

  clear() {
    const { mention } = this;
    if (!mention || mention.state === "draft" || mention.state === "candidate") return this.on.say("There is no decision to clear here.");
    this.decide("clear", { mention: plain(mention) });
    return this.on.draw();
  }

  /** Gives the current mention this label, or adds a mention of the selected words. */
  label(label) {
    if (this.#edit) {
      this.#edit.to = { ...this.#edit.to, label };
      this.place.onMention(this.#edit.to);
      return this.commit();
    }
    const { place } = this, mention = this.mention ?? place.source;
    if (this.mention?.label === label) return this.accept();
    const to = plain({ ...(this.mention ?? place.words), label });
    const isThere = this.mentions.some((other) => keyOf(other) === keyOf(to) && other.state !== "candidate" && other.state !== "rejected");
    if (isThere && !mention) this.decide("accept", { mention: to });
    else if (!mention || mention.state === "candidate") this.decide("add", { mention: to });
    else if (keyOf(mention) !== keyOf(to)) this.decide("change", { mention: plain(mention), to });
    this.place.onMention(to);
    return this.on.draw();
  }

  /** After a decision: to the next mention that has none. */
  #goOn() {
    this.place.toOpen(this.mentions);
    this.on.draw();
  }

  /** What is chosen becomes a part of a mention whose next part is chosen then. */
  hold() {
    this.commit();
    this.place.hold(this.mention, this.count);
  }

  // -- boundaries -------------------------------------------------------------------------------------------------------

  /** Moves an end of the current mention, or of the selected words; it is sent after a pause or with the next key. */
  move(side, by) {
    const { mention } = this;
    if (!mention) return this.#moveWords(side, by);
    const from = this.#edit?.from ?? mention, to = moved(mention, side, by, this.count);
    if (!to) return this.on.say("It cannot go further.");
    this.#edit = { from, to: { ...to, probability: null } };
    this.place.onMention(to);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.commit(), PAUSE);
    this.on.say(`${this.saying(to)}: not saved yet.`);
    return this.on.draw();
  }

  #moveWords(side, by) {
    const { place, count } = this;
    const to = moved({ ...place.part, label: "" }, "start", by, count);
    if (side === "end") place.stepWord(by, count, true);
    else if (to) place.onWords(to.start, to.end - 1);
    return this.on.draw();
  }

  /** Sends the boundary that was moved. */
  commit() {
    const edit = this.#edit;
    clearTimeout(this.#timer);
    this.#edit = null;
    if (!edit || keyOf(edit.from) === keyOf(edit.to)) return edit && this.on.draw();
    const isGuess = edit.from.state === "candidate";
    const decision = isGuess ? { action: "add", mention: plain(edit.to) } : { action: "change", mention: plain(edit.from), to: plain(edit.to) };
    this.#send(decision);
    return this.on.draw();
  }

  /** Forgets the boundary that was moved; false if there is none. */
  drop() {
    clearTimeout(this.#timer);
    const edit = this.#edit;
    this.#edit = null;
    if (edit) this.place.onMention(edit.from);
    return Boolean(edit);
  }

  get isEditing() {
    return this.#edit !== null;
  }

  // -- the queue --------------------------------------------------------------------------------------------------------

  /** The id of the sentence so many places away in the queue; null past its ends. */
  neighbour(by) {
    const { queue } = this.session;
    return queue[queue.findIndex((entry) => entry.id === this.item?.id) + by]?.id ?? null;
  }

  /** The id of the next open sentence, after this one or from the beginning on; null if there is none. */
  nextOpen() {
    const { queue } = this.session, at = queue.findIndex((entry) => entry.id === this.item?.id);
    const open = [...queue.slice(at + 1), ...queue.slice(0, Math.max(at, 0))].find((entry) => entry.status === "open");
    return open?.id ?? null;
  }
}

/** The mention of a draft that the model is least sure of, and why one begins with it; null if it is sure of all, or alone. */
function mostDoubtful(mentions) {
  const drafts = mentions.filter(({ state, probability }) => state === "draft" && probability != null);
  const mention = drafts.reduce((least, other) => (least && least.probability <= other.probability ? least : other), null);
  if (drafts.length < 2 || mention.probability >= SURE) return null;
  return { mention, key: keyOf(mention), why: `the model is least sure of this one of ${drafts.length}` };
}

/** What of the draft changed from one view of a sentence to the next: key -> {was, now, isNew}; the probabilities, and whether it joined. */
function changes(before, after) {
  const there = new Map(before.mentions.map((mention) => [keyOf(mention), mention.probability]));
  const possible = new Map(before.candidates.map((mention) => [keyOf(mention), mention.probability]));
  const found = new Map();
  for (const mention of after.mentions) {
    const key = keyOf(mention), isNew = !there.has(key), was = (isNew ? possible : there).get(key), now = mention.probability;
    if (mention.state === "draft" && (isNew || Math.abs((was ?? now) - now) >= 0.005)) found.set(key, { was, now, isNew });
  }
  return found;
}
