"""Pictures of structures: a sentence's hypergraph, as in the papers' figures, and the hyperpath in it that encodes some mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal

from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.render.hypergraphs.linear_chain import LinearChainPage
from hyperspan.render.hypergraphs.mention_hypergraph import MentionHypergraphPage
from hyperspan.render.hypergraphs.mention_separators import MentionSeparatorsPage
from hyperspan.render.hypergraphs.page import Page
from hyperspan.render.hypergraphs.readings import sets_with_structure_of
from hyperspan.render.hypergraphs.segmental import SegmentalPage
from hyperspan.render.hypergraphs.semi_markov import SemiMarkovPage
from hyperspan.render.hypergraphs.tree import TreePage
from hyperspan.render.svg import Picture
from hyperspan.types import Mention

StructureName = Literal["segmental", "linear-chain", "semi-markov", "mention-hypergraph", "mention-separators", "tree"]
PAGES: dict[StructureName, type[Page]] = {
    "segmental": SegmentalPage,
    "linear-chain": LinearChainPage,
    "semi-markov": SemiMarkovPage,
    "mention-hypergraph": MentionHypergraphPage,
    "mention-separators": MentionSeparatorsPage,
    "tree": TreePage,
}


def draw_hypergraph(
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Literal["both", "graph", "path"] = "both",
    structure: StructureName = "segmental",
) -> Picture:
    """SVG text of the complete hypergraph of a sentence with the hyperpath of the given mentions in it; notebooks show it.

    `types` are the labels, in their order (by default those of the mentions); `max_width` the most words in a mention;
    `show` leaves the hyperpath or everything else out; `structure` is one of `PAGES`.

    >>> svg = draw_hypergraph(["Israeli", "UN"], [Mention(1, 2, "ORG")])
    >>> svg.startswith("<svg") and "ORG" in svg
    True
    >>> draw_hypergraph(["a", "b", "c"], [Mention(0, 2, "X"), Mention(1, 3, "X")], structure="tree")
    Traceback (most recent call last):
    ...
    hyperspan.errors.SpanError: mentions 0:2:X and 1:3:X cross, and a tree cannot hold both; leave one out or draw another structure, for example segmental
    """
    found = sorted(set(mentions))
    labels = list(types) if types is not None else list(dict.fromkeys(mention.label for mention in found))
    _check(words, found, labels, max_width)
    _check_structure(structure, found, max_width)
    page = PAGES[structure](words, labels, found, max_width)
    path = page.path()
    if show == "path":
        page.keep(path)
    return page.draw(set(page.graph.edges if show == "graph" else path)).svg(_title(page, show))


def other_readings(mentions: Iterable[Mention], structure: StructureName) -> Iterator[tuple[str, list[Mention]]]:
    """The other mention sets that the same hyperpath stands for; none unless the structure is ambiguous.

    With each comes its name: it is the reading "all" or "nested" (see :mod:`hyperspan.structures.readings`), or some "other" set.

    >>> for name, others in other_readings([Mention(0, 2, "X"), Mention(0, 3, "X"), Mention(1, 3, "X")], "mention-separators"):
    ...     print(name, [mention.span for mention in others])
    all [(0, 2), (0, 3), (1, 2), (1, 3)]
    nested [(0, 3), (1, 2)]
    other [(0, 3), (1, 2), (1, 3)]
    other [(0, 2), (1, 2), (1, 3)]
    other [(0, 2), (0, 3), (1, 2)]
    other [(0, 2), (1, 3)]
    """
    found = set(mentions)
    labels = sorted({mention.label for mention in found})
    given = frozenset((mention.start, mention.end, labels.index(mention.label)) for mention in found)
    for name, alike in sets_with_structure_of(given) if PAGES[structure].is_ambiguous else ():
        if alike != given:
            yield name, [Mention(start, end, labels[kind]) for start, end, kind in sorted(alike)]


def _check(words: Sequence[str], mentions: Sequence[Mention], labels: Sequence[str], max_width: int | None) -> None:
    if not words:
        raise InputError("the sentence is empty; give at least one word to draw")
    if not labels:
        raise InputError("no mention types are known; give a mention or name the types, for example --types PER,ORG")
    if len(set(labels)) < len(labels):
        raise LabelError(f"the types {', '.join(labels)} name one twice; name each once")
    if max_width is not None and max_width < 1:
        raise InputError(f"the maximal width is {max_width}; it must be at least 1 word")
    for mention in mentions:
        shown = f"mention {_shown(mention)}"
        if mention.label not in labels:
            raise LabelError(
                f"{shown} has the label {mention.label!r}, which is not among the types {', '.join(labels)}"
            )
        if mention.end > len(words):
            raise SpanError(
                f"{shown} ends after the sentence, which has {len(words)} words; the largest END is {len(words)}"
            )
        if max_width is not None and mention.end - mention.start > max_width:
            raise SpanError(
                f"{shown} has {mention.end - mention.start} words, more than the maximal width {max_width}; raise it or leave it out"
            )


def _check_structure(structure: StructureName, mentions: Sequence[Mention], max_width: int | None) -> None:
    if structure not in PAGES:
        raise InputError(f"the structure {structure!r} is not known; it must be one of {', '.join(PAGES)}")
    page = PAGES[structure]
    if max_width is not None and not page.limits_width:
        raise InputError(
            f"the maximal width is {max_width}, but the structure {structure} has mentions of any width; leave it out"
        )
    for first, second in combinations(mentions, 2):
        if conflict := page.conflict(first, second):
            raise SpanError(
                f"mentions {_shown(first)} and {_shown(second)} {conflict}, and a {page.title[0].lower()}{page.title[1:]} cannot hold both; "
                "leave one out or draw another structure, for example segmental"
            )


def _shown(mention: Mention) -> str:
    return f"{mention.start}:{mention.end}:{mention.label}"


def _title(page: Page, show: str) -> str:
    what = {"both": f"{page.title} and hyperpath", "graph": page.title, "path": f"{page.title}: hyperpath"}[show]
    words = page.words
    listed = "; ".join(f"{' '.join(words[m.start : m.end])} ({m.label})" for m in page.mentions) or "no mentions"
    return f"{what} of: {' '.join(words)}. Mentions: {listed}"
