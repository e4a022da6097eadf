"""Alternatives and candidates in the metadata that files hold: nothing is lost, and what others put there stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.corpora.results import from_metadata, in_metadata, metadata_record
from hyperspan.types import Document, Mention, RankedMentions, SentenceAlternatives

TEXT = "Ada left Oz"
ADA = Mention(0, 3, "person", text="Ada", probability=0.7)
WHOLE = Document(
    TEXT,
    [ADA],
    metadata={"year": 1900},
    alternatives=[SentenceAlternatives(0, 11, [RankedMentions(0.7, [ADA]), RankedMentions(0.2, [])])],
    candidates=[ADA, Mention(9, 11, "place", text="Oz", probability=0.01)],
)


def test_metadata_record_holds_what_is_documented() -> None:
    assert metadata_record(WHOLE) == {
        "year": 1900,
        "alternatives": [
            {
                "start": 0,
                "end": 11,
                "sets": [
                    {"probability": 0.7, "mentions": [{"start": 0, "end": 3, "label": "person"}]},
                    {"probability": 0.2, "mentions": []},
                ],
            }
        ],
        "candidates": [
            {"start": 0, "end": 3, "label": "person", "probability": 0.7},
            {"start": 9, "end": 11, "label": "place", "probability": 0.01},
        ],
    }
    assert metadata_record(Document(TEXT, alternatives=[], candidates=[])) == {"alternatives": [], "candidates": []}


def test_from_metadata_restores_what_in_metadata_wrote(tmp_path: Path) -> None:
    written = in_metadata(WHOLE)
    assert written.alternatives is written.candidates is None
    assert from_metadata(written) == WHOLE
    write_corpus([WHOLE], tmp_path / "found.jsonl")
    [read] = read_corpus(tmp_path / "found.jsonl")
    assert read == WHOLE and [one.probability for one in read.candidates or ()] == [0.7, 0.01]


@pytest.mark.parametrize(
    "other",
    [
        "x",
        3,
        None,
        [1],
        [{}],
        {"a": 1},
        [{"start": 0, "end": 3, "label": "person", "probability": 0.7, "more": 1}],
        [{"start": 0, "end": 99, "label": "person", "probability": 0.7}],
        [{"start": 3, "end": 0, "label": "person", "probability": 0.7}],
        [{"start": "0", "end": 3, "label": "person", "probability": 0.7}],
    ],
)
def test_from_metadata_leaves_what_is_something_else(other: Any) -> None:
    for name in ("alternatives", "candidates"):
        document = Document(TEXT, metadata={name: other, "year": 1900})
        assert from_metadata(document) == document and from_metadata(document).metadata[name] == other
