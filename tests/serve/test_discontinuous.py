"""Discontinuous mentions in answers and requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hyperspan.serve.settings import Settings
from tests.serve.running import Running, running
from tests.serve.test_refusals import message_of
from tests.support.coordination import LEFT, ROD, TEXT, coordination_annotator


@pytest.fixture(scope="module")
def parted() -> Iterator[Running]:
    with running(annotators={"coordination": coordination_annotator()}) as server:
        yield server


def spans(mentions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = ("start", "end", "label", "fragments")
    return [{name: mention[name] for name in kept if name in mention} for mention in mentions]


def moved(mention: dict[str, Any], by: int) -> dict[str, Any]:
    parts = [[start + by, end + by] for start, end in mention["fragments"]]
    return {**mention, "start": mention["start"] + by, "end": mention["end"] + by, "fragments": parts}


def test_answers_have_the_parts_of_discontinuous_mentions(parted: Running) -> None:
    [document] = parted.annotate(text=TEXT, candidates=0.5)
    found = spans(document["mentions"])
    assert LEFT in found and ROD in found and {"start": 13, "end": 28, "label": "ORGAN"} in found
    assert found == spans(document["candidates"])
    [document] = parted.annotate(text=f"🧬 {TEXT}", offset_unit="utf16")
    assert {tuple(map(str, m.items())) for m in (moved(LEFT, 3), moved(ROD, 3))} <= {
        tuple(map(str, m.items())) for m in spans(document["mentions"])
    }
    [model] = parted.client.get("/v1/models").json()["models"]
    assert model["discontinuous"] and model["constraints"]


@pytest.mark.parametrize(
    ("fragments", "sentence"),
    [
        ([[19, 28], [4, 8]], "has fragments ((19, 28), (4, 8)), but they must be in order, apart from each other"),
        ([[4, 8], [900, 910]], "and begin and end where the mention does"),
        ([[4, 8, 9]], "the field require[0].fragments[0] is a list: list should have at most 2 items"),
        ([[4, 8], [None, 28]], "the field require[0].fragments[1][0] is None: input should be a valid integer"),
        ([[1, 2]] * 101, "the field require[0].fragments is a list: list should have at most 100 items"),
        ([[4, 8], [20, 28]], "does not begin and end with words in its part 20:28; whole words there are at 19:28"),
        ([[4, 8], [13, 18], [19, 28]], ""),  # only a space is between the last two, so that they are one
    ],
)
def test_parts_that_cannot_be_are_refused(parted: Running, fragments: Any, sentence: str) -> None:
    response = parted.post(text=TEXT, require=[{**LEFT, "fragments": fragments}])
    assert response.status_code == (422 if sentence else 200)
    assert not sentence or sentence in message_of(response)


def test_parts_beyond_what_the_model_finds_are_refused(parted: Running) -> None:
    far = {"start": 4, "end": 54, "label": "ORGAN", "fragments": [[4, 8], [49, 54]]}
    assert "has a gap of 7 words, and this model finds gaps of up to 3" in message_of(
        parted.post(text=TEXT, require=[far])
    )
    beyond = {"start": 4, "end": 910, "label": "ORGAN", "fragments": [[4, 8], [900, 910]]}
    assert "reaches beyond the text" in message_of(parted.post(text=TEXT, forbid=[beyond]))


def test_parts_are_required_and_forbidden(parted: Running) -> None:
    [document] = parted.annotate(text=TEXT, forbid=[LEFT], candidates=0.001)
    assert LEFT not in spans(document["candidates"]) and ROD in spans(document["mentions"])
    other = {"start": 13, "end": 41, "label": "CELL", "fragments": [[13, 18], [34, 41]]}
    [document] = parted.annotate(text=TEXT, require=[other])
    [found] = [mention for mention in document["mentions"] if spans([mention]) == [other]]
    assert found["probability"] == pytest.approx(1.0)


def test_alternatives_have_parts(parted: Running) -> None:
    [document] = parted.annotate(text=TEXT, top_k=20)
    [sets, _] = [sentence["sets"] for sentence in document["alternatives"]]
    assert LEFT in sets[0]["mentions"] and any(LEFT not in one["mentions"] for one in sets[1:])
    assert [one["probability"] for one in sets] == sorted((one["probability"] for one in sets), reverse=True)


def test_the_hypergraph_is_that_of_discontinuous_mentions(parted: Running) -> None:
    answer = parted.post("/v1/hypergraph", text="the left and right ventricle").json()
    assert answer["structure"] == "discontinuous" and "left … ventricle (ORGAN)" in answer["svg"]
    assert "gaps of up to 2 words, and later parts of up to 1 word." in answer["svg"]
    assert any("fragments" in mention for mention in answer["mentions"])
    none = parted.post("/v1/hypergraph", text="nothing here").json()
    assert none["structure"] == "discontinuous" and none["mentions"] == []


def test_a_hypergraph_that_is_too_large_is_refused() -> None:
    with running(Settings(max_hypergraph_edges=100), {"coordination": coordination_annotator()}) as server:
        response = server.post("/v1/hypergraph", text="the left and right ventricle of the heart")
        assert response.status_code == 422
        assert "hyperedges for 8 words and 1 type, and up to 100 are drawn; choose fewer types or a shorter" in (
            message_of(response)
        )
