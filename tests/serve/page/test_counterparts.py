"""Parts of the page that have a counterpart in Python, or an obvious way to compute the same."""

from __future__ import annotations

import itertools
import math
import random
import re
from typing import Any

import pytest
from playwright.sync_api import Page

from hyperspan.render.layout import PALETTE, lanes, stack
from hyperspan.render.page_style import DARK
from hyperspan.serve.pages import STATIC
from tests.serve.page.reader import NEEDS

pytestmark = NEEDS


def call(page: Page, module: str, body: str, *given: Any) -> Any:
    """What some JavaScript gives that calls a module of the page as `m`."""
    return page.evaluate(
        f"async given => {{ const m = await import('/static/{module}'); return ({body})(...given) }}", given
    )


def one(draw: random.Random) -> tuple[tuple[int, int], tuple[int, int], float]:
    start, end = sorted(draw.sample(range(30), 2))
    return (start, end), (start, max(end, start + draw.randrange(9))), draw.random()


def parts(
    given: list[tuple[tuple[int, int], tuple[int, int], float]],
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[float]]:
    return [span for span, _, _ in given], [room for _, room, _ in given], [share for _, _, share in given]


def test_layout_and_colours_are_those_of_the_renderer(page: Page) -> None:
    draw = random.Random(3)
    cases = [[sorted(draw.sample(range(30), 2)) for _ in range(draw.randrange(12))] for _ in range(200)]
    given = call(page, "layout.js", "cases => cases.map(m.lanes)", cases)
    assert given == [lanes([(start, end) for start, end in spans]) for spans in cases]
    stacks = [[one(draw) for _ in range(draw.randrange(40))] for _ in range(60)]
    places = call(
        page,
        "layout.js",
        "all => all.map(one => m.stack(...one).map(p => [p.top, p.height]))",
        list(map(parts, stacks)),
    )
    assert places == [[list(place) for place in stack(*parts(one))] for one in stacks]
    assert any(height < 1 for case in places for _, height in case)
    style = (STATIC / "text.css").read_text(encoding="utf-8")
    for tones in (PALETTE, DARK):
        assert " ".join(f"--c{index}: {colour};" for index, colour in enumerate(tones)) in style


def test_places_in_texts(page: Page) -> None:
    draw = random.Random(5)
    texts = ["".join(draw.choices("ab é🧬𝒳\n", k=draw.randrange(1, 60))) for _ in range(100)]
    places = call(
        page,
        "offsets.js",
        "all => all.map(t => [...t, ''].map((_, i, s) => m.codePoints(t)(s.slice(0, i).join('').length)))",
        texts,
    )
    assert places == [list(range(len(text) + 1)) for text in texts]

    text = "".join("x" * draw.randrange(1, 300) + draw.choice(" .\n") for _ in range(300))
    starts = sorted(draw.sample(range(len(text) - 400), 60))
    mentions = [{"start": start, "end": start + draw.randrange(1, 400)} for start in starts]
    cut = call(page, "layout.js", "m.parts", text, mentions, list(range(0, len(text), 997)))
    assert [start for start, _ in cut] == [0, *(end for _, end in cut[:-1])] and cut[-1][1] == len(text)
    assert not any(m["start"] < end < m["end"] for m in mentions for _, end in cut)
    assert len(cut) > 5

    for _ in range(100):  # a span that survives an edit has the words that it had
        before = "".join(draw.choices("ab ,", k=30))
        at, gone = draw.randrange(30), draw.randrange(4)
        after = before[:at] + "".join(draw.choices("ab ,", k=draw.randrange(4))) + before[at + gone :]
        spans = [{"start": i, "end": i + 3} for i in range(0, 27, 4)]
        for span in call(page, "offsets.js", "m.afterEdit", spans, before, after):
            words = after[span["start"] : span["end"]]
            assert words in [before[one["start"] : one["end"]] for one in spans]


def test_best_choices_are_exact(page: Page) -> None:
    draw = random.Random(4)
    cases = []
    for _ in range(100):
        sizes = [draw.randrange(1, 5) for _ in range(draw.randrange(1, 5))]
        cases.append([sorted((draw.random() for _ in range(size)), reverse=True) for size in sizes])
    body = """cases => cases.map(lists => m.bestChoices(lists.map(sets => sets.map(probability => ({ probability }))), 12)
        .map(choice => [Math.exp(choice.log), [...choice.ranks]]))"""
    for lists, choices in zip(cases, call(page, "sets.js", body, cases), strict=True):
        every = sorted(map(math.prod, itertools.product(*lists)), reverse=True)
        assert [probability for probability, _ in choices] == pytest.approx(every[:12])
        for probability, ranks in choices:
            chosen = dict(ranks)
            product = math.prod(sets[chosen.get(sentence, 0)] for sentence, sets in enumerate(lists))
            assert product == pytest.approx(probability)
        assert len({tuple(sorted(map(tuple, ranks))) for _, ranks in choices}) == len(choices)


def test_thousands_of_mentions(page: Page) -> None:
    """Nested six deep; drawn whole, and again in the time for what changed."""
    body = """count => {
      const word = "abcdef ".repeat(6), text = (word.repeat(8) + "\\n").repeat(count / 48), mentions = [];
      for (let i = 0; mentions.length < count; i += word.length + (text[i + word.length] === "\\n"))
        for (let depth = 0; depth < 6; depth++) mentions.push({ start: i, end: i + 7 * depth + 6, label: `L${depth}`, probability: 0.5 });
      const running = new m.RunningText(document.getElementById("result")), colouring = new m.Colouring([]);
      running.draw(text, mentions, { colouring });
      const kept = [...running.element.children];
      running.draw(text, mentions.slice(1), { colouring });
      const again = new Set(running.element.children);
      return [running.buttons.length, kept.length, kept.filter(part => again.has(part)).length, running.element.querySelectorAll(".room").length];
    }"""
    buttons, parts, kept, pieces = call(page, "text.js", body, 4800)
    assert buttons == 4799 and kept == parts - 1 and pieces >= 4700


def test_a_flood_of_mentions_stays_low_and_within_reach(page: Page) -> None:
    body = """count => {
      const text = "abcdef ".repeat(50), mentions = [];
      for (let i = 0; i < count; i++) {
        const first = (i * 7) % 40, words = 1 + ((i * 5) % 10);
        mentions.push({ start: 7 * first, end: 7 * (first + words) - 1, label: `L${i % 6}`, probability: (i % 20) / 20 });
      }
      const running = new m.RunningText(document.getElementById("result"));
      running.draw(text, mentions, { colouring: new m.Colouring([]) });
      const lowest = [...running.element.querySelectorAll(".bars")].at(20), box = lowest.getBoundingClientRect();
      const { mentions: [meant] } = running.hit(lowest, box.left + 1, box.bottom - 1);
      return [running.element.offsetHeight, running.buttons.length, running.isDeep, meant.probability];
    }"""
    height, buttons, is_deep, meant = call(page, "text.js", body, 200)
    assert height < 1_200 and buttons == 200 and is_deep and meant < 0.5


def test_all_modules_are_fetched_at_once() -> None:
    """A page names all that its script imports, so that the browser need not find one after another."""
    reached: set[str] = set()
    for page in ("index.html", "label.html"):
        named = re.findall(r'/static/([a-z-]+\.js)"', (STATIC / page).read_text(encoding="utf-8"))
        needed, found = [named[-1]], set[str]()
        while needed:
            found.add(module := needed.pop())
            imported = re.findall(r'from "\./([a-z-]+\.js)"', (STATIC / module).read_text(encoding="utf-8"))
            needed += set(imported) - found
        assert sorted(named) == sorted(found)
        reached |= found
    assert reached == {file.name for file in STATIC.glob("*.js")}
