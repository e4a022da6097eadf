"""Draw structures: the hypergraph of a sentence, as in the papers, and the hyperpath that encodes its mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal

from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.render.hypergraphs import diagram_of
from hyperspan.render.hypergraphs.diagram import Diagram
from hyperspan.render.hypergraphs.readings import sets_with_structure_of
from hyperspan.render.svg import Picture
from hyperspan.types import Mention


def draw_hypergraph(
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Literal["both", "graph", "path"] = "both",
    structure: str = "segmental",
    most_edges: int | None = None,
) -> Picture:
    """Draw the complete hypergraph of a sentence, with the hyperpath of the mentions, as SVG text that notebooks show.

    `types` are the labels in order, by default those of the mentions. `max_width` is the maximum width of a mention in
    words. `show` selects the hypergraph, the hyperpath or both. `structure` is one of `DIAGRAMS` in
    :mod:`hyperspan.render.hypergraphs`. A hypergraph with more than `most_edges` hyperedges is refused.

    >>> from hyperspan import Mention, draw_hypergraph
    >>> svg = draw_hypergraph(["Israeli", "UN"], [Mention(1, 2, "ORG")])
    >>> svg.startswith("<svg") and "ORG" in svg
    True
    >>> crossing = [Mention(0, 2, "X"), Mention(1, 3, "X")]
    >>> draw_hypergraph(["a", "b", "c"], crossing, structure="tree")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.SpanError: mentions 0:2:X and 1:3:X cross, and a tree cannot represent both; ...
    """
    found = sorted(set(mentions))
    labels = list(types) if types is not None else list(dict.fromkeys(mention.label for mention in found))
    _check(words, found, labels, max_width)
    kind = diagram_of(structure)
    _check_structure(structure, kind, found, max_width)
    diagram = kind(words, labels, found, max_width)
    if most_edges is not None and len(diagram.graph.edges) > most_edges:
        raise InputError(
            f"the {diagram.title[0].lower()}{diagram.title[1:]} has {len(diagram.graph.edges):,} hyperedges for {len(words)} words and "
            f"{len(labels)} type{'s' * (len(labels) > 1)}, and up to {most_edges:,} are drawn; choose fewer types or a shorter sentence"
        )
    path = diagram.path()
    if show == "path":
        diagram.keep_only(path)
    return diagram.draw(set(diagram.graph.edges if show == "graph" else path)).svg(_title(diagram, show))


def other_readings(mentions: Iterable[Mention], structure: str) -> Iterator[tuple[str, list[Mention]]]:
    """The other mention sets with the same hyperpath; none unless the structure is ambiguous.

    Each comes with a name: the reading "all" or "nested" (see :mod:`hyperspan.structures.readings`), or "other".

    >>> mentions = [Mention(0, 2, "X"), Mention(0, 3, "X"), Mention(1, 3, "X")]
    >>> for name, others in other_readings(mentions, "mention-separators"):
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
    for name, alike in sets_with_structure_of(given) if diagram_of(structure).is_ambiguous else ():
        if alike != given:
            yield name, [Mention(start, end, labels[kind]) for start, end, kind in sorted(alike)]


def _check(words: Sequence[str], mentions: Sequence[Mention], labels: Sequence[str], max_width: int | None) -> None:
    if not words:
        raise InputError("the sentence is empty; give at least one word to draw")
    if not labels:
        raise InputError("there are no mention types; give a mention or name the types, for example --types PER,ORG")
    if len(set(labels)) < len(labels):
        raise LabelError(f"the types {', '.join(labels)} contain a duplicate; name each type once")
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
        start, end = mention.parts[0]
        if max_width is not None and end - start > max_width:
            raise SpanError(
                f"{shown} has {end - start} words, more than the maximal width {max_width}; increase the width or remove the mention"
            )


def _check_structure(
    structure: str, diagram: type[Diagram], mentions: Sequence[Mention], max_width: int | None
) -> None:
    if max_width is not None and not diagram.limits_width:
        raise InputError(
            f"the maximal width is {max_width}, but the structure {structure} always allows mentions of any width; omit the maximal width"
        )
    for mention in mentions:
        if mention.fragments and not diagram.finds_discontinuous:
            raise SpanError(
                f"mention {_shown(mention)} is discontinuous, and a {diagram.title[0].lower()}{diagram.title[1:]} has only contiguous ones; "
                "draw the structure discontinuous"
            )
    for first, second in combinations(mentions, 2):
        if conflict := diagram.conflict(first, second):
            raise SpanError(
                f"mentions {_shown(first)} and {_shown(second)} {conflict}, and a {diagram.title[0].lower()}{diagram.title[1:]} cannot represent both; "
                "remove one or draw another structure, for example segmental"
            )


def _shown(mention: Mention) -> str:
    return f"{','.join(f'{start}:{end}' for start, end in mention.parts)}:{mention.label}"


def _title(diagram: Diagram, show: str) -> str:
    what = {"both": f"{diagram.title} and hyperpath", "graph": diagram.title, "path": f"{diagram.title}: hyperpath"}[
        show
    ]
    words = diagram.words
    listed = "; ".join(f"{_words(words, m)} ({m.label})" for m in diagram.mentions) or "no mentions"
    return ". ".join(filter(None, (f"{what} of: {' '.join(words)}", diagram.scope, f"Mentions: {listed}")))


def _words(words: Sequence[str], mention: Mention) -> str:
    return " … ".join(" ".join(words[start:end]) for start, end in mention.parts)
