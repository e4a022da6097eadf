// Text files that are opened or dropped.

import { $ } from "./dom.js";

const LARGEST = 20_000_000; // bytes; far beyond what a server takes at once

/** The text of a file, with a sentence if there is something to know about it; or a problem. */
export async function textOf(file) {
  if (file.size > LARGEST) return { problem: `${file.name} is too large for this page; use “hyperspan annotate” for it.` };
  const bytes = new Uint8Array(await file.arrayBuffer());
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  if (!utf16 && bytes.subarray(0, 4096).includes(0)) return { problem: `${file.name} does not look like a text file.` };
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
