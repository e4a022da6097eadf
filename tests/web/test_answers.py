"""The module of web/ in Node finds the mentions that Python finds, with the same probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hyperspan import load
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.types import Document, Mention
from scripts.site import browser
from tests.web.node import NEEDS, answers
from tests.web.texts import generated

pytestmark = NEEDS
CLOSE = 1e-4
MODELS = browser.models()
EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = [(EXAMPLES / f"{name}.txt").read_text() for name in ("everyday", "biomedical", "literary", "article")]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"threshold": 0.5},
    {"threshold": 0.04},
    {"threshold": 0.2, "candidates": 0.01},
    {"topK": 5},
]


def python_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"top_k" if name == "topK" else name: value for name, value in options.items()}


def found_key(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return (*one["codePoints"], one["label"], str(one.get("fragmentCodePoints", [])))


def key_of(one: Mention) -> tuple[Any, ...]:
    return one.start, one.end, one.label, str(list(map(list, one.fragments)))


def check_mentions(found: Iterable[Mapping[str, Any]], expected: Iterable[Mention], text: str, least: float) -> None:
    """Raise an error unless these are the same mentions, but for those whose probability is just the least."""
    wide = text.encode("utf-16-le", "surrogatepass")
    ours = {found_key(one): one for one in found}
    theirs = {key_of(one): one for one in expected}
    for key in ours.keys() ^ theirs.keys():
        probability = ours[key]["probability"] if key in ours else theirs[key].probability
        assert abs((probability or 0) - least) < CLOSE, (key, probability, text)
    for key in ours.keys() & theirs.keys():
        one, other = ours[key], theirs[key]
        cut = wide[2 * one["start"] : 2 * one["end"]].decode("utf-16-le", "surrogatepass")
        assert cut.encode("utf-16-le", "surrogatepass") == other.text.encode("utf-16-le", "surrogatepass"), (key, text)
        assert abs(one["probability"] - (other.probability or 0)) < CLOSE, (key, one, other)


def check_alternatives(found: list[dict[str, Any]], document: Document) -> None:
    expected = document.alternatives or []
    assert [one["codePoints"] for one in found] == [[one.start, one.end] for one in expected]
    for ours, theirs in zip(found, expected, strict=True):
        shares = [one["probability"] for one in ours["sets"]]
        assert shares == pytest.approx([one.probability for one in theirs.sets], abs=CLOSE)
        known = {frozenset(map(key_of, one.mentions)): one.probability for one in theirs.sets}
        for one in ours["sets"]:
            key = frozenset(map(found_key, one["mentions"]))
            assert known.get(key, shares[-1]) == pytest.approx(one["probability"], abs=CLOSE)


def check_answer(annotate: Annotator, text: str, options: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    document = annotate(text, **python_options(options))
    check_mentions(found["mentions"], document.mentions, text, options.get("threshold", 2))
    if "candidates" in options:
        check_mentions(found["candidates"], document.candidates or [], text, options["candidates"])
    if "topK" in options:
        check_alternatives(found["alternatives"], document)


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_python(name: str) -> None:
    """For the sample texts with each kind of options, and generated texts of any Unicode."""
    annotate = load(name)
    given = [(text, some) for text in (*SAMPLES, "\n\n".join(SAMPLES), "", " ") for some in OPTIONS]
    given += [(text, OPTIONS[number % len(OPTIONS)]) for number, text in enumerate(generated(seed=3, count=1000))]
    for (text, some), found in zip(given, answers(PRETRAINED / name, given), strict=True):
        check_answer(annotate, text, some, found)
