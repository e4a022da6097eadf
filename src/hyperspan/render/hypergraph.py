"""Draw the hypergraph of a sentence, as in the papers, and the hyperpath that encodes its mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from numbers import Integral
from types import NoneType
from typing import Literal, get_args

from hyperspan.errors import InputError, LabelError, SpanError, check_kind, require
from hyperspan.render.diagram import Diagram, DiscontinuousDiagram, SegmentalDiagram, shown
from hyperspan.render.svg import Picture
from hyperspan.types import Mention, mention_set

DIAGRAMS: dict[str, type[Diagram]] = {"segmental": SegmentalDiagram, "discontinuous": DiscontinuousDiagram}
"""What is drawn, by structure. Those of other systems are in `experiments/figures` of the repository."""
Show = Literal["both", "graph", "path"]
OTHERS = "in a clone of the repository, python -m experiments.figures draws the structures of other systems"
"""Where the remaining structures are drawn, for errors."""
PNG_SCALE = 2
"""PNG pixels per SVG pixel: sharp on high-resolution screens."""


def draw_hypergraph(
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Show = "both",
    structure: str = "segmental",
    most_edges: int | None = None,
) -> Picture:
    """Draw the complete hypergraph of a sentence, with the hyperpath of the mentions, as SVG text that notebooks show.

    `types` are the labels in order, by default those of the mentions. `max_width` is the maximum width of a mention in
    words. `show` selects the hypergraph, the hyperpath or both. `structure` is "segmental" or "discontinuous", which
    also draws mentions of several parts. A hypergraph with more than `most_edges` hyperedges is refused.

    >>> from hyperspan import Mention, draw_hypergraph
    >>> svg = draw_hypergraph(["Israeli", "UN"], [Mention(1, 2, "ORG")])
    >>> svg.startswith("<svg") and "ORG" in svg
    True
    """
    if structure not in list(DIAGRAMS):
        raise InputError(f"the structure {structure!r} is not drawn, only {' and '.join(DIAGRAMS)}; {OTHERS}")
    return draw_diagram(
        DIAGRAMS[structure], words, mentions, types=types, max_width=max_width, show=show, most_edges=most_edges
    )


def draw_diagram(
    kind: type[Diagram],
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Show = "both",
    most_edges: int | None = None,
) -> Picture:
    """Draw a sentence in a diagram of this kind; the arguments are those of :func:`draw_hypergraph`."""
    if show not in get_args(Show):
        raise InputError(f"show is {show!r:.60}, but must be one of {', '.join(get_args(Show))}")
    found = sorted(mention_set(mentions))
    labels = list(types) if types is not None else list(dict.fromkeys(mention.label for mention in found))
    _check(words, found, labels, max_width)
    kind.check(found, max_width)
    diagram = kind(words, labels, found, max_width)
    if most_edges is not None and len(diagram.graph.edges) > most_edges:
        raise InputError(
            f"the {kind.in_prose()} has {len(diagram.graph.edges):,} hyperedges for {len(words)} words and "
            f"{len(labels)} type{'s' * (len(labels) > 1)}, and up to {most_edges:,} are drawn; choose fewer types or a shorter sentence"
        )
    path = diagram.path()
    if show == "path":
        diagram.keep_only(path)
    return diagram.draw(set(diagram.graph.edges if show == "graph" else path)).svg(_title(diagram, show))


def convert_svg(picture: str, kind: Literal["png", "pdf"]) -> bytes:
    """Convert an SVG picture to the bytes of a PNG or PDF file, with CairoSVG."""
    require("pictures", f"drawing {kind.upper()}")
    try:
        cairosvg = import_module("cairosvg")
    except OSError:  # CairoSVG is installed, but not the library that it calls
        raise InputError(
            f"drawing {kind.upper()} needs the library cairo, which is not installed; install it, for example with "
            "apt install libcairo2, or write SVG"
        ) from None
    if kind == "png":
        return cairosvg.svg2png(bytestring=picture.encode("utf-8"), scale=PNG_SCALE)
    return cairosvg.svg2pdf(bytestring=picture.encode("utf-8"))


def _check(words: Sequence[str], mentions: Sequence[Mention], labels: Sequence[str], max_width: int | None) -> None:
    if not words:
        raise InputError("the sentence is empty; give at least one word to draw")
    if not labels:
        raise InputError("there are no mention types; give a mention or name the types, for example --labels PER,ORG")
    if len(set(labels)) < len(labels):
        raise LabelError(f"the types {', '.join(labels)} contain a duplicate; name each type once")
    check_kind("max_width", max_width, Integral, NoneType)
    if max_width is not None and max_width < 1:
        raise InputError(f"the maximal width is {max_width}; it must be at least 1 word")
    for mention in mentions:
        named = f"mention {shown(mention)}"
        if mention.label not in labels:
            raise LabelError(
                f"{named} has the label {mention.label!r}, which is not among the types {', '.join(labels)}"
            )
        if mention.end > len(words):
            raise SpanError(
                f"{named} ends after the sentence, which has {len(words)} words; the largest END is {len(words)}"
            )
        start, end = mention.parts[0]
        if max_width is not None and end - start > max_width:
            raise SpanError(
                f"{named} has {end - start} words, more than the maximal width {max_width}; increase the width or remove the mention"
            )


def _title(diagram: Diagram, show: Show) -> str:
    what = {"both": f"{diagram.title} and hyperpath", "graph": diagram.title, "path": f"{diagram.title}: hyperpath"}[
        show
    ]
    words = diagram.words
    listed = "; ".join(f"{_words(words, m)} ({m.label})" for m in diagram.mentions) or "no mentions"
    return ". ".join(filter(None, (f"{what} of: {' '.join(words)}", diagram.scope, f"Mentions: {listed}")))


def _words(words: Sequence[str], mention: Mention) -> str:
    return " … ".join(" ".join(words[start:end]) for start, end in mention.parts)
