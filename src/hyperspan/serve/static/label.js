// The labelling page: what the annotator does becomes a decision, the decision is saved, and the answer is drawn.

import { $, count, make } from "./dom.js";
import { actionsOf } from "./label-actions.js";
import { LabelServer, takeToken } from "./label-api.js";
import { Desk } from "./label-desk.js";
import { askText, showKeys } from "./label-dialogs.js";
import { meaning } from "./label-keys.js";
import { Outbox } from "./label-outbox.js";
import { STATUSES, drawCandidates, drawCurrent, drawItemActions, drawPalette, drawProgress, drawQueue } from "./label-panels.js";
import { SentenceView } from "./label-sentence.js";
import { cleaned } from "./picture/layout.js";
import { notice } from "./notices.js";

const POLL = 4_000; // milliseconds between looks at what other windows and the training do; more for long queues
const FRESH = 5_000; // milliseconds for which a prefetched sentence is shown without another look
const LEAVING = ["complete", "sure", "skip"]; // decisions after which the next sentence is shown
const DID = {
  accept: "Accepted", reject: "Rejected", add: "Added", change: "Changed to", clear: "Cleared", label: "New label:",
  complete: "All is right.", sure: "Only what you decided is sure.", skip: "Skipped.", note: "Note saved.", undo: "Undone.", reopen: "Open again.",
};

const server = new LabelServer(askToken);
const outbox = new Outbox(server, { saved, conflict, refused, waiting, unseen, changed: drawSaving });
const sentence = new SentenceView($("sentence"), { mention: chooseMention, words: chooseWords, part: () => desk.hold() });
const desk = new Desk(sentence, outbox, { say, draw });
let isGone = false; // whether the server did not answer the last time
let showing = 0; // how often a sentence was asked for
let wanted = null; // the sentence to show once all is saved
let next = null; // {id, item: a promise, time, round}: the sentence that will probably be next

// -- drawing ---------------------------------------------------------------------------------------------------------------

function draw() {
  const { item, session } = desk;
  drawSaving();
  if (!item) return;
  desk.place.settle(desk.mentions, desk.count);
  for (const [id, text] of [["before", item.before], ["after", item.after]]) $(id).textContent = cleaned(text).trim();
  sentence.draw(item, desk.mentions, desk.colouring, desk.changed);
  $("left-out").hidden = !sentence.leftOut;
  $("left-out").textContent = `${count(sentence.leftOut, "mention")} not drawn, because too many overlap. Up and down go to them, too.`;
  const at = session.queue.findIndex((entry) => entry.id === item.id);
  $("where").textContent = `Sentence ${at + 1} of ${session.queue.length.toLocaleString("en")}${item.document.id ? ` · ${item.document.id}` : ""}`;
  $("status").textContent = item.status === "open" ? "" : STATUSES[item.status];
  $("status").className = `status ${item.status}`;
  $("note-shown").hidden = !item.note;
  $("note-shown").textContent = `Note: ${item.note}`;
  drawProgress(session);
  drawCandidates(desk, { go: (mention) => act("goTo", mention), toggle: act });
  drawQueue(session.queue, item.id, show);
  refresh();
}

/** What depends on where the annotator is. */
function refresh() {
  const { mention, place, colouring } = desk;
  sentence.mark(place, mention, mention && colouring.colour(mention.label));
  drawCurrent(desk, act);
  drawPalette(desk, (label) => act("give", label));
}

function drawSaving() {
  const isSaved = outbox.isEmpty && !desk.isEditing;
  $("save-state").textContent = isSaved ? "✓ Saved" : isGone ? "⚠ Not saved" : desk.isEditing ? "… Not saved yet" : "… Saving";
  $("save-state").className = isSaved ? "saved" : isGone ? "gone" : "saving";
}

function say(text) {
  $("happened").textContent = text;
}

// -- what the server answers -----------------------------------------------------------------------------------------------

function saved(decision, answer) {
  const { action } = decision, isHere = answer.item?.id === desk.item?.id, before = desk.item?.status;
  notice("conflict", "");
  notice("refused", "");
  takeSession(answer.session);
  if (action === "undo" && !isHere) showing++; // the answer brings the sentence along
  if (isHere || action === "undo") desk.setItem(answer.item);
  if (action === "undo" && !isHere) arrived();
  const what = decision.to ?? decision.mention;
  const isReopened = isHere && before !== "open" && answer.item.status === "open" && action !== "undo";
  say([DID[action], what ? `${desk.saying(what)}.` : (decision.label ?? ""), isHere ? whatChanged() : "", isReopened ? "The sentence is open again." : ""].filter(Boolean).join(" "));
  draw();
  if (!outbox.isEmpty) return;
  if (LEAVING.includes(action) && isHere) goOn();
  else if (wanted !== null) show(wanted);
  else if (action === "label") lookAgain(); // the model may draft mentions of it
}

function takeSession(session) {
  if (!session) return;
  if (desk.session && session.round !== desk.session.round) {
    next = null;
    notice("round", `The model was trained on what you labelled: round ${session.round}.`);
  }
  desk.setSession(session);
}

function whatChanged() {
  const all = [...desk.changed.values()], came = all.filter(({ isNew }) => isNew).length;
  const parts = [all.length > came ? `${count(all.length - came, "probability", "probabilities")} changed` : "", came ? `${count(came, "mention")} came into the draft` : ""];
  const text = parts.filter(Boolean).join(", ");
  return text && `${text}.`;
}

/** Space was pressed before a mention came that it would have accepted. */
function unseen(item) {
  wanted = null;
  if (item.id === desk.item?.id) actions.complete(); // which shows it
}

/** Another window decided first: nothing of it is overwritten, and the annotator decides again. */
function conflict(decision, item, dropped) {
  const known = item.id === desk.item?.id ? desk.item.history.length : 0;
  const theirs = item.history.slice(known).map(({ action, annotator }) => `${action}${annotator ? ` by ${annotator}` : ""}`);
  const lost = dropped.map(({ action, mention, to }) => `${action}${mention && item.id === desk.item?.id ? ` ${desk.saying(to ?? mention)}` : ""}`);
  if (item.id === desk.item?.id) desk.setItem(item);
  const why = theirs.length ? `Another window changed this sentence meanwhile (${theirs.join(", ")}).` : "A new label or a newly trained model has changed the draft meanwhile.";
  notice("conflict", `${why} Not saved: ${lost.join(", ")}. Decide again if you still want it.`);
  say(`Not saved. ${why}`);
  draw();
}

function refused(decision, error) {
  const isKnown = decision.action === "label" && desk.session.labels.includes(decision.label);
  if (isKnown) return draw();
  const isUnknown = decision.action === "undo" && error.status === 0;
  const said = decision.action === "undo" ? error.message : `Not saved: ${error.message}`;
  notice("refused", isUnknown ? "The server went away during the undo. The sentence is shown as it was saved." : said);
  if (isUnknown) show(desk.item.id);
  return draw();
}

function waiting(error) {
  isGone = error !== null;
  const unsaved = `${count(outbox.decisions.length, "decision")} not saved yet`;
  notice("server", error ? `${error.message} ${unsaved}; trying again.` : "", ["Try now", () => tryAgain(() => outbox.retry())]);
  drawSaving();
}

// -- which sentence is shown -----------------------------------------------------------------------------------------------

/** Shows a sentence, once all decisions about the one before are saved. */
async function show(id) {
  desk.commit();
  wanted = id;
  if (!outbox.isEmpty) return;
  const mine = ++showing, isReady = next?.id === id && next.round === desk.session.round;
  const { item, time } = isReady ? next : { item: server.item(id), time: Infinity };
  next = null;
  try {
    const found = await item;
    if (mine !== showing) return;
    wanted = null;
    notice("server", "");
    desk.setItem(found);
  } catch (error) {
    if (mine !== showing) return;
    wanted = null;
    notice("server", error.message, ["Try again", () => tryAgain(() => show(id))]);
    return;
  }
  arrived();
  if (performance.now() - time > FRESH) lookAgain();
}

function arrived() {
  $("finished").hidden = true;
  for (const id of ["paper", "controls"]) $(id).hidden = false;
  history.replaceState(null, "", `#${encodeURIComponent(desk.item.id)}`);
  draw();
  $("sentence").focus({ preventScroll: true });
  scrollTo({ top: 0 });
  const id = desk.nextOpen();
  if (id !== null) {
    next = { id, item: server.item(id), time: performance.now(), round: desk.session.round };
    next.item.catch(() => (next = null));
  }
}

/** To the next open sentence; the end where there is none. */
function goOn() {
  const id = desk.nextOpen();
  return id === null ? finish() : show(id);
}

function finish() {
  const { done, partial, skipped } = desk.session.progress;
  $("finished").replaceChildren(make("h2", {}, "No open sentence is left"), make("p", {}, `${done} done, ${partial} partial, ${skipped} skipped. All decisions are saved; the window may be closed.`));
  $("finished").hidden = false;
  say("No open sentence is left.");
}

/** The current sentence as the server has it now. */
async function lookAgain(isOtherModel = false) {
  const { item } = desk;
  const found = await server.item(item.id).catch(() => null);
  if (!found || desk.item !== item || !outbox.isEmpty || desk.isEditing) return;
  if (found.revision === item.revision && !isOtherModel) return;
  if (found.history.length !== item.history.length) notice("conflict", "Another window changed this sentence; it is shown as it is now.");
  desk.setItem(found);
  draw();
}

/** What other windows and the training did. */
async function poll() {
  if (document.visibilityState === "visible" && outbox.isEmpty && desk.session) {
    try {
      const { round, labels } = desk.session, session = await server.session();
      if (outbox.isEmpty) takeSession(session);
      if (isGone) waiting(null);
      const entry = session.queue.find((other) => other.id === desk.item?.id);
      const isOtherModel = round !== session.round, hasNewLabel = labels.length !== session.labels.length;
      if (desk.item && (isOtherModel || hasNewLabel || entry?.status !== desk.item.status)) await lookAgain(isOtherModel);
      else if (desk.item && !desk.isEditing) draw();
    } catch (error) {
      if (outbox.isEmpty) notice("server", error.message, ["Try again", () => tryAgain(poll)]);
      isGone = true;
    }
  }
  drawSaving();
}

async function keepLooking() {
  await poll();
  setTimeout(keepLooking, POLL + 2 * (desk.session?.queue.length ?? 0));
}

// -- what the annotator does -----------------------------------------------------------------------------------------------

const actions = actionsOf({ desk, outbox, sentence, draw, refresh, say, show, goOn });

/** Whether the annotator is done with the sentence that is still shown. */
function isLeaving() {
  return wanted !== null || outbox.of(desk.item.id).some(({ action }) => LEAVING.includes(action));
}

function act(action, ...rest) {
  if (!desk.item) return;
  if (isLeaving() && !["undo", "help"].includes(action)) say("Saving; the next sentence comes then.");
  else actions[action](...rest);
}

function chooseMention(mention) {
  desk.commit();
  desk.place.onMention(mention);
  refresh();
}

/** `anchor` null: from where the selection began. */
function chooseWords(anchor, focus, isDone) {
  desk.commit();
  desk.place.onWords(anchor ?? desk.place.anchor, focus);
  refresh();
  if (isDone) say("Press the number of a label, or choose one, to add a mention of these words.");
}

let asking = null; // several calls may be refused at once
let isDeclined = false; // the annotator was asked and gave no link; he is asked again when he tries again

function tryAgain(action) {
  isDeclined = false;
  return action();
}

async function askToken() {
  if (isDeclined) return null;
  asking ??= askText("The server does not know this window", "", "Paste the link that “hyperspan label” printed. What is not saved yet is then sent again.").finally(() => (asking = null));
  const link = await asking;
  isDeclined = !link;
  return link;
}

function press(event) {
  const { target } = event;
  if (event.defaultPrevented || document.querySelector("dialog[open]") || target.closest?.("input, textarea, select")) return;
  if (target !== document.body && !$("work").contains(target)) {
    if (event.key === "Escape") $("sentence").focus();
    return;
  }
  const isButton = target.closest?.("button") !== null && target !== document.body;
  if (isButton && ["Enter", " ", "Tab"].includes(event.key)) return;
  const found = meaning(event, sentence.isRtl);
  if (!found || !desk.item) return;
  if (event.key === "Tab" && (target !== $("sentence") || !actions[event.shiftKey ? "previous" : "next"]())) return; // it leaves past the last mention
  event.preventDefault();
  if (event.key !== "Tab") act(found.action, found.digit);
}

function wire() {
  document.addEventListener("keydown", press);
  drawItemActions(act);
  for (const id of ["show-keys", "current", "palette", "item-actions"]) // with a pointer one goes on with the sentence, not with the button
    $(id).addEventListener("click", (event) => event.detail > 0 && !document.querySelector("dialog[open]") && $("sentence").focus({ preventScroll: true }));
  $("show-keys").addEventListener("click", showKeys); // a dialog gives the focus back to where it was
  addEventListener("beforeunload", (event) => {
    if (!outbox.isEmpty || desk.isEditing) event.preventDefault();
  });
  setTimeout(keepLooking, POLL);
}

/** The sentence that the address names; none where it was damaged on the way. */
function askedSentence() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function begin() {
  try {
    desk.setSession(await server.session());
  } catch (error) {
    return notice("server", error.message, ["Try again", () => tryAgain(begin)]);
  }
  notice("server", "");
  const asked = askedSentence(), { queue } = desk.session;
  const unsaved = outbox.kept(), known = [unsaved[0]?.item, asked].find((id) => queue.some((entry) => entry.id === id));
  await show(known ?? desk.nextOpen() ?? queue[0].id);
  if (unsaved.length) outbox.resume(unsaved);
}

takeToken();
wire();
begin();
