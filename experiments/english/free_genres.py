"""Keep the documents of GUM that are free for every use.

GUM's annotations are CC BY; the texts of some genres are CC BY-NC-SA, and a model that anyone may use must not learn
from these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import Force, Output, run_command
from experiments.gum import NOT_FREE
from hyperspan import read_corpus, write_corpus
from hyperspan.errors import InputError


def keep_free(
    corpus: Annotated[Path, typer.Argument(help="Documents of GUM with metadata.genre.")],
    output: Output,
    force: Force = False,
) -> None:
    """Keep the documents of GUM that are free for every use.

    Example: python -m experiments.english.free_genres data/gum/train.jsonl.gz -o data/gum/free.jsonl.gz
    """
    documents = list(read_corpus(corpus))
    if lacking := [document.id for document in documents if "genre" not in document.metadata]:
        raise InputError(f"document {lacking[0]} of {corpus} has no metadata.genre; give the corpus with its genres")
    free = [document for document in documents if document.metadata["genre"] not in NOT_FREE]
    write_corpus(free, output, force=force)
    sentences = sum(len(document.sentences) for document in free)
    print(f"kept {len(free)} of {len(documents)} documents, {sentences:,} sentences")


if __name__ == "__main__":
    run_command(keep_free, "experiments.english.free_genres")
