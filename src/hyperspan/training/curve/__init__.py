"""Learning curves: parts of a corpus, a run on each, a power law through the scores, a picture. `parts` and `fit` need
no torch."""
