"""Encoders: from tokens to vectors of words, characters and spans."""
