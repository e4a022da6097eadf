"""Profiles of texts: what is counted, that a card keeps it, and that a card of any origin is refused in one
sentence."""

from __future__ import annotations

import base64
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.errors import InputError
from hyperspan.runtime.cards import ModelCard
from hyperspan.text.profile import MOST_WORDS, TextProfile, WordCounts, excerpt, words_of
from hyperspan.toml import LARGEST_FILE
from tests.support.growth import grows_linearly

HARBOUR = "The old keeper of the light went down to the harbour and spoke to the sailors about the storm . "
PROFILE = TextProfile.of([HARBOUR * 40], [HARBOUR * 10])


def counts(text: str) -> WordCounts:
    return WordCounts.of(words_of(text))


@pytest.mark.parametrize(
    ("running", "spaced"),
    [("I don’t know Anna's well-known “inn”.", "I do n't know Anna 's well - known `` inn ''.".replace("``", "“"))],
)
def test_words_do_not_depend_on_spaces_around_signs(running: str, spaced: str) -> None:
    assert words_of(running)[:9] == words_of(spaced)[:9]


def test_profile_is_the_same_after_writing_and_reading() -> None:
    assert TextProfile.from_table(PROFILE.to_table()) == PROFILE
    assert TextProfile.from_table({}) is None


def test_profile_of_no_text_knows_nothing_and_judges_everything() -> None:
    empty = TextProfile.of([])
    assert empty.unknown(counts("a storm")) == 1
    assert TextProfile.from_table(empty.to_table()) == empty
    assert empty.deviation(counts("")) == 0


def test_profile_without_held_out_text_holds_some_of_its_own_out() -> None:
    names = "".join(
        chr(ord("a") + number % 26) * (number % 20 + 1) + f"x{'y' * (number // 26)} " for number in range(900)
    )
    assert TextProfile.of([names]).usual_unknown > 0.5


def test_limit_is_wide_where_little_text_is_held_out() -> None:
    assert TextProfile.of([HARBOUR * 40], [HARBOUR]).limit > 2 * TextProfile.of([HARBOUR * 40], [HARBOUR * 200]).limit


def invented(number: int) -> str:
    """A word of letters for each number."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "ish"


def test_profile_of_many_words_keeps_the_most_frequent_and_fits_into_a_card(tmp_path: Path) -> None:
    often = " ".join(map(invented, range(1_000)))
    profile = TextProfile.of([" ".join(map(invented, range(100_000))), often, often], [often])
    assert len(profile.counts) == MOST_WORDS
    assert profile.unknown(counts(often)) == 0
    ModelCard("many", profile=profile.to_table()).write(tmp_path)
    assert (tmp_path / "card.toml").stat().st_size < 0.7 * LARGEST_FILE
    assert TextProfile.from_table(ModelCard.read(tmp_path).profile) == profile


def test_time_grows_with_the_length_of_one_text_alone() -> None:
    assert grows_linearly(lambda size: TextProfile.of([HARBOUR * size]), 5_000)


def test_profile_that_inflates_takes_little_memory() -> None:
    bomb = base64.b64encode(zlib.compress(b"\0\0\1\0" * 1_000_000, 9)).decode()
    tracemalloc.start()
    with pytest.raises(InputError, match="counts"):
        TextProfile.from_table({**PROFILE.to_table(), "counts": bomb})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_unknown_words_surprise() -> None:
    own, other = counts(HARBOUR * 6), counts("Mutant proteins bind promoters in human cells of many kinds . " * 10)
    assert PROFILE.unknown(own) == 0 < 0.7 < PROFILE.unknown(other)
    assert abs(PROFILE.deviation(own)) < 1 < PROFILE.limit < PROFILE.deviation(other)


def test_excerpt_is_spread_over_a_long_text() -> None:
    read = excerpt("a" * 5_000 + "b" * 5_000 + "c" * 5_000)
    assert set(read) == {*"abc\n"}
    assert len(read) < 7_000


@given(st.text(st.characters(), max_size=300))
def test_any_text_is_judged(text: str) -> None:
    found = counts(excerpt(text, 50))
    assert 0 <= PROFILE.unknown(found) <= 1
    assert abs(PROFILE.deviation(found)) < 1_000


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"counts": "!"}, "counts"),
        ({"counts": 3}, "counts"),
        ({"counts": PROFILE.to_table()["counts"][:40]}, "counts"),
        ({"counts": base64.b64encode(zlib.compress(b"\0" * 4 * (MOST_WORDS + 1))).decode()}, "counts"),
        ({"spread": 0}, "spread = 0"),
        ({"limit": 0}, "limit = 0"),
        ({"limit": float("nan")}, "limit = nan"),
        ({"limit": int("F" * 6_000, 16)}, "limit = a number of thousands of digits"),
        ({"limit": True}, "limit = True"),
        ({"surprisal": "7"}, "surprisal = '7'"),
        ({"usual_unknown": float("inf")}, "usual_unknown = inf"),
        ({"more": 1}, "no key 'more'"),
    ],
)
def test_profile_of_another_origin_is_refused(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        assert TextProfile.from_table({**PROFILE.to_table(), **change}) is None
