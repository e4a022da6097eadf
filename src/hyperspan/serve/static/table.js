// The table of mentions: for screen readers, the keyboard, and whoever wants numbers.

import { $, count, fill, make } from "./dom.js";
import { byLabel, mapped, placesText } from "./picture/mentions.js";
import { constraintButtons, swatch } from "./panels.js";
import { excerpt, number } from "./picture/text.js";

const ROWS = 200; // before someone asks for more

const ORDERS = {
  start: (a, b) => a.start - b.start || b.end - a.end || byLabel(a, b),
  label: (a, b) => (a.label === b.label ? ORDERS.start(a, b) : a.label < b.label ? -1 : 1),
  probability: (a, b) => (b.probability ?? 0) - (a.probability ?? 0) || ORDERS.start(a, b),
};

export class Table {
  #by = "start";
  #backwards = false;
  #most = ROWS;

  /** `on`: changed() when it is to be drawn again, constrain(kind, mention), light(mention or null). */
  constructor(on) {
    this.on = on;
    $("listing").addEventListener("toggle", on.changed);
    $("more-rows").addEventListener("click", () => {
      this.#most += 5 * ROWS;
      on.changed();
    });
    for (const button of document.querySelectorAll("[data-sort]"))
      button.addEventListener("click", () => {
        this.#backwards = this.#by === button.dataset.sort && !this.#backwards;
        this.#by = button.dataset.sort;
        on.changed();
      });
  }

  /** Few rows again, for another text. */
  reset() {
    this.#most = ROWS;
  }

  draw(view, mentions, colouring) {
    $("listing").querySelector("summary").textContent = `Table of ${count(mentions.length, "mention")}`;
    if (!$("listing").open) return $("rows").replaceChildren();
    const sorted = [...mentions].sort(ORDERS[this.#by]);
    if (this.#backwards) sorted.reverse();
    fill($("rows"), ...sorted.slice(0, this.#most).map((mention) => this.#row(view, colouring, mention)));
    $("more-rows").hidden = sorted.length <= this.#most;
    $("more-rows").textContent = `More rows (${(sorted.length - this.#most).toLocaleString("en")} left)`;
    for (const button of document.querySelectorAll("[data-sort]")) {
      const isDown = (this.#by === "probability") !== this.#backwards;
      if (button.dataset.sort !== this.#by) button.parentElement.removeAttribute("aria-sort");
      else button.parentElement.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    }
  }

  #row(view, colouring, mention) {
    const { text, place } = view.answer, { on } = this;
    return make("tr", { onmouseenter: () => on.light(mention), onmouseleave: () => on.light(null) },
      make("td", { className: "words" }, make("bdi", {}, excerpt(text, mention))),
      make("td", {}, swatch(colouring, mention.label), mention.label),
      make("td", { className: "number" }, number(mention.probability)),
      make("td", { className: "number place" }, placesText(mapped(mention, place))),
      make("td", { className: "constraint" }, ...constraintButtons(view, mention, on.constrain, excerpt(text, mention, 60))));
  }
}
