"""Promises of a model: from an untrusted card, for labels, in words, and as an annotator keeps them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hyperspan import Mention, load
from hyperspan.errors import InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.structures.guarantees import THRESHOLDS, RiskCurve

TEXT = "Activation of the IL-2 gene by NF-kappa B needs c-Rel in human T cells ."


def curve(units: int, least: float = 0.0) -> RiskCurve:
    """The curve of a model whose gold mentions have all probabilities from `least` to 1."""
    return RiskCurve.of(range(units), np.linspace(least, 1, units), [True] * units)


GIVEN = Guarantees("sentence", "made", {"*": curve(400), "protein": curve(200), "DNA": curve(9, 0.2)})


@pytest.fixture(scope="module")
def annotator() -> Annotator:
    genia = load("genia")
    return Annotator(genia.model, card=replace(genia.card, guarantees=GIVEN.to_table()))


def test_annotator_finds_down_to_the_threshold_and_says_what_it_promises(annotator: Annotator) -> None:
    promise = annotator.promise(recall=0.95)
    assert promise is not None and promise.shares == {"*": 0.95}
    assert annotator.promise(recall=0.95) is promise  # found once, so that it costs nothing at each text
    found, fixed = annotator(TEXT, recall=0.95), annotator(TEXT, threshold=promise.thresholds["*"])
    assert found.mentions == fixed.mentions and "promise" not in fixed.metadata
    assert found.metadata["promise"] == promise.words
    assert promise.words == (
        "at least 95% of mentions of DNA, protein are found, expected; calibrated on 400 sentences of made"
    )
    assert annotator(found).metadata == {}  # the promise goes with its mentions
    [sentence] = annotator.recognize(found.sentences, recall=0.95)
    assert len(sentence.mentions) == len(found.mentions)
    [long] = Annotator(annotator.model, card=annotator.card, long_text=10).pipe(
        [TEXT], recall=0.95, keep_sentences=False
    )
    assert long.metadata == found.metadata and long.mentions == found.mentions


def test_low_thresholds_are_not_cut_off(annotator: Annotator) -> None:
    """Not by skipped words, nor by the least probability of candidates."""
    assert annotator.model.config.segmental.skip_margin
    low = Guarantees("sentence", "made", {"*": RiskCurve.of(range(200), [2e-4] * 200, [True] * 200)})
    able = Annotator(annotator.model, card=replace(annotator.card, guarantees=low.to_table()))
    found = able(TEXT, recall=0.99).mentions
    assert min(mention.probability or 1 for mention in found) < 1e-3
    everything = load("genia", skip=math.inf)(TEXT, candidates=1e-4).candidates or ()
    assert {one for one in everything if (one.probability or 0) >= float(THRESHOLDS[THRESHOLDS <= 2e-4][-1])} == found


def test_promises_by_label_have_thresholds_of_their_own(annotator: Annotator) -> None:
    promise = annotator.promise(recall={"protein": 0.98, "*": 0.7}, types=["protein", "DNA"])
    assert promise is not None and promise.shares == {"DNA": 0.7, "protein": 0.98}
    assert promise.thresholds["protein"] < promise.thresholds["DNA"]
    assert (
        promise.words
        == "at least 70% of DNA (9 sentences), 98% of protein (200 sentences) are found, expected; calibrated on made"
    )
    alone = annotator.promise(recall=0.9, types="protein")
    assert alone is not None and alone.shares == {"protein": 0.9}
    named = annotator.promise(precision={"protein": 0.9})
    assert named is not None and named.thresholds.keys() == {"*", "protein"} and named.thresholds["*"] == 0.5
    assert "with 90% confidence" in named.words


def test_thresholds_are_the_same_after_writing_and_never_higher() -> None:
    again = Guarantees.from_table(GIVEN.to_table())
    assert ModelCard.from_toml(ModelCard(guarantees=GIVEN.to_table()).to_toml()).guarantees == GIVEN.to_table()
    for share in (0.3, 0.8, 0.95):
        ours, theirs = (given.promise("recall", share, ["protein"]).thresholds["*"] for given in (again, GIVEN))
        assert 0.9 * theirs <= ours <= theirs


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"recall": 0.95, "precision": 0.9}, "recall and precision are both asked for"),
        ({"recall": 0.95, "threshold": 0.5}, "a threshold and a promise are given"),
        (
            {"recall": 0.95, "pronouns": False},
            "promises are for all mentions, and mentions without pronouns are asked for",
        ),
        ({"recall": 95}, "recall is 95; it must be a share above 0 and below 1, such as 0.95"),
        ({"recall": True}, "recall is True; it must be a share"),
        ({"recall": {"protein": "high"}}, "recall is 'high'; it must be a share"),
        ({"recall": {"gene": 0.9}}, "recall is asked for 'gene', but the labels are DNA, RNA, "),
        (
            {"recall": {"DNA": 0.95}},
            r"at least 95% of DNA are found, expected: 9 sentences of made can promise at most 90%",
        ),
        (
            {"precision": {"DNA": 0.95}},
            "at least 95% of DNA are right, with 90% confidence: 9 sentences of made can promise ",
        ),
        ({"recall": {"RNA": 0.95}}, "nothing can be promised of RNA, since made has no such mention"),
    ],
)
def test_promises_that_cannot_be_made_say_why(annotator: Annotator, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        annotator(TEXT, **options)


def test_models_without_guarantees_and_models_that_skip_words_say_what_to_do(annotator: Annotator) -> None:
    bare = Annotator(annotator.model, card=replace(annotator.card, guarantees={}))
    with pytest.raises(InputError, match="run hyperspan model calibrate"):
        bare(TEXT, recall=0.9)
    assert bare(TEXT).mentions
    skipping = load("genia", skip=3.0)
    with pytest.raises(InputError, match="load the model without skip"):
        skipping(TEXT, recall=0.9)


def changed(**values: Any) -> dict[str, Any]:
    """A table of guarantees in which a curve has these values; None leaves them out."""
    table = GIVEN.to_table()
    table["curves"]["*"] = {key: one for key, one in {**table["curves"]["*"], **values}.items() if one is not None}
    return table


ZEROS = " ".join(["0"] * len(THRESHOLDS))


@pytest.mark.parametrize(
    "table",
    [
        {"unit": "word"},
        {**GIVEN.to_table(), "unit": "word"},
        {**GIVEN.to_table(), "data": "a\x1b[2J"},
        {**GIVEN.to_table(), "data": "a" * 300},
        {**GIVEN.to_table(), "curves": {}},
        {**GIVEN.to_table(), "curves": [1]},
        {**GIVEN.to_table(), "curves": {"*": 3}},
        changed(units=-1),
        changed(units=True),
        changed(units="400"),
        changed(units=2**40),
        changed(missed=None),
        changed(more="0"),
        changed(missed="0 1 2"),
        changed(missed=ZEROS + " 0"),
        changed(missed=ZEROS[:-1] + "-1"),
        changed(missed=ZEROS[:-1] + "１"),
        changed(missed="7" + ZEROS[1:]),
        changed(missed=ZEROS[:-1] + "100001"),
        changed(missed=ZEROS[:-1] + "9" * 5000),
        changed(wrong="100001" + ZEROS[1:]),
        changed(found=ZEROS[:-1] + "5"),
        changed(found=[0] * len(THRESHOLDS)),
    ],
)
def test_damaged_guarantees_are_refused_when_they_are_asked_for(annotator: Annotator, table: dict[str, Any]) -> None:
    damaged = Annotator(annotator.model, card=replace(annotator.card, guarantees=table))
    assert damaged(TEXT).mentions
    with pytest.raises(
        InputError, match=r"guarantees of the model card are .* which hyperspan did not write; make them again"
    ):
        damaged(TEXT, recall=0.9)


def test_nothing_is_promised_of_required_mentions(annotator: Annotator) -> None:
    with pytest.raises(InputError, match="mentions are required or forbidden, of which nothing is promised"):
        annotator(TEXT, recall=0.5, require=[Mention(48, 53, "protein")])


@pytest.mark.parametrize("share", [{}, "x", [0.9], {"protein": [0.9]}, 2, True])
def test_shares_of_a_wrong_type_are_refused(annotator: Annotator, share: Any) -> None:
    with pytest.raises(InputError, match=r"must be a share above 0|asked for no label"):
        annotator(TEXT, recall=share)


def test_few_promises_are_kept(annotator: Annotator) -> None:
    for place in range(200):
        annotator.options(recall=0.3 + place * 1e-6)
    assert len(annotator._guarantees._made) <= 64


def test_tiny_shares_of_precision_are_answered(annotator: Annotator) -> None:
    assert annotator.options(precision=1e-20).thresholds is not None
