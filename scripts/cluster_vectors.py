"""Clusters of words like Brown's, from word vectors: `scripts/cluster_vectors.py VECTORS OUTPUT.tsv.gz [WORDS]`.

2-means divides the first WORDS words (all if not given), then each half, down to DEPTH times or to clusters of fewer
than LEAST words. The path to a word is its cluster, one bit a division, in the format that `words.clusters` reads.
"""

from __future__ import annotations

import gzip
import sys

import numpy as np

from hyperspan.nn.vectors import read_vectors

DEPTH, LEAST, ROUNDS = 14, 20, 12


def halves(rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """(words,): which of two clusters each row belongs to."""
    centres = rows[random.choice(len(rows), 2, replace=False)]
    side = np.zeros(len(rows), dtype=bool)
    for _ in range(ROUNDS):
        side = rows @ (centres[1] - centres[0]) > 0
        if side.all() or not side.any():
            side = np.arange(len(rows)) % 2 == 1
        centres = np.stack([rows[~side].mean(0), rows[side].mean(0)])
        centres /= np.linalg.norm(centres, axis=1, keepdims=True) + 1e-9
    return side


def paths(vectors: np.ndarray, seed: int = 1) -> list[str]:
    """The bits of each word."""
    random = np.random.default_rng(seed)
    rows = vectors - vectors.mean(0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    bits = [""] * len(rows)
    level = [np.arange(len(rows))]
    for _ in range(DEPTH):
        below = []
        for members in level:
            if len(members) < LEAST:
                continue
            side = halves(rows[members], random)
            for one, part in zip("01", (members[~side], members[side]), strict=True):
                below.append(part)
                for word in part:
                    bits[word] += one
        level = below
    return bits


def main(vectors: str, output: str, words: str = "0") -> None:
    given = read_vectors(vectors, limit=int(words), lowercase=True)
    with gzip.open(output, "wt", encoding="utf-8") as file:
        file.writelines(f"{bits}\t{word}\n" for word, bits in zip(given.words, paths(given.vectors), strict=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
