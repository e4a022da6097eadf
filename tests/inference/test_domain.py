"""Whether the bundled models know text that is unlike what they were trained on."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hyperspan.cards import ModelCard
from hyperspan.errors import InputError
from hyperspan.inference.domain import ENOUGH, DomainCheck, DomainFit, DomainTally
from hyperspan.inference.loading import load
from hyperspan.model_folders import folder_of
from hyperspan.text.profile import TextProfile

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = {
    "biomedical": (EXAMPLES / "biomedical.txt").read_text(encoding="utf-8"),
    "literary": (EXAMPLES / "literary.txt").read_text(encoding="utf-8"),
    "report": (
        "The company said on Tuesday that it will open three new offices in Seattle next year. Its managers expect more "
        "than 400 jobs, and the mayor of the city welcomed the decision in an interview with local television."
    ),
    "german": (
        "Die alte Brücke über den Fluss wurde im Frühjahr nach langer Arbeit wieder geöffnet. Der Bürgermeister dankte den "
        "Handwerkern, und am Abend feierten die Bewohner der Stadt mit Musik und einem großen Feuerwerk am Ufer."
    ),
}
OWN = {"genia": "biomedical", "litbank": "literary", "english": "report"}


def check_of(name: str) -> DomainCheck:
    check = DomainCheck.of(ModelCard.read(folder_of(name)))
    assert check is not None
    return check


@pytest.mark.parametrize("model", OWN)
@pytest.mark.parametrize("kind", TEXTS)
def test_bundled_model_tells_its_own_text_from_others(model: str, kind: str) -> None:
    fit = check_of(model)(TEXTS[kind])
    assert fit is not None
    assert fit.foreign == (kind != OWN[model])
    fitting = {kind: name for name, kind in OWN.items()}.get(kind, "")
    assert fit.better_model == (fitting if fit.foreign else "")
    assert bool(fit.note) == fit.foreign
    assert not fit.foreign or model in fit.note


@pytest.mark.parametrize("text", ["", " \n", "IL-2 promoter", "😀" * 200, "1 2 3 4 5 6 7 8 9 10", "...", "\ud800 \x00"])
def test_text_of_too_few_words_gets_no_verdict(text: str) -> None:
    assert check_of("english")(text) is None


def test_short_text_is_foreign_only_if_most_of_its_words_are_unknown() -> None:
    check = check_of("genia")
    english, german = check("Two old friends met near the station in the rain."), check(TEXTS["german"][:80])
    assert english is not None
    assert german is not None
    assert not english.foreign
    assert german.foreign


def test_model_of_other_text_is_not_judged_by_what_the_bundled_ones_know() -> None:
    small = TextProfile.of([TEXTS["literary"]])
    check = DomainCheck(ModelCard("mine"), small)
    fit = check(TEXTS["literary"])
    assert fit is not None
    assert not fit.foreign


def test_annotator_offers_the_verdict() -> None:
    annotator = load("genia")
    fit = annotator.domain_fit(TEXTS["literary"])
    assert fit is not None
    assert fit.foreign
    assert annotator.domain_fit("") is None
    assert pickle.loads(pickle.dumps(fit)) == fit


def test_wrong_profile_is_an_error_and_a_missing_one_is_none() -> None:
    assert DomainCheck.of(ModelCard("mine")) is None
    with pytest.raises(InputError, match="spread"):
        DomainCheck.of(ModelCard("mine", profile={**TextProfile.of(["a b"]).to_table(), "spread": -1}))


def test_tally_has_a_note_once_a_tenth_of_the_texts_are_foreign() -> None:
    tally, foreign, own = DomainTally(), DomainFit(2.0, 0.5, 0.1, "looks odd"), DomainFit(0.1, 0.1, 0.1)
    tally.add(None)
    assert not tally.note
    tally.add(foreign)
    assert tally.note == "this text looks odd"
    for _ in range(9):
        tally.add(own)
    assert tally.note == "1 of 10 texts look foreign; the most foreign one looks odd"
    tally.add(own)
    assert not tally.note
    assert not tally.is_full
    for _ in range(ENOUGH):
        tally.add(own)
    assert tally.is_full
