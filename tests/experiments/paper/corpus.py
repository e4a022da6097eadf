"""An invented corpus in place of GENIA, and settings that make a row small enough to be trained in a moment."""

from __future__ import annotations

import shutil
from pathlib import Path

HARBOUR = Path("src/hyperspan/corpora/examples/harbour.data")
SMALL = {
    "words.vectors": "",
    "words.dimension": 6,
    "words.tag_dimension": 0,
    "encoder.layers": 1,
    "encoder.hidden": 6,
    "encoder.span_hidden": 6,
    "training.epochs": 1,
}


def make_corpus(folder: Path) -> Path:
    """A folder of corpora, with train, dev and test where the configurations of GENIA look."""
    (folder / "genia").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        shutil.copy(HARBOUR, folder / "genia" / f"{part}.data")
    return folder
