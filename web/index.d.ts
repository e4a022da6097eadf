/** hyperspan in a page: mentions that overlap, with exact probabilities, found by the visitor's own browser. */

/** A place in a text. `start` and `end` count UTF-16 units, as strings of JavaScript do: `text.slice(start, end)`. */
export interface Span {
  start: number;
  end: number;
  /** The same place in Unicode code points, as Python counts. */
  codePoints: [start: number, end: number];
}

export interface Mention extends Span {
  /** The parts of a mention with gaps, as [start, end]; contiguous ones have none. */
  fragments?: [start: number, end: number][];
  /** The same in code points. */
  fragmentCodePoints?: [start: number, end: number][];
  label: string;
  /** The marginal probability, above 0 and up to 1. Mentions of `alternatives` have none. */
  probability?: number;
  text: string;
}

/** The most probable sets of mentions of a sentence, best first. */
export interface Alternatives extends Span {
  sets: { probability: number; mentions: Mention[] }[];
}

export interface Options {
  /**
   * null (the default): the most probable set of each sentence. A probability above 0 and up to 1: every mention that has
   * at least so much, by label if it is an object; "*" stands for all other labels.
   */
  threshold?: number | Record<string, number> | null;
  /** Find only mentions with these labels. */
  types?: string[] | null;
  /** Find only names, under the types that they are names of; for models that mark names. */
  names?: boolean;
  /** Also give `alternatives`: so many sets for each sentence. */
  topK?: number;
  /** Also give `candidates`: every mention with at least this probability. */
  candidates?: number | null;
  /** Called with how many words are done. */
  onWords?: (words: number) => void;
  /** Stops the work. */
  signal?: AbortSignal;
}

export interface Result {
  /** By place, the longest first. */
  mentions: Mention[];
  candidates?: Mention[];
  alternatives?: Alternatives[];
}

export interface Annotate {
  (text: string, options?: Options): Promise<Result>;
  /** What is found by default. */
  labels: string[];
  /** What is found with `names`; empty for models that mark no names. */
  nameLabels: string[];
  /** Ends the worker and gives its memory back. */
  close(): void;
}

/** What is wrong with a text, an option or a model, in one sentence. */
export class HyperspanError extends Error {}

/**
 * Opens a model of kind `segmental` or `discontinuous` in a worker of its own. `source` is the address of a model's folder, or its files: a
 * list of `File` (as dropped on a page), or bytes by name. Four files are read: config.toml, vocabulary.json, words.txt
 * and model.safetensors.
 *
 *     const annotate = await load("models/english/", { onProgress: ({ loaded, total }) => … });
 *     const { mentions } = await annotate("The wife of the mayor of Chicago runs a bakery.");
 */
export function load(
  source: string | URL | Iterable<File> | Record<string, Blob | ArrayBuffer | Uint8Array>,
  options?: { onProgress?: (progress: { loaded: number; total: number | null }) => void },
): Promise<Annotate>;
