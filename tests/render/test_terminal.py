"""Bars are below their words and do not overlap."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hyperspan.render.html import iter_html
from hyperspan.render.style import PALETTE
from hyperspan.render.terminal import print_documents, render_sentence
from hyperspan.types import Document, Mention, Sentence
from tests.support.growth import lines_run


def lines(sentence: Sentence, width: int = 80) -> list[str]:
    return render_sentence(sentence, width).plain.split("\n")


def test_render_sentence_stacks_nested_crossing_and_equal_spans() -> None:
    words = ["the", "former", "head", "of", "the", "bank", "of", "Oz"]
    mentions = [(0, 8, "PER"), (4, 8, "ORG"), (7, 8, "GPE"), (2, 6, "X")]
    assert lines(Sentence(words, [Mention(*mention) for mention in mentions])) == [
        "the former head of the bank of Oz",
        "           ╰──────X───────╯    ╰╯GPE",
        "                   ╰────ORG─────╯",
        "╰──────────────PER──────────────╯",
    ]


def test_render_sentence_shows_depth_four_and_probabilities() -> None:
    mentions = [Mention(0, end, "P", probability=0.5) for end in (2, 3, 4, 5)]
    drawn = lines(Sentence(["aaaa"] * 5, mentions))
    assert len(drawn) == 5 and all("P 0.50" in line for line in drawn[1:])


def test_render_sentence_opens_bars_at_line_breaks() -> None:
    drawn = lines(Sentence(["aaaaaaaa", "bbbbbbbb", "cccccccc"], [Mention(0, 3, "XY")]), width=18)
    assert drawn == ["aaaaaaaa bbbbbbbb", "╰──────XY────────", "cccccccc", "───XY──╯"]


def test_render_sentence_breaks_wide_words() -> None:
    assert lines(Sentence(["a" * 30, "b"], [Mention(0, 1, "X")]), 20) == [
        "a" * 20,
        "╰────────X──────────",
        "a" * 10 + " b",
        "────X────╯",
    ]
    glued = Sentence(["漢字" * 4] * 3, offsets=[(0, 8), (8, 16), (16, 24)])
    assert lines(glued, 20) == ["漢字漢字漢字漢字"] * 3
    assert lines(glued, 40) == ["漢字漢字漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字"]


def test_render_sentence_moves_or_shortens_labels_without_room() -> None:
    last = [Mention(3, 4, "cell_line", probability=0.93)]
    assert lines(Sentence(["aaaaaaaa", "bbbbbbbb", "cccccc", "Oz"], last), 27)[1] == "           cell_line 0.93╰╯"
    middle = [Mention(1, 2, "protein", probability=0.5)]
    assert lines(Sentence(["aaaaaaaa", "bbb", "cccccccc"], middle), 21)[1] == "         ╰─╯protein"
    wide = [Mention(1, 2, "physiological_process", probability=0.5)]
    assert lines(Sentence(["aaaaaaaa", "bbb", "cccccccc"], wide), 21)[1] == "         ╰─╯physiolo…"


def test_render_sentence_joins_the_parts_of_a_mention_by_a_dotted_line() -> None:
    words = ["loss", "of", "rod", "and", "cone", "photoreceptors", "in", "rats"]
    mentions = [
        Mention(2, 6, "CL", ((2, 3), (5, 6)), probability=0.9),
        Mention(4, 6, "CL"),
        Mention(0, 8, "GO", ((0, 1), (5, 6), (7, 8))),
    ]
    assert lines(Sentence(words, mentions)) == [
        "loss of rod and cone photoreceptors in rats",
        "                ╰───────CL────────╯",
        "        ╰─╯┄┄┄┄┄┄┄┄┄┄╰──CL 0.90───╯",
        "╰──╯┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄╰─────GO─────╯┄┄┄┄╰──╯",
    ]
    assert lines(Sentence(words, mentions[:1]), 20) == [  # the label in the gap, where no part has room on the line
        "loss of rod and cone",
        "        ╰─╯┄CL 0.90┄",
        "photoreceptors in",
        "┴──CL 0.90───╯",  # it goes on from the line before
        "rats",
    ]
    beyond = Sentence(["aaaa"] * 15, [Mention(0, 15, "X", ((0, 1), (14, 15)))])
    assert lines(beyond, 20)[2:4] == ["aaaa aaaa aaaa aaaa", "┄┄┄┄┄┄┄┄┄X┄┄┄┄┄┄┄┄┄"]  # a line inside the gap


@pytest.mark.parametrize(
    ("parts", "bars"),
    [
        (["bbb", "ddd", "fff"], ["╰X┴", "┴X┴", "┴X╯"]),
        (["bb", "dd", "ff"], ["╰┴X", "┴┴X", "┴╯X"]),
        (["b", "d", "f"], ["╰X", "┴X", "╯X"]),
    ],
)
def test_render_sentence_shows_that_parts_at_line_breaks_go_on(parts: list[str], bars: list[str]) -> None:
    first, second, third = parts
    words = [first, "c" * 20, second, "e" * 20, third]
    drawn = lines(Sentence(words, [Mention(0, 5, "X", ((0, 1), (2, 3), (4, 5)))]), 20)
    assert drawn[1::4] == bars and drawn[3::4] == ["┄┄┄┄┄┄┄┄┄X┄┄┄┄┄┄┄┄┄┄"] * 2


SIGNS = st.one_of(st.characters(), st.sampled_from("漢字ｱ한👩🏽🇺🇸❤\ufe0f\u200d\u0301\t\n"))
TOKENS = st.lists(
    st.one_of(st.text(SIGNS, min_size=1, max_size=8), st.text(SIGNS, min_size=1, max_size=90)), min_size=1, max_size=14
)
LABELS = st.sampled_from(["A", "LONGLABEL", "漢字", "a_label_that_is_wider_than_some_terminals"])


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Any tokens, some without a space before, with any mentions."""
    tokens = draw(TOKENS)
    starts = draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    offsets: list[tuple[int, int]] = []
    for token, apart in zip(tokens, starts, strict=True):
        start = (offsets[-1][1] if offsets else 0) + apart
        offsets.append((start, start + len(token)))
    spans = st.tuples(st.integers(0, len(tokens) - 1), st.integers(1, len(tokens))).filter(lambda s: s[0] < s[1])
    probabilities = st.one_of(st.none(), st.just(0.5))
    drawn = draw(st.lists(st.tuples(spans, LABELS, probabilities), max_size=6))
    mentions = [Mention(*span, label, probability=probability) for span, label, probability in drawn]
    if len(cuts := draw(st.lists(st.integers(0, len(tokens)), max_size=6, unique=True).map(sorted))) in (4, 6):
        mentions.append(Mention(cuts[0], cuts[-1], "A", tuple(zip(cuts[::2], cuts[1::2], strict=True))))
    return Sentence(tokens, mentions, offsets=offsets if draw(st.booleans()) else ())


@given(sentence=sentences(), width=st.integers(20, 120))
def test_render_sentence_fits_the_width_and_shows_every_mention(sentence: Sentence, width: int) -> None:
    text = render_sentence(sentence, width).plain
    assert max(map(cell_len, text.split("\n"))) <= width
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert text.count("╰") + text.count("╵") >= len(sentence.mentions)  # each begins once
    for label in ("LONGLABEL", "漢字"):
        if width >= 3 * cell_len(label) + 2:
            assert text.count(label) >= sum(mention.label == label for mention in sentence.mentions)


def test_print_documents_gives_labels_the_colours_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = Sentence(["Ada", "left", "Oz"], [Mention(0, 1, "PER"), Mention(2, 3, "LOC")])
    document = Document("Ada left Oz", [Mention(0, 3, "PER"), Mention(9, 11, "LOC")], [sentence])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    labels, shown = ["PER", "LOC"], io.StringIO()
    print_documents([document], shown, labels)
    page = "".join(iter_html([document], labels=labels))
    numbers = {label: int(number) for number, label in re.findall(r"var\(--c(\d)\) 0 0\)\"></i>(\w+)", page)}
    assert sorted(numbers) == ["LOC", "PER"]
    for label, number in numbers.items():
        colour = PALETTE[number]
        red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        [line] = [line for line in shown.getvalue().splitlines() if label[:1] in line and "Ada" not in line][:1]
        assert f"\x1b[38;2;{red};{green};{blue}m" in line


def test_render_sentence_draws_the_more_probable_mentions_where_too_many_overlap() -> None:
    mentions = [Mention(start, 30, "X", probability=0.9 if start % 2 else 0.1) for start in range(30)]
    shown = lines(Sentence(["word"] * 30, mentions), 200)
    assert len(shown) == 1 + 24 + 1 and shown[-1] == "6 more not drawn"
    drawn = ["X 0.90" if "X 0.90" in line else "X 0.10" for line in shown[1:-1]]
    assert drawn == ["X 0.90", "X 0.10"] * 9 + ["X 0.90"] * 6  # of the improbable ones, those nearest to the words
    assert not any("not drawn" in line for line in lines(Sentence(["word"] * 30, mentions[:24]), 200))


def nested(depth: int) -> Sentence:
    return Sentence(["word"] * (2 * depth), [Mention(i, 2 * depth - i, "X") for i in range(depth)])


def parted(parts: int) -> Sentence:
    spans = [(2 * i, 2 * i + 1) for i in range(parts)]
    return Sentence(["word"] * (2 * parts), [Mention(0, spans[-1][1], "X", spans)])


@pytest.mark.parametrize("make", [nested, parted])
def test_render_sentence_takes_linear_work(make: Callable[[int], Sentence]) -> None:
    one, two = make(2000), make(4000)
    assert lines_run(lambda: render_sentence(two)) < 2.2 * lines_run(lambda: render_sentence(one))
    assert len(render_sentence(two).plain) < 2.2 * len(render_sentence(one).plain)
