// Text that is annotated while it is typed: bars under the words, a threshold, and a table of the same mentions.

import { debounced, make } from "../dist/shared/dom.js";
import { cleaned } from "../dist/shared/picture/layout.js";
import { Colouring, RunningText, excerpt, leftOutNote, number } from "../dist/shared/picture/text.js";

const LEAST = 0.05; // of the mentions that the slider can show
const ROWS = 200; // of the table

export class Live {
  #annotate = null;
  #result = null; // of the text that is shown
  #working = null; // what stops the work on a text
  #last = null; // the mention that was spoken of

  constructor(root) {
    this.field = make("textarea", { id: "live-text", rows: 4, spellcheck: false, autocomplete: "off" });
    this.isBest = make("input", { type: "checkbox", id: "live-best", checked: true });
    this.threshold = make("input", { type: "range", id: "live-threshold", min: LEAST, max: 0.99, step: 0.01, value: 0.5 });
    this.atLeast = make("span", { className: "least", "aria-hidden": "true" });
    this.status = make("p", { className: "note", role: "status" });
    this.picture = make("div", { className: "text", role: "group", "aria-label": "The text with its mentions" });
    this.said = make("p", { className: "said note" });
    this.rows = make("tbody");
    this.table = make("details", {}, make("summary", {}, "Table of mentions"), make("table", {},
      make("thead", {}, make("tr", {}, ...["Words", "Type", "Probability", "Place"].map((name) => make("th", { scope: "col" }, name)))), this.rows));
    this.text = new RunningText(this.picture);
    this.element = make("div", { className: "hyperspan live", hidden: true },
      make("label", { for: "live-text" }, "Your text"), this.field,
      make("div", { className: "show" }, make("label", { for: "live-best" }, this.isBest, " most probable set"),
        make("label", { for: "live-threshold" }, "or all of at least ", this.threshold), this.atLeast),
      this.status, this.picture, this.said, this.table);
    root.append(this.element);
    const wait = debounced(() => this.#work());
    this.field.addEventListener("input", () => wait(150));
    this.threshold.addEventListener("input", () => ((this.isBest.checked = false), this.#draw()));
    this.isBest.addEventListener("change", () => this.#draw());
    this.table.addEventListener("toggle", () => this.#draw());
    this.picture.addEventListener("pointermove", ({ target, clientX, clientY }) => this.#speak(this.text.hit(target, clientX, clientY)?.mentions[0]));
    this.picture.addEventListener("click", ({ target, clientX, clientY }) => this.#speak(this.text.hit(target, clientX, clientY)?.mentions[0]));
    this.picture.addEventListener("pointerleave", () => this.#speak(null));
    this.picture.addEventListener("focusin", ({ target }) => this.#speak(this.text.mentionOf(target)));
    this.picture.addEventListener("focusout", () => this.#speak(null));
    this.picture.addEventListener("keydown", (event) => this.text.step(event));
  }

  /** Annotates with another model, and `text` if there is one. */
  use(annotate, text = this.field.value) {
    this.#annotate = annotate;
    this.colouring = new Colouring(annotate.labels);
    this.element.hidden = false;
    return this.show(text);
  }

  /** Annotates a text and shows it. */
  show(text) {
    this.field.value = text;
    return this.#work();
  }

  /** What is shown, as options of annotating. */
  get options() {
    return { threshold: this.isBest.checked ? null : Number(this.threshold.value) };
  }

  async #work() {
    const text = this.field.value, began = performance.now(), working = new AbortController();
    this.#working?.abort();
    this.#working = working;
    this.picture.ariaBusy = "true";
    const slow = (words) => performance.now() - began > 500 && (this.status.textContent = `${words.toLocaleString("en")} words so far …`);
    try {
      const result = await this.#annotate(text, { candidates: LEAST, signal: working.signal, onWords: slow });
      this.#result = { ...result, text: cleaned(text), seconds: (performance.now() - began) / 1000 };
      this.#draw();
    } catch (error) {
      if (working.signal.aborted) return; // another text came
      this.status.textContent = error.message;
    }
    this.picture.ariaBusy = "false";
  }

  #draw() {
    const percent = Math.round(100 * this.threshold.value);
    this.atLeast.textContent = this.threshold.ariaValueText = `${percent} %`;
    if (!this.#result) return;
    const { text, seconds, mentions, candidates } = this.#result;
    const shown = this.isBest.checked ? mentions : candidates.filter(({ probability }) => probability >= percent / 100);
    this.#speak(null);
    this.text.draw(text, shown, { colouring: this.colouring });
    const [first] = this.text.buttons;
    if (first) first.tabIndex = 0;
    const time = seconds < 10 ? `${Math.max(Math.round(1000 * seconds), 1)} ms` : `${Math.round(seconds)} s`;
    this.status.textContent = `${shown.length.toLocaleString("en")} ${shown.length === 1 ? "mention" : "mentions"}, found here in ${time}. ${leftOutNote(this.text.leftOut)}`;
    this.rows.replaceChildren(...(this.table.open ? shown.slice(0, ROWS).map((mention) => this.#row(mention)) : []));
    if (this.table.open && shown.length > ROWS) this.rows.append(make("tr", {}, make("td", { colSpan: 4 }, `and ${(shown.length - ROWS).toLocaleString("en")} more`)));
  }

  #row(mention) {
    const { start, end, label, probability } = mention;
    return make("tr", {}, make("td", {}, make("bdi", {}, excerpt(this.#result.text, mention))), make("td", {}, label),
      make("td", {}, number(probability)), make("td", {}, `${start}–${end}`));
  }

  /** Says below the text what a mention is, and marks its words. */
  #speak(mention) {
    const same = mention && this.#last && mention.start === this.#last.start && mention.end === this.#last.end && mention.label === this.#last.label;
    if (same || (!mention && !this.#last)) return;
    this.#last = mention;
    this.text.light(mention ?? null, mention && this.colouring.colour(mention.label));
    this.said.textContent = mention ? `${mention.label} ${number(mention.probability)}: ${excerpt(this.#result.text, mention)}` : "";
  }
}

/** Loads a model with a progress bar in `place`; undefined, and a sentence there, where it cannot be loaded. */
export async function loaded(load, source, place, size) {
  const bar = make("progress", { id: "live-progress", max: 1 }), label = make("label", { for: "live-progress" }, "Loading …");
  place.replaceChildren(label, bar);
  try {
    const annotate = await load(source, {
      onProgress: ({ loaded, total }) => {
        bar.value = loaded / Math.max(size ?? total ?? Infinity, loaded);
        label.textContent = `Loading ${(loaded / 1e6).toFixed(1)} MB …`;
      },
    });
    place.replaceChildren();
    return annotate;
  } catch (error) {
    place.replaceChildren(make("p", { className: "wrong", role: "alert" }, error.message));
    return undefined;
  }
}
