"""Whether the bundled models know text that is unlike what they were trained on."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import pytest

from hyperspan.errors import InputError
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.domain import ENOUGH, DomainCheck, DomainFit, DomainTally, foreign_note
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.loading import load
from hyperspan.text.profile import TextProfile
from tests.support.everyday import EVERYDAY, SHORT_ENGLISH, SHORT_OTHER

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
FITTING = {"biomedical": "genia", "literary": "english", "report": "english"}
"""The models to try for texts that are foreign to another; `english` for one that is only a little more like novels."""


def check_of(name: str) -> DomainCheck:
    check = DomainCheck.of(ModelCard.read(folder_of(name)))
    assert check is not None
    return check


@pytest.mark.parametrize("model", OWN)
@pytest.mark.parametrize("kind", TEXTS)
def test_bundled_model_tells_its_own_text_from_others(model: str, kind: str) -> None:
    fit = check_of(model)(TEXTS[kind])
    assert fit is not None
    assert fit.foreign == (kind != OWN[model] and FITTING.get(kind) != model)
    assert fit.better_model == (FITTING.get(kind, "") if fit.foreign else "")
    assert bool(fit.note) == fit.foreign
    assert not fit.foreign or model in fit.note


@pytest.mark.parametrize("text", ["", " \n", "IL-2 promoter", "😀" * 200, "1 2 3 4 5 6 7 8 9 10", "...", "\ud800 \x00"])
def test_text_of_too_few_words_gets_no_verdict(text: str) -> None:
    assert check_of("english")(text) is None


def test_everyday_english_is_not_foreign_to_the_general_model_and_is_sent_to_it() -> None:
    found = {model: {kind: check_of(model)(text) for kind, text in EVERYDAY.items()} for model in OWN}
    advised = {model: {kind: fit.better_model for kind, fit in fits.items() if fit} for model, fits in found.items()}
    assert sum(fit.foreign for fit in found["english"].values() if fit) <= 2
    assert not {"diary", "e-mail", "review", "recipe"} & {kind for kind, name in advised["english"].items() if name}
    assert {advised["genia"][kind] for kind in ("obituary", "review", "clinical note", "judgment")} == {"english"}
    assert set(advised["litbank"].values()) == {"", "english"}


def test_long_novel_is_foreign_where_a_page_of_it_is_not() -> None:
    check = check_of("english")
    page, more = check(EVERYDAY["poem"]), check("\n".join([EVERYDAY["poem"], TEXTS["literary"]] * 4))
    assert page is not None
    assert more is not None
    assert not page.foreign
    assert page.score >= 1
    assert (more.foreign, more.better_model) == (True, "litbank")


@pytest.mark.parametrize("text", SHORT_ENGLISH)
def test_short_english_is_not_foreign(text: str) -> None:
    fit = check_of("english")(text)
    assert fit is None or not fit.foreign


@pytest.mark.parametrize("model", OWN)
@pytest.mark.parametrize("text", SHORT_OTHER)
def test_short_text_of_another_language_is_foreign(model: str, text: str) -> None:
    fit = check_of(model)(text)
    assert fit is not None
    assert fit.foreign
    assert fit.score >= 1
    assert not fit.better_model
    assert fit.language and fit.reason.startswith(f"looks like {fit.language}, but {model} (")


def test_language_that_counts_is_that_of_the_card() -> None:
    profile = TextProfile.of([TEXTS["german"]] * 40)
    german, unnamed = (DomainCheck(ModelCard("mine", language=language), profile) for language in ("German", ""))
    assert [(fit.foreign, fit.language) for check in (german, unnamed) if (fit := check(TEXTS["german"]))] == [
        (False, "")
    ] * 2
    note = "this text looks like English, but mine was trained on German; expect more errors"
    assert (fit := german(TEXTS["report"])) and fit.note == note
    assert (fit := unnamed(TEXTS["report"])) and not fit.language
    assert "of its words are new to it, 0% in text of its own kind, as in another language" in fit.note


@pytest.mark.parametrize("words", [10, 28, 45])
def test_german_is_said_to_be_german_from_ten_words_on(words: int) -> None:
    text = " ".join(f"{TEXTS['german']} {TEXTS['german']}".split()[:words])
    note = (
        "this text looks like German, but english (English of many genres) was trained on English; expect more errors"
    )
    assert (fit := check_of("english")(text)) and fit.note == note


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


def tally_of(*foreign: bool) -> DomainTally:
    tally = DomainTally()
    for is_foreign in foreign:
        tally.add(DomainFit(2.0, 0.5, 0.1, "looks odd") if is_foreign else DomainFit(0.1, 0.1, 0.1))
    return tally


def test_tally_has_a_note_once_more_texts_are_foreign_than_by_chance() -> None:
    assert not tally_of().note
    assert tally_of(True).note == "this text looks odd; expect more errors"
    assert not tally_of(True, False).note
    assert tally_of(True, True, False).note.startswith(
        "2 of 3 texts look foreign; the most foreign one, text 1, looks odd"
    )
    assert not tally_of(*[True] * 3, *[False] * 7).note
    assert tally_of(*[True] * 4, *[False] * 6).note
    assert not tally_of(*[True] * 22, *[False] * 178).note
    assert tally_of(*[True] * 23, *[False] * 177).note
    assert tally_of(*[False] * ENOUGH).is_full


def test_one_text_in_another_language_among_few_is_noted() -> None:
    tally = DomainTally()
    tally.add(DomainFit(0.1, 0.1, 0.1))
    tally.add(DomainFit(1.0, 0.5, 0.1, "looks like German", language="German"), "b.txt")
    assert tally.note == "1 of 2 texts looks foreign: b.txt looks like German; expect more errors"
    for _ in range(60):
        tally.add(DomainFit(0.1, 0.1, 0.1))
    assert not tally.note


def test_tally_counts_languages() -> None:
    tally = DomainTally()
    for language in ("German", "", "French", "German"):
        tally.add(DomainFit(2.0, 0.5, 0.1, "looks odd", language=language))
    assert tally.languages == {"German": 2, "French": 1}
    note = foreign_note(ModelCard("mine"), tally.foreign, tally.texts, tally.languages)
    assert note.endswith(": 2 look like German; expect more errors there")
    assert "look like" not in foreign_note(ModelCard("mine"), 4, 4, {})


def test_text_that_gets_no_verdict_is_not_counted() -> None:
    tally = DomainTally()
    tally.add(None)
    assert not tally.note
    tally.add(DomainFit(2.0, 0.5, 0.1, "looks odd"))
    assert tally.note == "1 of 1 texts looks foreign: text 2 looks odd; expect more errors"


@pytest.mark.parametrize("texts", [2, 3, 10, 50, 200])
def test_texts_of_a_models_own_kind_are_seldom_noted(texts: int) -> None:
    chance = random.Random(1)
    notes = sum(bool(tally_of(*(chance.random() < 0.069 for _ in range(texts))).note) for _ in range(1_000))
    assert notes < 30


def test_rule_holds_for_millions_of_texts() -> None:
    card = ModelCard("mine")
    assert foreign_note(card, 80_000, 1_000_000) and not foreign_note(card, 70_100, 1_000_000)


def test_reason_cites_new_words_only_where_they_are_unusually_many() -> None:
    rare = " ".join(f"{'rst'[n % 3]}{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10]}o" for n in range(100))
    profile = TextProfile.of(["the lion sleeps in the zoo . " * 4_000 + rare], ["the lion sleeps in the zoo . " * 200])
    check = DomainCheck(ModelCard("zoo"), replace(profile, usual_unknown=0.01))
    known, new = check(rare), check("Entirely different words describe weather over northern mountains today . " * 10)
    assert known is not None and new is not None
    assert (
        known.reason == "looks unlike what zoo was trained on: its words are rarer there than in text of its own kind"
    )
    assert "100% of its words are new to it, 1% in text of its own kind" in new.reason


def test_tally_names_the_most_foreign_text_and_a_model_only_if_it_fits_all() -> None:
    tally = DomainTally()
    tally.add(DomainFit(2.0, 0.5, 0.1, "looks odd", "english"), "a.txt")
    assert tally.note == "this text looks odd; expect more errors, or try english (English of many genres)"
    tally.add(DomainFit(3.0, 0.5, 0.1, "looks very odd", "english"), "b.txt")
    start = "2 of 2 texts look foreign; the most foreign one, b.txt, looks very odd; expect more errors"
    assert tally.note == f"{start}, or try english (English of many genres)"
    tally.add(DomainFit(1.0, 0.5, 0.1, "looks odd", "genia"), "c.txt")
    assert tally.note == start.replace("2", "3")
