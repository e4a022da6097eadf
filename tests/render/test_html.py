"""Pages show the text unchanged, and each mention as one unbroken bar in one lane."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.render.html import html_fragment, iter_html, render_html
from hyperspan.render.layout import lanes
from hyperspan.render.style import PALETTE, style_sheet
from hyperspan.types import Document, Mention, RankedMentions, SentenceAlternatives
from tests.support.growth import lines_run
from tests.support.pages import Page, Piece


def lanes_of(piece: Piece) -> list[int]:
    return [bar.lane for bar in piece.bars]


NESTED = Document(
    "the former head of the bank of Oz",
    [Mention(0, 33, "PER", probability=0.25), Mention(19, 33, "ORG"), Mention(31, 33, "GPE"), Mention(11, 27, "X")],
    id="bank",
)


def test_render_html_gives_overlapping_mentions_separate_lanes() -> None:
    page = Page(render_html(NESTED))
    assert page.text == NESTED.text
    assert [(piece.text, lanes_of(piece)) for piece in page.pieces] == [
        ("the", [2]),
        (" former ", [2]),
        ("head", [0, 2]),
        (" of ", [0, 2]),
        ("the", [0, 1, 2]),
        (" bank", [0, 1, 2]),
        (" of ", [1, 2]),
        ("Oz", [0, 1, 2]),
    ]
    assert [(place, label) for place, _, label in page.labels] == [(0, "PER"), (11, "X"), (19, "ORG"), (31, "GPE")]
    assert page.pieces[-1].tooltip == ["GPE: Oz", "ORG: the bank of Oz", "PER 0.25: the former head of the bank of Oz"]


def test_render_html_pales_improbable_mentions_and_writes_probabilities() -> None:
    page = render_html(NESTED)
    assert "color-mix(in srgb,var(--c2) 44%,var(--page))" in page
    assert "<td>0.25<td>0–33" in page and "<td>–<td>19–33" in page


def test_render_html_is_self_contained_and_escapes_text() -> None:
    nasty = "<script>alert('1')</script> & \"quotes\" \x00\x1b\ud800 \r\n]]>"
    document = Document(nasty, [Mention(0, 8, nasty), Mention(30, 31, "</style>")], id=nasty)
    page = render_html(document, title=nasty)
    page.encode("utf-8")
    assert not re.search(r"https?:|url\(|\ssrc=|@import|javascript:", page)
    assert Page(page).tags.isdisjoint({"script", "link", "img"})
    assert Page(page).text == "<script>alert('1')</script> & \"quotes\" \ufffd\ufffd\ufffd  \n]]>"


def test_render_html_puts_labels_on_the_side_where_reading_begins() -> None:
    arabic = "ذهب أحمد"
    page = Page(render_html(Document(f"{arabic} and Ann", [Mention(4, 8, "PER"), Mention(13, 16, "PER")])))
    assert [style.partition(":")[0] for _, style, _ in page.labels] == ["right", "left"]


def test_render_html_repeats_labels_on_new_lines_and_in_long_mentions() -> None:
    text = "one\ntwo " + "word " * 30
    page = render_html(Document(text, [Mention(0, len(text), "X")]))
    again = [(place, "narrow" in mark) for place, mark in zip(_places(page), _marks(page), strict=True)]
    assert again[:4] == [(0, False), (4, False), (43, True), (83, False)]


def test_render_html_writes_no_label_on_an_empty_line() -> None:
    assert _places(render_html(Document("Bo\n\n\nGrey", [Mention(0, 9, "X")]))) == [0, 5]
    assert _places(render_html(Document("\n\nBo", [Mention(0, 4, "X")]))) == [0, 2]


def _places(page: str) -> list[int]:
    return [place for place, _, _ in Page(page).labels]


def _marks(page: str) -> list[str]:
    return re.findall(r"<b aria-hidden=\"true\"([^>]*?) data-label", page)


def test_render_html_joins_fragments_by_a_thin_bar() -> None:
    page = render_html(Document("left and right lung", [Mention(0, 19, "ORGAN", ((0, 4), (15, 19)))]))
    heights = re.findall(r"100% ([\d.]+)em", page)
    assert heights == ["0.17", "0.06", "0.17"]


def test_render_html_uses_patterns_when_colours_run_out() -> None:
    page = render_html(Document("word", [Mention(0, 4, f"L{number:02}") for number in range(25)]))
    samples = re.findall(r'<li><i style="background-image:(.*?)">', page)
    assert len(samples) == 25 and len(set(samples)) == 25


def test_style_sheet_has_enough_contrast_in_light_and_dark() -> None:
    """The contrast meets WCAG level AA for small text."""

    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    colours = re.findall(r"--(?:c\d|ink|soft): light-dark\((#\w+), (#\w+)\)", style_sheet())
    [dark_page] = re.findall(r"--page: light-dark\(#fff, (#\w+)\)", style_sheet())
    assert len(colours) == len(PALETTE) + 2 == 12
    for dark, pale in colours:
        assert light("#ffffff") / light(dark) >= 4.5 and light(pale) / light(dark_page) >= 4.5


def test_iter_html_is_lazy_and_keeps_colours() -> None:
    taken: list[int] = []

    def documents():
        for number in range(3):
            taken.append(number)
            yield Document("a b", [Mention(0, 1, "BA"[number % 2]), Mention(2, 3, "C")], id=str(number))

    parts = iter_html(documents(), labels=["C"])
    first = next(part for part in parts if "article" in part)
    assert taken == [0] and "0" in first
    rest = "".join(parts)
    assert rest.count("</article>") == 3
    colours = re.findall(r'<li><i style="background-image:linear-gradient\(var\((--c\d)\) 0 0\)"></i>(\w)', rest)
    assert colours == [("--c0", "C"), ("--c1", "B"), ("--c0", "C"), ("--c2", "A"), ("--c0", "C"), ("--c1", "B")]


def test_render_html_lists_alternatives_and_ignores_other_metadata() -> None:
    sets = [RankedMentions(0.75, [Mention(0, 3, "P<", text="Ann")]), RankedMentions(0.2, [])]
    page = render_html(Document("Ann left", alternatives=[SentenceAlternatives(0, 8, sets)]))
    assert "0.750<td><bdi>Ann</bdi> <i>P&lt;</i>" in page and "0.200<td>no mentions" in page
    for other in ("x", [1], [{}], {"a": 1}, 3):
        assert "Alternatives" not in render_html(Document("Ann left", metadata={"alternatives": other}))


def test_html_fragment_has_a_style_but_no_page() -> None:
    fragment = html_fragment(NESTED)
    assert fragment.startswith("<style>") and "<body" not in fragment and "<h1" not in fragment
    assert Page(fragment).text == NESTED.text


def test_render_html_grows_linearly_with_mentions() -> None:
    def size(count: int) -> int:
        mentions = [Mention(5 * i, 5 * i + 4 + 10 * (i % 3), "ABC"[i % 3], probability=0.5) for i in range(count)]
        return len(render_html(Document("word " * (count + 10), mentions)))

    assert size(4000) < 2.3 * size(2000)


def nested(depth: int) -> Document:
    mentions = [Mention(5 * i, 5 * (2 * depth - i) - 1, "A", probability=(i % 100) / 100) for i in range(depth)]
    return Document("word " * (2 * depth), mentions)


def parted(parts: int) -> Document:
    spans = [(10 * i, 10 * i + 4) for i in range(parts)]
    return Document("word " * (2 * parts), [Mention(0, spans[-1][1], "A", spans)])


def long_labels(count: int) -> Document:
    """Labels that reach over the mentions that follow."""
    return Document("word " * count, [Mention(5 * i, 5 * i + 4, "A" * 5000, probability=0.5) for i in range(count)])


@pytest.mark.parametrize(("make", "count"), [(nested, 2000), (parted, 1000), (long_labels, 100)])
def test_render_html_takes_linear_work_and_space(make: Callable[[int], Document], count: int) -> None:
    one, two = make(count), make(2 * count)
    assert lines_run(lambda: render_html(two)) < 2.3 * lines_run(lambda: render_html(one))
    assert len(render_html(two)) < 2.3 * len(render_html(one))


def test_render_html_draws_the_more_probable_mentions_where_too_many_overlap_and_lists_all() -> None:
    page = render_html(nested(50))
    assert page.count("<tr><td>") == 50 and "10 more not drawn, because too many overlap. The table lists them." in page
    assert max(len(piece.tooltip) for piece in Page(page.replace("--n:", "--n:0;--m:")).pieces) == 13
    assert "A 0.49" in page and "A 0.10" in page and "A 0.09: " not in page
    assert "not drawn" not in render_html(nested(40))


@pytest.mark.parametrize("text", ["", " ", "\n\n", "é👩🏽‍🔬"])
def test_render_html_shows_text_without_mentions(text: str) -> None:
    assert Page(render_html(Document(text))).text == text
    assert "<details" not in render_html(Document(text))


def test_render_html_compresses_a_deep_stack_and_still_lists_it() -> None:
    """The most probable mentions keep their labels; the others are thin bars, the tooltip names some, the table all."""
    mentions = [Mention(0, 5 * words - 1, "L", probability=0.9 if words < 4 else 0.1) for words in range(1, 40)]
    page = render_html(Document("word " * 40, mentions))
    heights = [float(height) for height in re.findall(r"--n:([\d.]+)", page)]
    assert 3 < max(heights) < 3 + 6 and page.count('<b aria-hidden="true"') < 12
    assert "and 27 more, which the table lists" in page and "Thin bars" in page and page.count("<tr><td>") == 39
    assert "Thin bars" not in render_html(Document("word " * 40, mentions[:8]))


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.sampled_from("ab c\n\r\t-é東م<&\"'\ud800\x00"), min_size=1, max_size=60))
    spans = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)), st.sampled_from(["A", "B", "LONG <L>"]))
    mentions = draw(st.lists(spans.filter(lambda span: span[0] < span[1]), max_size=8))
    return Document(text, [Mention(*mention, probability=0.5) for mention in mentions])


@given(annotated())
def test_render_html_draws_each_mention_as_one_bar(document: Document) -> None:
    page = Page(render_html(document))
    shown = re.sub("[\ud800\x00]", "\ufffd", document.text).replace("\r\n", " \n").replace("\r", "\n")
    assert page.text == shown
    covered = sum(1 for place in range(len(shown)) if any(m.start <= place < m.end for m in document.mentions))
    assert sum(len(piece.text) for piece in page.pieces) == covered
    place = 0
    for piece in page.pieces:
        text, stacked, tooltips = piece.text, lanes_of(piece), piece.tooltip
        while not any(m.start <= place < m.end for m in document.mentions):
            place += 1
        here = [m for m in document.mentions if m.start <= place and place + len(text) <= m.end]
        assert stacked == sorted(set(stacked)) and len(stacked) == len(here) == len(tooltips)
        for mention in here:
            assert any(line.startswith(f"{mention.label} 0.50: ") for line in tooltips)
        place += len(text)
    assert {label for _, _, label in page.labels} == {mention.label for mention in document.mentions}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))))
def test_lanes_are_the_first_free_ones(spans: list[tuple[int, int]]) -> None:
    chosen = lanes(spans)
    for index, (start, end) in enumerate(spans):
        meets = {chosen[other] for other in range(index) if spans[other][0] < end and start < spans[other][1]}
        assert chosen[index] == next(lane for lane in range(len(spans) + 1) if lane not in meets)
