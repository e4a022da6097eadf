"""CITATION.cff and the page on citing name the same release and paper."""

from __future__ import annotations

import re
from pathlib import Path

from hyperspan import __version__

ROOT = Path(__file__).parents[1]
RELEASE = __version__.partition(".dev")[0]


def test_citation_file_and_page_name_the_release_and_the_paper() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    keys = dict(re.findall(r'^\s*(version|repository-code|doi|start|end): "?(.+?)"?$', citation, re.MULTILINE))
    titles = re.findall(r'^\s*title: "?(.+?)"?$', citation, re.MULTILINE)
    assert keys["version"] == RELEASE and f"version = {{{RELEASE}}}" in page
    assert len(titles) == 2 and all(value in page for value in (*titles, keys["repository-code"], keys["doi"]))
    assert f"{{{keys['start']}--{keys['end']}}}" in page
