"""What a reader does on the page, and what there is to see then."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Download, Locator, Page, sync_playwright

from tests.serve.running import Running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing; make browser installs it"),
    pytest.mark.xdist_group("page"),  # one server and one browser for all
]
PATIENCE = 60_000
"""Milliseconds after which what was to come has not come, on a machine that has a lot to do."""
TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells. The c-Rel mRNA rises in B cell lines."
MARKED = (  # emoji of several code points, a combining mark, right-to-left words, line breaks
    "🧬👩‍🔬 We saw c-Rel\r\nand NF-kappa B 🎉 in T cells.\r\n"
    "שלום binds the IL-2 promoter e\u0301ven 🧪 in Jurkat T cells.\r\n\r\n𝒳 activates NF-kappa B.\n"
)
Found = tuple[int, int, str]
Opener = Callable[..., Page]


@contextmanager
def browsing() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def write(page: Page, text: str) -> None:
    """Puts a text into the field, and waits until it is shown with its mentions."""
    page.locator("#text").fill(text)
    wait_for_text(page, text)


def wait_for_text(page: Page, text: str) -> None:
    shown = text.replace("\r\n", "\n")
    page.wait_for_function(
        "wanted => { const copy = document.getElementById('result').cloneNode(true);"
        "copy.querySelectorAll('.tag, b').forEach(label => label.remove()); return copy.textContent === wanted }",
        arg=shown,
    )


def listed(page: Page) -> list[Found]:
    """The mentions as the table lists them."""
    if page.locator("#listing").get_attribute("open") is None:
        page.locator("#listing summary").click()
    page.locator("#rows tr").first.wait_for()
    rows: list[list[str]] = page.locator("#rows tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return sorted((*map(int, places.split("–")), label) for _, label, _, places, _ in rows)  # type: ignore[misc]


def found(mentions: list[dict[str, Any]]) -> list[Found]:
    return sorted((m["start"], m["end"], m["label"]) for m in mentions)


def eventually(page: Page, read: Callable[[Page], Any], wanted: Any) -> None:
    """What is read from the page is, or soon becomes, what is wanted."""
    now = read(page)
    for _ in range(PATIENCE // 50):
        if now == wanted:
            return
        page.wait_for_timeout(50)
        now = read(page)
    assert now == wanted


def requests_of(page: Page) -> list[str]:
    """What is asked of the server from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.extend([request.url] if "/v1/" in request.url else []))
    return asked


def downloaded(page: Page, kind: str) -> Download:
    with page.expect_download() as waiting:
        page.locator(f"[data-save={kind}]").click()
    return waiting.value


def annotate(server: Running, text: str, **options: Any) -> dict[str, Any]:
    """What the API answers about a text."""
    return server.annotate(text=text, **options)[0]


def select(page: Page, words: str) -> None:
    """Selects words in the annotated text as a pointer does."""
    page.evaluate(
        """words => {
          const walker = document.createTreeWalker(document.getElementById("result"), NodeFilter.SHOW_TEXT);
          const nodes = [];
          while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(".tag, b")) nodes.push(walker.currentNode);
          const start = nodes.map(node => node.data).join("").indexOf(words);
          const at = place => { // the node and the place in it
            for (const node of nodes) if (place <= node.data.length) return [node, place]; else place -= node.data.length;
          };
          getSelection().setBaseAndExtent(...at(start), ...at(start + words.length));
        }""",
        words,
    )


def type_box(page: Page, label: str) -> Locator:
    return page.locator("#types").get_by_role("checkbox", name=label)


def probabilities(page: Page) -> list[str]:
    return page.locator("#sets > .sets .p").all_inner_texts()
