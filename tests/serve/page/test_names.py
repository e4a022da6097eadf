"""Names alone and pronouns, chosen on the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from hyperspan.runtime.annotator import Annotator
from tests.serve.page.reader import NEEDS, Opener, annotate, eventually, found, listed, type_box, write
from tests.serve.running import Running, running
from tests.support.marked_names import TEXT, named_model
from tests.support.models import small_model

pytestmark = NEEDS


@pytest.fixture(scope="module")
def named() -> Iterator[Running]:
    with running(annotators={"named": Annotator(named_model()), "small": Annotator(small_model())}) as one:
        yield one


def test_names_and_pronouns_are_boxes_of_the_page(opened: Opener, named: Running) -> None:
    page = opened(address=named.url)
    write(page, TEXT)
    names, pronouns = page.get_by_role("checkbox", name="Names alone"), page.get_by_role("checkbox", name="Pronouns")
    eventually(page, listed, found(annotate(named, TEXT)["mentions"]))
    pronouns.uncheck()
    eventually(page, listed, found(annotate(named, TEXT, pronouns=False)["mentions"]))
    names.check()
    eventually(page, listed, [(0, 3, "person"), (20, 22, "place")])
    type_box(page, "person").uncheck()
    eventually(page, listed, [(20, 22, "place")])
    type_box(page, "person").check()

    page.locator("#link").click()
    expect(page.locator("#taken")).not_to_be_empty()
    assert "names=1" in page.url and "pronouns=0" in page.url
    page.reload()
    expect(names).to_be_checked()
    expect(pronouns).not_to_be_checked()
    eventually(page, listed, [(0, 3, "person"), (20, 22, "place")])
    page.locator("#tab-hypergraph").click()
    expect(page.locator("#graph-state")).to_contain_text("Ada (person), Oz (place)")
    page.locator("#tab-mentions").click()

    page.locator("#model").select_option("small")  # marks no names
    expect(names).to_be_hidden()
    write(page, TEXT)
    eventually(page, listed, found(annotate(named, TEXT, model="small", pronouns=False)["mentions"]))
