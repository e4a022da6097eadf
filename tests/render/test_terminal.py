"""Bars stand under their words, and none covers another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hyperspan.render.terminal import render_sentence
from hyperspan.types import Mention, Sentence


def lines(sentence: Sentence, width: int = 80) -> list[str]:
    return render_sentence(sentence, width).plain.split("\n")


def test_nested_crossing_and_same_span() -> None:
    words = ["the", "former", "head", "of", "the", "bank", "of", "Oz"]
    mentions = [(0, 8, "PER"), (4, 8, "ORG"), (7, 8, "GPE"), (2, 6, "X")]
    assert lines(Sentence(words, [Mention(*mention) for mention in mentions])) == [
        "the former head of the bank of Oz",
        "           ╰──────X───────╯    ╰╯GPE",
        "                   ╰────ORG─────╯",
        "╰──────────────PER──────────────╯",
    ]


def test_depth_four_and_probabilities() -> None:
    mentions = [Mention(0, end, "P", probability=0.5) for end in (2, 3, 4, 5)]
    drawn = lines(Sentence(["aaaa"] * 5, mentions))
    assert len(drawn) == 5 and all("P 0.50" in line for line in drawn[1:])


def test_a_mention_over_a_line_break_is_open_on_both_sides() -> None:
    drawn = lines(Sentence(["aaaaaaaa", "bbbbbbbb", "cccccccc"], [Mention(0, 3, "XY")]), width=18)
    assert drawn == ["aaaaaaaa bbbbbbbb", "╰──────XY────────", "cccccccc", "───XY──╯"]


SENTENCES = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=12)


@given(words=SENTENCES, data=st.data(), width=st.integers(20, 60))
def test_every_mention_has_a_bar_under_its_words(words: list[str], data: st.DataObject, width: int) -> None:
    spans = st.tuples(st.integers(0, len(words) - 1), st.integers(1, len(words)), st.sampled_from(["A", "LONGLABEL"]))
    mentions = {Mention(*m) for m in data.draw(st.lists(spans.filter(lambda m: m[0] < m[1]), max_size=6))}
    text = render_sentence(Sentence(words, mentions), width).plain
    assert text.count("╰") + text.count("╵") >= len(mentions)  # each begins once
    assert text.count("LONGLABEL") >= sum(mention.label == "LONGLABEL" for mention in mentions)
    longest = max(cell_len(word) for word in words)
    assert all(cell_len(line) <= max(width, longest) + len("LONGLABEL") + 2 for line in text.split("\n"))
    assert all(sign.isprintable() or sign == "\n" for sign in text)
