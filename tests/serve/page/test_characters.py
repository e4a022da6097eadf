"""Places in any text, and text that would like to be more than text."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.serve.page.reader import MARKED, NEEDS, annotate, downloaded, listed, select, write
from tests.serve.running import Running

pytestmark = NEEDS


def test_places_with_emoji_and_other_scripts(page: Page, server: Running) -> None:
    write(page, MARKED)
    answer = annotate(server, MARKED.replace("\r\n", "\n"), offset_unit="utf16")
    drawn: list[list[str]] = page.evaluate(
        """() => {
          const names = [...document.querySelectorAll("#result .tag")].map(tag => tag.ariaLabel);
          return names.map(name => [name.split(" ")[0], name.slice(name.indexOf(": ") + 2)]);
        }"""
    )
    wanted = [[m["label"], " ".join(m["text"].split())] for m in answer["mentions"]]
    assert sorted(drawn) == sorted(wanted)
    for words in ("NF-kappa B", "IL-2", "Jurkat"):
        select(page, words)
        expect(page.locator("#card .title")).to_have_text(words)
        page.keyboard.press("Escape")
        expect(page.locator("#card")).to_be_hidden()


def test_text_stays_text(page: Page, tmp_path: Path) -> None:
    evil = (
        '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> "IL-2" </textarea> &amp; gene & \u2028'
    )
    write(page, evil)
    select(page, "img")
    page.locator("#card .title").wait_for()
    page.keyboard.press("Escape")
    page.locator("#threshold").fill("0.01")
    listed(page)
    downloaded(page, "html").save_as(tmp_path / "a.html")
    page.locator("#tab-hypergraph").click()
    page.locator("#sentence").fill("<b onclick> IL-2")
    expect(page.locator("#canvas svg text", has_text="onclick").first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    alone = page.context.new_page()  # where no policy forbids scripts
    alone.set_content((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert alone.locator("img, script").count() == 0 and alone.evaluate("window.hacked") is None
    assert "onerror" in alone.locator(".text").inner_text()
    alone.close()
