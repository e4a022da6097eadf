// The card beside a mention or a selection: what covers the place, how probable it is, and buttons to require or forbid it.

import { $, make } from "./dom.js";
import { keyOf, plain } from "./picture/mentions.js";
import { constraintButtons, swatch } from "./panels.js";
import { excerpt, number } from "./picture/text.js";

export class Card {
  /** `onConstrain(kind, mention)` is called when a button is pressed; `onClose()` when the card goes. */
  constructor(onConstrain, onClose) {
    this.element = $("card");
    this.onConstrain = onConstrain;
    this.element.addEventListener("toggle", (event) => {
      if (event.newState === "closed") onClose();
    });
  }

  get isOpen() {
    return this.element.matches(":popover-open");
  }

  /** For mentions that cover a place, the one that is meant first. */
  forMentions(view, colouring, mentions, anchor) {
    const [meant] = mentions;
    const taken = new Set(mentions.map(keyOf));
    const others = view.labels.map((label) => ({ ...meant, label })).filter((m) => !taken.has(keyOf(m)));
    const rows = mentions.map((m) => this.#row(view, colouring, m, mentions.length > 1));
    const more = make("details", { hidden: !others.length }, make("summary", {}, "Other types for these words"),
      ...others.map((m) => this.#row(view, colouring, this.#known(view, m), false)));
    this.#show([this.#title(view, meant), ...rows, more], anchor, `${meant.label}: ${excerpt(view.answer.text, meant)}`);
  }

  /** For words that were selected: every type that they may have; `addPart()` where they are one part of several. */
  forWords(view, colouring, span, anchor, addPart) {
    const possible = view.labels.map((label) => this.#known(view, plain({ ...span, label })));
    const rows = possible.map((m) => this.#row(view, colouring, m, false));
    const more = make("button", { className: "quiet add-part", hidden: !view.model.discontinuous, onclick: () => (this.close(), addPart()) }, "Add a part");
    this.#show([this.#title(view, span), ...rows, more], anchor, `Types for ${excerpt(view.answer.text, span)}`);
  }

  sayProblem(problem, anchor) {
    this.#show([make("p", { className: "note" }, problem)], anchor, problem);
  }

  close() {
    if (this.isOpen) this.element.hidePopover();
  }

  #known(view, mention) {
    return view.candidate(mention) ?? { ...mention, probability: null };
  }

  #title(view, span) {
    return make("p", { className: "title" }, make("bdi", {}, excerpt(view.answer.text, span, 140)));
  }

  #row(view, colouring, mention, withWords) {
    const words = excerpt(view.answer.text, mention, 60);
    const meter = make("span", { className: "number" }, number(mention.probability));
    meter.style.setProperty("--share", `${100 * (mention.probability ?? 0)}%`);
    meter.style.setProperty("--colour", colouring.colour(mention.label));
    const press = (kind) => {
      this.onConstrain(kind, mention);
      this.close();
    };
    return make("div", { className: "row" },
      make("div", { className: "what" },
        swatch(colouring, mention.label),
        make("b", { title: view.model.card.labels[mention.label] ?? "" }, mention.label),
        meter,
        withWords ? make("bdi", { className: "words" }, words) : null),
      make("div", { className: "buttons" }, ...constraintButtons(view, mention, press, words)));
  }

  #show(children, anchor, title) {
    const close = make("button", { className: "quiet close", "aria-label": "Close", onclick: () => this.close() }, "×");
    this.element.replaceChildren(...children, close);
    this.element.setAttribute("aria-label", title);
    if (!this.isOpen) this.element.showPopover();
    // In the coordinates of the page, so that it scrolls with the text; on narrow pages the style sheet puts it to the bottom.
    const width = this.element.offsetWidth, { clientWidth, clientHeight } = document.documentElement;
    const left = Math.max(8, Math.min(anchor.left, clientWidth - width - 8));
    const below = anchor.bottom + 8, above = anchor.top - this.element.offsetHeight - 8;
    const top = below + this.element.offsetHeight > clientHeight && above > 0 ? above : below;
    this.element.style.setProperty("--left", `${left + scrollX}px`);
    this.element.style.setProperty("--top", `${top + scrollY}px`);
    const covered = anchor.bottom + 12 - this.element.getBoundingClientRect().top;
    if (getComputedStyle(this.element).position === "fixed" && covered > 0) scrollBy(0, covered);
    this.element.querySelector("button").focus({ preventScroll: true });
  }
}
