"""Pages in a browser: bars are unbroken and below their words, labels do not overlap, nothing leaves the page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("playwright", reason="pip install 'hyperspan[dev]'")

from playwright.sync_api import Browser

from hyperspan.evaluation import find_errors
from hyperspan.render.errors_page import iter_errors_page
from hyperspan.render.html import render_html
from hyperspan.types import Document, Mention, Sentence

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed"),
    pytest.mark.xdist_group("page"),
]


def document(text: str, *mentions: tuple[str, str]) -> Document:
    found = []
    for number, (covered, label) in enumerate(mentions):
        start = text.index(covered)
        found.append(Mention(start, start + len(covered), label, probability=0.3 + 0.05 * number))
    return Document(text, found)


UNIVERSITY = "the university of the capital of Oz"
DEEP = document(
    f"the deputy head of the archive of the library of {UNIVERSITY} resigned, and Ada Park wrote to Ur about it.",
    (f"the deputy head of the archive of the library of {UNIVERSITY}", "PER"),
    (f"the archive of the library of {UNIVERSITY}", "ORG"),
    (f"the library of {UNIVERSITY}", "FAC"),
    (UNIVERSITY, "ORG"),
    ("the capital of Oz", "LOC"),
    ("Oz", "GPE"),
    ("library of the university", "crossing"),
    ("Ur", "GPE"),
    ("Ur", "LOC"),
    ("Ur", "a long label"),
)
LINES = document(
    "the mayor of\nthe city\n\nof Ur, Bo", ("mayor of\nthe city\n\nof Ur", "PER"), ("the city\n\nof Ur", "GPE")
)
HEBREW = document("שר החוץ של מדינת ישראל אמר בירושלים", ("שר החוץ של מדינת ישראל", "PER"), ("מדינת ישראל", "GPE"))
PAGE = render_html([DEEP, LINES, HEBREW])

LAID_OUT = """() => [...document.querySelectorAll(".text")].map((text) => {
  const range = document.createRange();
  const lines = (node) => [...node.getClientRects()].filter((r) => r.width > 0).map((r) => [r.left, r.right, r.top, r.bottom]);
  getSelection().selectAllChildren(text);
  const copied = getSelection().toString();
  const segments = [...text.querySelectorAll(".bars")].map((segment) => {
    range.selectNodeContents(segment.lastChild);
    return {tooltips: segment.title.split("\\n"), boxes: lines(segment), words: lines(range), content: segment.lastChild.data};
  });
  const shown = [...text.querySelectorAll("b")].filter((label) => label.checkVisibility());
  return {copied, segments, labels: shown.map((label) => lines(label)[0])};
})"""


@pytest.fixture(scope="module", params=[320, 600, 1100])
def texts(browser: Browser, request: pytest.FixtureRequest) -> Iterator[tuple[int, list[Any]]]:
    page = browser.new_page(viewport={"width": request.param, "height": 800})
    page.set_content(PAGE)
    assert page.evaluate("document.documentElement.scrollWidth") <= request.param
    yield request.param, page.evaluate(LAID_OUT)
    page.close()


def test_page_copies_as_the_text(texts: tuple[int, list[Any]]) -> None:
    assert [text["copied"].strip("\n") for text in texts[1]] == [shown.text for shown in (DEEP, LINES, HEBREW)]


def test_page_bars_are_unbroken_on_each_line(texts: tuple[int, list[Any]]) -> None:
    """The boxes of a mention's segments, whose backgrounds are the bars, touch each other on each line."""
    for text in texts[1]:
        of_mention: dict[str, list[list[float]]] = {}
        for segment in text["segments"]:
            for tooltip in segment["tooltips"]:
                of_mention.setdefault(tooltip, []).extend(segment["boxes"])
        for tooltip, boxes in of_mention.items():
            lines: dict[int, list[list[float]]] = {}
            for box in boxes:
                lines.setdefault(round(box[2]), []).append(box)
            for line in lines.values():
                line.sort()
                gaps = [after[0] - before[1] for before, after in pairwise(line)]
                assert all(abs(gap) < 0.6 for gap in gaps), (tooltip, line)


def test_page_bars_are_between_their_words_and_the_next_line(texts: tuple[int, list[Any]]) -> None:
    for text in texts[1]:
        for segment in text["segments"]:
            for box, words in zip(segment["boxes"], segment["words"], strict=True):
                assert abs(box[0] - words[0]) < 0.6 and abs(box[1] - words[1]) < 0.6
                assert box[3] - words[3] >= 15 * len(segment["tooltips"])
        boxes = [box for segment in text["segments"] for box in segment["boxes"]]
        tops = sorted({round(box[2]) for box in boxes})
        for top, below in pairwise(tops):
            lowest = max(box[3] for box in boxes if round(box[2]) == top)
            assert lowest <= below + 4  # characters do not reach the top of their line


def test_page_labels_neither_overlap_nor_leave_the_page(texts: tuple[int, list[Any]]) -> None:
    width, shown = texts
    for text in shown:
        for number, (left, right, top, bottom) in enumerate(text["labels"]):
            assert left >= 0 and right <= width
            for other in text["labels"][:number]:
                across = min(right, other[1]) - max(left, other[0])
                down = min(bottom, other[3]) - max(top, other[2])
                assert across <= 0.5 or down <= 1.5


def test_page_is_dark_in_dark_mode_and_white_in_print(browser: Browser) -> None:
    page = browser.new_page(color_scheme="dark")
    page.set_content(PAGE)
    background = "getComputedStyle(document.querySelector('.hyperspan')).backgroundColor"
    assert page.evaluate(background) == "rgb(23, 24, 27)"
    assert page.locator("details").first.is_visible()
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.locator("details").first.is_visible()
    page.close()


WORDS = ("the", "head", "of", "the", "bank", "of", "Oz", "left")
GOLD = [
    Sentence(WORDS, [Mention(0, 7, "PER"), Mention(3, 7, "ORG"), Mention(6, 7, "GPE")]),
    Sentence(WORDS, [Mention(0, 7, "PER")]),
    Sentence(WORDS, [Mention(6, 7, "GPE")]),
]
FOUND = [Sentence(WORDS, [Mention(0, 7, "PER"), Mention(3, 5, "ORG")]), Sentence(WORDS), Sentence(WORDS)]
SHOWN = """() => [...document.querySelectorAll("article")].filter((one) => one.checkVisibility()).map((one) =>
  [...one.querySelectorAll("li")].filter((difference) => difference.checkVisibility()).map((difference) => difference.value))"""


def test_errors_are_filtered_without_a_script(browser: Browser) -> None:
    """A sentence is shown if one of its differences has a choice of every group in which there is any."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.set_content("".join(iter_errors_page(find_errors(GOLD, FOUND), "Errors")))

    def shown() -> list[list[int]]:
        return page.evaluate(SHOWN)

    def choose(name: str) -> None:
        page.locator("label", has_text=re.compile(rf"^{name} \d+$")).click(timeout=3000)

    assert shown() == [[1, 2], [1], [1]] and page.locator("label:visible").all_inner_texts() == ["Filters"]
    page.locator("label", has_text="Filters").click()
    choose("missed")
    assert shown() == [[1], [1]]
    for visible in (2, 13):  # what is chosen stays in view where the others are folded away
        page.locator("label", has_text="Filters").click()
        assert page.locator("label:visible").count() == visible
    choose("GPE")
    assert shown() == [[1]]
    choose("inner missed")
    assert shown() == [[2], [1]]
    choose("3")  # the depth of the inner one
    assert shown() == [[2]]
    page.get_by_role("button", name="Show all").click()
    assert shown() == [[1, 2], [1], [1]]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    above, words, below = page.evaluate(
        """() => {
          const [bars] = document.querySelectorAll(".bars"), range = document.createRange();
          range.selectNodeContents(bars.lastChild);
          const box = bars.getBoundingClientRect(), words = range.getBoundingClientRect();
          return [words.top - box.top, words.height, box.bottom - words.bottom];
        }"""
    )
    assert above > 14 and below > 14 and words > 10  # gold has its lane above the words, predictions theirs below
    context.close()
