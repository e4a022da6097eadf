"""Annotate texts: find mentions and their probabilities. All front ends use this package.

Imports text, corpora.documents, batch, models and structures; cli, bulk, serve and integrations import it.
"""
