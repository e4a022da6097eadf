"""From a model to a better one: what to label next, and the corrections of people.

Imports inference, evaluation, corpora and types, and torch nowhere; serve and cli import it.
"""
