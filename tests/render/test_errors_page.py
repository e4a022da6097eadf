"""The page of errors: it stands alone, escapes what it shows, reads without its style, and counts what there is."""

from __future__ import annotations

import re

from hyperspan.evaluation import find_errors
from hyperspan.evaluation.errors import ErrorReport
from hyperspan.render.errors_page import iter_errors_page
from hyperspan.types import Mention, Sentence
from tests.support.pages import Page

NASTY = "</style><script>alert(1)</script>\" onload='x' &amp; \x00\ud800 \u202e"
WORDS = ("The", NASTY, "שלום", "of", "Oz", "left", ".")


def report() -> ErrorReport:
    gold = Sentence(WORDS, [Mention(0, 5, "PER"), Mention(4, 5, NASTY), Mention(1, 2, "GPE")])
    found = Sentence(WORDS, [Mention(0, 4, "PER", probability=0.25), Mention(2, 3, "GPE", probability=1e-9)])
    return find_errors([gold, gold], [found, gold])


def page_of(found: ErrorReport, systems: tuple[str, ...] = (NASTY,)) -> str:
    return "".join(iter_errors_page(found, NASTY, {"model": NASTY, "date": "today"}, systems))


def test_page_stands_alone_and_escapes_everything() -> None:
    page = page_of(report())
    page.encode("utf-8")
    assert not re.search(r"https?:|url\(|\ssrc=|@import|javascript:", page)
    seen = Page(page)
    assert seen.tags.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not any(name.startswith("on") for name in seen.attributes)
    assert page.count("</style>") == 1


def test_page_reads_without_its_style() -> None:
    text = Page(page_of(report())).visible
    clean = NASTY.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert f"The {clean} שלום of Oz left ." in text  # no label stands in the sentence
    for difference in ("wrong right boundary gold PER", "missed gold", "inner spurious predicted GPE שלום 1e-9"):
        assert difference in text
    assert "2 sentences, 1 with differences." in text and "model" in text and "today" in text


def test_page_counts_differences_by_kind_and_type() -> None:
    found = report()
    page = page_of(found)
    rows = re.findall(r"<tr><th scope=\"row\"[^>]*>([a-z ]+)((?:<td>[\d,–]+)+)", page)
    table = {kind: [int(n) for n in re.findall(r"\d+", cells)] for kind, cells in rows}
    assert table.pop("all")[-1] == sum(found.counts.values()) == sum(row[-1] for row in table.values())
    assert table.keys() == {kind for kind, _ in found.counts}
    assert len(re.findall(r'<li class="difference ', page)) == sum(found.counts.values())


def test_page_of_two_systems_says_who_is_wrong() -> None:
    words = Sentence(["the", "zoo"])
    gold, a, b = (
        [words.with_mentions(m)] for m in ([Mention(0, 2, "FAC")], [Mention(1, 2, "FAC")], [Mention(0, 2, "FAC")])
    )
    page = page_of(find_errors(gold, a, b), ("first", "second"))
    assert (
        "B right, A wrong <small>1</small>" in page and 'data-label="A 1 FAC"' in page and 'data-label="B FAC"' in page
    )


def test_page_without_differences_says_so() -> None:
    sentence = [Sentence(["Oz"], [Mention(0, 1, "GPE")])]
    assert "1 sentences, 0 with differences." in Page(page_of(find_errors(sentence, sentence))).visible
