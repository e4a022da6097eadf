// The files of a model: fetched with progress, or those of a folder that was dropped on a page.

import { check } from "./errors.js";
import { kernelsFile } from "./kernels.js";
import { FILES } from "./model.js";

/** The bytes of a model's files by name. `source` is the address of its folder, or its files: a list of File, or values by name. */
export async function readFolder(source, onProgress = () => {}) {
  if (typeof source === "string") return fetched(source.endsWith("/") ? source : `${source}/`, onProgress);
  const given = Symbol.iterator in source ? Object.fromEntries([...source].map((file) => [file.name, file])) : source;
  const known = FILES.filter((name) => name in given);
  check(known.length, `there is no model among these files; give the folder of one, with ${FILES.join(", ")}`);
  return Object.fromEntries(await Promise.all(known.map(async (name) => [name, await bytesOf(given[name])])));
}

async function bytesOf(file) {
  return file instanceof Uint8Array ? file : new Uint8Array(file instanceof ArrayBuffer ? file : await file.arrayBuffer());
}

async function fetched(folder, onProgress) {
  const responses = await Promise.all(FILES.map((name) => answer(new URL(name, folder))));
  const total = responses.reduce((sum, response) => sum + Number(response.headers.get("content-length") ?? NaN), 0);
  let loaded = 0;
  const count = (bytes) => onProgress({ loaded: (loaded += bytes), total: total >= loaded ? total : null });
  return Object.fromEntries(await Promise.all(responses.map(async (response, index) => [FILES[index], await streamed(response, count)])));
}

async function answer(address) {
  let response;
  try {
    response = await fetch(address);
  } catch {
    check(false, `${address} cannot be loaded; is there a connection, and may this page ask that server (CORS)?`);
  }
  check(response.ok, `${address} cannot be loaded: the server answered ${response.status}; a model is a folder with ${FILES.join(", ")}`);
  return response;
}

async function streamed(response, onBytes) {
  const chunks = [], reader = response.body.getReader();
  for (let part; !(part = await reader.read()).done; chunks.push(part.value)) onBytes(part.value.length);
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  chunks.reduce((at, chunk) => (whole.set(chunk, at), at + chunk.length), 0);
  return whole;
}

/** The bytes of the kernels, which stand beside this module. */
export async function readKernels() {
  const address = new URL(`../dist/${kernelsFile()}`, import.meta.url);
  if (address.protocol !== "file:") return new Uint8Array(await (await answer(address)).arrayBuffer());
  const { readFile } = await import("node:fs/promises");
  return new Uint8Array(await readFile(address));
}
