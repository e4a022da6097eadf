"""Tokens to vectors: of words, of characters, of spans."""
