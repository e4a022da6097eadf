// The keys: one table for what they do, for the help, and for the hints on buttons.

const NUMBERS = ["1 … 9", "0", "⇧1 … ⇧0"]; // of labels

/** group -> [what they do, action -> keys as `combination` names them, how they are shown where that is shorter] */
export const KEYS = {
  Move: [
    ["Next mention", { next: ["ArrowDown", "j", "Tab"] }],
    ["Previous mention", { previous: ["ArrowUp", "k", "Shift+Tab"] }],
    ["Word cursor", { back: ["ArrowLeft"], forth: ["ArrowRight"], firstWord: ["Home"], lastWord: ["End"] }],
    ["Show or hide less probable candidates", { candidates: ["f"] }],
    ["Drop the selection, or the end that is being moved", { escape: ["Escape"] }],
  ],
  "This mention": [
    ["Accept", { accept: ["a", "Enter"] }],
    ["Reject", { reject: ["r", "x", "Delete"] }],
    ["Clear the decision", { clear: ["c"] }],
    ["Change the type: its number", { digit: [] }, NUMBERS],
    ["Change the type: its name", { type: ["t"] }],
    ["Move its end", { endBack: ["Shift+ArrowLeft"], endForth: ["Shift+ArrowRight"] }],
    ["Move its start", { startBack: ["Alt+ArrowLeft", "Control+ArrowLeft"], startForth: ["Alt+ArrowRight", "Control+ArrowRight"] }],
  ],
  "Add a mention": [
    ["Select the words of this mention", { words: ["w"] }],
    ["Extend the selection", { extend: [] }, ["⇧←", "⇧→"]],
    ["Add a part, after a gap", { part: ["p"] }],
    ["Add it with this label", { add: [] }, NUMBERS],
    ["Add it with a label by its name", { name: [] }, ["t", "Enter"]],
    ["New label", { label: ["l"] }],
  ],
  "This sentence": [
    ["All of it is right as shown", { complete: [" ", "Shift+Enter"] }],
    ["Only what I decided is sure", { sure: ["s"] }],
    ["Skip it", { skip: ["d"] }],
    ["Note", { note: ["n"] }],
    ["Undo the last decision, also of another sentence", { undo: ["u", "Control+z"] }],
    ["Next sentence", { nextItem: [".", "PageDown"] }],
    ["Previous sentence", { previousItem: [",", "PageUp"] }],
    ["Next open sentence", { nextOpen: ["o"] }],
    ["Go to the list of sentences", { queue: ["g"] }],
    ["Show the keys", { help: ["?"] }],
  ],
};

const ACTIONS = new Map(Object.values(KEYS).flat().flatMap(([, actions]) => Object.entries(actions)));
const NAMED = new Map([...ACTIONS].flatMap(([action, keys]) => keys.map((key) => [key, action])));
const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };
const SHOWN = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Delete: "Del", Escape: "Esc", PageDown: "PgDn", PageUp: "PgUp" };

/** The key of a label by its place: ten digits, and the same with Shift; "" for those that are chosen by name. */
export const labelKey = (index) => (index < 20 ? `${index < 10 ? "" : "⇧"}${(index + 1) % 10}` : "");

/** What a key press means: the name of an action, and the number of a label for digits; null: nothing here. */
export function meaning(event, isRtl) {
  if (event.isComposing) return null;
  const action = NAMED.get(combination(event, isRtl));
  if (action) return { action };
  const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
  const isDigit = /^\d$/.test(event.key); // some keyboards have digits with Shift alone
  const digit = isPlain && (isDigit ? event.key : /^Digit(\d)$/.exec(event.code)?.[1]);
  return digit ? { action: "digit", digit: (Number(digit) || 10) + (event.shiftKey && !isDigit ? 10 : 0) } : null;
}

/** The press as KEYS writes it. In sentences from right to left, an arrow to the left goes on in the text. */
function combination({ key, ctrlKey, altKey, metaKey, shiftKey }, isRtl) {
  const name = isRtl ? (MIRRORED[key] ?? key) : key;
  const isSign = name.length === 1 && name !== " ";
  const held = [ctrlKey || metaKey ? "Control" : "", altKey ? "Alt" : "", shiftKey && !isSign ? "Shift" : ""];
  return [...held.filter(Boolean), isSign ? name.toLowerCase() : name].join("+");
}

/** A key as people write it. */
function shown(key) {
  const parts = key === " " ? [key] : key.split("+");
  const last = parts.at(-1), held = parts.slice(0, -1).map((name) => ({ Shift: "⇧", Control: "Ctrl+", Alt: "Alt+" })[name]);
  return held.join("") + (SHOWN[last] ?? (held.length && last.length === 1 ? last.toUpperCase() : last));
}

/** The keys of a row of the table. */
export function keysOf([, actions, short]) {
  return short ?? Object.values(actions).flat().map(shown);
}

/** For a button: the first key of its action, as a hint and as screen readers have it. */
export function hint(action) {
  const [key] = ACTIONS.get(action);
  return { shown: shown(key), spoken: key === " " ? "Space" : key };
}
