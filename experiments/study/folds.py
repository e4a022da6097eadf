"""The articles of GENIA's XML in five folds: the corpora ``genia-1`` to ``genia-5``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.rows import CORPORA, FOLDS
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.errors import InputError
from hyperspan.types import Document

XML = "genia/xml/GENIAcorpus3.02.first126articles.xml.gz"
DEV = 9
"""One in this many articles outside the test fold is dev."""


def folded(documents: Sequence[Document], fold: int) -> dict[str, list[Document]]:
    """Split into train, dev and test, with one fold as test.

    >>> {part: len(found) for part, found in folded([Document(str(number)) for number in range(126)], 1).items()}
    {'train': 88, 'dev': 12, 'test': 26}
    """
    others = [document for index, document in enumerate(documents) if index % len(FOLDS) != fold - 1]
    return {
        "train": [document for index, document in enumerate(others) if index % DEV],
        "dev": others[::DEV],
        "test": list(documents[fold - 1 :: len(FOLDS)]),
    }


def write_folds(data_dir: Path) -> None:
    """Write the folds that are missing in a folder of corpora."""
    missing = [fold for fold in FOLDS if not all((data_dir / path).is_file() for path in CORPORA[fold].parts.values())]
    if not missing:
        return
    if not (data_dir / XML).is_file():
        raise InputError(f"{data_dir / XML} is not there, of which folds are made; put it there, or give --data-dir")
    documents = list(read_corpus(data_dir / XML))
    for fold in missing:
        for part, found in folded(documents, FOLDS.index(fold) + 1).items():
            path = data_dir / CORPORA[fold].parts[part]
            path.parent.mkdir(parents=True, exist_ok=True)
            write_corpus(found, path, force=True)
