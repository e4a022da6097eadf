"""Keeps the documents of GUM that are free for every use: ``python scripts/gum_free_genres.py train.jsonl.gz
free.jsonl.gz``.

GUM's annotations are CC BY; the texts of some genres are CC BY-NC-SA, and a model that anyone may use must not learn
from these.
"""

from __future__ import annotations

import argparse

from hyperspan import read_corpus, write_corpus

NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow")
"""The genres whose texts are CC BY-NC-SA."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("corpus", help="documents of GUM with metadata.genre")
    parser.add_argument("target", help="the file to write")
    given = parser.parse_args()
    documents = list(read_corpus(given.corpus))
    if lacking := [document.id for document in documents if "genre" not in document.metadata]:
        parser.error(f"document {lacking[0]} of {given.corpus} has no metadata.genre; give the corpus with its genres")
    free = [document for document in documents if document.metadata["genre"] not in NOT_FREE]
    write_corpus(free, given.target)
    print(
        f"kept {len(free)} of {len(documents)} documents, {sum(len(document.sentences) for document in free):,} sentences"
    )


if __name__ == "__main__":
    main()
