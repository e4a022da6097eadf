"""Placing, reading and writing mentions is linear: twice the document takes about twice the time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from hyperspan.corpora import FORMATS, READERS, WRITERS, read_corpus, write_corpus
from hyperspan.corpora.documents import document_of, with_sentences
from hyperspan.corpora.label_studio import CONTINUES, continuations, join_parts
from hyperspan.corpora.outputs import FOLDERS
from hyperspan.corpora.overlaps import without_crossings, without_overlaps
from hyperspan.corpora.partial import marks_read, marks_written
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import statistics
from hyperspan.types import AnnotationScope, Document, Mention, Sentence
from tests.support.growth import grows_linearly, lines_run

SIZE = 800
Job = Callable[[], Any]
WORDS = 3
"""The words of each sentence of one letter, so that sentence i begins at the character 6 i."""


def sentences(count: int) -> Document:
    return document_of([Sentence(("a",) * WORDS)] * count)


def document_mentions(count: int) -> Job:
    document = evolve(sentences(count), mentions=[Mention(2 * WORDS * i, 2 * WORDS * i + 3, "A") for i in range(count)])
    return lambda: with_sentences(document, Problems())


def forbidden_mentions(count: int) -> Job:
    spans = [Mention(2 * WORDS * i, 2 * WORDS * i + 3, "A") for i in range(count)]
    document = evolve(sentences(count), forbidden=spans)
    return lambda: with_sentences(document, Problems())


def annotated_regions(count: int) -> Job:
    scope = AnnotationScope(regions=[(2 * WORDS * i, 2 * WORDS * i + 3) for i in range(count)])
    document = evolve(sentences(count), annotated=scope)
    return lambda: with_sentences(document, Problems())


def parted_mentions(count: int) -> Job:
    mentions = [Mention(4 * i + 2 * j, 4 * i + 2 * j + 1, "A", id=f"{i}.{j}") for i in range(count) for j in (0, 1)]
    relations = [one for i in range(count) for one in continuations([f"{i}.0", f"{i}.1"], CONTINUES)]
    return lambda: join_parts(mentions, relations)


def one_mention_of_many_parts(count: int) -> Job:
    mentions = [Mention(2 * i, 2 * i + 1, "A", id=str(i)) for i in range(count)]
    relations = continuations([str(i) for i in range(count)], CONTINUES)
    return lambda: join_parts(mentions, relations)


def parts_with_many_labels(count: int) -> Job:
    mentions = [Mention(2 * j, 2 * j + 1, f"L{i}", id=str(j)) for i in range(count) for j in (0, 1)]
    relations = continuations(["0", "1"], CONTINUES)
    return lambda: join_parts(mentions, relations)


def marks_of_partial_annotation(count: int) -> Job:
    forbidden = [Mention(2 * i, 2 * i + 1, "A") for i in range(count)]
    document = Document("a " * count, forbidden=forbidden)

    def there_and_back() -> Document:
        plain, marks = marks_written(document, "brat")
        return marks_read(evolve(plain, mentions=marks))

    return there_and_back


def overlaps_to_leave_out(count: int) -> Job:
    mentions = [Mention(2 * i, 2 * i + 3, "A") for i in range(count)]
    return lambda: (without_overlaps(mentions), without_overlaps(mentions, True), without_crossings(mentions))


JOBS = (
    document_mentions,
    forbidden_mentions,
    annotated_regions,
    parted_mentions,
    one_mention_of_many_parts,
    parts_with_many_labels,
    marks_of_partial_annotation,
    overlaps_to_leave_out,
)


@pytest.mark.parametrize("make", JOBS)
def test_twice_the_document_takes_about_twice_the_time(make: Callable[[int], Job]) -> None:
    jobs = {size: make(size) for size in (SIZE, 2 * SIZE)}
    assert grows_linearly(lambda size: jobs[size](), SIZE)


@pytest.mark.parametrize("span", [lambda i: (i, 4000 - i), lambda i: (i, i + 4000), lambda i: (0, 1 + i)])
def test_statistics_of_many_mentions_of_one_sentence_are_linear(span: Callable[[int], tuple[int, int]]) -> None:
    """Nested, crossing, and with the same start."""

    def counted(count: int) -> int:
        sentence = Sentence(("a",) * 8000, [Mention(*span(i), "AB"[i % 2]) for i in range(count)])
        document = document_of([sentence])
        return lines_run(lambda: statistics([document]))

    assert counted(2000) < 2.3 * counted(1000)


@pytest.mark.parametrize("name", [name for name in WRITERS if name in READERS])
def test_formats_take_about_twice_the_time_for_twice_the_document(name: str, tmp_path: Path) -> None:
    if name == "docbin":
        pytest.importorskip("spacy")
    sentence = Sentence(("a",) * WORDS, [Mention(0, 1, "A")])
    documents = {size: document_of([sentence] * size, "zoo") for size in (SIZE // 4, SIZE // 2)}

    def there_and_back(size: int) -> None:
        target = tmp_path / f"{size}{'' if name in FOLDERS else FORMATS[name].suffixes[0]}"
        write_corpus([documents[size]], target, name, force=True)
        assert sum(len(document.mentions) for document in read_corpus(target, name)) == size

    assert grows_linearly(there_and_back, SIZE // 4)
