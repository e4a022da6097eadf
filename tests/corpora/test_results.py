"""Alternatives and candidates in the metadata that files hold: nothing is lost, and what others put there stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.corpora.json_records import from_metadata, in_metadata, metadata_record, without_mention_metadata
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


DOCCANO = (
    '{"text": "a b", "year": 1900, "entities": [{"id": 2, "label": "X", "start_offset": 2, "end_offset": 3}, '
    '{"id": 1, "label": "X", "start_offset": 0, "end_offset": 1}], "relations": [{"id": 7, "from_id": 1, "to_id": 2}]}\n'
)
SPERT = (
    '[{"tokens": ["a", "b"], "doc_id": "d", "entities": [{"type": "X", "start": 1, "end": 2}, {"type": "X", "start": 0, '
    '"end": 1}], "relations": [{"type": "R", "head": 0, "tail": 1}], "orig_id": 5}, {"tokens": ["c"], "doc_id": "d", '
    '"entities": []}]'
)


def region(name: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, **(more or {"labels": ["X"]})}
    return {"id": name, "to_name": "text", "type": "choices" if more else "labels", "value": value}


RESULTS = [
    region("p", 2, 3),
    region("q", 0, 1),
    region("p", 2, 3, choices=["sure"]),
    {"type": "relation", "from_id": "p", "to_id": "q"},
    {"id": "whole", "to_name": "text", "type": "choices", "value": {"choices": ["news"]}},
]
LABEL_STUDIO = json.dumps([{"data": {"text": "a b"}, "annotations": [{"result": RESULTS}]}])


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        ("x.jsonl", DOCCANO, {"year": 1900}),
        ("x.json", SPERT, {"records": [{"orig_id": 5}, {}]}),
        ("x.json", LABEL_STUDIO, {"other_results": ["whole"]}),
    ],
)
def test_without_mention_metadata_drops_what_every_format_says_of_mentions(
    tmp_path: Path, name: str, content: str, kept: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    [document] = read_corpus(tmp_path / name)
    found = without_mention_metadata(document.metadata)
    if "other_results" in found:
        found["other_results"] = [one["id"] for one in found["other_results"]]
    assert found == kept


@pytest.mark.parametrize("other", ["x", 3, None, [1, "x", {"name": "y"}], {"from_id": 1, "to_id": 2}])
def test_without_mention_metadata_leaves_what_is_something_else(other: Any) -> None:
    metadata: dict[str, Any] = dict.fromkeys(("relations", "records", "other_results"), other) | {
        "about_mentions": other
    }
    assert without_mention_metadata(metadata) == dict.fromkeys(("relations", "records", "other_results"), other)
