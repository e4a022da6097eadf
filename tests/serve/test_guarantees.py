"""Promises of recall and precision over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hyperspan import load
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.structures.guarantees import RiskCurve
from tests.serve.running import Running, running
from tests.support.everyday import SHORT_OTHER
from tests.support.models import small_model

TEXT = "Activation of the IL-2 gene by NF-kappa B needs c-Rel in human T cells ."
NEWS = (
    "The company said on Tuesday that it will open three new offices in Seattle next year. Its managers expect more than "
    "400 jobs, and the mayor of the city welcomed the decision."
)
CURVE = RiskCurve.of(range(300), [0.0002] * 20 + [0.4] * 280, [True] * 300)
WORDS = "at least 95% of mentions of protein are found, expected; calibrated on 300 sentences of made"


@pytest.fixture(scope="module")
def promising() -> Annotator:
    genia, given = load("genia"), Guarantees("sentence", "made", {"*": CURVE, "protein": CURVE})
    return Annotator(genia.model, card=replace(genia.card, guarantees=given.to_table()))


@pytest.fixture(scope="module")
def served(promising: Annotator) -> Iterator[Running]:
    with running(annotators={"genia": promising, "small": Annotator(small_model())}) as one:
        yield one


def found(record: dict[str, Any]) -> set[tuple[int, int, str]]:
    return {(one["start"], one["end"], one["label"]) for one in record["mentions"]}


def test_answer_finds_what_the_annotator_finds_and_carries_the_promise(served: Running, promising: Annotator) -> None:
    [given] = served.annotate(text=TEXT, recall=0.95)
    assert given["promise"] == WORDS and "promise" not in served.annotate(text=TEXT)[0]
    same = promising(TEXT, recall=0.95).mentions
    assert found(given) == {(*one.span, one.label) for one in same}
    assert min(one["probability"] for one in given["mentions"]) < served.service.settings.least_probability


def test_domain_note_takes_the_promise_back(served: Running) -> None:
    [given], [plain] = served.annotate(text=NEWS, recall={"protein": 0.9}), served.annotate(text=NEWS)
    assert (
        given["domain"]["note"] == plain["domain"]["note"] + "; the promise of recall or precision does not hold there"
    )


def test_domain_names_the_language_of_a_text(served: Running) -> None:
    [french], [news] = served.annotate(text=SHORT_OTHER[4]), served.annotate(text=NEWS)
    assert french["domain"]["language"] == "French" and "looks like French, but" in french["domain"]["note"]
    assert news["domain"]["language"] is None


def test_stream_takes_promises_in_its_query_and_in_lines(served: Running) -> None:
    body = "".join(json.dumps(line) + "\n" for line in ({"text": TEXT}, {"text": TEXT, "recall": 0.5}))
    kind = {"content-type": "application/x-ndjson"}
    answer = served.client.post(
        "/v1/annotate/stream?recall=protein=0.9&recall=0.95&types=protein", content=body, headers=kind
    )
    first, second = (json.loads(line) for line in answer.text.splitlines())
    assert first["promise"].startswith("at least 90% of protein (300 sentences)")
    assert second["promise"].startswith("at least 50% of protein")


def test_what_cannot_be_promised_is_refused(served: Running) -> None:
    for asked, problem in (
        ({"recall": 0.999}, "300 sentences of made can promise at most"),
        ({"recall": 0.9, "threshold": 0.5}, "leave one of them out"),
        ({"recall": 0.9, "model": "small"}, "run hyperspan model calibrate"),
        ({"recall": 1.5}, "must be a number above 0 and at most 1"),
    ):
        answer = served.post("/v1/annotate", text=TEXT, **asked)
        assert answer.status_code in (400, 422) and problem in answer.text, asked


def test_models_say_whether_they_make_promises(served: Running) -> None:
    listed = served.client.get("/v1/models").json()["models"]
    assert [one["promises"] for one in listed] == [True, False]
