"""A promise of recall, chosen on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.structures.guarantees import RiskCurve
from tests.serve.page.reader import NEEDS, Opener, annotate, eventually, found, listed, write
from tests.serve.running import Running, running
from tests.serve.test_guarantees import TEXT, WORDS, promising
from tests.support.models import small_model

pytestmark = NEEDS
__all__ = ["promising"]


@pytest.fixture(scope="module")
def promised(promising: Annotator) -> Iterator[Running]:
    curves = {"*": RiskCurve.of(range(30), [0.4] * 30, [True] * 30)}
    few = replace(promising.card, guarantees=Guarantees("sentence", "little", curves).to_table())
    annotators = {
        "genia": promising,
        "few": Annotator(promising.model, card=few),
        "small": Annotator(small_model()),
    }
    with running(annotators=annotators) as one:
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
    promise = page.locator("[name=mode][value=promise]")
    promise.check()
    expect(page.locator("#promise")).to_have_text(f"{WORDS}.")
    page.get_by_role("checkbox", name="Pronouns").uncheck()  # nothing is promised of some mentions
    eventually(page, listed, found(annotate(promised, TEXT, pronouns=False)["mentions"]))
    expect(promise).to_be_disabled()
    expect(page.locator("[name=mode][value=set]")).to_be_checked()
    expect(page.locator("#promise")).to_contain_text("Nothing is promised")
    page.get_by_role("checkbox", name="Pronouns").check()
    expect(promise).to_be_enabled()
    page = opened("#v=1&model=few&t=IL-2&recall=0.99", promised.url)  # more than can be promised
    page.get_by_role("button", name="Show the best set").click()
    expect(page.locator("#found")).to_contain_text("mention")
    page.locator("#model").select_option("small")  # makes no promises
    expect(page.locator("#recall")).to_be_hidden()
