// Annotates texts with a model, for tests: node annotate.mjs MODEL < [{text, options}, …] > a line of JSON for each.

import { readFileSync } from "node:fs";
import { Engine } from "../../web/src/engine.js";
import { kernelsFile } from "../../web/src/kernels.js";
import { FILES } from "../../web/src/model.js";

const read = (path) => new Uint8Array(readFileSync(path));
const [folder] = process.argv.slice(2);
let engine;
try {
  const files = Object.fromEntries(FILES.map((name) => [name, read(`${folder}/${name}`)]));
  engine = await Engine.of(read(new URL(`../../web/dist/${kernelsFile()}`, import.meta.url)), files);
} catch (error) {
  console.log(JSON.stringify({ error: `${error.name}: ${error.message}` }));
  process.exit();
}
for (const { text, options } of JSON.parse(readFileSync(0, "utf8"))) {
  let answer;
  try {
    const steps = engine.annotate(text, options);
    for (answer = steps.next(); !answer.done; ) answer = steps.next();
    answer = answer.value;
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  const ascii = JSON.stringify(answer).replace(/[^\0-~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  process.stdout.write(`${ascii}\n`);
}
