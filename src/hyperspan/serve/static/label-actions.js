// What each action of the keys and buttons does.

import { $, count } from "./dom.js";
import { askText, chooseLabel, showKeys } from "./label-dialogs.js";
import { keyOf, partsOf } from "./picture/mentions.js";

/** The actions by name. `page`: desk, outbox, sentence, and what draws, says and shows. */
export function actionsOf({ desk, outbox, sentence, draw, refresh, say, show, goOn }) {
  function step(by) {
    desk.commit();
    if (!desk.place.step(desk.mentions, by)) return false;
    refresh();
    return true;
  }

  function stepWord(by) {
    desk.commit();
    desk.place.stepWord(by, desk.count, false);
    refresh();
  }

  function goToEdge(index) {
    desk.commit();
    desk.place.onEdge(index);
    refresh();
  }

  /** All is right as shown; but nobody can have looked at what has just come. */
  function complete() {
    if (desk.toJoined()) {
      refresh();
      return say("A new mention has just come into the draft. Look at it, then press Space again.");
    }
    return desk.decide("complete", { seen: desk.mentions.map(keyOf) });
  }

  function selectWords() {
    desk.commit();
    desk.place.onParts(partsOf(desk.mention ?? desk.place.words));
    refresh();
    say("Words selected: extend them with Shift and the arrows, and press the number of a label.");
  }

  function addPart() {
    desk.hold();
    refresh();
    say(`Choose the words of the next part, and press ${desk.place.source ? "Enter" : "the number of a label"}.`);
  }

  function escape() {
    if (desk.drop()) return draw();
    if (desk.place.release()) return refresh();
    if (desk.place.key === null && !desk.place.step(desk.mentions, 1)) desk.place.step(desk.mentions, -1);
    return refresh();
  }

  function toggleCandidates() {
    desk.commit();
    desk.showsCandidates = !desk.showsCandidates;
    sessionStorage.setItem("hyperspan-label-candidates", desk.showsCandidates ? "1" : "0");
    say(`${count(desk.item.candidates.length, "candidate")} ${desk.showsCandidates ? "shown" : "hidden"}.`);
    draw();
  }

  function goToCandidate(mention) {
    if (!desk.showsCandidates) toggleCandidates();
    desk.place.onMention(mention);
    refresh();
    $("sentence").focus({ preventScroll: true });
  }

  function giveLabel(label, digit) {
    if (label === undefined) return say(`There is no label ${digit}.`);
    return desk.label(label);
  }

  async function chooseType() {
    const { item, mention } = desk, words = sentence.words.excerpt(mention ?? desk.place.words, 60);
    const label = await chooseLabel(`${mention ? "Type" : "Label"} of “${words}”`, desk.session.labels, desk.probabilities, desk.colouring);
    if (!label || desk.item?.id !== item.id) return;
    if (!desk.session.labels.includes(label)) outbox.add({ action: "label", label });
    desk.label(label);
  }

  async function newLabel() {
    const label = await askText("New label", "", "Its name. Sentences that are done already say nothing about it.");
    if (label) outbox.add({ action: "label", label });
  }

  async function writeNote() {
    const { item } = desk;
    const note = await askText("Note on this sentence", item.note, "Enter saves it, Shift and Enter begins a new line.");
    if (note !== null && note !== item.note && desk.item?.id === item.id) desk.decide("note", { note });
  }

  function jump(id) {
    return id === null ? say("There is no other sentence in this direction.") : show(id);
  }

  return {
    next: () => step(1),
    previous: () => step(-1),
    back: () => stepWord(-1),
    forth: () => stepWord(1),
    firstWord: () => goToEdge(0),
    lastWord: () => goToEdge(desk.count - 1),
    candidates: toggleCandidates,
    goTo: goToCandidate,
    escape,
    accept: () => (desk.mention ? desk.accept() : desk.place.source ? desk.label(desk.place.source.label) : chooseType()),
    reject: () => desk.reject(),
    clear: () => desk.clear(),
    type: chooseType,
    digit: (digit) => giveLabel(desk.session.labels[digit - 1], digit),
    endBack: () => desk.move("end", -1),
    endForth: () => desk.move("end", 1),
    startBack: () => desk.move("start", -1),
    startForth: () => desk.move("start", 1),
    words: selectWords,
    part: addPart,
    give: (label) => desk.label(label),
    label: newLabel,
    complete,
    sure: () => desk.decide("sure"),
    skip: () => desk.decide("skip"),
    note: writeNote,
    undo: () => (desk.drop() ? draw() : outbox.add({ action: "undo" })),
    nextItem: () => jump(desk.neighbour(1)),
    previousItem: () => jump(desk.neighbour(-1)),
    nextOpen: goOn,
    queue: () => $("queue").querySelector('[tabindex="0"]')?.focus(),
    help: showKeys,
  };
}
