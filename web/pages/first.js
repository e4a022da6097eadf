// The first page of the documentation: the bundled models, each loaded when it is chosen.

import { examplesFor } from "../dist/shared/examples.js";
import { make } from "../dist/shared/dom.js";
import { load } from "../src/index.js";
import { Live, loaded } from "./live.js";

const root = document.getElementById("live");
const models = await (await fetch(new URL("../models/models.json", import.meta.url))).json();
const opened = new Map(); // name -> annotate
let given = ""; // the example that is shown

const choice = make("select", { id: "live-model" }, ...models.map(({ name, about, bytes }) =>
  make("option", { value: name }, `${name}: ${about}, ${(bytes / 1e6).toFixed(1)} MB`)));
const begin = make("button", { type: "button", className: "md-button md-button--primary" });
const place = make("div", { className: "loading" });
const row = make("div", { className: "choice" }, make("label", { for: "live-model" }, "Model"), choice, begin);
const entry = () => models.find(({ name }) => name === choice.value);
const offer = () => (begin.textContent = `Try it here: load ${(entry().bytes / 1e6).toFixed(1)} MB`);
root.prepend(row, place);
const live = new Live(root);
root.append(make("p", { className: "more" }, "Nothing that you type leaves this page. It also runs ", make("a", { href: new URL("../../../your-model.html", import.meta.url).href }, "your own model"), "."));

async function use() {
  const { name, labels, bytes } = entry();
  choice.disabled = begin.disabled = true;
  const annotate = opened.get(name) ?? (await loaded(load, new URL(`../models/${name}/`, import.meta.url), place, bytes));
  choice.disabled = begin.disabled = false;
  if (!annotate) return;
  opened.set(name, annotate);
  begin.hidden = true;
  root.classList.add("running");
  const [example] = examplesFor({ name, labels });
  const isOwn = live.field.value.trim() && live.field.value !== given;
  given = isOwn ? given : example;
  await live.use(annotate, isOwn ? live.field.value : example);
}

choice.addEventListener("change", () => (begin.hidden ? use() : offer()));
begin.addEventListener("click", async () => {
  await use();
  if (begin.hidden) live.field.focus({ preventScroll: true });
});
offer();
