"""Train models for the studies behind the docs, and print their tables: python -m experiments.study NAME."""

COMMANDS = {
    "curves": "F1 and training time by corpus size, compared with spaCy's spancat",
    "partial": "F1 from partial annotation, compared with full annotation and with treating unknown as absent",
    "discontinuous": "F1 on discontinuous mentions, compared with other ways to treat them",
}
"""The commands, each a module with a ``run``."""
WITHOUT_TORCH = ()
"""The commands that run without torch."""
