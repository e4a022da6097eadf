"""A text is written, and its mentions are seen, by threshold, by type, and in other sets than the best."""

from __future__ import annotations

import itertools
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from hyperspan.render.terminal import render_sentence
from hyperspan.runtime.annotator import Annotator
from tests.serve.page.reader import (
    MARKED,
    NEEDS,
    TEXT,
    Found,
    Opener,
    annotate,
    eventually,
    found,
    listed,
    probabilities,
    requests_of,
    type_box,
    wait_for_text,
    write,
)
from tests.serve.running import Running

pytestmark = NEEDS


def test_mentions_are_there_while_one_types(page: Page, server: Running) -> None:
    page.locator("#text").fill("")
    expect(page.locator("#result")).to_be_empty()
    page.locator("#text").press_sequentially(TEXT, delay=4)
    wait_for_text(page, TEXT)
    assert listed(page) == found(annotate(server, TEXT)["mentions"])
    expect(page.locator("#found")).to_have_text("6 mentions")
    expect(page.locator("#about-text")).to_contain_text("2 sentences, 19 words")
    expect(page.locator("#said")).to_have_text("6 mentions shown.")


def test_bars_have_their_labels_and_probabilities_on_every_line(opened: Opener, server: Running) -> None:
    page = opened(viewport={"width": 200, "height": 3000})
    text = f"{TEXT.partition('.')[0]}."
    write(page, text)
    labels = [f"{m['label']} {m['probability']:.2f}" for m in annotate(server, text)["mentions"]]
    assert sorted(page.locator("#result .tag").all_inner_texts()) == sorted(labels)
    further = page.locator("#result .again")
    expect(further.first).to_be_visible()
    assert set(further.evaluate_all("all => all.map(one => one.dataset.label)")) <= set(labels)
    in_lines = """all => all.every(one => {  // each is at the side where its line begins, below the words of a bar
      const box = one.getBoundingClientRect(), text = one.closest(".part").getBoundingClientRect();
      const under = document.elementFromPoint(box.left + 1, box.top + 1);
      return box.left < text.left + 40 && under.closest(".bars") !== null;
    })"""
    assert further.evaluate_all(in_lines)
    page.set_viewport_size({"width": 2600, "height": 900})
    expect(further).to_have_count(0)


def test_types_without_a_mention_are_folded_away(page: Page) -> None:
    write(page, "Jurkat T cells grew.")
    shown = page.locator("#types li").evaluate_all("all => all.map(one => one.dataset.label)")
    assert shown == ["cell_line"] and not type_box(page, "DNA").is_visible()
    expect(page.locator("#more-types summary")).to_have_text("4 types without a mention")
    page.locator("#more-types summary").click()
    absent = page.locator("#absent-types").get_by_role("checkbox", name="DNA")
    absent.uncheck()
    page.locator("#text").focus()
    write(page, "Jurkat T cells grew fast.")
    expect(type_box(page, "DNA")).not_to_be_checked()  # what was chosen stays in view


def test_the_slider_asks_nothing(page: Page, server: Running) -> None:
    write(page, TEXT)
    asked = requests_of(page)
    for least in (0.05, 0.5, 0.9):
        page.locator("#threshold").fill(str(least))
        eventually(page, listed, found(annotate(server, TEXT, threshold=least)["mentions"]))
    page.get_by_label("Least probability of DNA").fill("0.02")
    thresholds = {"*": 0.9, "DNA": 0.02}
    eventually(page, listed, found(annotate(server, TEXT, threshold=thresholds)["mentions"]))
    page.get_by_label("The best set", exact=True).check()
    eventually(page, listed, found(annotate(server, TEXT)["mentions"]))
    assert asked == []


def test_types_can_be_left_out(page: Page, server: Running) -> None:
    write(page, TEXT)
    for label in ("protein", "RNA"):
        type_box(page, label).uncheck()
    answer = annotate(server, TEXT, types=["DNA", "cell_line", "cell_type"], top_k=5)
    eventually(page, listed, found(answer["mentions"]))
    expect(page.locator("#types li", has_text="protein").locator("small")).not_to_have_text("0")
    eventually(page, probabilities, [probability for probability, _ in ranked_sets(answer, 5)])
    type_box(page, "protein").check()
    eventually(
        page, listed, found(annotate(server, TEXT, types=["DNA", "cell_line", "cell_type", "protein"])["mentions"])
    )


def ranked_sets(answer: dict[str, Any], k: int) -> list[tuple[str, list[Found]]]:
    """The k best sets of a text with how probable they are compared to the best, from all ways to choose a set for each
    sentence."""
    every = itertools.product(*(entry["sets"] for entry in answer["alternatives"]))
    ranked = sorted(every, key=lambda chosen: -math.prod(one["probability"] for one in chosen))[:k]
    products = [math.prod(one["probability"] for one in chosen) for chosen in ranked]
    compared = [f"{100 * product / products[0]:.0f} %" for product in products]
    return [
        (shown, sorted(m for one in chosen for m in found(one["mentions"])))
        for shown, chosen in zip(compared, ranked, strict=True)
    ]


def test_alternatives_of_the_text_and_of_a_sentence(page: Page, server: Running) -> None:
    write(page, TEXT)
    answer = annotate(server, TEXT, top_k=5)
    best = ranked_sets(answer, 5)
    eventually(page, probabilities, [probability for probability, _ in best])
    for rank in (1, 4, 0):
        page.locator("#sets > .sets input").nth(rank).check()
        eventually(page, listed, best[rank][1])
    first, second = ([found(one["mentions"]) for one in entry["sets"]] for entry in answer["alternatives"])
    page.locator(".by-sentence summary").click()
    page.locator(".by-sentence .sets").nth(1).locator("input").nth(2).check()
    eventually(page, listed, sorted(first[0] + second[2]))


def test_changes_of_mind(page: Page, server: Running) -> None:
    """The newest wish counts: another model and another text during a request, and no text at all."""
    page.locator("#text").fill(TEXT * 40)
    page.locator("#model").select_option("litbank")
    page.locator("#text").fill("The captain saw his wife.")
    wait_for_text(page, "The captain saw his wife.")
    eventually(page, listed, found(annotate(server, "The captain saw his wife.", model="litbank")["mentions"]))
    page.locator("#clear").click()
    expect(page.locator("#result")).to_be_empty()
    page.locator("#text").fill(" \n ")
    page.wait_for_timeout(300)
    expect(page.locator("#notices")).to_be_empty()
    page.locator("#model").select_option("genia")
    page.locator("#example").click()
    expect(page.locator("#result .tag").first).to_be_visible()
    page.locator("#text").fill("x" * 500_001)
    expect(page.locator("#notices")).to_contain_text("500,000 characters")


def test_page_terminal_and_api_agree(page: Page, server: Running, annotators: dict[str, Annotator]) -> None:
    for text in (TEXT, MARKED.replace("\r\n", "\n"), "No mention is here."):
        write(page, text)
        document = annotators["genia"](text)
        api = annotate(server, text)["mentions"]
        assert found(api) == sorted((*m.span, m.label) for m in document.mentions)
        assert (listed(page) if api else []) == found(api)
        shown = "\n".join(render_sentence(sentence, 500).plain for sentence in document.sentences)
        assert sorted(re.findall(r"([A-Za-z_]+) \d\.\d\d", shown)) == sorted(label for _, _, label in found(api))


@pytest.mark.slow
def test_a_long_text(page: Page, tmp_path: Path) -> None:
    """It is drawn part by part: a change in one place draws one part."""
    line = "We asked whether mutant Rel proteins bind the IL-2 promoter in Jurkat T cells, and not in B cells."
    text = "\n".join(f"{index}. {line}" for index in range(40))
    file = tmp_path / "long.txt"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    page.locator("#file").set_input_files(file)
    wait_for_text(page, text)
    expect(page.locator("#found")).to_have_text(re.compile(r"(1|2)\d\d mentions"))
    page.evaluate("window.kept = document.querySelector('#result .part:nth-child(3)')")
    page.locator("#text").press("Control+End")
    page.locator("#text").press_sequentially(" IL-2")
    wait_for_text(page, f"{text} IL-2")
    assert page.evaluate("document.contains(window.kept)")
    page.locator("#link").click()
    expect(page.locator("#taken")).to_contain_text("copied")
    draw = random.Random(2)
    noise = " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=200)) for _ in range(250))
    page.locator("#text").fill(noise)
    page.locator("#link").click()
    expect(page.locator("#taken")).to_contain_text("too long for a link")
    page.locator("#text").fill("The IL-2 gene." + 20_000 * " ")  # whose alternatives come when asked for
    page.get_by_role("button", name="Show them anyway").click()
    expect(page.locator("#sets")).to_contain_text("the best set")
