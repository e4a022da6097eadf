"""Training: learn a model from annotated sentences, with logs, checkpoints and model cards."""
