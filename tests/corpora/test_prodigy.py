"""Exports of Prodigy: what its answers say."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from hyperspan.corpora import Problems, Source
from hyperspan.corpora.prodigy import read_prodigy
from hyperspan.errors import CorpusError
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention

RECORD = {
    "text": "the Seattle zoo",
    "_input_hash": -5,
    "tokens": [{"text": "the", "start": 0, "end": 3, "id": 0, "ws": True}],
    "spans": [{"start": 4, "end": 11, "token_start": 1, "token_end": 1, "label": "GPE"}],
    "meta": {"source": "news"},
}


def read(**keys: Any) -> tuple[list[Document], Problems]:
    problems = Problems()
    content = json.dumps(RECORD | keys).encode()
    return list(read_prodigy(Source("db.jsonl", stream=io.BytesIO(content)), problems)), problems


@pytest.mark.parametrize("view", [None, "ner_manual", "spans_manual"])
def test_an_accepted_example_is_annotated_in_full(view: str | None) -> None:
    (document,), problems = read(answer="accept", **({"_view_id": view} if view else {}))
    assert document.mentions == {Mention(4, 11, "GPE")} and not document.is_partial and problems.notes == {}
    assert document.id == "-5" and document.metadata["meta"] == {"source": "news"} and "tokens" not in document.metadata


def test_a_binary_answer_is_about_its_spans_alone() -> None:
    (accepted,), _ = read(answer="accept", _view_id="ner")
    assert accepted.mentions == {Mention(4, 11, "GPE")} and accepted.annotated == NOTHING_ANNOTATED
    for keys in ({"_view_id": "ner"}, {}):
        (rejected,), _ = read(answer="reject", **keys)
        assert not rejected.mentions and rejected.forbidden == {Mention(4, 11, "GPE")}
        assert rejected.annotated == NOTHING_ANNOTATED


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        ({"answer": "ignore"}, "example with the answer ignore left out"),
        ({"answer": "reject", "_view_id": "ner_manual"}, "example with the answer reject left out"),
        ({"answer": "reject", "spans": []}, "example with the answer reject left out"),
    ],
)
def test_an_answer_that_says_nothing_of_spans_leaves_its_example_out(keys: dict[str, Any], note: str) -> None:
    documents, problems = read(**keys)
    assert documents == [] and problems.notes == {note: 1}


@pytest.mark.parametrize("view", ["choice", "classification"])
def test_an_answer_about_a_whole_text_annotates_nothing_of_it(view: str) -> None:
    (document,), problems = read(_view_id=view, spans=[], accept=["news"], answer="accept")
    assert not document.mentions and document.annotated == NOTHING_ANNOTATED and document.metadata["accept"] == ["news"]
    note = f"example of the interface {view}, which marks no spans, read as a text without annotation"
    assert problems.notes == {note: 1}
    assert read(_view_id=view, spans=[], answer="reject")[0] == []


def test_an_unknown_answer_is_refused() -> None:
    with pytest.raises(CorpusError, match=r'db\.jsonl:1: "answer" is "perhaps", but accept, reject or ignore'):
        read(answer="perhaps")
