"""Active learning and labelling: what to label next, and sessions in which people correct a model.

Imports inference, evaluation, corpora and types, never torch; serve and cli import it.
"""
