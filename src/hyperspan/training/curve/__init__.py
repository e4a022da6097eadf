"""Learning curves: subsets of a corpus, a run on each, a power-law fit, a plot. `parts` and `fit` need no torch."""
