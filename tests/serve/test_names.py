"""Names on request, and answers without pronouns, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hyperspan.runtime.annotator import Annotator
from tests.serve.running import Running, running
from tests.support.marked_names import DEFAULT, FOUND_NAMES, PRONOUNS, TEXT, named_model
from tests.support.models import small_model


@pytest.fixture(scope="module")
def named() -> Iterator[Running]:
    with running(annotators={"named": Annotator(named_model()), "small": Annotator(small_model())}) as one:
        yield one


def found(record: dict[str, Any]) -> set[tuple[str, str]]:
    return {(mention["text"], mention["label"]) for mention in record["mentions"]}


def test_names_are_found_on_request(named: Running) -> None:
    [default], [names] = named.annotate(text=TEXT), named.annotate(text=TEXT, names=True, candidates=0.05, top_k=2)
    assert found(default) == DEFAULT and found(names) == FOUND_NAMES
    assert {one["label"] for one in names["candidates"]} == {"person", "place"}
    assert names["alternatives"][0]["sets"][0]["mentions"] == [
        {"start": 0, "end": 3, "label": "person"},
        {"start": 20, "end": 22, "label": "place"},
    ]
    [known] = named.annotate(text=TEXT, names=True, forbid=[{"start": 0, "end": 3, "label": "person"}])
    assert ("Ada", "person") not in found(known) and ("Oz", "place") in found(known)


def test_pronouns_are_left_out_on_request(named: Running) -> None:
    assert found(named.annotate(text=TEXT, pronouns=False)[0]) == DEFAULT - PRONOUNS


def test_a_stream_takes_both_options(named: Running) -> None:
    lines = [{"text": TEXT}, {"text": TEXT, "names": False, "pronouns": False}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    answer = named.client.post(
        "/v1/annotate/stream?names=true", content=body, headers={"content-type": "application/x-ndjson"}
    )
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [found(record) for record in records] == [FOUND_NAMES, DEFAULT - PRONOUNS]


def test_a_hypergraph_of_names(named: Running) -> None:
    drawn = named.post("/v1/hypergraph", text="Ada left the zoo of Oz.", names=True).json()
    assert found(drawn) == FOUND_NAMES and "person-name" not in drawn["svg"]


def test_models_say_whether_they_mark_names(named: Running) -> None:
    first, second = named.client.get("/v1/models").json()["models"]
    assert first["labels"] == first["name_labels"] == ["person", "place"]
    assert second["name_labels"] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "small", "names": True}, "this model does not mark names"),
        ({"names": "yes"}, "the field names is 'yes'"),
        ({"pronouns": None}, "the field pronouns is None"),
        ({"names": True, "types": ["person-name"]}, "it knows person, place"),
    ],
)
def test_what_cannot_be_is_refused(named: Running, body: dict[str, Any], message: str) -> None:
    answer = named.post(text=TEXT, **body)
    assert answer.status_code == 422 and message in answer.json()["error"]["message"]
