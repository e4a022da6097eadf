// The page: what the reader does changes the view, the view is asked for, and the answer is drawn.

import { drawSets } from "./alternatives.js";
import { Latest, Server, ServerError, busyText } from "./api.js";
import { Card } from "./card.js";
import { askKey, showModelCard } from "./dialogs.js";
import { $, count, debounced, fill, make } from "./dom.js";
import { examplesFor, isExample } from "./examples.js";
import { listen, textOf } from "./files.js";
import { HypergraphTab } from "./hypergraph.js";
import { copyLink, keep, save } from "./keeping.js";
import { cleaned } from "./picture/layout.js";
import { viewOf } from "./link.js";
import { notice, say } from "./notices.js";
import { codePoints, wordsIn } from "./offsets.js";
import { buildTypes, drawConstraints, updateTypes } from "./panels.js";
import { Reading } from "./reading.js";
import { Table } from "./table.js";
import { listenToTabs, select } from "./tabs.js";
import { Colouring, excerpt } from "./picture/text.js";
import { View } from "./view.js";

const view = new View();
const server = new Server(askKey);
const [answers, alternatives] = [new Latest(), new Latest()];
let colouring = new Colouring([]);
let took = 0; // milliseconds of the last answer
let graph = null;
const begun = Promise.withResolvers(); // kept once there is a model: what the reader does before that waits for it

const light = (mention) => reading.light(mention);
const table = new Table({ changed: drawSoon, constrain, light });
const card = new Card(constrain, () => reading.back());
const reading = new Reading({
  mentions: (mentions, rect) => card.forMentions(view, colouring, mentions, rect),
  words: (span, rect) => card.forWords(view, colouring, span, rect, () => beginPart(span)),
  problem: (problem, rect) => card.sayProblem(problem, rect),
});

// -- asking ----------------------------------------------------------------------------------------------------------------

const askSoon = debounced(ask);
const askAlternativesSoon = debounced(askAlternatives);

/** Says whether what is shown is about to change; the style sheet waits a little before it shows it. */
function tellBusy() {
  $("result").parentElement.ariaBusy = String(answers.busy || askSoon.isWaiting());
}

async function ask() {
  askSoon.stop();
  alternatives.stop();
  if (!view.text.trim()) {
    answers.stop();
    view.answer = null;
    notice("server", "");
    tellDomain(view.model, null);
    return settle();
  }
  const { request, model, tooLong } = view, started = performance.now();
  try {
    if (tooLong) throw new ServerError(tooLong, { status: 413 });
    const answered = answers.run((signal) => server.annotate(request, signal), busy);
    tellBusy();
    const found = await answered;
    if (!found) return; // a newer request is under way
    took = performance.now() - started;
    take(request, model, found.documents[0]);
    tellDomain(model, found.documents[0].domain);
    notice("server", "");
  } catch (error) {
    if (view.answer?.text !== request.text) view.answer = null; // what is shown would be about another text
    notice("server", error.message, remedy(error));
  }
  settle();
}

function remedy({ status }) {
  const isRefused = status === 400 || status === 422;
  if (view.constraints.length && isRefused) return ["Remove the constraints", () => removeConstraints(view.constraints)];
  if (view.mode === "promise" && isRefused) return ["Show the best set", () => setMode("set")];
  return status === 0 || status >= 500 ? ["Try again", ask] : undefined;
}

function take(request, model, found) {
  if (view.answer && view.answer.text !== request.text) view.ranks = new Map();
  view.answer = {
    model,
    text: request.text,
    shownText: cleaned(request.text),
    place: codePoints(request.text),
    document: { candidates: [], sentences: [], ...found },
    alternatives: request.top_k ? found.alternatives : null,
  };
  if (!request.top_k) askAlternativesSoon(300);
}

let noted = ""; // the model that the text is foreign to, the one that fits better, and the language of the text

/** Says once that a text is unlike what the model was trained on; who has dismissed it does not see it again. */
function tellDomain(model, domain) {
  const better = domain?.better_model;
  const now = domain?.foreign ? `${model.name} ${better} ${domain.language}` : "";
  if (now === noted) return;
  noted = now;
  const isServed = view.models.some(({ name }) => name === better);
  notice("domain", now && `${domain.note[0].toUpperCase()}${domain.note.slice(1)}.`, isServed ? [`Use ${better}`, () => chooseModel(better)] : undefined);
}

/** The alternatives among some types are others than those among all. */
async function askAlternatives() {
  const { answer, alternativesRequest } = view;
  if (!answer || answers.busy || !view.topK || !view.shownLabels.length) return;
  try {
    const found = await alternatives.run((signal) => server.annotate(alternativesRequest, signal), busy);
    if (!found || view.answer !== answer) return;
    answer.alternatives = found.documents[0].alternatives;
  } catch (error) {
    answer.alternatives = [];
    notice("server", error.message);
  }
  settle();
}

function busy(error) {
  notice("busy", busyText(error));
}

function settle() {
  tellBusy();
  notice("busy", "");
  drawSoon();
}

// -- drawing ---------------------------------------------------------------------------------------------------------------

let frame = 0;
function drawSoon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
}

function draw() {
  const { answer, shown } = view;
  reading.draw(view, shown, colouring);
  $("mentions").classList.toggle("empty", !answer);
  $("found").textContent = answer ? count(shown.length, "mention") : "";
  $("about-text").textContent = answer ? sizeOf(answer) : "";
  for (const radio of document.getElementsByName("mode")) radio.checked = radio.value === view.mode;
  $("threshold").value = view.least;
  $("threshold-value").textContent = view.least.toFixed(2);
  $("threshold").closest("fieldset").classList.toggle("by-set", view.mode !== "threshold");
  $("recall").value = view.recall;
  const { canPromise, model } = view;
  for (const field of [$("recall"), document.querySelector("[value=promise]")]) field.disabled = !canPromise;
  $("promise").textContent = !model.promises ? "" : !canPromise ? "Nothing is promised of names alone, without pronouns, or where mentions are required or forbidden."
    : view.mode === "promise" && answer?.document.promise ? `${answer.document.promise}.` : "";
  updateTypes(view);
  drawConstraints(view, colouring, { remove: removeConstraints, light });
  drawSets(view, colouring, { choose, more: moreSets, anyway: setsAnyway, light });
  table.draw(view, shown, colouring);
  drawGraph();
  if (answer) say(`${count(shown.length, "mention")} shown.`);
}

function drawGraph() {
  if (view.tab === "hypergraph") (graph ??= new HypergraphTab(server)).open(view);
}

function sizeOf({ text, place, document: { sentences } }) {
  return [count(sentences.length, "sentence"), count(wordsIn(text), "word"), count(place(text.length), "character")].join(", ");
}

// -- what the reader does --------------------------------------------------------------------------------------------------

function edit(text, name = view.name) {
  if (reading.begun) beginPart(null);
  const lost = view.edit(text);
  notice("constraints", lost ? `${count(lost, "constraint")} removed, because the words changed.` : "");
  view.name = name;
  table.reset();
  keep(view);
  askSoon(Math.min(Math.max(0.6 * took, 120), 1500)); // what takes long is not asked at every letter
  tellBusy();
}

function setText(text, name) {
  $("text").value = text;
  edit($("text").value, name); // a text area has its own idea of line breaks, and places count in its text
}

function chooseModel(name) {
  const wasExample = isExample(view.text) || !view.text;
  view.choose(view.models.find((model) => model.name === name) ?? view.model);
  showModel();
  if (wasExample) setText(examplesFor(view.model)[0], "");
  keep(view);
  ask();
}

function showModel() {
  $("model").value = view.model.name;
  $("purpose").textContent = view.model.card.description;
  $("recall").closest("label").hidden = !view.model.promises;
  document.body.classList.toggle("no-constraints", view.model.constraints === false);
  colouring = new Colouring(view.labels);
  buildTypes(view, colouring, { toggle, least: setLeast });
  if (view.answer?.model !== view.model) view.answer = null;
}

function toggle(label, isShown) {
  if (isShown) view.hidden.delete(label);
  else view.hidden.add(label);
  view.ranks = new Map();
  if (view.answer) view.answer.alternatives = null;
  changed();
  askAlternativesSoon(200);
}

/** Names alone have labels of their own, which the lists show then. */
function chooseKinds() {
  if (view.names !== $("names").checked) view.answer = null;
  Object.assign(view, { names: $("names").checked, pronouns: $("pronouns").checked });
  view.choose(view.model);
  showModel();
  changed();
  ask();
}

function setLeast(label, least) {
  const isProbability = least >= 0.01 && least <= 0.99;
  if (label !== null && !isProbability) delete view.byLabel[label];
  else if (label !== null) view.byLabel[label] = least;
  else view.least = least;
  setMode("threshold");
}

function choose(ranks) {
  view.ranks = new Map(ranks);
  setMode("set");
}

/** What keeps a promise is known to the server alone. */
function setMode(mode) {
  const asks = mode === "promise" || view.mode === "promise";
  view.mode = mode;
  changed();
  if (asks) ask();
}

function setRecall(recall) {
  view.recall = recall;
  setMode("promise");
}

function moreSets() {
  view.sets *= 2;
  ask();
}

function setsAnyway() {
  view.setsAnyway = true;
  ask();
}

/** After a part of a discontinuous mention its next part is selected; null ends it. */
function beginPart(span) {
  reading.begin(span);
  notice("part", span && `Select the words of the next part of “${excerpt(view.answer.text, span, 60)}”.`, ["Cancel", () => beginPart(null)]);
}

function constrain(kind, mention) {
  if (reading.begun) beginPart(null);
  view.constrain(kind, mention);
  changed();
  ask();
}

function removeConstraints(constraints) {
  view.constraints = view.constraints.filter((constraint) => !constraints.includes(constraint));
  view.ranks = new Map();
  changed();
  ask();
}

function changed() {
  keep(view);
  drawSoon();
}

/** The words that are selected in the field above: the way to constrain them without a pointer. */
function constrainSelected() {
  const { selectionStart: start, selectionEnd: end } = $("text");
  if (view.answer?.text === view.text.toWellFormed()) reading.choose([start, end], $("constrain-words").getBoundingClientRect());
}

async function openFile(file, files) {
  const { text, problem = "" } = await textOf(file);
  notice("file", `${problem} ${files > 1 ? `Of ${files} files, only ${file.name} is shown.` : ""}`.trim());
  if (text !== undefined) setText(text, file.name);
}

// -- arriving --------------------------------------------------------------------------------------------------------------

/** `typed`: what the reader wrote while the page was still loading; it is never overwritten. */
async function arrive(typed = "") {
  for (const kind of ["link", "version", "constraints", "file"]) notice(kind, "");
  if (typed) return show(typed);
  if (history.state?.hyperspan) return restore(history.state.hyperspan);
  if (location.hash.includes("=")) {
    const { view: kept, problems } = await viewOf(location.hash);
    notice("version", problems.join(" "));
    return restore(kept);
  }
  return show(examplesFor(view.model)[0]);
}

function show(text) {
  showModel();
  showTab("mentions");
  setText(text, "");
  ask();
}

function restore(kept) {
  $("text").value = kept.text ?? "";
  const isThere = view.restore(kept, $("text").value);
  notice("link", isThere ? "" : `This server has no model “${kept.model}”; ${view.model.name} is used instead.`);
  showModel();
  showTab(view.tab);
  drawSoon();
  ask();
}

function showTab(name) {
  view.tab = name;
  select(name);
  drawGraph();
}

function wire() {
  const on = (id, type, action) => $(id).addEventListener(type, () => begun.promise.then(action));
  $("text").addEventListener("input", () => view.model && edit($("text").value)); // until then, the text waits in its field
  document.addEventListener("selectionchange", () => {
    $("constrain-words").hidden = document.activeElement !== $("constrain-words") && $("text").selectionStart === $("text").selectionEnd;
  });
  on("constrain-words", "click", constrainSelected);
  on("model", "change", () => chooseModel($("model").value));
  on("about", "click", () => showModelCard(view.model));
  on("clear", "click", () => (setText("", ""), $("text").focus()));
  on("example", "click", () => {
    const texts = examplesFor(view.model);
    setText(texts[(texts.indexOf(view.text) + 1) % texts.length], "");
  });
  listen((...given) => begun.promise.then(() => openFile(...given)));
  on("threshold", "input", () => setLeast(null, $("threshold").valueAsNumber));
  on("recall", "change", () => setRecall(Number($("recall").value)));
  for (const box of ["names", "pronouns"]) on(box, "change", chooseKinds);
  for (const radio of document.getElementsByName("mode"))
    radio.addEventListener("change", () => begun.promise.then(() => setMode(radio.value)));
  for (const button of document.querySelectorAll("[data-save]"))
    button.addEventListener("click", () => save(view, colouring, button.dataset.save));
  on("link", "click", () => copyLink(view));
  $("skip").addEventListener("click", (event) => (event.preventDefault(), (reading.text.buttons[0] ?? $("result")).focus()));
  listenToTabs((name) => {
    select(name); // at once
    begun.promise.then(() => (showTab(name), keep(view)));
  });
  addEventListener("popstate", () => begun.promise.then(() => arrive()));
}

async function begin() {
  try {
    ({ models: view.models, limits: view.limits, version: view.version } = await new Latest().run((signal) => server.models(signal), busy));
  } catch (error) {
    return notice("server", error.message, ["Try again", begin]);
  }
  for (const kind of ["busy", "server"]) notice(kind, "");
  $("threshold").min = view.candidates;
  view.model = view.models.find((model) => model.default) ?? view.models[0];
  if (!view.model) return notice("server", "This server has no models.");
  fill($("model"), ...view.models.map(({ name }) => make("option", { value: name }, name)));
  await arrive($("text").value);
  begun.resolve();
}

wire();
begin();
