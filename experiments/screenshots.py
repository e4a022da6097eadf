"""Pictures of the page for the documentation."""

from __future__ import annotations

import io
import signal
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from experiments.cli import Output, run_command
from hyperspan.runtime.loading import load
from hyperspan.serve.models import places
from tests.serve.page.labeller import Labelling, press
from tests.serve.page.reader import browsing
from tests.serve.running import running

DESKTOP: dict[str, Any] = {"viewport": {"width": 1240, "height": 860}}
LABEL: dict[str, Any] = {"viewport": {"width": 1240, "height": 590}}
PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True}


TO_LABEL = (
    "The mice were kept in the dark for a week. In Jurkat T cells, the human IL-2 receptor alpha chain gene promoter binds mutant "
    "NF-kappa B p65 proteins. Nothing of it was seen in monocytes. We then looked at B cells. They bound it, too."
)


def take_all(output: Output = Path("docs/images")) -> None:
    """Take the pictures of the page that the docs show."""
    with running(annotators={name: load(name) for name in places(())}) as server, browsing() as browser:
        for name, options in {
            "page": DESKTOP,
            "page-dark": {**DESKTOP, "color_scheme": "dark"},
            "page-phone": PHONE,
        }.items():
            page = opened(browser, server.url, **options)
            page.locator("#result .tag").first.click()
            take(page, output / f"{name}.png")
        page = opened(browser, server.url, **DESKTOP)
        page.locator("#tab-hypergraph").click()
        page.locator("#canvas svg").wait_for()
        take(page, output / "page-hypergraph.png")
        label(browser, output / "label.png")


def label(browser: Browser, target: Path) -> None:
    """The labelling page in the middle of a sentence: accepted, rejected, added and drafted mentions."""
    with tempfile.TemporaryDirectory() as folder:
        labelling = Labelling(
            Path(folder) / "corrected.jsonl", TO_LABEL, "-m", "genia", "--by", "order", "--annotator", "Ada"
        )
        try:
            page = browser.new_context(device_scale_factor=2, **LABEL).new_page()
            page.goto(labelling.link)
            page.locator("#sentence .word").first.wait_for()
            press(page, "Space", "a", "r", "a")
            press(page, "Home", *["ArrowRight"] * 2, "Shift+ArrowRight", "4", "j", "j")
            take(page, target)
        finally:
            labelling.end(signal.SIGINT)


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
    run_command(take_all, "experiments.screenshots")
