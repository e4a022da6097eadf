"""HTML, terminal and JSON show the same mentions: each output is parsed back from its layout."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hyperspan.corpora.documents import by_characters, document_of, joined
from hyperspan.corpora.jsonl import document_record
from hyperspan.render.html import html_fragment, render_html, sentence_html
from hyperspan.render.hypergraph import draw_hypergraph
from hyperspan.render.terminal import render_sentence
from hyperspan.types import Document, Mention, Sentence, Span
from tests.support.pages import Page

Seen = set[tuple[tuple[Span, ...], str, int]]
"""The parts, the label, and the probability in percent, which is unique to each mention here."""
LABELS = ["A", "BC", "LONGLABEL"]


@st.composite
def sentences(draw: st.DrawFn, first: int = 1) -> Sentence:
    """Words with mentions that nest, cross, share spans and have gaps; each has its own probability."""
    tokens = draw(
        st.lists(st.sampled_from(["a", "zoo", "longer-word", "<b>", "é", "東京", "שלום"]), min_size=1, max_size=9)
    )
    spans = st.tuples(st.integers(0, len(tokens) - 1), st.integers(1, len(tokens)), st.sampled_from(LABELS))
    found = draw(st.lists(spans.filter(lambda span: span[0] < span[1]), max_size=7, unique=True))
    mentions = [Mention(*m, probability=(first + i) / 100) for i, m in enumerate(found)]
    if len(cuts := draw(st.lists(st.integers(0, len(tokens)), max_size=6, unique=True).map(sorted))) in (4, 6):
        parts = tuple(zip(cuts[::2], cuts[1::2], strict=True))
        mentions.append(Mention(cuts[0], cuts[-1], "A", parts, probability=(first + 9) / 100))
    offsets: list[tuple[int, int]] = []
    place = 0
    for token in tokens:  # some without a space before, like a full stop
        place += draw(st.booleans()) if offsets else 0
        offsets.append((place, place + len(token)))
        place += len(token)
    placed = offsets if draw(st.booleans()) else ()
    return Sentence(tokens, mentions, offsets=placed)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    given = [draw(sentences(1)), draw(sentences(11)), draw(sentences(21))][: draw(st.integers(1, 3))]
    return document_of(given)


def truth(mentions: frozenset[Mention]) -> Seen:
    return {(m.parts, m.label, round(100 * (m.probability or 0))) for m in mentions}


# -- reading them back -------------------------------------------------------------------------------------------------


def in_json(document: Document) -> Seen:
    record = json.loads(json.dumps(document_record(document)))
    found = record["mentions"]
    assert all(record["text"][m["start"] : m["end"]] == m["text"] for m in found)
    spans = [m.get("fragments", [[m["start"], m["end"]]]) for m in found]
    return {
        (tuple((start, end) for start, end in parts), m["label"], round(100 * m["probability"]))
        for parts, m in zip(spans, found, strict=True)
    }


def in_bars(shown: str) -> Seen:
    """The mentions of a page by its bars: each bar is in one lane, its parts from one tick to another, joined by a thin
    line."""
    page, seen = Page(shown), Seen()
    begun: dict[int, int] = {}  # by lane: where the part begins
    parts: defaultdict[int, list[Span]] = defaultdict(list)  # by lane: those that have ended
    images: dict[int, str] = {}

    def finish(going_on: set[int]) -> None:
        """All bars have ended but those that have begun another part, or are in a gap."""
        for lane in parts.keys() - going_on - begun.keys():
            [(name, share)] = re.findall(r"color-mix\(in srgb,(var\(--c\d\)) (\d+)%", images[lane])
            probability = (int(share) - 25) / 0.75  # to a hundredth or so
            seen.add((tuple(parts.pop(lane)), page.colours[name], round(probability)))

    last, before = 0, set[int]()
    for piece in page.pieces:
        if piece.start > last:  # text without bars
            finish(before)
            before = set()
        last = piece.start + len(piece.text)
        gaps = {bar.lane for bar in piece.bars if bar.is_gap}
        finish(gaps | before)
        before = gaps
        for bar in piece.bars:
            begins = bar.lane not in begun
            if bar.is_gap:
                assert not bar.ticks and bar.lane in parts and begins
                continue
            begun.setdefault(bar.lane, piece.start)
            assert bar.ticks >= begins
            if bar.ticks > begins:
                parts[bar.lane].append((begun.pop(bar.lane), last))
                images[bar.lane] = bar.image
    assert not begun
    finish(set())
    return seen


def in_table(page: str) -> Seen:
    rows = re.findall(r"<tr><td><bdi>.*?</bdi><td>([A-Z]+)<td>(0\.\d\d)<td>([\d–, ]+)", page, re.DOTALL)
    return {
        (tuple((int(a), int(b)) for a, b in re.findall(r"(\d+)–(\d+)", places)), label, round(100 * float(p)))
        for label, p, places in rows
    }


BAR = re.compile(r"([╰─╯╵┴┄]+)([A-Z]+) (0\.\d\d)([╰─╯╵┴┄]*)")
"""A bar with its label, which is inside one of its parts, between two of them, or after the bar."""


def in_terminal(sentence: Sentence, width: int) -> Seen:
    """Parts in tokens, by the columns of the bars; a mention has one bar on each line."""
    apart = [before[1] < after[0] for before, after in pairwise(sentence.offsets)]
    gaps = [False, *(apart or [True] * (len(sentence) - 1))]
    waiting = list(zip(range(len(sentence)), sentence.tokens, gaps, strict=True))[::-1]
    columns: dict[int, int] = {}  # token by column, on this line
    covered: dict[tuple[str, int], set[int]] = defaultdict(set)
    for line in render_sentence(sentence, width).plain.split("\n"):
        if not re.match(r"^ *[╰─╯╵┴┄]", line):
            columns = _tokens_of(line, waiting)
            continue
        for bar in BAR.finditer(line):
            left, label, probability, right = bar.groups()
            written = len(f"{label} {probability}") if right else 0  # else it is after the bar
            drawn = left + ("┄" if left[-1] == "┄" else "─") * written + right
            start = cell_len(line[: bar.start()])
            covered[label, round(100 * float(probability))] |= {
                columns[start + i] for i, sign in enumerate(drawn) if start + i in columns and sign != "┄"
            }
    assert not waiting
    return {
        (tuple(joined((token, token + 1) for token in sorted(tokens))), label, probability)
        for (label, probability), tokens in covered.items()
    }


def _tokens_of(line: str, waiting: list[tuple[int, str, bool]]) -> dict[int, int]:
    """Removes the tokens of a line from those that are left, and returns their columns."""
    columns: dict[int, int] = {}
    column = place = 0
    while place < len(line):
        index, token, gap = waiting.pop()
        skipped = int(gap and place > 0)
        assert line[place : place + skipped + len(token)] == " " * skipped + token
        column += skipped
        columns |= dict.fromkeys(range(column, column + cell_len(token)), index)
        column, place = column + cell_len(token), place + skipped + len(token)
    return columns


WIDE = 110
"""In this many columns every label has room inside or after its bar."""


THIN_LANES = re.compile(r"--n:\d+\.")
"""Where so many mentions overlap that some bars are thin and have no labels, lanes are no whole numbers."""


# -- tests -------------------------------------------------------------------------------------------------------------


@given(document=documents(), width=st.integers(WIDE, 160))
@settings(max_examples=60)
def test_render_html_terminal_and_json_show_the_same_mentions(document: Document, width: int) -> None:
    wanted = truth(document.mentions)
    page = render_html(document)
    assume(not THIN_LANES.search(page))
    assert in_json(document) == wanted
    assert in_table(page) == wanted
    assert _rounded(in_bars(page), wanted) == wanted
    shown: Seen = set()
    for sentence in document.sentences:
        found = [
            Mention(parts[0][0], parts[-1][1], label, parts if len(parts) > 1 else (), probability=p / 100)
            for parts, label, p in in_terminal(sentence, width)
        ]
        shown |= truth(frozenset(by_characters(mention, sentence.offsets) for mention in found))
    assert shown == wanted


@given(sentence=sentences(), width=st.integers(WIDE, 160))
@settings(max_examples=60)
def test_render_sentence_and_sentence_html_show_the_same_mentions(sentence: Sentence, width: int) -> None:
    """Also without spaces between words."""
    assert in_terminal(sentence, width) == truth(sentence.mentions)
    fragment = sentence_html(sentence)
    assume(not THIN_LANES.search(fragment))
    assert {mention[1:] for mention in in_table(fragment)} == {mention[1:] for mention in truth(sentence.mentions)}
    assert in_table(fragment) == _rounded(in_bars(fragment), in_table(fragment))


def _rounded(seen: Seen, wanted: Seen) -> Seen:
    """The mentions read from bars, with exact probabilities where the shade of the bar agrees to 1 percent."""
    known = {(parts, label): p for parts, label, p in wanted}
    assert all(abs(known.get((parts, label), p) - p) <= 1 for parts, label, p in seen)
    return {(parts, label, known.get((parts, label), p)) for parts, label, p in seen}


def test_repr_html_of_documents_sentences_and_pictures() -> None:
    document = Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE", probability=0.9)], id="zoo")
    assert document._repr_html_() == html_fragment(document)
    [sentence] = document_of([Sentence(["a", "zoo"], [Mention(0, 2, "FAC")])]).sentences
    assert "FAC: a zoo" in sentence._repr_html_() and Sentence([])._repr_html_().count("<article") == 1
    assert "mention" not in Sentence(["", "a"], [Mention(0, 1, "X")])._repr_html_().partition("</style>")[2]
    picture = draw_hypergraph(["a", '"zoo"'], [Mention(0, 2, "FAC")])
    assert picture._repr_svg_() == picture and picture.startswith("<svg")
    shown = picture._repr_html_()
    [data] = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)
    assert base64.b64decode(data).decode() == picture
    assert 'of: a &quot;zoo&quot;. Mentions: a &quot;zoo&quot; (FAC)"' in shown


def test_document_html_truncates_long_documents() -> None:
    text = "word " * 10_000
    document = Document(text, [Mention(0, 4, "A"), Mention(5 * 9_000, 5 * 9_000 + 4, "B")])
    shown = document._repr_html_()
    assert "the first 20,000 of 50,000 characters; render_html shows all" in shown and ">B<" not in shown
