"""Learning from text without labels: masked language modelling of a pretrained encoder, and word vectors.

It may import the text, corpora, encoders and training packages; only the command line imports it.
"""
