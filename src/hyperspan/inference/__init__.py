"""From texts to mentions with their probabilities: what every front end uses.

Imports text, corpora.documents, batch, models and structures; cli, bulk, serve and integrations import it.
"""
