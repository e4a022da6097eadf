"""The word vectors that come with hyperspan: GloVe vectors, taken from the bundled models.

A bundled model has two kinds of vectors. Those of its training words are fine-tuned and not used here. Those of all
other words are the original GloVe vectors, in one byte per number. The folder `pretrained/vectors` adds the words that
are fine-tuned in every model; `python -m experiments.bundled_vectors` creates it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperspan.errors import InputError
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.runtime.tensors import FIXED, SCALE, TensorFile
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.text.words import Words

BUNDLED = "bundled"
"""The value of `words.vectors` that selects these vectors."""
DIMENSION = 100
VECTORS = "vectors"
"""The folder, next to the models, with the vectors that no model has."""


@dataclass(frozen=True, eq=False)
class ByteVectors:
    """Words and their vectors in one byte per number."""

    words: list[str]
    numbers: np.ndarray
    """(words, dimension), int8."""
    scales: np.ndarray
    """(words, 1), float32: a number times the scale of its row is the vector's value."""

    @property
    def digest(self) -> str:
        """A digest of all words and numbers."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        for part in (self.numbers, self.scales):
            digest.update(part.tobytes())
        return digest.hexdigest()


def untrained_vectors(model: Path) -> ByteVectors | None:
    """The vectors of words that a model's training data lacked; None if it has none in one byte per number."""
    tensors = TensorFile(model / "model.safetensors").read()
    if FIXED + SCALE not in tensors:
        return None
    vocabulary = Vocabulary.load(model)
    return ByteVectors(list(vocabulary.words[vocabulary.trained :]), tensors[FIXED], tensors[FIXED + SCALE])


def new_rows(parts: list[ByteVectors]) -> list[list[int]]:
    """For each part, the rows of words that no earlier part has."""
    seen: set[str] = set()
    rows: list[list[int]] = []
    for part in parts:
        rows.append([row for row, word in enumerate(part.words) if word not in seen])
        seen.update(part.words)
    return rows


def bundled_vectors(place: Path = PRETRAINED) -> tuple[list[str], np.ndarray]:
    """The words, most frequent first, and their vectors, a row per word, read from the folders of a place.

    >>> words, vectors = bundled_vectors()
    >>> words[:4], vectors.shape
    (['the', ',', '.', 'of'], (62048, 100))
    """
    folder = place / VECTORS
    tensors = TensorFile(folder / "vectors.safetensors").read()
    rest = ByteVectors(list(Words((folder / "words.txt").read_bytes())), tensors["numbers"], tensors["scales"])
    parts = [rest, *_models(place)]
    origins = tensors["origins"]  # (words,): which part has the next word
    words = np.empty(len(origins), dtype=object)
    numbers = np.empty((len(origins), DIMENSION), dtype=np.int8)
    scales = np.empty((len(origins), 1), dtype=np.float32)
    for number, (part, rows) in enumerate(zip(parts, new_rows(parts), strict=True)):
        places = np.flatnonzero(origins == number)
        words[places] = [part.words[row] for row in rows]
        numbers[places], scales[places] = part.numbers[rows], part.scales[rows]
    return words.tolist(), np.multiply(numbers, scales, dtype=np.float32)


def _models(place: Path) -> list[ByteVectors]:
    """The vectors of the models that the folder was made for, which must be unchanged."""
    digests: dict[str, str] = json.loads((place / VECTORS / "models.json").read_text(encoding="utf-8"))
    found = {name: untrained_vectors(place / name) for name in digests if (place / name).is_dir()}
    if changed := [
        name for name, digest in digests.items() if (part := found.get(name)) is None or part.digest != digest
    ]:
        raise InputError(
            f"the bundled vectors were made for other versions of the models {', '.join(changed)}; run "
            "python -m experiments.bundled_vectors with a file of GloVe's vectors, or install hyperspan again"
        )
    return [part for part in found.values() if part is not None]
