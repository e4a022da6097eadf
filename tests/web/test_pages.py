"""The module and the pages of web/ in Chromium, from a static server that allows no inline scripts and styles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from hyperspan import load, read_corpus
from hyperspan.runtime.folders import PRETRAINED
from scripts.site import browser as site
from tests.serve.page.reader import NEEDS as NEEDS_BROWSER
from tests.serve.page.reader import PATIENCE
from tests.web.node import NEEDS
from tests.web.test_answers import MODELS, OPTIONS, SAMPLES, check_answer
from tests.web.texts import generated
from web.figures import served

pytestmark = [*NEEDS, *NEEDS_BROWSER, pytest.mark.xdist_group("page")]
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self'"
)
FIRST = f"""<!doctype html><html lang="en" data-md-color-scheme="default"><meta charset="utf-8"><title>hyperspan</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><div id="live"><p>A picture.</p></div>{site.SCRIPT}"""
MODEL, OWN = "litbank", "craft"
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pages = {"index.html": FIRST, site.MODELS_FILE: site.models_json(), "empty.html": "<!doctype html><title>t</title>"}
    files = site.files()
    files["your-model.html"] = site.WEB / "pages/your-model.html"
    with served(files, pages, {"Content-Security-Policy": POLICY}) as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page on a phone that must cause no error, and ask nobody but its server."""
    page = browser.new_context(**PHONE).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.extend([said.text] if said.type in ("error", "warning") else []))
    page.on("request", lambda asked: wrong.extend([] if asked.url.startswith((address, "blob:")) else [asked.url]))
    yield page
    page.context.close()
    assert [text for text in wrong if "favicon" not in text and "404" not in text] == []


def opened(page: Page, address: str, model: str) -> None:
    """A page where `annotate` runs the model."""
    page.goto(f"{address}empty.html")
    page.evaluate(
        "async ([address, model]) => { window.module = await import(address); window.seen = [];"
        "window.annotate = await module.load(model, {onProgress: one => seen.push(one)}); }",
        [f"{address}{site.PLACE}/src/index.js", f"{address}{site.PLACE}/models/{model}"],
    )


@pytest.mark.parametrize("name", MODELS)
def test_answers_in_a_worker_are_those_of_python(page: Page, address: str, name: str) -> None:
    opened(page, address, name)
    annotate = load(name)
    given: list[tuple[str, dict[str, Any]]] = [(text, some) for text in SAMPLES for some in OPTIONS]
    texts = [
        text.encode("utf-8", "replace").decode() for text in generated(seed=4, count=150)
    ]  # as browsers are handed
    given += [(text, OPTIONS[number % len(OPTIONS)]) for number, text in enumerate(texts)]
    found = page.evaluate("given => Promise.all(given.map(([text, options]) => annotate(text, options)))", given)
    for (text, some), answer in zip(given, found, strict=True):
        check_answer(annotate, text, some, answer)
    loaded, total = page.evaluate("[seen.at(-1).loaded, seen.at(-1).total]")
    assert loaded == total == sum((PRETRAINED / name / file).stat().st_size for file in site.MODEL_FILES)


def test_worker_can_be_stopped_and_closed(page: Page, address: str) -> None:
    opened(page, address, MODEL)
    said = page.evaluate(
        """async () => {
          const stop = new AbortController(), words = [], long = "The old captain left the harbour of Bergen. ".repeat(4000);
          const first = annotate(long, {signal: stop.signal, onWords: (count) => (words.push(count), stop.abort())}).catch((error) => error.name);
          const short = annotate("Bergen"), result = [await first, words.length, (await short).mentions.length >= 0];
          const never = annotate(long).catch((error) => error.message);
          annotate.close();
          return [...result, await never];
        }"""
    )
    assert said == ["AbortError", 1, True, "the model was closed"]


def test_hostile_texts_and_options_are_answered_with_a_sentence(page: Page, address: str) -> None:
    opened(page, address, MODEL)
    said = page.evaluate(
        r"""async () => {
          const tried = (...given) => annotate(...given).then(({ mentions }) => mentions.every((one) => one.end > one.start), (error) => error.message);
          return [await tried("a".repeat(1e6)), await tried("\ud800 of Bergen\udc00 \ud83d".repeat(500)), await tried("\u0301".repeat(1e5)), await tried(" \n".repeat(5e5)),
            await tried("(".repeat(1e5)), await tried("日".repeat(3000)), await tried(7), await tried("a", {threshold: 2}), await tried("a", {types: ["x"]}), await tried("a", {topK: -1}), await tried("a", {require: []}), await tried("", null)];
        }"""
    )
    assert said[:6] == [True] * 6
    assert all(isinstance(one, str) for one in said[6:-1]) and said[-1] is True
    assert said[6] == "a text to annotate is a number, but must be a string"


def test_models_that_are_none_are_refused_with_a_sentence(page: Page, address: str) -> None:
    opened(page, address, MODEL)
    said = page.evaluate(
        """() => Promise.all([location.href, "nowhere/", [new File(["a"], "config.toml")], {}].map((source) => module.load(source).then(() => "", (error) => error.message)))"""
    )
    assert all("config.toml" in one for one in said), said


# -- the first page ----------------------------------------------------------------------------------------------------


def test_first_page_annotates_what_is_typed(page: Page, address: str) -> None:
    page.goto(f"{address}index.html")
    page.get_by_label("Model").select_option(MODEL)
    page.get_by_role("button", name="Try it here").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("found here")
    text = SAMPLES[2]
    page.get_by_label("Your text").fill(text)
    page.locator("summary").click()
    document = load(MODEL)(text)
    rows = page.locator(".live tbody tr")
    expect(rows).to_have_count(len(document.mentions))
    expect(page.get_by_role("status")).to_contain_text(f"{len(document.mentions)} mentions")
    page.get_by_label("or all of at least").fill("0.3")
    likely = load(MODEL)(text, candidates=0.05).candidates or []
    expect(rows).to_have_count(sum((one.probability or 0) >= 0.3 for one in likely))
    assert not page.get_by_label("most probable set").is_checked()
    buttons = page.locator(".live button.tag")
    buttons.first.focus()
    page.keyboard.press("ArrowRight")
    said = buttons.nth(1).get_attribute("aria-label")
    expect(page.locator(".said")).to_have_text(said or "")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]


def test_first_page_reads_well_without_a_script(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}index.html")
    expect(page.locator("body")).to_have_text("A picture.")
    page.context.close()


# -- a page for one's own model ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(PRETRAINED / OWN, tmp_path / "mine")
    return tmp_path / "mine"


def test_own_model_annotates_a_file_and_saves_what_python_reads(page: Page, address: str, folder: Path) -> None:
    page.goto(f"{address}your-model.html")
    page.locator("#folder").set_input_files(folder)
    expect(page.locator("#model")).to_contain_text("It finds:")
    texts = folder.parent / "texts.jsonl"
    lines = [{"id": str(number), "text": f"{text} 😀 {text}"} for number, text in enumerate(SAMPLES)]
    texts.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    page.locator("#file").set_input_files(texts)
    expect(page.locator("#about")).to_contain_text("4 texts")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    saved = folder.parent / "mentions.jsonl"
    download.value.save_as(saved)
    annotate = load(OWN)
    for document, line in zip(read_corpus(saved), lines, strict=True):
        expected = annotate(line["text"])
        assert document.id == line["id"]
        assert document.mentions == expected.mentions


def test_own_model_page_says_what_is_wrong_with_files(page: Page, address: str, folder: Path) -> None:
    page.goto(f"{address}your-model.html")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    page.locator("#folder").set_input_files(folder)
    expect(page.get_by_role("alert")).to_contain_text("model.safetensors")
    shutil.copy(PRETRAINED / OWN / "model.safetensors", weights)
    page.locator("#folder").set_input_files(folder)
    expect(page.locator("#model")).to_contain_text("It finds:")
    wrong = folder.parent / "wrong.jsonl"
    wrong.write_text('{"text": "a"}\n{"words": 1}\n')
    page.locator("#file").set_input_files(wrong)
    expect(page.locator("#about")).to_contain_text("line 2 of wrong.jsonl has no text")
