"""Adds the generated pages to the site: MkDocs calls this as a hook (mkdocs.yml)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from hyperspan.runtime.folders import PRETRAINED
from scripts.site import browser
from scripts.site.cli import cli_page
from scripts.site.configuration import configuration_page
from scripts.site.json_lines import json_lines_page
from scripts.site.rest import rest_page

ROOT = Path(__file__).parents[2]
SOURCE = "https://github.com/hyperspan-nlp/hyperspan/blob/main/"
MODELS = ("english", "genia", "craft", "litbank")


def file_page(path: str) -> str:
    """A Markdown file of the repository as a page: links into docs/ stay inside the site, all others go to the source.

    >>> "](how-to/train.md" in file_page("CONTRIBUTING.md") or "](docs/" not in file_page("CONTRIBUTING.md")
    True
    """
    return relinked((ROOT / path).read_text(encoding="utf-8"))


def relinked(text: str) -> str:
    """
    >>> relinked("[a](docs/speed.md#gpus), [b](LICENSE), [c](https://b.org), [d](#e)")
    '[a](speed.md#gpus), [b](https://github.com/hyperspan-nlp/hyperspan/blob/main/LICENSE), [c](https://b.org), [d](#e)'
    """

    def target(found: re.Match[str]) -> str:
        link = found[1]
        if link.startswith(("http:", "https:", "#", "mailto:")):
            return f"]({link})"
        inside = link.removeprefix("docs/")
        return f"]({inside})" if inside != link and not inside.startswith("data/") else f"]({SOURCE}{link})"

    return re.sub(r"\]\(([^)\s]+)\)", target, text)


PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli_page,
    "reference/configuration.md": configuration_page,
    "reference/json-lines.md": json_lines_page,
    "reference/rest.md": rest_page,
    "how-to/browser.md": lambda: file_page("web/README.md"),
    "changelog.md": lambda: file_page("CHANGELOG.md"),
    "contributing.md": lambda: file_page("CONTRIBUTING.md"),
    "security.md": lambda: file_page("SECURITY.md"),
    **{
        f"models/{name}.md": lambda name=name: (PRETRAINED / name / "README.md").read_text(encoding="utf-8")
        for name in MODELS
    },
}
"""Pages that are made when the site is built, by their place in docs/."""


def on_files(files: Files, config: Any) -> Files:
    """Called by MkDocs with the files of docs/."""
    for place, page in PAGES.items():
        files.append(File.generated(config, place, content=page()))
    if browser.is_built():
        for place, path in browser.files().items():
            files.append(File.generated(config, place, abs_src_path=str(path)))
        files.append(File.generated(config, browser.MODELS_FILE, content=browser.models_json()))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Called by MkDocs with each page: the first one is live."""
    return html + browser.SCRIPT if page.file.src_uri == "index.md" and browser.is_built() else html
