"""JSON, the terminal and HTML show the same mentions of the same text."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hyperspan.render.html import render_html
from hyperspan.render.terminal import render_sentence
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Document, Sentence
from tests.serve.running import Running

Shown = set[tuple[int, int, str, str]]
WORDS = st.sampled_from(["Ada", "Oz", "the", "zoo", "of", "keeper", "left", "saw", "nobody", ",", "🦁", "n't"])
BAR = re.compile(r"(?:╵|╰[─]*(?P<inside>[^─╰╯╵]*[^─╰╯╵ ])?[─]*╯)(?P<behind>\w+ \d\.\d\d)?")
ROW = re.compile(r"<td>(?P<label>\w+)<td>(?P<p>[\d.]+)<td>(?P<start>\d+)–(?P<end>\d+)")


def in_json(document: dict[str, Any]) -> Shown:
    return {(m["start"], m["end"], m["label"], f"{m['probability']:.2f}") for m in document["mentions"]}


def in_html(document: Document) -> Shown:
    page = unescape(render_html(document))
    return {(int(m["start"]), int(m["end"]), m["label"], m["p"]) for m in ROW.finditer(page)}


def in_terminal(sentence: Sentence) -> Shown:
    """What the bars under a sentence say, read by their columns."""
    words, *rows = render_sentence(sentence, width=10_000).plain.split("\n")
    shown: Shown = set()
    for row in rows:
        for bar in BAR.finditer(row):
            drawn = bar.group().removesuffix(bar["behind"] or "")
            first, last = (_character(sentence, words, place) for place in (bar.start(), bar.start() + len(drawn) - 1))
            label, _, probability = (bar["inside"] or bar["behind"]).partition(" ")
            token = {place: span for span in sentence.offsets for place in range(*span)}
            shown.add((token[first][0], token[last][1], label, probability))
    return shown


def _character(sentence: Sentence, words: str, column: int) -> int:
    """The character of the text that stands in a column; emoji are two columns wide."""
    place = 0
    for index, sign in enumerate(words):
        place += cell_len(sign)
        if place > column:
            return sentence.offsets[0][0] + index
    raise AssertionError("a bar goes on behind the words")


@given(st.lists(st.lists(WORDS, min_size=1, max_size=9), min_size=1, max_size=3), st.sampled_from([None, 0.05, 0.4]))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_all_show_the_same(
    server: Running, annotator: Annotator, words: list[list[str]], threshold: float | None
) -> None:
    text = "\n\n".join(" ".join(part) + "." for part in words)
    document = annotator(text, threshold=threshold)
    [answer] = server.annotate(text=text, threshold=threshold)
    shown = in_json(answer)
    assert shown == in_html(document)
    assert shown == {mention for sentence in document.sentences for mention in in_terminal(sentence)}
