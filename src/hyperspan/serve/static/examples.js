// Texts to begin with, which fit what a model is for.

const EVERYDAY = [
  "The mayor of Bergen opened the new library of the university on Monday. Her brother's company built it in three years, and the students of the music school played in its garden.",
  "Last summer my sister's neighbours sold their house by the lake and moved to Lisbon. Their oldest son works for a museum there, and he writes to the children of our street every month.",
  "The former head of the national bank of Norway met the mayor of the capital in the garden of her brother's house.",
];
const BIOMEDICAL = [
  "Activation of the human interleukin-2 receptor alpha chain gene in primary T lymphocytes depends on NF-kappa B. We asked whether mutant Rel proteins bind the IL-2 promoter in Jurkat T cells, and found that c-Rel mRNA rises in activated CD4+ T cells but not in B cell lines.",
  "Stimulated monocytes transcribe the tumor necrosis factor alpha gene within minutes. Deletion of the kappa B sites in its promoter abolished the response in the human monocytic cell line THP-1, whereas a mutant of the glucocorticoid receptor DNA binding domain had no effect on AP-1.",
];
const LITERARY = [
  "Captain Morrow, the master of the Cordelia, had promised his wife's sister a passage to Halifax. The old woman who kept the inn by the harbour gate saw him go, and so did the two boys of the miller from the village beyond the hill.",
  "The schoolmaster's eldest daughter met the captain of the coastguard at the church on the hill. Her brother, who had been a clerk in a shipping house in Liverpool, drove the doctor's carriage back to the farm by the river.",
];
const CONCEPTS = [
  "Loss of rod and cone photoreceptors begins in the retina of mutant mice soon after birth. Their livers hold less glycogen, because insulin no longer controls glucose and lipid metabolism, and apoptosis of T and B cells in the thymus is more frequent.",
  "In zebrafish embryos without the gene, cardiac and skeletal muscle cells divide late. Rod and cone cells express opsins as usual, but calcium and potassium transport across the plasma membrane of their neurons is slow.",
  "Expression of the gene in the brain and spinal cord of mouse embryos depends on Sox2. Red and white blood cells of the mutants lack the receptor, whereas DNA replication and repair in their kidneys are normal.",
];
const BUNDLED = { english: EVERYDAY, genia: BIOMEDICAL, litbank: LITERARY, craft: CONCEPTS };
const SHORT = new Map([ // sentences short enough for their hypergraphs
  [EVERYDAY, "The mayor of Oslo left her brother's house."],
  [BIOMEDICAL, "Rel proteins bind the IL-2 promoter."],
  [LITERARY, "The captain's wife left for Halifax."],
  [CONCEPTS, "Rod and cone photoreceptors degenerate."],
]);

export function examplesFor(model) {
  const isBiomedical = model?.labels.some((label) => /protein|gene|cell|dna|drug|disease|chemical|chebi|uberon/i.test(label));
  return BUNDLED[model?.name] ?? (!isBiomedical ? EVERYDAY : model.discontinuous ? CONCEPTS : BIOMEDICAL);
}

export const shortSentence = (model) => SHORT.get(examplesFor(model));

export const isExample = (text) => Object.values(BUNDLED).flat().includes(text);
