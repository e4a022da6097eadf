"""A promise of recall, chosen on the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from hyperspan.runtime.annotator import Annotator
from tests.serve.page.reader import NEEDS, Opener, annotate, eventually, found, listed, write
from tests.serve.running import Running, running
from tests.serve.test_guarantees import TEXT, WORDS, promising
from tests.support.models import small_model

pytestmark = NEEDS
__all__ = ["promising"]


@pytest.fixture(scope="module")
def promised(promising: Annotator) -> Iterator[Running]:
    with running(annotators={"genia": promising, "small": Annotator(small_model())}) as one:
        yield one


def test_page_finds_and_says_what_is_promised(opened: Opener, promised: Running) -> None:
    page = opened(address=promised.url)
    write(page, TEXT)
    eventually(page, listed, found(annotate(promised, TEXT)["mentions"]))
    page.locator("#recall").select_option("0.95")
    eventually(page, listed, found(annotate(promised, TEXT, recall=0.95)["mentions"]))
    expect(page.locator("#promise")).to_have_text(f"{WORDS}.")
    page.locator("#link").click()
    expect(page.locator("#taken")).not_to_be_empty()
    assert "recall=0.95" in page.url
    page.reload()
    expect(page.locator("#promise")).to_have_text(f"{WORDS}.")
    expect(page.locator("[name=mode][value=promise]")).to_be_checked()
    page.locator("[name=mode][value=set]").check()
    eventually(page, listed, found(annotate(promised, TEXT)["mentions"]))
    expect(page.locator("#promise")).to_have_text("")
    page.locator("#model").select_option("small")  # makes no promises
    expect(page.locator("#recall")).to_be_hidden()
