"""What new users stumble over: names of files, files that are no text, a README in Markdown, a result that is out of
date."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, Route, expect

from hyperspan.corpora.file_types import why_not_text
from hyperspan.runtime.folders import bundled_models, folder_of
from tests.serve.page.reader import NEEDS, TEXT, Opener, downloaded, wait_for_text, write
from tests.serve.page.test_counterparts import call

pytestmark = NEEDS


def test_files_are_named_after_the_text(page: Page, tmp_path: Path) -> None:
    write(page, TEXT)
    assert downloaded(page, "jsonl").suggested_filename == "Mutant-Rel-proteins-bind-the-IL-2.jsonl"
    write(page, "c-Rel 🧬")
    assert downloaded(page, "html").suggested_filename == "c-Rel.html"
    (tmp_path / "my notes.v2.txt").write_text("The c-Rel mRNA rises.", encoding="utf-8")
    page.locator("#file").set_input_files(tmp_path / "my notes.v2.txt")
    wait_for_text(page, "The c-Rel mRNA rises.")
    saved = downloaded(page, "html")
    assert saved.suggested_filename == "my-notes.v2.html"
    saved.save_as(tmp_path / "saved.html")
    shown = (tmp_path / "saved.html").read_text(encoding="utf-8")
    assert "<h1>my notes.v2.txt</h1>" in shown and "Model genia; the most probable set; hyperspan " in shown


HEADS = {
    "paper.pdf": b"%PDF-1.7\n\xe9\xe8",
    "letter.docx": b"PK\x03\x04\x14\0\x06\0",
    "old.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "scan.png": b"\x89PNG\r\n\x1a\n",
    "photo.jpg": b"\xff\xd8\xff\xe0",
    "page.html": b"<!doctype html><title>x",
    "packed.gz": b"\x1f\x8b\x08",
    "rich.rtf": b"{\\rtf1 x}",
    "renamed.pdf": b"hello",
    "plain.txt": b"Ada left the zoo.",
    "cost.txt": "na\xefve PK".encode("latin-1"),
}


WORDS = {"The mayor's son, aged 3, left.": 6, "IL-2 – c-Rel!": 2, "私は学生です": 4}


def test_files_that_are_no_text_are_refused_as_on_the_command_line(page: Page, tmp_path: Path) -> None:
    body = "files => files.map(([name, bytes]) => m.whyNotText(Uint8Array.from(bytes), name))"
    found = call(page, "files.js", body, [[name, list(head)] for name, head in HEADS.items()])
    assert [bool(said) for said in found] == [why_not_text(head, name) is not None for name, head in HEADS.items()]
    assert call(page, "offsets.js", "texts => texts.map(m.wordsIn)", list(WORDS)) == list(WORDS.values())
    (tmp_path / "paper.pdf").write_bytes(HEADS["paper.pdf"])
    page.locator("#file").set_input_files(tmp_path / "paper.pdf")
    expect(page.locator(".notice.file")).to_contain_text("paper.pdf is a PDF: save its text first")
    assert page.locator("#text").input_value() == "IL-2"


def test_readmes_are_rendered_and_nothing_in_them_is_markup(page: Page) -> None:
    body = "text => { const box = document.createElement('div'); box.append(...m.markdown(text)); return [box.innerHTML, box.textContent] }"
    for name in bundled_models():
        html, text = call(page, "markdown.js", body, (folder_of(name) / "README.md").read_text(encoding="utf-8"))
        assert "<table>" in html and "<li>" in html and "<h4>" in html
        assert "|---" not in text and "```" not in text and "**" not in text and "\n## " not in text
    html, _ = call(
        page,
        "markdown.js",
        body,
        "# <img src=x onerror=alert(1)>\n\n[a](javascript:x) [b](https://example.org) *c* `<d>`\n\n"
        "- e\n  more\n  - f\n\n| a | b |\n|---|--:|\n| <script> | 2 |\n\n```\n<x> | *y*",
    )
    assert "<img" not in html and "<script" not in html and "javascript:" not in html and "<x>" not in html
    for part in ('<a href="https://example.org"', "<em>c</em>", "<code>&lt;d&gt;</code>", "<ul><li>f</li></ul>"):
        assert part in html
    assert '<td style="text-align: end;">2</td>' in html


def test_a_result_that_is_about_to_change_says_so_at_once(page: Page) -> None:
    article, waiting = page.locator("article.hyperspan"), list[Route]()
    expect(article).to_have_attribute("aria-busy", "false")
    page.route("**/v1/annotate", lambda route: waiting.append(route))
    page.locator("#text").fill(TEXT)
    assert article.get_attribute("aria-busy") == "true"
    expect(page.locator("#result")).to_have_css("opacity", "0.5")
    waiting[0].continue_()
    wait_for_text(page, TEXT)
    expect(article).to_have_attribute("aria-busy", "false")


def test_alternatives_that_differ_look_different(opened: Opener) -> None:
    page = opened("#v=1&model=litbank&t=" + "The captain of the old ship saw his wife and her sister. " * 3)
    expect(page.locator("#sets > .sets .set").nth(4)).to_be_visible()
    shown = page.locator("#sets > .sets .how").all_inner_texts()
    assert len(set(shown)) == len(shown)
