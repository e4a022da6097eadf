// The view kept: as files, as a link, and with the browser's history, so that reloading and going back show it again.

import { $, count, debounced } from "./dom.js";
import { fragmentOf } from "./link.js";
import { mapped, plain } from "./picture/mentions.js";
import { brat, download, fileName, html, jsonl, table, titleOf } from "./save.js";

const tell = (text) => ($("taken").textContent = text);

/** Saves what is shown in one of the formats. */
export async function save(view, colouring, format) {
  if (!view.answer) return tell("There is nothing to save yet.");
  const { answer, shown: mentions } = view, { text, document: { sentences } } = answer;
  const title = titleOf(view.name, text), name = fileName(title);
  const shown = { name, title, text, mentions, sentences, colouring, labels: view.shownLabels };
  const { file, content, type, lost = 0 } = await WRITERS[format](shown, view);
  download(file, content, type);
  const without = lost ? ` brat cannot hold ${count(lost, "other")}, whose labels have spaces.` : "";
  return tell(`Saved ${count(mentions.length - lost, "mention")} as ${file}.${without}`);
}

const WRITERS = {
  jsonl: (shown, view) => ({ file: `${shown.name}.jsonl`, content: jsonl({ ...shown, metadata: settings(view) }), type: "application/x-ndjson" }),
  csv: (shown) => ({ file: `${shown.name}.csv`, content: table(shown, ","), type: "text/csv" }),
  tsv: (shown) => ({ file: `${shown.name}.tsv`, content: table(shown, "\t"), type: "text/tab-separated-values" }),
  html: async (shown, view) => ({ file: `${shown.name}.html`, content: await html({ ...shown, about: aboutRun(view) }), type: "text/html" }),
  brat: (shown) => {
    const { zip, lost } = brat(shown);
    return { file: `${shown.name}.zip`, content: zip, lost };
  },
};

/** How the mentions were chosen, in terms of the server's API; places in code points. */
function settings(view) {
  const { place, model } = view.answer;
  const constrained = (kind) => view.constraints.filter((constraint) => constraint.kind === kind)
    .map((constraint) => plain(mapped(constraint, place)));
  const threshold = view.mode === "threshold" ? { "*": view.least, ...view.byLabel } : null;
  const promised = view.mode === "promise" ? { recall: view.recall, promise: view.answer.document.promise } : {};
  const { names, pronouns, shownLabels: types } = view;
  return { model: model.name, threshold, ...promised, types, names, pronouns, require: constrained("require"), forbid: constrained("forbid") };
}

/** The same in words, with the version and the day, as render/html.py has it. */
function aboutRun(view) {
  const least = [["*", view.least], ...Object.entries(view.byLabel)].map(([label, at]) => (label === "*" ? `${at}` : `${label} ${at}`));
  const chosen = {
    set: "the most probable set",
    threshold: `every mention at least this probable: ${least.join(", ")}`,
    promise: view.answer.document.promise,
  }[view.mode];
  const all = view.shownLabels.length === view.labels.length;
  return [
    `Model ${view.answer.model.name}`, chosen, ...(all ? [] : [`types ${view.shownLabels.join(", ")}`]),
    ...(view.names ? ["names alone"] : []), ...(view.pronouns ? [] : ["without pronouns"]),
    ...(view.constraints.length ? [count(view.constraints.length, "constraint")] : []),
    `hyperspan ${view.version}`, new Date().toISOString().slice(0, 10),
  ].join("; ") + ".";
}

export async function copyLink(view) {
  const { fragment, complete } = await fragmentOf(view.snapshot);
  keepSoon.stop();
  history.replaceState({ hyperspan: view.snapshot }, "", `#${fragment}`);
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  const where = copied ? "The link is copied; it shows this view again." : "The link to this view is in the address bar.";
  tell(complete ? where : `${where} The text is too long for a link and is not in it: send it along as a file.`);
}

/** Keeps the view with this entry of the history. Its text is then not in the address, nor is an older link. */
function keepNow(view) {
  try {
    history.replaceState({ hyperspan: view.snapshot }, "", location.pathname + location.search);
  } catch {
    // Too large for the browser: reloading then shows what was kept before.
  }
}

const keepSoon = debounced(keepNow);
export const keep = (view) => keepSoon(300, view); // browsers refuse hundreds of entries in a few seconds

addEventListener("pagehide", () => keepSoon.flush());
