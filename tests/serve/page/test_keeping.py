"""What is shown is taken along: as files that others read, and as links."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hyperspan.corpora import read_corpus, write_corpus
from tests.serve.page.reader import (
    MARKED,
    NEEDS,
    Opener,
    annotate,
    downloaded,
    eventually,
    found,
    listed,
    type_box,
    wait_for_text,
    write,
)
from tests.serve.running import Running

pytestmark = NEEDS


def test_downloads_say_what_is_shown(page: Page, server: Running, tmp_path: Path, opened: Opener) -> None:
    write(page, MARKED)
    text = MARKED.replace("\r\n", "\n")
    page.locator("#threshold").fill("0.3")
    type_box(page, "cell_type").uncheck()
    answer = annotate(server, text, threshold=0.3, types=["DNA", "RNA", "cell_line", "protein"])
    eventually(page, listed, found(answer["mentions"]))

    downloaded(page, "jsonl").save_as(tmp_path / "a.jsonl")
    [document] = read_corpus(tmp_path / "a.jsonl")
    assert document.text == text and document.metadata["threshold"] == {"*": 0.3}
    assert sorted((*m.span, m.label) for m in document.mentions) == found(answer["mentions"])
    given = {(m["start"], m["end"], m["label"]): m["probability"] for m in answer["mentions"]}
    assert {(*m.span, m.label): m.probability for m in document.mentions} == pytest.approx(given)
    tokens = [[list(span) for span in sentence.offsets] for sentence in document.sentences]
    assert tokens == [sentence["tokens"] for sentence in answer["sentences"]]
    assert sum(len(sentence.mentions) for sentence in document.sentences) == len(document.mentions)

    for kind in ("csv", "tsv"):  # to the byte what the command line writes
        downloaded(page, kind).save_as(tmp_path / f"page.{kind}")
        write_corpus([document], tmp_path / f"a.{kind}", kind)
        assert (tmp_path / f"page.{kind}").read_bytes() == (tmp_path / f"a.{kind}").read_bytes()

    downloaded(page, "brat").save_as(tmp_path / "a.zip")
    zipfile.ZipFile(tmp_path / "a.zip").extractall(tmp_path / "brat")
    [document] = read_corpus(tmp_path / "brat", "brat")
    assert document.text == text
    assert sorted((*m.span, m.label) for m in document.mentions) == found(answer["mentions"])

    downloaded(page, "html").save_as(tmp_path / "a.html")
    saved = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<script" not in saved and "http" not in saved
    alone = page.context.new_page()
    alone.set_content(saved)
    words = alone.locator(".hyperspan tbody tr").evaluate_all(
        "rows => rows.map(row => [row.cells[1].textContent, row.cells[3].textContent])"
    )
    assert sorted((*map(int, places.split("–")), label) for label, places in words) == found(answer["mentions"])
    assert alone.locator(".bars").count() >= len(words)
    alone.close()


def test_a_link_shows_the_view_again(page: Page, server: Running, opened: Opener) -> None:
    page.locator("#model").select_option("litbank")
    text = "The old woman's brother 👩‍🦳 left for Halifax + 1 & more. Her sister saw the captain of the ship."
    write(page, text)
    page.locator("#result").get_by_role("button", name="GPE").first.click()
    page.locator("#card").get_by_role("button", name="Forbid GPE, Halifax").click()
    page.locator("#threshold").fill("0.2")
    page.get_by_label("Least probability of PER").fill("0.4")
    type_box(page, "VEH").uncheck()
    expect(page.locator("#constraints")).to_contain_text("Halifax")
    before = listed(page)
    page.locator("#link").click()
    expect(page.locator("#taken")).to_contain_text("copied")
    link = page.evaluate("navigator.clipboard.readText()")

    other = opened("#" + link.partition("#")[2])
    wait_for_text(other, text)
    eventually(other, listed, before)
    expect(other.locator("#model")).to_have_value("litbank")
    expect(other.locator("#threshold-value")).to_have_text("0.20")
    expect(other.get_by_label("Least probability of PER")).to_have_value("0.40")
    expect(type_box(other, "VEH")).not_to_be_checked()
    expect(other.locator("#constraints")).to_contain_text("Forbidden")
    other.locator("#text").press_sequentially("x")
    other.wait_for_function("() => !location.hash")  # the address says nothing that is no longer so
    other.reload()
    expect(other.locator("#text")).to_have_value(re.compile("x"))  # but nothing is lost


def test_links_of_others(opened: Opener) -> None:
    page = opened("#v=99&model=gone&t=IL-2%20gene&at=7&require=5:2:DNA&hide=nothing&sets=x&future=1")
    wait_for_text(page, "IL-2 gene")
    expect(page.locator("#notices")).to_contain_text("another version")
    expect(page.locator("#notices")).to_contain_text("no model “gone”")
    page.goto(page.url.partition("#")[0] + "#v=1&model=genia&z=damaged")
    expect(page.locator("#notices")).to_contain_text("damaged")
    page.go_back()
    wait_for_text(page, "IL-2 gene")
