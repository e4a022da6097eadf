// The view kept: as files, as a link, and with the browser's history, so that reloading and going back show it again.

import { $, count, debounced } from "./dom.js";
import { fragmentOf } from "./link.js";
import { brat, download, html, jsonl } from "./save.js";

const tell = (text) => ($("taken").textContent = text);

/** Saves what is shown in one of the formats. */
export async function save(view, colouring, format) {
  if (!view.answer) return tell("There is nothing to save yet.");
  const { name, answer, shown: mentions } = view, { text, document: { sentences } } = answer;
  let lost = 0;
  if (format === "jsonl") {
    const line = jsonl({ name, text, mentions, sentences, metadata: settings(view) });
    download(`${name}.jsonl`, line, "application/x-ndjson");
  } else if (format === "html") {
    download(`${name}.html`, await html({ name, text, mentions, sentences, colouring, labels: view.shownLabels }), "text/html");
  } else {
    const made = brat({ name, text, mentions });
    download(`${name}.zip`, made.zip);
    lost = made.lost;
  }
  const without = lost ? ` brat cannot hold ${count(lost, "other")}, whose labels have spaces.` : "";
  return tell(`Saved ${count(mentions.length - lost, "mention")}.${without}`);
}

/** How the mentions were chosen, in terms of the server's API; places in code points. */
function settings(view) {
  const { place, model } = view.answer;
  const constrained = (kind) => view.constraints.filter((constraint) => constraint.kind === kind)
    .map(({ start, end, label }) => ({ start: place(start), end: place(end), label }));
  const threshold = view.mode === "set" ? null : { "*": view.least, ...view.byLabel };
  return { model: model.name, threshold, types: view.shownLabels, require: constrained("require"), forbid: constrained("forbid") };
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
