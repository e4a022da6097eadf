// A page for one's own model: its folder is dropped here, then texts, and what is found can be saved.

import { textOf } from "../dist/shared/files.js";
import { HyperspanError, load } from "../src/index.js";
import { Live, loaded } from "./live.js";

const [model, texts, about, save] = ["model", "texts", "about", "save"].map((id) => document.getElementById(id));
const live = new Live(document.getElementById("live"));
let annotate = null, documents = null; // [{id, text}] of a file; null: the text that is typed
let stop = new AbortController();

// -- what is given ----------------------------------------------------------------------------------------------------------

async function openModel(files) {
  const opened = await loaded(load, files, model);
  if (!opened) return;
  annotate?.close();
  annotate = opened;
  model.textContent = `It finds: ${[...annotate.labels, ...annotate.nameLabels.map((label) => `names of ${label}`)].join(", ")}.`;
  texts.hidden = false;
  await live.use(annotate);
}

/** The documents of a file: the lines of .jsonl, and any other text as one. */
async function documentsOf(file) {
  const { text, problem } = await textOf(file);
  if (text === undefined) throw new HyperspanError(problem);
  if (!/\.(?:jsonl|ndjson)$/i.test(file.name)) return [{ id: file.name, text }];
  return text.split("\n").flatMap((line, index) => {
    if (!line.trim()) return [];
    const wrong = (what) => new HyperspanError(`line ${index + 1} of ${file.name} ${what}; each line is an object such as {"id": "1", "text": "…"}`);
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      throw wrong("is not JSON");
    }
    if (typeof record?.text !== "string") throw wrong("has no text");
    return [{ id: String(record.id ?? ""), text: record.text }];
  });
}

async function openText(file) {
  if (!annotate) return (model.textContent = "First give the folder of a model.");
  stop.abort();
  try {
    documents = await documentsOf(file);
    if (!documents.length) throw new HyperspanError(`${file.name} has no texts`);
    about.textContent = documents.length > 1 ? `${file.name} has ${documents.length.toLocaleString("en")} texts. The first is below; all are annotated when you save.` : file.name;
    await live.show(documents[0].text);
  } catch (error) {
    documents = null;
    about.textContent = error.message;
  }
}

// -- saving -----------------------------------------------------------------------------------------------------------------

/** A line of JSON as hyperspan writes and reads it, with places in code points. */
async function line({ id, text }, signal) {
  const { mentions } = await annotate(text, { ...live.options, signal });
  const found = mentions.map(({ codePoints: [start, end], fragmentCodePoints: fragments, label, text: words, probability }) =>
    ({ start, end, label, text: words, ...(fragments && { fragments }), probability }));
  return `${JSON.stringify({ format: "hyperspan", version: 1, id, text, mentions: found })}\n`;
}

async function saveAll() {
  const all = documents ?? [{ id: "", text: live.field.value }], lines = [];
  stop = new AbortController();
  save.disabled = true;
  try {
    for (const one of all) {
      lines.push(await line(one, stop.signal));
      about.textContent = `${lines.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} texts annotated`;
    }
    const address = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    Object.assign(document.createElement("a"), { href: address, download: "mentions.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    if (!stop.signal.aborted) about.textContent = error.message;
  }
  save.disabled = false;
}

// -- files that are chosen or dropped -----------------------------------------------------------------------------------------

document.getElementById("folder").addEventListener("change", ({ target }) => target.files.length && openModel([...target.files]));
document.getElementById("file").addEventListener("change", ({ target }) => {
  if (target.files.length) openText(target.files[0]);
  target.value = "";
});
save.addEventListener("click", saveAll);
live.field.addEventListener("input", () => {
  documents = null;
  about.textContent = "";
});

const filesOf = (folder) => new Promise((resolve, reject) => folder.createReader().readEntries(resolve, reject));
const fileOf = (entry) => new Promise((resolve, reject) => entry.file(resolve, reject));

addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", () => document.body.classList.remove("dropping"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean), files = [...event.dataTransfer.files];
  const folder = entries.find((entry) => entry.isDirectory);
  if (folder) await openModel(await Promise.all((await filesOf(folder)).filter((entry) => entry.isFile).map(fileOf)));
  else if (files.some(({ name }) => name === "config.toml")) await openModel(files);
  else if (files.length) await openText(files[0]);
});
