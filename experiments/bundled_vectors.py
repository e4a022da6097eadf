"""Makes src/hyperspan/pretrained/vectors: python -m experiments.bundled_vectors glove.npz. Run it when a bundled model
changes.

With the words that the bundled models have without having trained them, `words.vectors = "bundled"` is then all of the
file, in its order, in one byte a number. The same file and the same models give the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from safetensors.numpy import save_file

from experiments.cli import run_command
from hyperspan.nn.bundled import DIMENSION, VECTORS, ByteVectors, new_rows, untrained_vectors
from hyperspan.nn.vectors import WordVectors, read_vectors
from hyperspan.runtime.folders import PRETRAINED, bundled_models
from hyperspan.text.words import Words


def in_bytes(vectors: WordVectors) -> ByteVectors:
    """As `hyperspan model compact` stores vectors."""
    scales = np.maximum(np.abs(vectors.vectors).max(1, keepdims=True), np.float32(1e-6)) / np.float32(127)
    return ByteVectors(vectors.words, np.round(vectors.vectors / scales).astype(np.int8), scales)


def is_part_of(given: WordVectors, model: ByteVectors | None) -> bool:
    """Whether the vectors of a model are those of the file, in the same order."""
    if model is None or model.numbers.shape[1] != DIMENSION:
        return False
    row = {word: index for index, word in enumerate(given.words)}
    rows = [row.get(word, -1) for word in model.words]
    if -1 in rows or rows != sorted(rows):
        return False
    difference = np.abs(given.vectors[rows] - model.numbers * model.scales)
    return bool((difference <= 0.51 * model.scales).all())  # rounding takes half of a step


def bundle(given: WordVectors, place: Path = PRETRAINED) -> None:
    """Writes the words, vectors and order that the models lack, and for which models that is so."""
    if given.vectors.shape[1] != DIMENSION:
        raise SystemExit(f"the vectors have {given.vectors.shape[1]} numbers; give a file with {DIMENSION}")
    found = {name: untrained_vectors(place / name) for name in bundled_models(place)}
    used = {name: part for name, part in found.items() if part is not None and is_part_of(given, part)}
    known = {word for part in used.values() for word in part.words}
    whole = in_bytes(given)
    rows = [row for row, word in enumerate(given.words) if word not in known]
    rest = ByteVectors([given.words[row] for row in rows], whole.numbers[rows], whole.scales[rows])
    parts = [rest, *used.values()]
    origin = {
        part.words[row]: number
        for number, (part, new) in enumerate(zip(parts, new_rows(parts), strict=True))
        for row in new
    }
    origins = np.array([origin[word] for word in given.words], dtype=np.int8)
    (folder := place / VECTORS).mkdir(exist_ok=True)
    save_file({"numbers": rest.numbers, "scales": rest.scales, "origins": origins}, folder / "vectors.safetensors")
    (folder / "vectors.safetensors").chmod(0o644)
    (folder / "words.txt").write_bytes(Words.of(rest.words).data)
    digests = json.dumps({name: part.digest for name, part in used.items()}, indent=1)
    (folder / "models.json").write_text(digests + "\n", encoding="utf-8")
    print(
        f"{len(given.words):,} words, {len(rest.words):,} of them in {folder}, the others in: {', '.join(used) or 'no model'}"
    )
    if other := sorted(found.keys() - used.keys()):
        print(f"models whose vectors are not those of the file: {', '.join(other)}")


def make(
    vectors: Annotated[Path, typer.Argument(help="GloVe's vectors of dimension 100, the most frequent words first.")],
) -> None:
    """Make the bundled word vectors anew, after a bundled model has changed."""
    bundle(read_vectors(vectors))


if __name__ == "__main__":
    run_command(make, "experiments.bundled_vectors")
