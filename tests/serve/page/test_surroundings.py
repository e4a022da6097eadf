"""Phones, the other tab, and servers that say no."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.settings import Settings
from tests.serve.page.reader import NEEDS, TEXT, Opener, annotate, listed, wait_for_text, write
from tests.serve.running import Running, running
from tests.support.everyday import EVERYDAY

pytestmark = NEEDS


def test_on_a_phone(opened: Opener) -> None:
    page = opened(viewport={"width": 375, "height": 700}, has_touch=True, is_mobile=True)
    write(page, f"{TEXT} {'x' * 200} https://example.org/{'y' * 90}")

    def is_wide() -> bool:
        return page.evaluate("document.documentElement.scrollWidth > innerWidth")

    listed(page)
    heights: list[float] = page.locator("#rows button").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert max(heights) < 40  # words on buttons are not broken
    page.locator("#threshold").fill("0.02")
    assert not is_wide()
    page.locator("#result .tag").first.tap()
    box = page.locator("#card").bounding_box()
    assert box is not None and box["x"] == 0 and box["width"] == 375 and box["y"] + box["height"] <= 700
    page.keyboard.press("Escape")
    page.locator("#tab-hypergraph").tap()
    page.locator("#canvas svg").wait_for()
    assert not is_wide()


def test_what_is_done_while_the_page_loads_counts(opened: Opener) -> None:
    page = opened()
    waiting: list[Route] = []
    page.route("**/v1/models", lambda route: waiting.append(route))
    page.reload()
    page.locator("#text").fill(TEXT)
    page.locator("#tab-hypergraph").click()
    expect(page.locator("#canvas")).to_be_visible()
    page.locator("#about").click()
    page.wait_for_timeout(300)  # longer than the pause after which a text is sent
    assert len(waiting) == 1
    waiting[0].continue_()
    page.locator("#canvas svg").wait_for()
    expect(page.locator("#card-of-model-title")).to_have_text("genia")
    page.keyboard.press("Escape")
    page.locator("#tab-mentions").click()
    wait_for_text(page, TEXT)
    assert page.locator("#text").input_value() == TEXT


def test_the_hypergraph_of_a_sentence(opened: Opener) -> None:
    page = opened()
    page.locator("#tab-mentions").press("ArrowRight")
    expect(page.locator("#tab-hypergraph")).to_have_attribute("aria-selected", "true")
    drawing = page.locator("#canvas svg")
    expect(drawing.locator("title").first).to_contain_text("Rel proteins bind")
    expect(page.locator("#graph-state")).to_contain_text("IL-2 promoter (DNA)")
    assert drawing.locator("g.strong").count() > 10
    before = page.evaluate("document.getElementById('canvas').shadowRoot.querySelector('svg').clientWidth")
    page.get_by_role("button", name="Larger").click()
    after = page.evaluate("document.getElementById('canvas').shadowRoot.querySelector('svg').clientWidth")
    assert after == pytest.approx(1.25 * before, abs=2)
    page.locator("#graph-types").get_by_label("RNA").check()
    expect(drawing.locator("text", has_text="RNA").first).to_be_visible()
    page.locator("#sentence").fill("a " * 30)
    expect(page.locator("#graph-state")).to_contain_text("12")  # the limit on words
    page.locator("#sentence").fill("")
    expect(page.locator("#graph-state")).to_contain_text("Type a sentence")


def test_a_server_with_a_key(opened: Opener, annotators: dict[str, Annotator]) -> None:
    with running(Settings(api_key="sesame"), annotators) as one:
        page = opened(address=one.url)
        page.get_by_label("API key").fill("wrong")
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#key-title")).to_contain_text("does not know")
        page.get_by_label("API key").fill("sesame")
        page.keyboard.press("Enter")
        expect(page.locator("#result .tag").first).to_be_visible()
        page.reload()
        expect(page.locator("#result .tag").first).to_be_visible()


def test_a_busy_server(opened: Opener, annotators: dict[str, Annotator], monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()
    model = annotators["genia"].model
    compute = model.quick_distribution

    def held(*given: Any) -> Any:
        begun.set()
        assert ended.wait(60)
        return compute(*given)

    with running(Settings(max_requests=1), annotators) as one:
        page = opened(address=one.url)
        expect(page.locator("#result .tag").first).to_be_visible()
        monkeypatch.setattr(model, "quick_distribution", held)
        long = threading.Thread(target=annotate, args=(one, "c-Rel binds."))
        long.start()
        assert begun.wait(60)
        page.locator("#text").fill(TEXT)
        expect(page.locator("#notices")).to_contain_text("The server is busy; trying again")
        ended.set()
        long.join()
        wait_for_text(page, TEXT)
        expect(page.locator("#notices")).to_be_empty()


def test_what_a_model_is_for_is_shown(opened: Opener, annotators: dict[str, Annotator]) -> None:
    page = opened()
    shown: list[str] = []
    for name in ("litbank", "genia"):
        page.locator("#model").select_option(name)
        card = annotators[name].card
        expect(page.locator("#purpose")).to_have_text(card.description)
        for label, meaning in card.labels.items():
            expect(page.locator(f"#types [data-label='{label}'] label")).to_have_attribute("title", meaning)
        expect(page.locator("#result .tag").first).to_be_visible()
        shown.append(page.locator("#text").input_value())
        page.locator("#about").click()
        for text in (
            card.domain,
            card.licence,
            f"{card.figures.test:.1f} (test)",
            *card.labels.values(),
        ):
            expect(page.locator("#card-of-model")).to_contain_text(text)
        page.keyboard.press("Escape")
    assert "Captain" in shown[0] and "NF-kappa B" in shown[1]  # an example that fits the model


def test_text_that_is_foreign_to_the_model_is_noted_once(opened: Opener, server: Running) -> None:
    text = EVERYDAY["children's story"]
    page = opened()
    write(page, text)
    notice = page.locator(".notice.domain")
    expect(notice).to_contain_text("This text looks unlike what genia (molecular biology) was trained on")
    notice.get_by_role("button", name="Dismiss").click()
    write(page, f"{text} He left.")
    expect(notice).to_have_count(0)
    write(page, TEXT)
    write(page, text)
    notice.get_by_role("button", name="Use litbank").click()
    expect(page.locator("#model")).to_have_value("litbank")
    expect(notice).to_have_count(0)
    [own], [other] = server.annotate(text=text, model="litbank"), server.annotate(text=text, model="genia")
    assert own["domain"]["foreign"] is False and own["domain"]["note"] is own["domain"]["better_model"] is None
    assert other["domain"]["score"] >= 1 and other["domain"]["better_model"] == "litbank"
    assert server.annotate(text="c-Rel binds.")[0]["domain"] is None
