// What is shown, as files: hyperspan's JSON Lines, brat's two files in a zip, and a page that stands alone.
// Files count places in Unicode code points.

import { cleaned } from "./picture/layout.js";
import { byLabel, mapped, partsOf, placesText } from "./picture/mentions.js";
import { codePoints } from "./offsets.js";
import { RunningText, excerpt, leftOutNote, number } from "./picture/text.js";

const byPlace = (a, b) => a.start - b.start || a.end - b.end || byLabel(a, b);

/** One line of hyperspan's JSON Lines (corpora/jsonl.py): mentions by character, and in sentences by token. */
export function jsonl({ name, text, mentions, sentences, metadata }) {
  const place = codePoints(text);
  const all = [...mentions].sort(byPlace);
  const record = {
    format: "hyperspan",
    version: 1,
    id: name,
    text,
    mentions: all.map((m) => mentionRecord(mapped(m, place), { text: text.slice(m.start, m.end) })),
    sentences: sentences.map((sentence) => sentenceRecord(sentence, all, place)),
    metadata,
  };
  return `${JSON.stringify(record)}\n`;
}

/** A mention with its keys in the order of corpora/jsonl.py. */
const mentionRecord = ({ start, end, label, probability, fragments }, rest = {}) => ({
  start, end, label, ...rest, ...(probability != null && { probability }), ...(fragments && { fragments }),
});

function sentenceRecord(sentence, mentions, place) {
  const starts = new Map(sentence.tokens.map(([start], index) => [start, index]));
  const ends = new Map(sentence.tokens.map(([, end], index) => [end, index + 1]));
  const inside = mentions.filter((m) => partsOf(m).every(([start, end]) => starts.has(start) && ends.has(end)));
  const inTokens = (m) => ({
    ...m, start: starts.get(m.start), end: ends.get(m.end),
    fragments: m.fragments?.map(([start, end]) => [starts.get(start), ends.get(end)]),
  });
  return {
    tokens: sentence.tokens.map(([start, end]) => [place(start), place(end)]),
    mentions: inside.map((m) => mentionRecord(inTokens(m))),
  };
}

/** A table for spreadsheets, a mention a row, in the columns of corpora/tables.py. */
export function table({ name, text, mentions, sentences }, separator) {
  const place = codePoints(text), isParted = mentions.some((m) => m.fragments);
  const rows = [...mentions].sort(longestFirst).map((m) => {
    const sentence = sentences.findIndex(({ start, end }) => start <= m.start && m.start < end) + 1;
    const sure = m.probability == null ? "" : m.probability.toFixed(6);
    const row = [name, sentence || "", place(m.start), place(m.end), text.slice(m.start, m.end), m.label, sure];
    return isParted ? [...row, fragmentsText(mapped(m, place))] : row;
  });
  const columns = isParted ? [...COLUMNS, "fragments"] : COLUMNS;
  const [mark, end] = separator === "," ? ["\ufeff", "\r\n"] : ["", "\n"]; // Excel knows UTF-8 by the mark
  return mark + [columns, ...rows].map((row) => `${row.map((value) => cell(value, separator)).join(separator)}${end}`).join("");
}

const longestFirst = (a, b) => a.start - b.start || b.end - a.end || byLabel(a, b);

const fragmentsText = ({ fragments = [] }) => fragments.map((part) => part.join(":")).join(" ");

const COLUMNS = ["document", "sentence", "start", "end", "text", "label", "probability"];

function cell(value, separator) {
  if (typeof value === "number") return String(value);
  const shown = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value; // a spreadsheet would compute it
  return shown.includes(separator) || /["\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** brat's .txt and .ann in one zip archive, and how many mentions brat cannot hold because of their labels. */
export function brat({ name, text, mentions }) {
  const place = codePoints(text);
  const kept = [...mentions].sort(byPlace).filter((m) => /^[^ \t\r\n]+$/.test(m.label));
  const lines = kept.map((m, index) => {
    const words = partsOf(m).map(([start, end]) => text.slice(start, end)).join(" ").replace(/[\r\n]/g, " ");
    const places = partsOf(mapped(m, place)).map((part) => part.join(" ")).join(";");
    return `T${index + 1}\t${m.label} ${places}\t${words}\n`;
  });
  return { zip: zip({ [`${name}.txt`]: text, [`${name}.ann`]: lines.join("") }), lost: mentions.length - kept.length };
}

/** A page without a script that shows the same text and bars, and a table of the mentions. */
export async function html({ title, text, mentions, sentences, colouring, labels, about }) {
  const style = await (await fetch("/static/text.css")).text();
  const page = document.implementation.createHTMLDocument(title);
  const add = (parent, tag, properties = {}) => parent.appendChild(Object.assign(page.createElement(tag), properties));
  for (const [key, content] of [["viewport", "width=device-width, initial-scale=1"], ["color-scheme", "light dark"]])
    add(page.head, "meta", { name: key, content });
  add(page.head, "style", { textContent: style });
  page.body.className = "hyperspan-page";
  add(page.body, "h1", { textContent: title });
  add(page.body, "p", { className: "about", textContent: about });
  const article = add(page.body, "article", { className: "hyperspan" });
  const legend = add(article, "ul", { className: "legend" });
  for (const label of labels) {
    const item = add(legend, "li");
    add(item, "i").style.backgroundImage = colouring.image(label);
    item.append(`${label} `);
    add(item, "small", { textContent: mentions.filter((m) => m.label === label).length });
  }
  const shown = cleaned(text);
  const running = add(article, "div", { className: "text", lang: "" });
  const breaks = sentences.map((sentence) => sentence.start);
  const drawn = new RunningText(running);
  drawn.draw(shown, mentions, { colouring, breaks, still: true });
  if (drawn.leftOut) add(article, "p", { className: "note", textContent: leftOutNote(drawn.leftOut) });
  addTable(add, article, shown, mentions, codePoints(text));
  const head = `<head><meta charset="utf-8">${page.head.innerHTML}</head>`;
  return `<!doctype html>\n<html lang="en">${head}\n${page.body.outerHTML}\n</html>\n`;
}

function addTable(add, article, text, mentions, place) {
  const details = add(article, "details");
  add(details, "summary", { textContent: `${mentions.length.toLocaleString("en")} mention${mentions.length === 1 ? "" : "s"}` });
  const table = add(details, "table");
  const head = add(add(table, "thead"), "tr");
  for (const title of ["Mention", "Label", "Probability", "Characters"]) add(head, "th", { scope: "col", textContent: title });
  const body = add(table, "tbody");
  for (const m of [...mentions].sort(byPlace)) {
    const row = add(body, "tr");
    add(add(row, "td"), "bdi", { textContent: excerpt(text, m) });
    const cells = [m.label, number(m.probability), placesText(mapped(m, place))];
    for (const textContent of cells) add(row, "td", { textContent });
  }
}

/** A zip archive of texts, stored as they are. */
function zip(files) {
  const encoder = new TextEncoder();
  const parts = [], directory = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, data] = [encoder.encode(name), encoder.encode(text)];
    // Version 2.0, names in UTF-8, stored, 1 January 1980; the same fields stand before the data and in the directory.
    const [sum, size] = [[crc32(data), 4], [data.length, 4]];
    const fields = numbers([20, 2], [0x0800, 2], [0, 2], [0, 2], [33, 2], sum, size, size, [path.length, 2], [0, 2]);
    parts.push(numbers([0x04034b50, 4]), fields, path, data);
    directory.push(numbers([0x02014b50, 4], [20, 2]), fields, numbers([0, 2], [0, 2], [0, 2], [0, 4], [at, 4]), path);
    at += 4 + fields.length + path.length + data.length;
  }
  const size = directory.reduce((sum, piece) => sum + piece.length, 0), count = Object.keys(files).length;
  const end = numbers([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [at, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

function numbers(...fields) {
  return Uint8Array.from(fields.flatMap(([value, bytes]) => Array.from({ length: bytes }, (_, i) => (value >>> (8 * i)) & 255)));
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = CRC_TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Hands a file to the browser to keep. */
export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** What to call a text: the name of its file, or its first words; or the time, where it has none. */
export function titleOf(name, text) {
  if (name) return name;
  const [words] = /(?:\S*[\p{L}\p{N}]\S*\s*){1,6}/u.exec(text.slice(0, 1000)) ?? [""];
  const shown = words.replace(/\s+/g, " ").trim();
  return shown.length > 60 ? `${[...shown].slice(0, 59).join("")}…` : shown || `text ${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}`;
}

/** The same as the name of a file, without its ending, that no system refuses. */
export function fileName(title) {
  const stem = title.replace(/(?<=[\p{L}\p{N}])\.[A-Za-z][A-Za-z0-9]{0,7}$/u, "").replace(/[^\p{L}\p{M}\p{N}._+-]+/gu, "-");
  return [...stem.replace(/^[._-]+|[._-]+$/g, "")].slice(0, 60).join("") || "text";
}
