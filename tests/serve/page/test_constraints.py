"""Mentions are required and forbidden, with a pointer and with the keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.serve.page.reader import NEEDS, TEXT, annotate, eventually, found, listed, select, wait_for_text, write
from tests.serve.running import Running

pytestmark = NEEDS


def test_a_click_forbids_and_words_are_required(page: Page, server: Running) -> None:
    write(page, TEXT)
    page.locator("#result").get_by_role("button", name="DNA").click()
    page.locator("#card").get_by_role("button", name="Forbid DNA, IL-2 promoter").click()
    forbid = [{"start": 29, "end": 42, "label": "DNA"}]
    eventually(page, listed, found(annotate(server, TEXT, forbid=forbid)["mentions"]))
    expect(page.locator("#constraints")).to_contain_text("Forbidden")

    select(page, "Jurk")  # words are completed
    page.locator("#card").get_by_role("button", name="Require cell_line, Jurkat").click()
    require = [{"start": 46, "end": 52, "label": "cell_line"}]
    answer = annotate(server, TEXT, forbid=forbid, require=require)
    assert (46, 52, "cell_line") in found(answer["mentions"])
    eventually(page, listed, found(answer["mentions"]))
    assert page.locator("#result .tag", has_text="✓ cell_line").count() == 1

    page.locator("#text").press("Home")
    page.locator("#text").press_sequentially("So ")  # constraints move with their words
    forbid, require = (
        [{**constraint, "start": constraint["start"] + 3, "end": constraint["end"] + 3} for constraint in constraints]
        for constraints in (forbid, require)
    )
    wait_for_text(page, f"So {TEXT}")
    eventually(page, listed, found(annotate(server, f"So {TEXT}", forbid=forbid, require=require)["mentions"]))
    page.get_by_role("button", name="Remove: forbidden DNA").click()
    eventually(page, listed, found(annotate(server, f"So {TEXT}", require=require)["mentions"]))
    page.locator("#text").fill(f"So {TEXT}".replace("Jurkat", "Jurka"))
    expect(page.locator("#notices")).to_contain_text("1 constraint removed")


def test_keyboard_alone(page: Page, server: Running) -> None:
    write(page, TEXT)
    page.locator("#text").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#result .tag')"):
            break
    names = [page.evaluate("document.activeElement.ariaLabel")]
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        names.append(page.evaluate("document.activeElement.ariaLabel"))
    assert [re.sub(r" [\d.]+:", ":", name) for name in names] == [
        "protein: Mutant Rel proteins",
        "protein: IL-2",
        "DNA: IL-2 promoter",
        "cell_line: Jurkat T cells",
        "RNA: c-Rel mRNA",
    ]
    expect(page.locator("#tip")).to_contain_text("RNA 0.")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("#card")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#card")).to_be_hidden()
    assert page.evaluate("document.activeElement.ariaLabel") == names[0]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # from Require to Forbid
    forbid = [{"start": 0, "end": 19, "label": "protein"}]
    eventually(page, listed, found(annotate(server, TEXT, forbid=forbid)["mentions"]))
    unnamed = page.locator("button, input:not([hidden]), select, textarea").evaluate_all(
        "all => all.filter(one => !(one.ariaLabel || one.labels?.length || one.textContent.trim())).map(one => one.outerHTML)"
    )
    assert unnamed == []
