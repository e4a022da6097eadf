// A text to begin with, for each model that comes with hyperspan.

const BIOMEDICAL = [
  "Activation of the human interleukin-2 receptor alpha chain gene in primary T lymphocytes depends on NF-kappa B. We asked whether mutant Rel proteins bind the IL-2 promoter in Jurkat T cells, and found that c-Rel mRNA rises in activated CD4+ T cells but not in B cell lines.",
  "Stimulated monocytes transcribe the tumor necrosis factor alpha gene within minutes. Deletion of the kappa B sites in its promoter abolished the response in the human monocytic cell line THP-1, whereas a mutant of the glucocorticoid receptor DNA binding domain had no effect on AP-1.",
];
const LITERARY = [
  "Captain Morrow, the master of the Cordelia, had promised his wife's sister a passage to Halifax. The old woman who kept the inn by the harbour gate saw him go, and so did the two boys of the miller from the village beyond the hill.",
  "The schoolmaster's eldest daughter met the captain of the coastguard at the church on the hill. Her brother, who had been a clerk in a shipping house in Liverpool, drove the doctor's carriage back to the farm by the river.",
];
const ANY = ["The former head of the national bank of Norway met the mayor of the capital in the garden of her brother's house."];

export function examplesFor(model) {
  if (model?.name === "genia") return BIOMEDICAL;
  if (model?.name === "litbank") return LITERARY;
  return model?.labels.some((label) => /protein|gene|cell|dna|drug|disease|chemical/i.test(label)) ? BIOMEDICAL : ANY;
}

/** A sentence short enough for its hypergraph. */
export function shortSentence(model) {
  return examplesFor(model) === BIOMEDICAL ? "Rel proteins bind the IL-2 promoter." : "The captain's wife left for Halifax.";
}

export const isExample = (text) => [...BIOMEDICAL, ...LITERARY, ...ANY].includes(text);
