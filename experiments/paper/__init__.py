"""Reproduction of the paper's tables: each row is a configuration to train, score and tabulate."""
