"""Draws the picture of README, sentences with overlapping mentions: python -m experiments.overview_picture.

It needs chromium and playwright.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from attrs import evolve
from playwright.sync_api import sync_playwright

import hyperspan
from experiments.cli import Output, run_command
from hyperspan.render.html import render_html

SENTENCES = {
    "english": "The wife of the former mayor of Chicago runs a bakery near the lake.",
    "genia": "Activation of the human IL-2 receptor alpha chain gene was seen in CD4+ T cells.",
    "craft": "Rod and cone cells of the mouse retina express Pax6.",
}
STYLE = """
h1, table, summary, details, .legend { display: none !important }
body.hyperspan-page { padding: 0 1.5rem; margin: 0; max-width: none }
.hyperspan { margin: 0 !important; padding: 0.6rem 0 0.2rem !important }
.hyperspan h2 { margin: 0 0 0.2rem; font-size: 0.8rem }
"""
WIDTH = 800


def page() -> str:
    """The sentences with what the bundled models find in them."""
    documents = [evolve(hyperspan.load(name)(text), id=name) for name, text in SENTENCES.items()]
    return re.sub("</style>", f"{STYLE}</style>", render_html(documents), count=1)


def draw(output: Output = Path("docs/images/overview.png")) -> None:
    """Draw the picture of README."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "overview.html"
        file.write_text(page(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 200}, device_scale_factor=2, color_scheme="light")
        tab.goto(file.as_uri())
        tab.screenshot(path=output, full_page=True)
        browser.close()


if __name__ == "__main__":
    run_command(draw, "experiments.overview_picture")
