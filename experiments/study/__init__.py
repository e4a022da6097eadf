"""Train models for the studies behind the docs, and print their tables: python -m experiments.study NAME."""

COMMANDS = {"curves": "F1 and training time by corpus size, compared with spaCy's spancat"}
"""The commands that are modules with a ``run``; the other studies are rows."""
WITHOUT_TORCH = ()
"""The commands that run without torch."""
