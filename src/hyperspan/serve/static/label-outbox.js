// Decisions on their way to the disk of the server: one after another, in order, and none is forgotten.

import { ServerError } from "./api.js";
import { keyOf } from "./picture/mentions.js";

const KEPT = "hyperspan-label-unsaved";
const PAUSES = [0.5, 1, 1, 2]; // seconds between attempts while the server is gone

export class Outbox {
  #wake = null;
  #seen = new Map(); // item -> its newest {revision, history: how many decisions} that this window has seen

  /**
   * `on`: saved(decision, answer), conflict(decision, item, dropped), refused(decision, error), waiting(error or null),
   * unseen(item) where a sentence is not complete as it was shown, changed() whenever there is more or less to save.
   */
  constructor(server, on) {
    Object.assign(this, { server, on, decisions: [], isRunning: false });
  }

  /** What a reload interrupted. */
  kept() {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]").map((decision) => ({ ...decision, tried: true }));
  }

  resume(decisions) {
    this.decisions.push(...decisions);
    this.on.changed();
    return this.run();
  }

  get isEmpty() {
    return !this.decisions.length;
  }

  of(id) {
    return this.decisions.filter((decision) => decision.item === id);
  }

  /** An item was seen; decisions about it are decisions about this revision. */
  see(item) {
    this.#seen.set(item.id, { revision: item.revision, history: item.history.length });
  }

  /** `decision`: {item, text, action, …} as the server takes it; "undo" and "label" are sent to their own addresses. */
  add(decision) {
    this.decisions.push(decision);
    this.#changed();
    return this.run();
  }

  /** Tries again now. */
  retry() {
    this.#wake?.();
  }

  async run() {
    if (this.isRunning) return;
    this.isRunning = true;
    for (let failures = 0; this.decisions.length; ) {
      const [decision] = this.decisions;
      try {
        this.#settle(decision, await this.#send(decision));
        failures = 0;
      } catch (error) {
        if (this.#isFinal(decision, error)) failures = 0;
        else await this.#pause(error, error.busy ?? PAUSES[Math.min(failures++, PAUSES.length - 1)]);
      }
    }
    this.isRunning = false;
  }

  async #send(decision) {
    const { item, text, action, label, tried } = decision;
    if (action === "undo") return this.server.undo();
    if (action === "label") return { session: await this.server.addLabel(label) };
    if (tried || !this.#seen.has(item)) await this.#check(item, text);
    decision.revision ??= this.#seen.get(item).revision;
    const { item: _, text: __, tried: ___, seen: ____, ...body } = decision;
    return this.server.decide(item, body);
  }

  /** After the server was gone: whether it labels what it labelled before. */
  async #check(id, text) {
    const item = await this.server.item(id);
    if (item.text !== text) throw new ServerError("the server labels other texts than before", { status: 410 });
    if (!this.#seen.has(id)) this.see(item);
  }

  #settle(decision, answer) {
    this.decisions.shift();
    if (answer.item) this.see(answer.item);
    const unseen = answer.item ? this.of(answer.item.id).filter(({ seen }) => seen && hasNew(answer.item, seen)) : [];
    this.decisions = this.decisions.filter((other) => !unseen.includes(other));
    this.#changed();
    this.on.waiting(null);
    this.on.saved(decision, answer);
    if (unseen.length) this.on.unseen(answer.item);
  }

  /** Whether a failed call is settled: it was recorded after all, or is refused for good. */
  #isFinal(decision, error) {
    const { status, answer } = error;
    if (status === 409 && answer.item && decision.tried && isIn(decision, answer.item)) {
      this.#settle(decision, { item: answer.item });
      return true;
    }
    if (status === 409 && answer.item?.history.length === this.#seen.get(decision.item)?.history && decision.action !== "complete") {
      this.see(answer.item); // another model drafts: what was decided about a mention still holds, what was shown does not
      decision.revision = answer.item.revision;
      return true;
    }
    if (status === 409 && answer.item) {
      this.see(answer.item);
      const dropped = this.of(decision.item);
      this.#drop(dropped);
      this.on.conflict(decision, answer.item, dropped);
      return true;
    }
    if (status === 0 && decision.action === "undo") { // it may have been recorded, and a second one would undo more
      this.#drop([decision]);
      this.on.refused(decision, error);
      return true;
    }
    if (status >= 400 && status < 500 && ![401, 408, 429].includes(status)) {
      this.#drop([decision]);
      this.on.refused(decision, error);
      return true;
    }
    decision.tried = true;
    this.#changed();
    return false;
  }

  #drop(decisions) {
    this.decisions = this.decisions.filter((decision) => !decisions.includes(decision));
    this.#changed();
    this.on.waiting(null);
  }

  async #pause(error, seconds) {
    this.on.waiting(error);
    await new Promise((done) => {
      this.#wake = done;
      setTimeout(done, 1000 * seconds);
    });
  }

  #changed() {
    if (this.decisions.length) sessionStorage.setItem(KEPT, JSON.stringify(this.decisions));
    else sessionStorage.removeItem(KEPT);
    this.on.changed();
  }
}

/** Whether a mention that nobody has seen would be accepted with the draft. */
const hasNew = ({ mentions }, seen) => mentions.some((mention) => mention.state === "draft" && !seen.includes(keyOf(mention)));

const SETTLED = { accept: ["accepted", "added"], add: ["accepted", "added"], change: ["accepted", "added"], reject: ["rejected"] };
const STATUS = { complete: "done", sure: "partial", skip: "skipped" };

/** Whether an item is as a decision wants it: the answer was lost, not the decision. */
function isIn({ action, mention, to, note }, item) {
  if (action in STATUS) return item.status === STATUS[action];
  if (action === "note") return item.note === note;
  const wanted = to ?? mention;
  const found = wanted && item.mentions.find((m) => keyOf(m) === keyOf(wanted));
  if (action === "clear") return !found || found.state === "draft";
  return Boolean(found) && SETTLED[action]?.includes(found.state);
}
