"""The site: built strictly, it is whole, loads nothing from outside, and can be searched without a server."""

from __future__ import annotations

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from scripts.site import browser as browser_package
from tests.serve.page.reader import NEEDS, PATIENCE
from tests.support.pages import Page

ROOT = Path(__file__).parents[1]
SITE = "https://hyperspan-nlp.github.io/hyperspan/"
SOURCE = "https://github.com/hyperspan-nlp/hyperspan/blob/main/"
PICTURES = "https://raw.githubusercontent.com/hyperspan-nlp/hyperspan/main/"
GROUP = pytest.mark.xdist_group("page")  # the site is built once, where the browser is
pytestmark = GROUP


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As ``make docs`` builds it: a link, an anchor or a page that is not there ends it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_site_loads_nothing_from_outside(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        for address in Page(page.read_text(encoding="utf-8")).loaded:
            assert not re.match(r"(?:[a-z]+:)?//", address), f"{page.relative_to(site)} loads {address}"
            if page.name != "404.html":  # its addresses begin at the root of the server
                assert (page.parent / address.partition("?")[0].partition("#")[0]).exists(), (page, address)


@pytest.mark.skipif(not browser_package.is_built(), reason="web/dist is not built: make test-web builds it")
def test_first_page_is_live_where_the_browser_package_is_built(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert browser_package.SCRIPT.strip() in page
    assert all((site / place).is_file() for place in (*browser_package.files(), browser_package.MODELS_FILE))


def test_links_to_the_site_and_the_source_lead_somewhere(site: Path) -> None:
    """In README, which PyPI shows, in the cards of models, and in the code."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "src").rglob("README.md"), *(ROOT / "src").rglob("*.py")]
    links = 0
    for file in files:
        for address in re.findall(
            r"https://[^\s)\]>\"'`]*hyperspan-nlp[^\s)\]>\"'`]*", file.read_text(encoding="utf-8")
        ):
            links += 1
            path, _, anchor = address.partition("#")
            if path.startswith(SITE):
                page = site / (path.removeprefix(SITE) or "index.html")
                assert page.is_file(), f"{file.name}: {address}"
                assert not anchor or f'id="{anchor}"' in page.read_text(encoding="utf-8"), f"{file.name}: {address}"
            elif path.startswith(SOURCE):
                assert (ROOT / path.removeprefix(SOURCE)).exists(), f"{file.name}: {address}"
            elif path.startswith(PICTURES):
                assert (ROOT / path.removeprefix(PICTURES)).is_file(), f"{file.name}: {address}"
    assert links > 30


def test_api_page_has_what_the_guides_import() -> None:
    """The policy promises it."""
    api = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    targets = re.findall(r"^::: (\S+)$", api, re.MULTILINE)
    targets += [f"hyperspan.errors.{name}" for name in re.findall(r"^ +- (\w+Error)$", api, re.MULTILINE)]
    documented = [pkgutil.resolve_name(target) for target in targets]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]
    pages += (ROOT / "docs/reference").glob("*.md")
    imported = {
        f"{module}:{name.strip()}": page.name
        for page in pages
        for module, names in re.findall(
            r"^ *from (hyperspan\S*) import ([\w, ]+)$", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        for name in names.split(",")
    }
    assert len(imported) > 15
    missing = {name: page for name, page in imported.items() if pkgutil.resolve_name(name) not in documented}
    assert missing == {}


def test_readme_has_absolute_links_alone() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inline = re.findall(r"\]\(([^)\s]+)\)", text)
    defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    assert all(link.startswith("https://") for link in [*inline, *defined.values()])
    used = set(re.findall(r"\]\[([^\]]+)\]", text))
    assert used == set(defined)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
@NEEDS[0]
def test_pages_fit_phones_and_desktops_and_ask_nobody(site: Path, browser: Browser, width: int, scheme: str) -> None:
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "tutorial", "reference/cli", "reference/configuration", "results/systems"):
        page.goto((site / f"{name}.html").as_uri())
        page.locator("h1").wait_for(timeout=PATIENCE)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert {address.partition(":")[0] for address in asked} <= {"file", "data", "blob"}, asked
    page.context.close()


@NEEDS[0]
def test_search_works_on_files(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    field = page.locator("input.md-search__input")
    field.click(timeout=PATIENCE)
    field.press_sequentially("calibration")
    found = page.locator(".md-search-result__item a")
    found.first.wait_for(timeout=PATIENCE)
    targets = [found.nth(place).get_attribute("href") or "" for place in range(found.count())]
    assert any("results/calibration.html" in target for target in targets)
    page.close()
