"""Parts of the page that have a counterpart in Python, or an obvious way to compute the same."""

from __future__ import annotations

import itertools
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from hyperspan.render.bars import bars_of, running_text
from hyperspan.render.layout import Colours, lanes, not_too_deep, stack
from hyperspan.render.style import PALETTE
from hyperspan.serve.app import STATIC
from hyperspan.types import Mention
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
    given = call(page, "picture/layout.js", "cases => cases.map(spans => m.lanes(spans))", cases)
    assert given == [lanes([(start, end) for start, end in spans]) for spans in cases]
    stacks = [[one(draw) for _ in range(draw.randrange(40))] for _ in range(60)]
    places = call(
        page,
        "picture/layout.js",
        "all => all.map(one => m.stack(...one).map(p => [p.top, p.height]))",
        list(map(parts, stacks)),
    )
    assert places == [[list(place) for place in stack(*parts(one))] for one in stacks]
    assert any(height < 1 for case in places for _, height in case)
    body = "all => all.map(([spans, room, shares]) => m.notTooDeep(spans, shares, 5))"
    shares = [[round(share, 1) for share in parts(one)[2]] for one in stacks]  # some are equal
    given = [[*parts(one)[:2], some] for one, some in zip(stacks, shares, strict=True)]
    wanted = [not_too_deep(spans, some, 5) for spans, _, some in given]
    assert call(page, "picture/layout.js", body, given) == wanted != [list(range(len(some))) for some in shares]
    assert call(page, "picture/layout.js", "() => m.COLOURS") == len(PALETTE)
    labels = [f"L{number}" for number in range(120)]  # more than there are patterns
    body = "labels => (c => labels.map(label => [c.image(label), c.image(label, 0.4)]))(new m.Colouring(labels))"
    colours = Colours(labels)
    wanted = [[colours.image(label), colours.image(label, 0.4)] for label in labels]
    assert call(page, "picture/text.js", body, labels) == wanted
    assert not any("0 0px" in image for images in wanted for image in images)  # it would be no bar


def discontinuous(draw: random.Random, words: list[str], count: int) -> list[Mention]:
    """Mentions of words, half of them with gaps."""
    offsets = [
        (place := sum(len(word) + 1 for word in words[:index]), place + len(word)) for index, word in enumerate(words)
    ]
    found: set[Mention] = set()
    for _ in range(count):
        cuts = sorted(draw.sample(range(len(words) + 1), draw.choice([2, 2, 4, 6])))
        parts = [(offsets[start][0], offsets[end - 1][1]) for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
        found.add(Mention(parts[0][0], parts[-1][1], draw.choice("AB"), parts, probability=draw.random()))
    return sorted(found)


def test_discontinuous_bars_are_those_of_the_renderer(page: Page) -> None:
    draw = random.Random(6)
    words = [draw.choice(["a", "of", "cells", "longer-words", "cell\nline"]) for _ in range(30)]
    text = " ".join(words)
    cases = [discontinuous(draw, words, count) for count in (1, 2, 4, 6, 8, 40)]
    given = [[{**record(m), "probability": m.probability} for m in mentions] for mentions in cases]
    body = """(text, cases) => cases.map(mentions => m.barsOf(text, mentions, one => one.label).map(bar =>
      [bar.mention, bar.top, bar.height, bar.height < 1 ? [] : [...bar.writtenAt]]))"""
    for mentions, bars in zip(cases, call(page, "picture/layout.js", body, text, given), strict=True):
        wanted = [
            (bar.mention, *bar.place, [[*pair] for pair in bar.label_at.items()]) for bar in bars_of(text, mentions)
        ]
        assert [(Mention(**one), *rest) for one, *rest in bars] == wanted

    drawn = """(text, cases) => cases.map(mentions => {
      const element = document.createElement("div");
      new m.RunningText(element).draw(text, mentions, { colouring: new m.Colouring(["A", "B"]), still: true });
      return [...element.querySelectorAll(".bars")].map(piece => [piece.lastChild.data, piece.style.backgroundSize, piece.title]);
    })"""
    few = slice(-1)  # the page has places for the labels of thin bars, too
    for mentions, pieces in zip(cases[few], call(page, "picture/text.js", drawn, text, given[few]), strict=True):
        html = "".join(running_text(text, bars_of(text, mentions), Colours("AB")))
        wanted = re.findall(r'background-size:([^"]*)" title="([^"]*)">(?:<b [^>]*></b>)*([^<]*)<', html)
        assert [(sizes(size), title, words) for words, size, title in pieces] == [
            (sizes(size), title, words) for size, title, words in wanted
        ]


def sizes(written: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", written)]


def record(mention: Mention) -> dict[str, Any]:
    """A mention as the page has it."""
    parts = {"fragments": mention.fragments} if mention.fragments else {}
    return {"start": mention.start, "end": mention.end, "label": mention.label, **parts}


def test_discontinuous_mentions_are_compared_and_edited_as_wholes(page: Page) -> None:
    draw = random.Random(7)
    mentions = discontinuous(draw, ["ab"] * 8, 60)
    body = "all => all.sort((a, b) => a.start - b.start || a.end - b.end || m.byLabel(a, b)).map(m.keyOf)"
    shuffled = draw.sample(mentions, len(mentions))
    wanted = [f"{','.join(f'{s}:{e}' for s, e in one.parts)}:{one.label}" for one in mentions]
    assert call(page, "picture/mentions.js", body, [record(one) for one in shuffled]) == wanted

    left = {"start": 4, "end": 20, "label": "A", "fragments": [[4, 8], [15, 20]]}
    for before, after, kept in [
        ("The left and a right cell", "So the left and a right cell", [[7, 11], [18, 23]]),
        ("The left and a right cell", "The left or a right cell", [[4, 8], [14, 19]]),  # in the gap
        ("The left and a right cell", "The left and a right cells", [[4, 8], [15, 20]]),
        ("The left and a right cell", "The loft and a right cell", None),
        ("The left and a right cell", "The leftright cell", None),  # nothing is between the parts
    ]:
        found = call(page, "offsets.js", "m.afterEdit", [left], before, after)
        assert [one["fragments"] for one in found] == ([kept] if kept else [])


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
    cut = call(page, "picture/layout.js", "m.parts", text, mentions, list(range(0, len(text), 997)))
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
    buttons, parts, kept, pieces = call(page, "picture/text.js", body, 4800)
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
    height, buttons, is_deep, meant = call(page, "picture/text.js", body, 200)
    assert height < 1_200 and buttons == 200 and is_deep and meant < 0.5


def test_nested_mentions_take_linear_work_and_space(page: Page) -> None:
    """Work is counted as how often the start of a mention is read."""
    body = """(depth, gaps) => {
      const text = "word ".repeat(2 * depth), starts = Array.from({ length: depth }, (_, i) => i), mentions = [];
      if (gaps) mentions.push({ start: 0, end: 10 * depth - 6, label: "A", fragments: starts.map(i => [10 * i, 10 * i + 4]) });
      else for (const i of starts) mentions.push({ start: 5 * i, end: 5 * (2 * depth - i) - 1, label: "A", probability: (i % 100) / 100 });
      let work = 0;
      const counted = mentions.map(mention => Object.defineProperty({ ...mention }, "start", { get: () => (work++, mention.start) }));
      m.layout.barsOf(text, counted, one => one.label);
      const running = new m.text.RunningText(document.getElementById("result")), colouring = new m.text.Colouring([]);
      running.draw(text, mentions, { colouring });
      return [work, running.element.innerHTML.length, running.leftOut, m.text.leftOutNote(running.leftOut)];
    }"""
    modules = (
        "const [layout, text] = await Promise.all(['layout', 'text'].map(name => import(`/static/picture/${name}.js`)))"
    )
    drawn = f"async given => {{ {modules}; const m = {{ layout, text }}; return ({body})(...given) }}"
    for gaps in (False, True):
        one, two = (page.evaluate(drawn, [depth, gaps]) for depth in (2000, 4000))
        assert two[0] < 2.6 * one[0] and two[1] < 2.3 * one[1]
        assert (one[2], two[2]) == ((0, 0) if gaps else (1960, 3960))
    assert page.evaluate(drawn, [100, False])[3] == "60 more not drawn, because too many overlap. The table lists them."


def test_nested_mentions_of_a_sentence_to_label_take_linear_space(page: Page) -> None:
    """What was annotated is drawn first."""
    body = """async depth => {
      const picture = await import("/static/picture/text.js");
      const text = "word ".repeat(2 * depth), tokens = Array.from({ length: 2 * depth }, (_, i) => [5 * i, 5 * i + 4]);
      const mentions = Array.from({ length: depth }, (_, i) => ({ start: i, end: 2 * depth - i, label: "A",
        state: i < 3 ? "added" : i < 150 ? "draft" : "candidate", probability: 0.1 }));
      const sentence = new m.SentenceView(document.getElementById("result"), {});
      sentence.draw({ id: "1", text, tokens }, mentions, new picture.Colouring(["A"]));
      const drawn = sentence.picture.buttons.map(label => sentence.picture.mentionOf(label).state);
      return [sentence.element.innerHTML.length, sentence.leftOut, drawn.filter(state => state === "candidate").length, drawn.length];
    }"""
    one, two = (call(page, "label-sentence.js", body, depth) for depth in (1000, 2000))
    assert two[0] < 2.3 * one[0] and one[1:] == [800, 50, 200] and two[1:] == [1800, 50, 200]


def test_all_modules_are_fetched_at_once() -> None:
    """A page names all that its script imports, so that the browser need not find one after another."""
    reached: set[str] = set()
    for page in ("index.html", "label.html"):
        named = re.findall(r'/static/([a-z/-]+\.js)"', (STATIC / page).read_text(encoding="utf-8"))
        needed, found = [named[-1]], set[str]()
        while needed:
            found.add(module := needed.pop())
            imported = re.findall(r'from "\./([a-z/-]+\.js)"', (STATIC / module).read_text(encoding="utf-8"))
            needed += {(Path(module).parent / one).as_posix() for one in imported} - found
        assert sorted(named) == sorted(found)
        reached |= found
    assert reached == {file.relative_to(STATIC).as_posix() for file in STATIC.rglob("*.js")}


def test_labels_have_keys_on_any_keyboard(page: Page) -> None:
    pressed = [
        {"key": "1", "code": "Digit1"},
        {"key": "0", "code": "Digit0"},
        {"key": "!", "code": "Digit1", "shiftKey": True},
        {"key": ")", "code": "Digit0", "shiftKey": True},
        {"key": "&", "code": "Digit1"},  # French keyboards have signs there, and digits with Shift
        {"key": "1", "code": "Digit1", "shiftKey": True},
    ]
    body = "events => events.map(event => m.meaning(event, false).digit)"
    assert call(page, "label-keys.js", body, pressed) == [1, 10, 11, 20, 1, 1]
    shown = call(page, "label-keys.js", "places => places.map(m.labelKey)", [0, 8, 9, 10, 19, 20])
    assert shown == ["1", "9", "0", "⇧1", "⇧0", ""]
