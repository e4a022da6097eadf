// Finds mentions that overlap, in a page: see index.d.ts.

import { HyperspanError } from "./errors.js";

export { HyperspanError };

/** Opens a model in a worker of its own. */
export async function load(source, { onProgress } = {}) {
  const given = source instanceof URL || typeof source === "string" ? new URL(source, globalThis.document?.baseURI ?? import.meta.url).href : source;
  const model = typeof Worker === "undefined" ? await here(given, onProgress) : await inWorker(given, onProgress);
  const annotate = (text, options) => model.annotate(text, options ?? {});
  return Object.assign(annotate, { labels: model.labels, nameLabels: model.nameLabels, close: () => model.close() });
}

async function inWorker(source, onProgress) {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const waiting = new Map(); // id -> {resolve, reject, onWords}
  let next = 0;
  const failed = (error) => Object.assign(new HyperspanError(error.message), error.stack && { cause: error.stack });
  const opened = await new Promise((resolve, reject) => {
    const end = (error) => {
      worker.terminate();
      reject(error);
      for (const one of waiting.values()) one.reject(error);
      waiting.clear();
    };
    worker.onerror = (event) => end(new HyperspanError(`the worker of the model cannot run (${event.message ?? "it did not load"})`));
    worker.onmessage = ({ data: { id, progress, opened, words, result, error } }) => {
      if (progress) onProgress?.(progress);
      else if (opened) resolve(opened);
      else if (id === undefined) end(failed(error));
      else if (words !== undefined) waiting.get(id)?.onWords?.(words);
      else {
        const one = waiting.get(id);
        waiting.delete(id);
        if (error) one?.reject(failed(error));
        else one?.resolve(result);
      }
    };
    worker.postMessage({ source: typeof source === "string" ? source : Symbol.iterator in source ? [...source] : source });
  });
  return {
    ...opened,
    annotate: (text, { signal, onWords, ...options }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const id = next++;
        const abort = () => {
          if (waiting.delete(id)) worker.postMessage({ cancel: id });
          reject(signal.reason);
        };
        const then = (end) => (value) => (signal?.removeEventListener("abort", abort), end(value));
        waiting.set(id, { resolve: then(resolve), reject: then(reject), onWords });
        signal?.addEventListener("abort", abort);
        worker.postMessage({ id, text, options });
      }),
    close: () => {
      worker.terminate();
      for (const { reject } of waiting.values()) reject(new HyperspanError("the model was closed"));
      waiting.clear();
    },
  };
}

/** Without workers, as in Node, on this thread. */
async function here(source, onProgress) {
  const [{ Engine }, { readFolder, readKernels }] = await Promise.all([import("./engine.js"), import("./folder.js")]);
  const engine = await Engine.of(await readKernels(), await readFolder(source, onProgress));
  return {
    labels: engine.labels,
    nameLabels: engine.nameLabels,
    async annotate(text, { signal, onWords, ...options }) {
      const steps = engine.annotate(text, options);
      for (;;) {
        signal?.throwIfAborted();
        const { done, value } = steps.next();
        if (done) return value;
        onWords?.(value);
      }
    },
    close() {},
  };
}
