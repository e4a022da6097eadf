"""Tests of hyperspan; the folders mirror src."""
