// Text files that are opened or dropped.

import { $ } from "./dom.js";

const LARGEST = 20_000_000; // bytes; far beyond what a server takes at once

// How files begin, or are named, that are no text; the counterpart of file_types.py.
const KINDS = [
  [/^(?:\ufeff|\xef\xbb\xbf)?\s*%PDF-/, "a PDF: save its text first, for example with “pdftotext”, or copy it from your viewer and paste it here"],
  [/^PK\x03\x04|^\xd0\xcf\x11\xe0/, "an office document or an archive: save it as plain text first, or copy its text and paste it here"],
  [/^\s*\{\\rtf/, "RTF: save it as plain text first, or copy its text and paste it here"],
  [/^(?:\x89PNG|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF[^]{4}WEBP|BM[^]{4}\0\0\0\0)/, "an image: read its text with a program for that, such as “tesseract”, first"],
  [/^(?:\x1f\x8b|BZh[1-9]|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!|[^]{257}ustar)/, "packed: unpack it first"],
  [/^(?:\xef\xbb\xbf)?\s*(?:<\?xml\b|<!doctype\b|<html\b)/i, "HTML or XML: copy its text from your browser and paste it here"],
];
const NAMES = [
  [/\.pdf$/i, KINDS[0][1]],
  [/\.(?:docx?|odt|ods|odp|pptx?|xlsx?|epub)$/i, KINDS[1][1]],
  [/\.(?:png|jpe?g|gif|tiff?|webp|heic|bmp)$/i, KINDS[3][1]],
];

/** What a file is, if it is no text, and what to do then. */
export function whyNotText(bytes, name) {
  const head = String.fromCharCode(...bytes.subarray(0, 4096));
  const kind = KINDS.find(([begins]) => begins.test(head)) ?? NAMES.find(([ends]) => ends.test(name));
  return kind?.[1] ?? (head.includes("\0") ? "no text: it has bytes that no text has. Give a file of plain text" : "");
}

/** The text of a file, with a sentence if there is something to know about it; or a problem. */
export async function textOf(file) {
  if (file.size > LARGEST) return { problem: `${file.name} is too large for this page; use “hyperspan annotate” for it.` };
  const bytes = new Uint8Array(await file.arrayBuffer());
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  const kind = utf16 ? "" : whyNotText(bytes, file.name);
  if (kind) return { problem: `${file.name} is ${kind}.` };
  try {
    return { text: new TextDecoder(utf16 ?? "utf-8", { fatal: true }).decode(bytes) };
  } catch {
    const text = new TextDecoder("windows-1252").decode(bytes);
    return { text, problem: `${file.name} is not in UTF-8 and was read as Windows-1252.` };
  }
}

/** Calls `onFile` for a file that is chosen with the button or dropped anywhere on the page. */
export function listen(onFile) {
  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    const [file] = $("file").files;
    if (file) onFile(file, 1);
    $("file").value = ""; // so that the same file can be opened again
  });
  const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
  let inside = 0;
  const show = () => ($("dropping").hidden = inside <= 0);
  for (const [type, step] of [["dragenter", 1], ["dragleave", -1]])
    addEventListener(type, (event) => {
      if (!carriesFile(event)) return;
      inside += step;
      show();
    });
  addEventListener("dragover", (event) => carriesFile(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    inside = 0;
    show();
    const { files } = event.dataTransfer;
    if (files.length) onFile(files[0], files.length);
  });
}
