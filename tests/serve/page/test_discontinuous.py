"""Discontinuous mentions on the page: drawn, pointed at, constrained, listed and saved."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.runtime.loading import load
from tests.serve.page.reader import NEEDS, Opener, downloaded, select, wait_for_text
from tests.serve.running import Running, running
from tests.support.coordination import LEFT, TEXT, coordination_annotator

pytestmark = NEEDS


@pytest.fixture(scope="module")
def parted() -> Iterator[Running]:
    with running(annotators={"coordination": coordination_annotator()}) as server:
        yield server


@pytest.fixture(scope="module")
def concepts() -> Iterator[Running]:
    with running(annotators={"craft": load("craft")}) as server:
        yield server


@pytest.fixture
def coordinated(opened: Opener, parted: Running) -> Page:
    page = opened(f"#v=1&model=coordination&t={quote(TEXT)}", parted.url)
    wait_for_text(page, TEXT)
    expect(page.locator("#result .tag").first).to_be_visible()
    page.locator("#listing summary").click()
    page.locator("#rows tr").first.wait_for()
    return page


def lit(page: Page) -> str:
    """The words that are marked."""
    script = "all => all.filter(one => one.style.getPropertyValue('--hot')).map(one => one.lastChild.data).join('|')"
    return page.locator("#result .bars").evaluate_all(script)


def test_parts_are_drawn_lit_and_listed_together(coordinated: Page) -> None:
    page = coordinated
    row = page.locator("#rows tr", has_text="left … ventricle")
    assert row.locator("td").all_inner_texts()[3] == "4–8, 19–28"
    row.hover()
    assert lit(page) == "left|ventricle"
    page.locator("#result").get_by_role("button", name="left … ventricle").hover()
    expect(page.locator("#tip")).to_contain_text("ORGAN")
    assert lit(page) == "left|ventricle"
    box = page.locator("#result .bars", has_text="and").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 12)  # on the thin line in its gap
    assert lit(page) == "left|ventricle"


def test_saved_files_have_the_parts(coordinated: Page, tmp_path: Path) -> None:
    page = coordinated
    downloaded(page, "jsonl").save_as(tmp_path / "page.jsonl")
    [document] = read_corpus(tmp_path / "page.jsonl")
    assert document.mentions == coordination_annotator()(TEXT).mentions
    assert sum(len(one.fragments) for one in document.mentions) == 4
    assert sum(len(one.fragments) for sentence in document.sentences for one in sentence.mentions) == 4
    for kind in ("csv", "tsv"):  # to the byte what the command line writes
        downloaded(page, kind).save_as(tmp_path / f"page.{kind}")
        write_corpus([document], tmp_path / f"a.{kind}", kind)
        assert (tmp_path / f"page.{kind}").read_bytes() == (tmp_path / f"a.{kind}").read_bytes()
    downloaded(page, "brat").save_as(tmp_path / "page.zip")
    zipfile.ZipFile(tmp_path / "page.zip").extractall(tmp_path / "page")
    write_corpus([document], tmp_path / "brat", "brat")
    [[mine], [theirs]] = [list((tmp_path / name).glob("*.ann")) for name in ("page", "brat")]
    assert mine.read_bytes() == theirs.read_bytes() and b"ORGAN 4 8;19 28\tleft ventricle" in mine.read_bytes()
    downloaded(page, "html").save_as(tmp_path / "page.html")
    saved = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<td>4–8, 19–28</td>" in saved and "ORGAN" in saved and "left … ventricle" in saved


def test_parts_are_forbidden_and_linked(coordinated: Page, opened: Opener) -> None:
    page = coordinated
    row = page.locator("#rows tr", has_text="4–8, 19–28")
    row.get_by_role("button", name="Forbid").click()
    expect(page.locator("#constraints")).to_contain_text("Forbidden")
    expect(row).to_have_count(0)
    page.locator("#link").click()
    expect(page.locator("#taken")).to_contain_text("copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert f"forbid={quote('4:8,19:28:ORGAN', safe='')}" in link
    other = opened("#" + link.partition("#")[2], link.partition("/#")[0])
    expect(other.locator("#constraints")).to_contain_text("left … ventricle")
    page.locator("#text").press("Control+Home")
    page.locator("#text").press_sequentially("So ")
    wait_for_text(page, f"So {TEXT}")
    expect(page.locator("#constraints")).to_contain_text("left … ventricle")


def test_a_mention_of_several_parts_is_required(coordinated: Page) -> None:
    page = coordinated
    select(page, "left")
    page.locator("#card").get_by_role("button", name="Add a part").click()
    expect(page.locator("#notices")).to_contain_text("Select the words of the next part of “left”")
    select(page, "ventr")  # words are completed
    page.locator("#card").get_by_role("button", name="Require CELL, left … ventricle").click()
    expect(page.locator("#notices")).to_be_empty()
    row = page.locator("#rows tr", has_text="left … ventricle").filter(has_text="CELL")
    expect(row).to_have_count(1)
    assert row.locator("td").all_inner_texts()[2:4] == ["1.00", f"{LEFT['start']}–8, 19–{LEFT['end']}"]
    assert page.locator("#result .tag", has_text="✓ CELL").count() == 1


def test_the_hypergraph_is_that_of_the_model(opened: Opener, concepts: Running) -> None:
    page = opened(address=concepts.url)
    page.locator("#tab-hypergraph").click()
    drawing = page.locator("#canvas svg")
    expect(drawing.locator("title").first).to_contain_text("Hypergraph of discontinuous mentions and hyperpath of: Rod")
    expect(page.locator("#graph-state")).to_contain_text("Rod and cone photoreceptors (CL)")
    expect(page.locator("#hypergraph .lead")).to_contain_text("in its hypergraph of discontinuous mentions")
    expect(page.locator("#gaps-drawn")).to_be_visible()
    page.locator("#sentence").fill("In the livers of mice insulin controls glucose and lipid metabolism")
    state = page.locator("#graph-state")
    expect(state).to_contain_text("hyperedges for 11 words and 5 types, and up to 1,500 are drawn; choose fewer types")
    page.locator("#graph-types").get_by_label("GO_BP").check()
    expect(state).to_contain_text("lipid metabolism (GO_BP)")


def test_examples_of_the_bundled_model_have_discontinuous_mentions(opened: Opener, concepts: Running) -> None:
    page = opened(address=concepts.url)
    shown: set[str] = set()
    for _ in range(3):
        expect(page.locator("#result .tag").first).to_be_visible()
        shown.add(page.locator("#text").input_value())
        found = concepts.annotate(text=page.locator("#text").input_value())[0]["mentions"]
        assert sum("fragments" in mention for mention in found) >= 2
        page.locator("#example").click()
    assert len(shown) == 3
