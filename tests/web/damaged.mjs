// Opens damaged models, for tests: node damaged.mjs WHOLE SEED FOLDER… prints a line for each, and for changes of single bytes of a whole one.

import { readFileSync } from "node:fs";
import { Engine } from "../../web/src/engine.js";
import { kernelsFile } from "../../web/src/kernels.js";
import { FILES } from "../../web/src/model.js";

const [whole, seed, ...folders] = process.argv.slice(2);
const wasm = readFileSync(new URL(`../../web/dist/${kernelsFile()}`, import.meta.url));
const read = (folder) => Object.fromEntries(FILES.map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]));

let state = Number(seed);
const random = (below) => (state = (state * 48271) % 2147483647) % below;

async function opened(files) {
  try {
    const engine = await Engine.of(wasm, files);
    for (const _ of engine.annotate("Stimulated monocytes transcribe the IL-2 gene.", { topK: 2, candidates: 0.01 }));
    console.log("answered");
  } catch (error) {
    console.log(`${error.name}: ${error.message}`);
  }
}

for (const folder of folders) await opened(read(folder));
for (let turn = 0; turn < 40; turn++) {
  const files = read(whole), bytes = files[FILES[turn % FILES.length]];
  const most = turn % FILES.length === 3 ? 3000 : bytes.length; // the header of the weights says most
  for (let change = 0; change <= turn / 8; change++) bytes[random(most)] = random(256);
  await opened(files);
}
