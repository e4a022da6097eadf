"""Train models for the studies behind the docs, and print their tables: python -m experiments.study NAME."""
