"""Promises of recall and precision: what the bundled models can promise, and how well they keep it."""

COMMANDS = {
    "store": "Measure on dev what bundled models can promise, and store it in their cards.",
    "measure": "Measure on test how promises are kept; write the figures and pictures of the docs.",
}
WITHOUT_TORCH = ("measure",)

CORPORA = {
    "craft": ("CRAFT", "craft/{}.jsonl.gz"),
    "english": ("GUM", "gum/{}.jsonl.gz"),
    "genia": ("GENIA", "genia/{}.data"),
    "litbank": ("LitBank", "litbank/{}.data.gz"),
}
"""The corpus of each bundled model: its name, and its files in the folder of corpora."""
