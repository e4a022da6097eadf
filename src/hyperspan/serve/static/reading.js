// The annotated text under the hands of a reader: pointer, keyboard, selection.

import { $, debounced } from "./dom.js";
import { joinedParts, keyOf, partsOf, withParts } from "./picture/mentions.js";
import { snapped } from "./offsets.js";
import { RunningText, leftOutNote, number } from "./picture/text.js";

export class Reading {
  /** `on`: mentions(list, rect) and words(span, rect) where something is to be constrained, problem(sentence, rect). */
  constructor(on) {
    this.on = on;
    this.element = $("result");
    this.text = new RunningText(this.element);
    this.view = null;
    this.current = null; // key of the mention that the keyboard is on
    this.held = null; // the mention that a card is open for
    this.begun = null; // the parts of a discontinuous mention that were selected so far
    const { element } = this;
    element.addEventListener("pointermove", (event) => event.pointerType === "mouse" && this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tip(null));
    element.addEventListener("click", (event) => this.#click(event));
    element.addEventListener("keydown", (event) => this.text.step(event));
    element.addEventListener("focusin", (event) => this.#focused(event.target));
    element.addEventListener("focusout", () => this.#tip(null));
    const select = debounced(() => this.#select());
    document.addEventListener("selectionchange", () => select(this.pressed ? 1000 : 600));
    addEventListener("pointerdown", () => (this.pressed = true));
    addEventListener("pointerup", () => {
      this.pressed = false;
      select(10);
    });
  }

  draw(view, mentions, colouring) {
    Object.assign(this, { view, colouring });
    const hadFocus = this.element.contains(document.activeElement);
    this.#tip(null);
    const { shownText = "", document: found } = view.answer ?? {};
    const breaks = found?.sentences.map((sentence) => sentence.start);
    const tagged = mentions.map((m) => (view.constraintOf(m) === "require" ? { ...m, tag: `✓ ${m.label}` } : m));
    this.text.draw(shownText, tagged, { colouring, breaks });
    $("thin").hidden = !this.text.isDeep;
    $("left-out").textContent = leftOutNote(this.text.leftOut);
    const kept = this.#nearest();
    if (kept) kept.tabIndex = 0;
    if (hadFocus && document.activeElement === document.body) (kept ?? this.element).focus({ preventScroll: true });
  }

  /** The button of the mention that the keyboard was on, or of one that is near where it was. */
  #nearest() {
    const start = parseInt(this.current, 10) || 0;
    let best, least = Infinity;
    for (const button of this.text.buttons) {
      const mention = this.text.mentionOf(button);
      const distance = keyOf(mention) === this.current ? -1 : Math.abs(mention.start - start);
      if (distance < least) [best, least] = [button, distance];
    }
    return best;
  }

  /** Marks the words of a mention; null: of the one that a card is open for, or none. */
  light(mention) {
    const lit = mention ?? this.held;
    this.text.light(lit, lit && (lit.label ? this.colouring.colour(lit.label) : "var(--accent)"));
  }

  // -- pointer ----------------------------------------------------------------------------------------------------------

  #hover(event) {
    const found = this.text.hit(event.target, event.clientX, event.clientY);
    this.#tip(found?.mentions[0] ?? null, event.clientX, event.clientY + 22);
  }

  #tip(mention, x = 0, y = 0) {
    const tip = $("tip");
    tip.hidden = !mention;
    this.light(mention);
    this.element.classList.toggle("over", Boolean(mention));
    if (!mention) return;
    tip.textContent = `${mention.label} ${number(mention.probability)}`;
    tip.style.setProperty("--colour", this.colouring.colour(mention.label));
    tip.style.left = `${Math.max(8, Math.min(x, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y}px`;
  }

  #click(event) {
    if (!getSelection().isCollapsed && !event.target.closest(".tag")) return; // words are being selected
    const found = this.text.hit(event.target, event.clientX, event.clientY);
    if (!found) return;
    this.current = keyOf(found.mentions[0]);
    this.held = found.mentions[0];
    this.#tip(null);
    const rects = [...found.element.getClientRects()];
    this.on.mentions(found.mentions, rects.find((r) => event.clientY >= r.top && event.clientY <= r.bottom) ?? rects[0]);
  }

  /** Back to where the card was opened from, unless the reader has moved on. */
  back() {
    this.handled = undefined;
    this.held = this.begun;
    this.light(null);
    const { activeElement } = document;
    if (activeElement !== document.body && !$("card").contains(activeElement)) return;
    ((this.current && this.#nearest()) || this.element).focus({ preventScroll: true });
  }

  // -- keyboard ---------------------------------------------------------------------------------------------------------

  #focused(target) {
    const mention = this.text.mentionOf(target);
    if (!mention) return;
    for (const button of this.element.querySelectorAll('button.tag[tabindex="0"]')) button.tabIndex = -1;
    target.tabIndex = 0;
    this.current = keyOf(mention);
    if (!target.matches(":focus-visible")) return;
    const box = target.getBoundingClientRect();
    this.#tip(mention, box.left, box.bottom + 6);
  }

  // -- selection --------------------------------------------------------------------------------------------------------

  #select() {
    const selection = getSelection();
    if (this.pressed || !this.view?.answer || !selection.rangeCount || selection.isCollapsed) return;
    const range = selection.getRangeAt(0), chosen = this.text.selected(range);
    if (!chosen || !range.toString().trim()) return;
    if (this.handled === chosen.join()) return; // each selection is dealt with once
    this.handled = chosen.join();
    this.choose(chosen, [...range.getClientRects()].at(-1) ?? range.getBoundingClientRect());
  }

  /** Offers the types for the words between two places, and for those of the parts before them. */
  choose(places, rect) {
    const { text, document: { sentences } } = this.view.answer, parts = this.begun ? partsOf(this.begun) : [];
    const span = snapped(places, sentences, this.view.model.max_width);
    const all = joinedParts([...parts, ...(span.problem ? [] : [[span.start, span.end]])], text);
    const problem = span.problem ?? snapped([all[0][0], all.at(-1)[1]], sentences, null).problem;
    if (problem) return this.on.problem(problem, rect);
    this.current = null;
    return this.on.words(withParts({}, all), rect);
  }

  /** The words of the next selection are a further part of what these are a part of; null: they are not. */
  begin(span) {
    this.begun = this.held = span;
    this.light(null);
  }
}
