"""Learning from text without labels: masked language modelling of a pretrained encoder, and word vectors."""
