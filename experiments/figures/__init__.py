"""Figures of the structures of other systems, and of joint types, as in the docs: `python -m experiments.figures`.

The package itself draws the segmental and the discontinuous hypergraph: `hyperspan draw`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.figures.figure import Figure
from experiments.figures.joint import JointDiagram
from experiments.figures.linear_chain import LinearChainDiagram
from experiments.figures.mention_hypergraph import MentionHypergraphDiagram
from experiments.figures.mention_separators import MentionSeparatorsDiagram
from experiments.figures.semi_markov import SemiMarkovDiagram
from experiments.figures.tree import TreeDiagram
from hyperspan.errors import InputError
from hyperspan.render.hypergraph import Show, draw_diagram
from hyperspan.render.svg import Picture
from hyperspan.types import Mention

FIGURES: dict[str, type[Figure]] = {
    "joint": JointDiagram,
    "linear-chain": LinearChainDiagram,
    "semi-markov": SemiMarkovDiagram,
    "mention-hypergraph": MentionHypergraphDiagram,
    "mention-separators": MentionSeparatorsDiagram,
    "tree": TreeDiagram,
}


def draw_figure(
    structure: str,
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Show = "both",
) -> Picture:
    """Draw the structure of a sentence; the arguments are those of :func:`hyperspan.draw_hypergraph`.

    >>> crossing = [Mention(0, 2, "X"), Mention(1, 3, "X")]
    >>> draw_figure("tree", ["a", "b", "c"], crossing)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.SpanError: mentions 0:2:X and 1:3:X cross, and a tree cannot represent both; ...
    """
    if structure not in FIGURES:
        raise InputError(
            f"the structure {structure!r} has no figure here; choose one of {', '.join(FIGURES)}, or draw a segmental "
            "or discontinuous one with hyperspan draw"
        )
    return draw_diagram(FIGURES[structure], words, mentions, types=types, max_width=max_width, show=show)
