// The second tab: the hypergraph of a short sentence, as the server draws it, to zoom and to scroll in.

import { Latest, busyText } from "./api.js";
import { $, debounced, fill, make } from "./dom.js";
import { shortSentence } from "./examples.js";
import { download } from "./save.js";
import { excerpt } from "./picture/text.js";

const OFFERED = 200; // sentences of the text
const STRUCTURES = { segmental: "segmental hypergraph", discontinuous: "hypergraph of discontinuous mentions" }; // by kind of model

const short = (text, most) => excerpt(text, { start: 0, end: text.length }, most);

export class HypergraphTab {
  constructor(server) {
    this.server = server;
    this.latest = new Latest();
    this.types = null; // null: those of the mentions that are found
    this.zoom = null; // null: as wide as the page
    this.width = 1;
    this.picture = $("canvas").attachShadow({ mode: "open" }); // its style is for itself
    this.ask = debounced(() => this.#ask());
    $("sentence").addEventListener("input", () => this.#choose($("sentence").value, 250));
    $("sentences").addEventListener("change", () => this.#choose($("sentences").value, 0));
    $("smaller").addEventListener("click", () => this.#scale(this.#scaleNow / 1.25));
    $("larger").addEventListener("click", () => this.#scale(this.#scaleNow * 1.25));
    $("fit").addEventListener("click", () => this.#scale(null));
    $("save-svg").addEventListener("click", () => this.svg && download("hypergraph.svg", this.svg, "image/svg+xml"));
    $("canvas").addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    $("canvas").addEventListener("pointerdown", (event) => this.#drag(event));
    addEventListener("resize", () => this.#scale(this.zoom));
  }

  /** Called when the tab is opened, and whenever there is something new while it is open. */
  open(view) {
    const isNew = this.model !== view.model || this.labels !== view.labels || this.pronouns !== view.pronouns;
    const { model, labels, names, pronouns } = view;
    Object.assign(this, { view, model, labels, names, pronouns });
    const { discontinuous, kind } = view.model;
    $("structure").textContent = STRUCTURES[kind] ?? "hypergraph";
    $("gaps-drawn").hidden = !discontinuous;
    const offered = this.#offered();
    fill($("sentences"), ...offered.map(({ text, words }) => make("option", { value: text }, `${short(text, 60)} (${words})`)));
    const isOwn = $("sentence").value !== this.filled; // written by the reader, who may not want another one
    if (isNew || (!isOwn && !offered.some(({ text }) => text === this.filled))) {
      const first = offered.find(({ words }) => words <= (view.limits.hypergraph_words ?? 12)) ?? offered.at(-1);
      this.filled = first.text;
      this.#choose(first.text, 0);
    } else $("sentences").value = $("sentence").value;
  }

  #offered() {
    const { answer, model } = this.view, example = shortSentence(model);
    const own = (answer?.document.sentences ?? []).slice(0, OFFERED).map(({ start, end, tokens }) =>
      ({ text: answer.text.slice(start, end).replace(/\s+/g, " "), words: tokens.length }));
    return [...own, { text: example, words: example.match(/\w+|[^\w\s]/g).length }];
  }

  #choose(text, delay) {
    if ($("sentence").value !== text) $("sentence").value = text;
    $("sentences").value = text;
    this.types = null;
    this.ask(delay);
  }

  async #ask() {
    const text = $("sentence").value.trim().toWellFormed(), { types } = this, { name } = this.model;
    if (!text) {
      this.latest.stop();
      return this.#say("Type a sentence of a few words.", true);
    }
    try {
      const { names, pronouns } = this, body = { text, model: name, names, pronouns, ...(types ? { types } : {}) };
      const busy = (error) => this.#say(busyText(error), true);
      const answer = await this.latest.run((signal) => this.server.hypergraph(body, signal), busy);
      if (answer) this.#show(answer);
    } catch (error) {
      this.#drawTypes(types ?? []); // it may help to choose some
      this.#say(error.message, true);
    }
    return undefined;
  }

  #show(answer) {
    const parsed = new DOMParser().parseFromString(answer.svg, "image/svg+xml").documentElement;
    if (parsed.localName !== "svg") return this.#say("The server sent a picture that cannot be shown.", true);
    this.svg = answer.svg;
    this.width = Number(parsed.getAttribute("width"));
    const style = make("style", {}, "svg { display: block; margin: 0 auto; height: auto }");
    this.picture.replaceChildren(style, document.importNode(parsed, true));
    this.#scale(this.zoom);
    const { labels } = this, found = new Set(answer.mentions.map((m) => m.label));
    this.#drawTypes(this.types ?? (found.size ? labels.filter((label) => found.has(label)) : labels.slice(0, 1)));
    const named = answer.mentions.map((m) => `${short(m.text)} (${m.label})`).join(", ");
    return this.#say(named ? `Mentions on the hyperpath: ${named}.` : "No mention is on the most probable hyperpath.", false);
  }

  #drawTypes(drawn) {
    const { labels } = this;
    fill($("graph-types"), ...labels.map((label) => {
      const change = () => {
        const chosen = labels.filter((other) => (other === label ? box.checked : drawn.includes(other)));
        if (!chosen.length) return void (box.checked = true); // a picture has some type
        this.types = chosen;
        return this.ask(0);
      };
      const box = make("input", {
        type: "checkbox",
        autocomplete: "off",
        checked: drawn.includes(label),
        "data-key": `graph-${label}`,
        onchange: change,
      });
      return make("label", {}, box, label);
    }));
  }

  #say(text, isOld) {
    $("graph-state").textContent = text;
    $("canvas").classList.toggle("old", isOld);
  }

  // -- zoom and scroll --------------------------------------------------------------------------------------------------

  get #scaleNow() {
    return this.zoom ?? Math.min(1, ($("canvas").clientWidth - 16) / this.width);
  }

  #scale(zoom) {
    this.zoom = zoom === null ? null : Math.min(Math.max(zoom, 0.1), 4);
    const drawing = this.picture.querySelector("svg");
    if (drawing) drawing.style.width = `${(this.width * this.#scaleNow).toFixed(0)}px`;
    $("zoom").textContent = `${(100 * this.#scaleNow).toFixed(0)} %`;
  }

  /** With Ctrl, and so on touch pads that pinch, the picture grows around the pointer; plain wheels scroll. */
  #wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const canvas = $("canvas"), box = canvas.getBoundingClientRect(), before = this.#scaleNow;
    this.#scale(before * Math.exp(-event.deltaY / 300));
    const grown = this.#scaleNow / before;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    canvas.scrollTo((canvas.scrollLeft + x) * grown - x, (canvas.scrollTop + y) * grown - y);
  }

  #drag(event) {
    if (event.pointerType !== "mouse" || event.button) return;
    const canvas = $("canvas"), [x, y] = [canvas.scrollLeft + event.clientX, canvas.scrollTop + event.clientY];
    const move = (moved) => canvas.scrollTo(x - moved.clientX, y - moved.clientY);
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("lostpointercapture", () => canvas.removeEventListener("pointermove", move), { once: true });
  }
}
