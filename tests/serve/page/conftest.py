"""A server with the bundled models, a browser, and pages that must cause no error and ask nobody but their server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load
from tests.serve.page.reader import PATIENCE, Opener
from tests.serve.running import Running, running


@pytest.fixture(scope="session")
def annotators() -> dict[str, Annotator]:
    return {name: load(name) for name in ("genia", "litbank")}


@pytest.fixture(scope="session")
def server(annotators: dict[str, Annotator]) -> Iterator[Running]:
    """In the place of the one with a small model."""
    with running(annotators=annotators) as one:
        yield one


@pytest.fixture(scope="session")
def desktop(browser: Browser) -> BrowserContext:
    size = {"width": 1280, "height": 900}
    return browser.new_context(viewport=size, permissions=["clipboard-read", "clipboard-write"])  # type: ignore[arg-type]


@pytest.fixture
def opened(browser: Browser, desktop: BrowserContext, server: Running) -> Iterator[Opener]:
    """Opens a page that must cause no error, ask nobody but its server, and never leave it."""
    pages: list[Page] = []
    wrong: list[str] = []

    def opened(fragment: str = "", address: str = server.url, **options: Any) -> Page:
        page = browser.new_context(**options).new_page() if options else desktop.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.extend([said.text] if said.type in ("error", "warning") else []))
        page.on("request", lambda asked: wrong.extend([] if asked.url.startswith((address, "blob:")) else [asked.url]))
        page.goto(f"{address}{fragment}")
        return page

    yield opened
    for page in pages:
        page.close()
    # Browsers say so on their own when a server refuses, and some of these are meant to.
    refused = "Failed to load resource"
    assert [text for text in wrong if not text.startswith(refused)] == []


@pytest.fixture
def page(opened: Opener) -> Page:
    """A page with a text that is quickly done."""
    page = opened("#v=1&model=genia&t=IL-2")
    expect(page.locator("#result .tag").first).to_be_visible()
    return page
