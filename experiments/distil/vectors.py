"""Write the word vectors of a bundled model as a file for `words.vectors`: those of `craft` are of biomedical text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.cli import Output, run_command
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, TensorFile
from hyperspan.text.vocabulary import Vocabulary


def vectors_of(model: Path) -> tuple[list[str], np.ndarray]:
    """The words of a model without characters that separate words, and (words, dimension)."""
    tensors, vocabulary = TensorFile(model / "model.safetensors").read(), Vocabulary.load(model)
    count, trained = len(vocabulary.words), vocabulary.trained
    values = [tensors[name] * tensors[name + SCALE] for name in (TRAINED, FIXED)]
    rows = np.concatenate([values[0][len(values[0]) - trained :], values[1][len(values[1]) - (count - trained) :]])
    kept = [place for place, word in enumerate(vocabulary.words) if word.split() == [word]]
    return [vocabulary.words[place] for place in kept], rows[kept].astype(np.float16)


def write_vectors(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a compact one.")], output: Output
) -> None:
    """Write the word vectors of a compact model as a file for `words.vectors`.

    Example: python -m experiments.distil.vectors craft -o data/biomed-vectors.npz
    """
    words, vectors = vectors_of(folder_of(model))
    np.savez(output, words=np.bytes_("\n".join(words).encode()), vectors=vectors)
    print(f"{len(words):,} words in {output}")


if __name__ == "__main__":
    run_command(write_vectors, "experiments.distil.vectors")
