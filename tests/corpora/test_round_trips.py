"""What formats keep besides mentions by character comes back: tokens, tags, heads, scores, ids, what is listed twice.

A format, or another layout of it, is a line in SUBJECTS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.corpora import FORMATS, document_of
from hyperspan.corpora.overlaps import overlaps
from hyperspan.corpora.source import Losses
from hyperspan.corpora.tags import Scheme
from hyperspan.types import Document, Mention, Sentence
from tests.support.formats import everything, read, written

About = Callable[[Sequence[Sentence]], dict[str, Any]]
ANY_LABELS = ("PER", "G#protein", "label with spaces", "Ä\n🦁\u2028")
ON_ONE_LINE = ("PER", "cell-line", "G#DNA", "two words", "O", "Größe")
WITHOUT_PREFIX = ("DNA", "two words", "Größe", "a,b")
ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
WORD = st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc", "Cf"]), min_size=1, max_size=6)
IN_A_CELL = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=5).filter(
    lambda token: not token[0].isdigit()  # which may count 1, 2, 3
) | st.sampled_from(["O", "#", "# O", "B-PER", "-", "\r", "\u2028", "\xa0", " "])
OF_SPACY = st.sampled_from(["zoo", "🦁", "e\u0301", "…", "שלום", "a b"])


@dataclass(frozen=True)
class Subject:
    """What a format keeps."""

    name: str
    tokens: st.SearchStrategy[str] = ANY
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The options of its writer, with the values that are tried."""
    labels: Sequence[str] = ANY_LABELS
    keeps: frozenset[str] = frozenset()
    """Of "tags", "head", "probability" and "id"."""
    most_sentences: int = 3
    """In a document."""
    numbered: bool = True
    """Whether the ids of documents are their numbers."""
    about: About = lambda sentences: {}
    """The metadata of a document."""

    def __str__(self) -> str:
        return " ".join((self.name, *sorted(self.keeps), *self.options))


COLUMNS = {"labels": ON_ONE_LINE, "tokens": IN_A_CELL}
SCHEMES = {"scheme": get_args(Scheme)}


def keeps(*what: str) -> frozenset[str]:
    return frozenset(what)


def chunks(sentences: Sequence[Sentence]) -> dict[str, Any]:
    return {"chunks": [["B-NP"] * len(sentence) for sentence in sentences]}


SUBJECTS = [
    Subject("w2ner", options={"lines": (False, True)}, numbered=False),
    Subject("cnn-ner", keeps=keeps("id"), numbered=False),
    Subject("cnn-ner", options={"style": ("spert",)}, numbered=False),
    Subject("gliner", options={"lines": (False, True)}, numbered=False),
    Subject("columns", options={**SCHEMES, "first_layer": ("outermost", "innermost")}, **COLUMNS),
    Subject("columns", options={"pos": (True,)}, keeps=keeps("tags"), **COLUMNS),
    Subject("conll2003", options=SCHEMES, keeps=keeps("tags"), **COLUMNS),
    Subject("conll2003", options=SCHEMES, keeps=keeps("tags"), about=chunks, **COLUMNS),
    Subject("four-lines", WORD, labels=WITHOUT_PREFIX, keeps=keeps("head"), most_sentences=1),
    Subject("four-lines", WORD, labels=WITHOUT_PREFIX, keeps=keeps("head", "tags"), most_sentences=1),
    Subject("docbin", OF_SPACY, keeps=keeps("probability", "id", "tags"), about=lambda _: {"a": [1, None]}),
    Subject("docbin", OF_SPACY, keeps=keeps("probability", "id")),
]


@st.composite
def places(draw: st.DrawFn, length: int) -> tuple[int, int]:
    start = draw(st.integers(0, length - 1))
    return start, draw(st.integers(start + 1, length))


@st.composite
def mentions(draw: st.DrawFn, subject: Subject, length: int) -> Mention:
    start, end = draw(places(length))
    inner: list[int] = []
    if FORMATS[subject.name].discontinuous and end - start > 2:
        inner = sorted(draw(st.sets(st.integers(start + 1, end - 1), max_size=4)))
    cuts = [start, *inner[: len(inner) // 2 * 2], end]
    more: dict[str, Any] = {}
    if "head" in subject.keeps:
        more["head"] = draw(st.none() | places(length))
    if "probability" in subject.keeps:
        more["probability"] = draw(st.none() | st.floats(0, 1))
    if "id" in subject.keeps:
        more["id"] = draw(st.sampled_from(["", "m"]))
    parts = tuple(zip(cuts[::2], cuts[1::2], strict=True))
    return Mention(start, end, draw(st.sampled_from(subject.labels)), parts if len(parts) > 1 else (), **more)


@st.composite
def sentences(draw: st.DrawFn, subject: Subject) -> Sentence:
    words = draw(st.lists(subject.tokens, min_size=1, max_size=8))
    found = draw(st.lists(mentions(subject, len(words)), max_size=6, unique=True))
    if FORMATS[subject.name].holds == "flat":
        found = found if not overlaps(found) else found[:1]
        again = []
    else:
        again = draw(st.lists(st.sampled_from(found), max_size=2)) if found else []
    tags = draw(st.lists(st.sampled_from(["NN", "VB"]), min_size=len(words), max_size=len(words)))
    return Sentence(words, tags=tags if "tags" in subject.keeps else ()).with_mentions([*found, *again])


@st.composite
def corpora(draw: st.DrawFn, subject: Subject) -> list[Document]:
    parts = st.lists(sentences(subject), min_size=1, max_size=subject.most_sentences)
    grouped = draw(st.lists(parts, min_size=1, max_size=3))
    ids = map(str, range(1, 1 + len(grouped))) if subject.numbered else (f"document {n}" for n in range(len(grouped)))
    return [document_of(parts, name, subject.about(parts)) for name, parts in zip(ids, grouped, strict=True)]


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
@given(data=st.data())
def test_what_a_format_keeps_comes_back(subject: Subject, data: st.DataObject) -> None:
    if subject.name == "docbin":
        pytest.importorskip("spacy")
    documents = data.draw(corpora(subject))
    options = {name: data.draw(st.sampled_from(values)) for name, values in subject.options.items()}
    losses = Losses()
    content = written(subject.name, documents, losses, **options)
    again = read(subject.name, content)
    assert list(map(everything, again)) == list(map(everything, documents))
    assert losses.written == sum(len(part.mentions) for one in documents for part in one.sentences) and not losses.lost
    assert subject.name == "docbin" or written(subject.name, again, **options) == content
