"""Pictures of the page for the documentation: python -m tests.serve.page.screenshots [FOLDER]"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from hyperspan.inference.loading import load
from hyperspan.serve.models import places
from tests.serve.page.reader import browsing
from tests.serve.running import running

DESKTOP: dict[str, Any] = {"viewport": {"width": 1240, "height": 860}}
PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True}


def main(folder: str = "docs/images") -> None:
    target = Path(folder)
    with running(annotators={name: load(name) for name in places(())}) as server, browsing() as browser:
        for name, options in {
            "page": DESKTOP,
            "page-dark": {**DESKTOP, "color_scheme": "dark"},
            "page-phone": PHONE,
        }.items():
            page = opened(browser, server.url, **options)
            page.locator("#result .tag").first.click()
            take(page, target / f"{name}.png")
        page = opened(browser, server.url, **DESKTOP)
        page.locator("#tab-hypergraph").click()
        page.locator("#canvas svg").wait_for()
        take(page, target / "page-hypergraph.png")


def opened(browser: Browser, address: str, **options: Any) -> Page:
    page = browser.new_context(device_scale_factor=2, **options).new_page()
    page.goto(address)
    page.locator("#sets .p").first.wait_for()
    return page


def take(page: Page, target: Path) -> None:
    """A picture with 256 colours, which a page like this does not exceed by much, and a third of the size."""
    Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        target, optimize=True
    )
    page.context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
