"""Parts of a corpus by the order of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from hyperspan.corpora.documents import document_of, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.types import Document, Sentence

Part = Literal["train", "dev", "test"]


def part_of(sentences: int, part: Part) -> range:
    """Which of a number of sentences are in a part: the first 80 %, the next 10 %, the last 10 %, as GENIA is split.

    >>> [len(part_of(18_546, part)) for part in ("train", "dev", "test")]
    [14836, 1855, 1855]
    """
    train = sentences * 8 // 10
    dev = train + (sentences - train) // 2
    return {"train": range(train), "dev": range(train, dev), "test": range(dev, sentences)}[part]


def in_order(read: Callable[[Problems], Iterator[Document]], part: Part, problems: Problems) -> Iterator[Document]:
    """The sentences of a part, a document each; `read` is called twice, to count them and to give them out."""

    def sentences(noted: Problems) -> Iterator[tuple[Document, Sentence]]:
        for document in read(noted):
            yield from ((document, sentence) for sentence in with_sentences(document, noted).sentences)

    wanted = part_of(sum(1 for _ in sentences(Problems("skip"))), part)
    for number, (document, sentence) in enumerate(sentences(problems)):
        if number in wanted:
            yield document_of([sentence], document.id, document.metadata)
