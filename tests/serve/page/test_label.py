"""Labelling in a browser: a session with the keyboard alone, a crash, two windows, and sentences that are hard to
draw."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.serve.page.labeller import (
    Labelling,
    bars,
    current,
    press,
    rows,
    wait_for_file,
    wait_for_sentence,
    write,
)
from tests.serve.page.reader import NEEDS, Opener
from tests.serve.running import until

pytestmark = NEEDS
TEXT = (
    "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells. The c-Rel mRNA rises in B cell lines. "
    "We saw NF-kappa B in the nucleus of human T lymphocytes. The IL-2 gene is active in human monocytes. "
    "Rel binds the IL-6 promoter in T cells."
)
HEBREW = "חלבון p53 נקשר אל הגן MDM2 בתאי T אנושיים לאחר קרינה."
HOSTILE = f'<img src=x onerror=alert(1)> & "IL-2" promoter 👩‍🔬𝒳 \u202eback\u202c {"x" * 120} in T cells.'
COORDINATED = "The left and right ventricle of the heart were stained ."
LEFT = {"start": 4, "end": 28, "label": "organ", "fragments": [[4, 8], [19, 28]]}
WORDS = [f"word{number}" for number in range(34)]
DOCUMENTED = (Path(__file__).parents[3] / "docs" / "how-to" / "label.md").read_text(encoding="utf-8")
Opened = Callable[..., Page]


@pytest.fixture
def window(opened: Opener) -> Opened:
    """Opens the links of commands."""

    def labelled(link: str, **options: Any) -> Page:
        own, label, rest = link.partition("/label")
        page = opened(f"{label}{rest}", own, **options)
        expect(page.locator("#sentence .word").first).to_be_visible()
        return page

    return labelled


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Labelling]]:
    """The processes of the tests below; the first drafts with a model."""
    folder = tmp_path_factory.mktemp("label")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    processes = [Labelling(folder / "corrected.jsonl", str(folder / "text.txt"), "-m", "genia", "--by", "order")]
    yield processes
    for process in processes:
        process.end(signal.SIGINT)


def test_page_shows_the_first_sentence_if_its_address_is_damaged(started: list[Labelling], window: Opened) -> None:
    page = window(f"{started[0].link}#50%")
    expect(page.locator("#where")).to_contain_text("Sentence 1 of")
    assert page.url.endswith("#0.0")


def test_a_session_with_the_keyboard_alone(started: list[Labelling], window: Opened) -> None:
    [labelling] = started
    page = window(labelling.link)
    assert "token" not in page.url
    assert current(page).endswith("draft: IL-2")  # the one that the model is least sure of
    expect(page.locator(".why")).to_have_text("the model is least sure of this one of 4")
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert current(page).endswith("draft: Mutant Rel proteins") and page.locator(".why").count() == 0
    press(page, "a")
    assert current(page).endswith("draft: IL-2 promoter")
    press(page, "r")
    expect(page.locator("#happened")).to_contain_text("Rejected DNA “IL-2 promoter”")
    assert current(page).endswith("draft: IL-2")
    press(page, "1")  # another type
    assert current(page) == "DNA, added: IL-2"
    press(page, "j", "j", "j")
    assert current(page).endswith("draft: Jurkat T cells")
    page.keyboard.press("Alt+ArrowRight")
    assert page.evaluate(SHRINK) == ["… Not saved yet", "cell_line, added, not saved yet: T"]
    press(page, "Enter")
    press(page, "Home", "Shift+ArrowRight", "Shift+ArrowRight")
    assert page.locator(".word.chosen").all_inner_texts() == ["Mutant", "Rel"]
    press(page, "Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "5")  # crosses what was accepted
    assert current(page) == "protein, added: Rel proteins bind"
    press(page, "w", "Control+ArrowRight", "Shift+ArrowLeft", "3")  # inside it
    press(page, "w", "4")  # the same words have two types
    assert {"cell_line, added: proteins", "cell_type, added: proteins"} <= set(bars(page))
    press(page, "w", "2", "Control+z")
    assert "RNA, added: proteins" not in bars(page)
    press(page, "End")
    write(page, "t", "sign", "Added sign “.”")  # a label that is new
    assert current(page) == "sign, added: ."
    press(page, "c")
    assert not any(name.endswith(": .") for name in bars(page))
    write(page, "l", "virus", "New label: virus")
    write(page, "n", "twice bound", "Note saved")
    expect(page.locator("#note-shown")).to_have_text("Note: twice bound")
    assert labelling.events()[-1]["note"] == "twice bound"  # on disk when the page says so
    page.keyboard.press("?")
    listed: list[list[str]] = page.locator("#keys tr").evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('kbd, td:last-child')].map(cell => cell.textContent))"
    )
    for *keys, does in listed:
        assert f"| {does} | {' '.join(f'`{key}`' for key in keys)} |".replace(" … ", "` … `") in DOCUMENTED
    page.keyboard.press("Escape")
    page.locator("#show-keys").click()
    page.keyboard.press("Escape")  # the keys that were listed act
    press(page, "Space")

    wait_for_sentence(page, 2)
    page.keyboard.press("Home")
    page.keyboard.press("j")
    press(page, "a", "s")
    wait_for_sentence(page, 3)
    press(page, "d")
    wait_for_sentence(page, 4)
    press(page, "u")
    wait_for_sentence(page, 3)
    press(page, "d")
    wait_for_sentence(page, 4)
    expect(page.locator("#progress")).to_contain_text("1 done, ◐ 1 partial, – 1 skipped, 2 open")

    first = {
        (0, 3, "protein"),
        (5, 8, "DNA"),
        (11, 12, "cell_line"),
        (1, 4, "protein"),
        (2, 3, "cell_line"),
        (2, 3, "cell_type"),
    }
    wait_for_file(labelling, 0, first)
    wait_for_file(labelling, 1, {(1, 5, "RNA")})
    done, sure, skipped, untouched, _ = labelling.sentences()
    assert set(done["annotated"]["types"]) == {"DNA", "RNA", "cell_line", "cell_type", "protein", "sign", "virus"}
    assert rows(sure["mentions"]) == {(1, 5, "RNA")} and sure["annotated"] == {"types": []}
    assert skipped["mentions"] == untouched["mentions"] == []


REJECT_AND_COMPLETE = """() => ["r", " "].forEach(key =>
  document.getElementById("sentence").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })))"""


def test_space_does_not_accept_what_has_just_come(tmp_path: Path, window: Opened) -> None:
    (tmp_path / "text.txt").write_text("Interleukin-2 receptor. We saw T cells.", encoding="utf-8")
    labelling = Labelling(tmp_path / "corrected.jsonl", str(tmp_path / "text.txt"), "-m", "genia", "--by", "order")
    try:
        page = window(labelling.link)
        assert current(page).endswith("draft: Interleukin-2 receptor")
        page.evaluate(REJECT_AND_COMPLETE)
        expect(page.locator("#happened")).to_contain_text("has just come into the draft. Look at it, then press Space")
        assert current(page).startswith("new, protein") and current(page).endswith("draft: Interleukin-2")
        expect(page.locator(".why")).to_have_text("new in the draft")
        assert page.locator(".tag.new").inner_text().endswith(" new")
        assert [event["action"] for event in labelling.events()[2:]] == ["reject"]
        page.wait_for_timeout(900)
        press(page, "Space")
        wait_for_sentence(page, 2)
        assert rows(labelling.sentences()[0]["mentions"]) == {(0, 3, "protein")}
    finally:
        labelling.end(signal.SIGINT)


def test_a_crash_loses_nothing_and_says_what_is_not_saved(started: list[Labelling], window: Opened) -> None:
    first = started[-1]
    page = window(f"{first.link}#0.3")
    wait_for_sentence(page, 4)
    press(page, "a")
    events = len(first.events())
    first.end(signal.SIGKILL)
    page.keyboard.press("x")
    expect(page.locator("#save-state")).to_have_text("⚠ Not saved")
    expect(page.locator("#notices")).to_contain_text("1 decision not saved yet; trying again")
    assert "not saved yet" in " ".join(bars(page))
    page.keyboard.press("Space")  # waits behind it, and the next sentence waits too
    page.keyboard.press("x")  # meant for a sentence that is not there yet
    second = Labelling(
        first.output, str(first.output.with_name("text.txt")), "-m", "genia", "--by", "order", "--port", first.port
    )
    started.append(second)
    expect(page.locator("#write")).to_be_visible()  # the new server has a new token
    page.keyboard.type(second.link)
    press(page, "Enter")
    wait_for_sentence(page, 5)
    expect(page.locator("#notices")).to_be_empty()
    decided = [event["action"] for event in second.events()[events:] if event["event"] == "decision"]
    assert decided == ["reject", "complete"]
    press(page, "Control+z", "u")
    wait_for_sentence(page, 4)


def test_two_windows_do_not_overwrite_each_other(started: list[Labelling], window: Opened) -> None:
    labelling = started[-1]
    one, other = (window(f"{labelling.link}#0.4") for _ in range(2))
    drafted = current(one)
    assert drafted == current(other) and "draft" in drafted
    press(one, "a")
    other.keyboard.press("x")
    expect(other.locator("#notices")).to_contain_text("Another window changed this sentence meanwhile (accept)")
    expect(other.locator("#notices")).to_contain_text("Not saved: reject")
    expect(other.locator("#save-state")).to_have_text("✓ Saved")  # there is nothing left to save
    [accepted] = [name for name in bars(other) if "accepted" in name]
    words = drafted.partition(": ")[2]
    assert accepted.endswith(f": {words}") and labelling.events()[-1]["action"] == "accept"
    press(other, "k", "k", "x")
    assert labelling.events()[-1]["action"] == "reject"
    expect(other.locator("#notices")).to_be_empty()


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labelling]:
    """Sentences with mentions to correct: 200 of one, right-to-left ones, markup as text and as a label, a
    discontinuous one."""
    folder = tmp_path_factory.mktemp("given")
    draw, text = random.Random(1), " ".join(WORDS)
    spans = [(text.index(a), text.index(b) + len(b)) for i, a in enumerate(WORDS) for b in WORDS[i : i + 8]]
    many = [(*span, draw.choice(["protein", "DNA", "RNA"])) for span in draw.sample(spans, 200)]
    found = {
        text: many,
        HEBREW: [
            (*_place(HEBREW, "חלבון p53"), "protein"),
            (*_place(HEBREW, "p53"), "protein"),
            (*_place(HEBREW, "MDM2 בתאי T"), "DNA"),
        ],
        HOSTILE: [(*_place(HOSTILE, '"IL-2" promoter'), "<b>bold</b>"), (*_place(HOSTILE, "IL-2"), "protein")],
    }
    with (folder / "given.jsonl").open("w", encoding="utf-8") as file:
        for number, (text, mentions) in enumerate(found.items()):
            listed = [{"start": start, "end": end, "label": label} for start, end, label in mentions]
            print(json.dumps({"id": str(number), "text": text, "mentions": listed}), file=file)
        print(json.dumps({"id": "3", "text": COORDINATED, "mentions": [LEFT]}), file=file)
    process = Labelling(
        folder / "out.jsonl", str(folder / "given.jsonl"), "-m", "genia", "--draft", "given", "--by", "order"
    )
    yield process
    process.end(signal.SIGINT)


def _place(text: str, words: str) -> tuple[int, int]:
    return text.index(words), text.index(words) + len(words)


SHRINK = """() => { // a press, and what the page says of it at once: it is saved a moment later
  const sentence = document.getElementById("sentence");
  sentence.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", shiftKey: true, bubbles: true }));
  return [document.getElementById("save-state").textContent, document.querySelector(".tag.current").ariaLabel];
}"""
WALK = """() => Array.from({ length: 50 }, () => {
  const sentence = document.getElementById("sentence"), active = sentence.getAttribute("aria-activedescendant");
  sentence.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  return document.getElementById(active).ariaLabel;
})"""
LIT = """() => [...document.querySelectorAll("#sentence .bars")].filter(piece => piece.style.getPropertyValue("--hot"))
  .flatMap(piece => [...piece.querySelectorAll(".word")].map(word => word.textContent))"""
EDGES = """() => { // of the bar that is marked, and of these words
  const edges = (all) => { const boxes = all.map(one => one.getBoundingClientRect()); return [Math.min(...boxes.map(b => b.left)), Math.max(...boxes.map(b => b.right))]; };
  const lit = [...document.querySelectorAll("#sentence .bars")].filter(piece => piece.style.getPropertyValue("--hot"));
  return [edges(lit), edges(lit.flatMap(piece => [...piece.querySelectorAll(".word")]))];
}"""


def test_200_mentions_of_a_sentence(given: Labelling, window: Opened) -> None:
    page = window(given.link)
    assert len(set(bars(page))) == 200
    assert page.evaluate("document.documentElement.scrollHeight") < 1500
    pieces = page.locator("#sentence .bars")
    box = pieces.nth(4).bounding_box()
    assert box is not None
    chosen: set[str] = set()
    for height in range(4, int(box["height"]), 4):  # from the words down
        page.mouse.click(box["x"] + 5, box["y"] + height)
        chosen.add(current(page))
    assert len(chosen) > 15
    page.keyboard.press("Home")
    assert len(set(page.evaluate(WALK))) == 50
    press(page, "x", "x", "x")
    assert len([event for event in given.events() if event.get("action") == "reject"]) == 3


def test_right_to_left(given: Labelling, window: Opened) -> None:
    page = window(f"{given.link}#1.0")
    assert page.locator("#sentence").evaluate("element => element.dir") == "rtl"
    press(page, "Home", "ArrowLeft")  # on in the text
    page.keyboard.press("j")
    assert current(page).endswith("draft: p53")
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate(LIT) == ["p53", "נקשר"]
    bar, words = page.evaluate(EDGES)
    assert bar == pytest.approx(words, abs=2)
    press(page, "a")
    wait_for_file(given, 1, {(1, 3, "protein")})


def test_discontinuous_mentions_with_the_keyboard(given: Labelling, window: Opened) -> None:
    page = window(f"{given.link}#3.0")
    assert current(page) == "organ, draft: left … ventricle"
    assert page.evaluate(LIT) == ["left", "ventricle"]
    press(page, "Shift+ArrowRight")  # its last part is longer
    assert current(page) == "organ, added: left … ventricle of"
    press(page, "Shift+ArrowLeft", "Shift+ArrowLeft")  # the part is gone
    assert current(page) == "organ, added: left"
    press(page, "p", "ArrowRight", "Enter")  # and comes back
    assert current(page) == "organ, added: left … ventricle"
    press(page, "Home", "ArrowRight", "p", "p")
    assert page.locator(".word.chosen").all_inner_texts() == ["left", "right", "of"]
    press(page, "Escape")
    assert page.locator(".word.chosen").all_inner_texts() == ["right"]
    press(page, "Home", "p", "ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    assert current(page) == "DNA, added: The … of the"
    press(page, "u")
    assert bars(page) == ["organ, added: left … ventricle"]
    press(page, "Space")
    done = {"start": 1, "end": 5, "label": "organ", "fragments": [[1, 2], [4, 5]]}
    until(lambda: given.output.exists() and given.sentences()[-1]["mentions"] == [done])
    assert any(event.get("to") == [1, 5, "organ", [[1, 2], [4, 5]]] for event in given.events())


def test_discontinuous_mentions_with_a_pointer(given: Labelling, window: Opened) -> None:
    page = window(f"{given.link}#3.0")
    words = page.locator(".word")
    words.nth(0).click()
    words.nth(3).click(modifiers=["Control"])
    words.nth(7).click(modifiers=["Control"])
    assert page.locator(".word.chosen").all_inner_texts() == ["The", "right", "heart"]
    page.locator("#palette button", has_text="protein").click()
    expect(page.locator("#happened")).to_have_text("Added protein “The … right … heart”. The sentence is open again.")
    words.nth(9).click()  # the button does what the key does, for those who have neither
    page.locator("#current summary").click()
    page.locator("#current").get_by_role("button", name="Add a part").click()
    words.nth(0).click()
    assert page.locator(".word.chosen").all_inner_texts() == ["The", "stained"]


def test_pointers_phones_and_hostile_text(given: Labelling, window: Opened) -> None:
    page = window(f"{given.link}#2.0", viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#sentence b:not(.again), #sentence img, #palette b").count() == 0
    assert any(tag.startswith("protein") for tag in page.locator("#sentence .tag").all_inner_texts())
    assert "<b>bold</b>" in page.locator("#palette bdi").all_inner_texts()
    page.locator("button.tag", has_text="<b>bold</b>").tap()
    page.locator("#current").get_by_role("button", name="Reject").tap()
    expect(page.locator("#happened")).to_contain_text("Rejected <b>bold</b>")
    page.close()

    page = window(f"{given.link}#2.0")
    cells, dot = (page.locator(".word", has_text=words) for words in ("cells", "T"))
    dot.last.hover()
    page.mouse.down()
    cells.hover()
    page.mouse.up()
    page.locator("#palette button", has_text="cell_type").click()
    expect(page.locator("#happened")).to_have_text("Added cell_type “T cells”.")
    assert page.evaluate("document.activeElement.id") == "sentence"
    unnamed = page.locator("button, input, textarea").evaluate_all(
        "all => all.filter(one => !(one.ariaLabel || one.labels?.length || one.ariaLabelledByElements?.length || one.textContent.trim())).map(one => one.outerHTML)"
    )
    assert unnamed == []
