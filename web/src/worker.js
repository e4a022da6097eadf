// A model in a worker: it is opened with the first message, and then answers requests, the newest of which may cancel older ones.

import { Engine } from "./engine.js";
import { readFolder, readKernels } from "./folder.js";

const cancelled = new Set();
let engine, queue = Promise.resolve();

const plain = ({ name, message, stack }) => (name === "HyperspanError" ? { message } : { message: `the kernels failed (${message}); load the model again`, stack });
const turn = () => new Promise((resolve) => setTimeout(resolve)); // in which messages are read

async function open(source) {
  const [kernels, files] = await Promise.all([readKernels(), readFolder(source, (progress) => postMessage({ progress }))]);
  engine = await Engine.of(kernels, files);
  postMessage({ opened: { labels: engine.labels, nameLabels: engine.nameLabels } });
}

async function annotate({ id, text, options }) {
  const steps = engine.annotate(text, options);
  for (let step; await turn(), !cancelled.delete(id); ) {
    step = steps.next();
    if (step.done) return postMessage({ id, result: step.value });
    postMessage({ id, words: step.value });
  }
}

addEventListener("message", ({ data }) => {
  if (data.cancel !== undefined) return cancelled.add(data.cancel);
  const work = data.source === undefined ? () => annotate(data).catch((error) => postMessage({ id: data.id, error: plain(error) }))
    : () => open(data.source).catch((error) => postMessage({ error: plain(error) }));
  queue = queue.then(work);
});
