/** What is wrong with a text, an option or a model, in one sentence for whoever gave it. */
export class HyperspanError extends Error {
  name = "HyperspanError";
}

/** Raises the error with this sentence unless something holds. */
export function check(holds, sentence) {
  if (!holds) throw new HyperspanError(sentence);
}
