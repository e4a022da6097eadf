"""`hyperspan label` as a process, and what an annotator does on its page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.serve.running import until
from tests.support.process import Served

Row = tuple[int, int, str]


class Labelling(Served):
    """The command, and the file that it writes."""

    def __init__(self, output: Path, *arguments: str):
        super().__init__("label", *arguments, "-o", output, "--no-browser")
        self.output = output

    @property
    def port(self) -> str:
        return self.link.partition("/label")[0].rpartition(":")[2]

    def sentences(self) -> list[dict[str, Any]]:
        """What the file says of each sentence, in the order of the texts."""
        lines = self.output.read_text(encoding="utf-8").splitlines()
        return [sentence for line in lines for sentence in json.loads(line)["sentences"]]

    def events(self) -> list[dict[str, Any]]:
        log = self.output.with_name(f"{self.output.name}.log").read_text(encoding="utf-8")
        return [json.loads(line) for line in log.splitlines()]


def press(page: Page, *keys: str) -> None:
    """Presses keys one after another, and waits until what they decided is saved."""
    for key in keys:
        page.keyboard.press(key)
        expect(page.locator("#save-state")).to_have_text("✓ Saved")


def write(page: Page, key: str, text: str, happens: str) -> None:
    """Opens a dialog with a key, types a text and confirms it, and waits for what the page then says."""
    page.keyboard.press(key)
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    expect(page.locator("#happened")).to_contain_text(happens)


def current(page: Page) -> str:
    """How a screen reader names the mention that the annotator is on."""
    named = page.locator("#sentence").get_attribute("aria-activedescendant") or ""
    return page.locator(f"#{named}").get_attribute("aria-label") or ""


def bars(page: Page) -> list[str]:
    return page.locator("#sentence button.tag").evaluate_all("all => all.map(bar => bar.ariaLabel).sort()")


def wait_for_sentence(page: Page, number: int) -> None:
    expect(page.locator("#where")).to_contain_text(f"Sentence {number} of")


def rows(mentions: Iterable[dict[str, Any]]) -> set[Row]:
    return {(one["start"], one["end"], one["label"]) for one in mentions}


def wait_for_file(labelling: Labelling, index: int, wanted: set[Row]) -> None:
    """The file is written a moment after the log, and has no line yet for a text that nobody has touched."""

    def is_written() -> bool:
        sentences = labelling.sentences() if labelling.output.exists() else []
        return index < len(sentences) and rows(sentences[index]["mentions"]) == wanted

    until(is_written)
