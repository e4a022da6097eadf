"""Learning a model from annotated sentences, and what a run leaves behind."""
