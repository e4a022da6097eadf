"""The page of errors: it stands alone, escapes what it shows, reads without its style, and counts what there is."""

from __future__ import annotations

import re

from hyperspan.corpora.documents import document_of
from hyperspan.evaluation import find_errors
from hyperspan.evaluation.alignment import PlaceInCorpus
from hyperspan.evaluation.error_kinds import MentionDifference
from hyperspan.evaluation.errors import ErrorReport, SentenceErrors
from hyperspan.render.errors_page import iter_errors_page
from hyperspan.render.html import render_html
from hyperspan.types import Mention, Sentence
from tests.support.growth import lines_run
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


def test_page_gives_labels_the_colours_of_other_pages() -> None:
    words = Sentence(["Ada", "left", "Oz"], [Mention(0, 1, "PER"), Mention(1, 2, "PER"), Mention(2, 3, "LOC")])
    label = re.compile(r'data-label="(?:\d )?(\w+)" style="[^"]*color:var\((--c\d)\)')
    colours = set(label.findall(page_of(find_errors([words], [words.with_mentions([])]))))
    assert colours == set(label.findall(render_html(document_of([words])))) == {("LOC", "--c0"), ("PER", "--c1")}


def test_page_without_differences_says_so() -> None:
    sentence = [Sentence(["Oz"], [Mention(0, 1, "GPE")])]
    assert "1 sentences, 0 with differences." in Page(page_of(find_errors(sentence, sentence))).visible


def test_page_takes_linear_work_and_space_for_nested_mentions_and_says_how_many_it_leaves_out() -> None:
    def page(depth: int) -> str:
        nested = Sentence(["word"] * (2 * depth), [Mention(i, 2 * depth - i, "X") for i in range(depth)])
        missed = tuple(MentionDifference("missed", one, None, depth=1) for one in sorted(nested.mentions))
        errors = [SentenceErrors(PlaceInCorpus(), nested, (frozenset(nested.mentions),), missed)]
        return "".join(iter_errors_page(ErrorReport(errors, 1, ()), "Errors", systems=()))

    assert "120 more not drawn, because too many overlap.</p>" in page(100)  # 60 above and 60 below
    assert len(page(2000)) < 2.3 * len(page(1000))
    assert lines_run(lambda: page(2000)) < 2.3 * lines_run(lambda: page(1000))
