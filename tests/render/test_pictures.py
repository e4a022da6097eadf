"""What every picture of a hypergraph shows, of the package and of experiments: all of it, and the path of the mentions.

Another diagram or figure is one more line in SUBJECTS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from experiments.figures import FIGURES, draw_figure
from experiments.figures.graphs import (
    constituents_of,
    joint_mentions,
    linear_chain_mentions,
    semi_markov_mentions,
    separated_mentions,
)
from hyperspan import Mention, draw_hypergraph
from hyperspan.baselines.linear_chain import outermost
from hyperspan.baselines.readings import closure
from hyperspan.baselines.tree import is_nested
from hyperspan.errors import InputError, SpanError
from hyperspan.render.hypergraph import DIAGRAMS
from hyperspan.structures.graphs import discontinuous_mentions, mentions_of
from tests.render.pictures import SETS, TYPES, WORDS, as_mentions, check_places, heads, texts


@dataclass(frozen=True)
class Subject:
    """A kind of picture."""

    mentions_of: Callable[[Any], Any]
    """The mentions that a hyperpath stands for."""
    holds: Callable[[Any], bool] = lambda triples: True
    """Whether a hyperpath can have all of some mentions."""
    any_width: bool = False
    """Whether the width of mentions cannot be limited."""


def is_flat(triples: Any) -> bool:
    return not outermost(triples)[1]


SUBJECTS = {
    "segmental": Subject(mentions_of),
    "discontinuous": Subject(discontinuous_mentions),
    "joint": Subject(joint_mentions),
    "linear-chain": Subject(linear_chain_mentions, is_flat, any_width=True),
    "semi-markov": Subject(semi_markov_mentions, is_flat),
    "mention-hypergraph": Subject(mentions_of, any_width=True),
    "mention-separators": Subject(separated_mentions, any_width=True),
    "tree": Subject(constituents_of, is_nested),
}
pictures = pytest.mark.parametrize("name", SUBJECTS)


def drawn(name: str, *given: Any, **options: Any) -> str:
    draw = partial(draw_figure, name) if name in FIGURES else partial(draw_hypergraph, structure=name)
    return draw(*given, **options)


def made(name: str, mentions: list[Mention]) -> Any:
    return (FIGURES | DIAGRAMS)[name](WORDS, TYPES, mentions, None)


def test_every_picture_is_a_subject() -> None:
    assert SUBJECTS.keys() == FIGURES.keys() | DIAGRAMS.keys()


@pictures
@given(triples=SETS)
def test_picture_path_encodes_the_mentions(name: str, triples: Any) -> None:
    mentions = as_mentions(triples)
    if not SUBJECTS[name].holds(triples):
        with pytest.raises(SpanError, match="cannot represent both"):
            drawn(name, WORDS, mentions, types=TYPES)
        return
    picture = made(name, mentions)
    path = picture.path()
    assert set(path) <= set(picture.graph.edges)
    assert SUBJECTS[name].mentions_of(path) == (
        closure(triples) if getattr(picture, "is_ambiguous", False) else triples
    )
    both = drawn(name, WORDS, mentions, types=TYPES)
    alone = drawn(name, WORDS, mentions, types=TYPES, show="path")
    assert len(heads(both, "strong")) == len(heads(alone, "strong")) == len(set(path))
    assert len(heads(both, "faint")) == len(picture.graph.edges) - len(set(path)) and not heads(alone, "faint")


@pictures
def test_picture_arrows_have_a_head_for_each_child(name: str) -> None:
    picture = made(name, [])
    nodes = {
        node
        for edge in picture.graph.edges
        for node in edge.tail
        if getattr(node, "end", -2) != getattr(node, "start", -1)  # empty sequences of a tree are not drawn
    }
    arrows = heads(drawn(name, WORDS, types=TYPES, show="graph"), "strong")
    assert sorted(arrows) == sorted(sum(node in nodes for node in edge.tail) for edge in picture.graph.edges)


@pictures
def test_picture_nodes_are_inside_it_and_apart(name: str) -> None:
    words, mentions = ["a", "rather-long-word", "c", "d", "e"], [Mention(1, 3, "X"), Mention(4, 5, "long label")]
    for show in ("both", "graph", "path"):
        check_places(drawn(name, words, mentions, show=show))


@pictures
def test_picture_names_types_and_escapes_text(name: str) -> None:
    shown = texts(drawn(name, ["<script>", "&amp;"], [Mention(0, 1, "<&>")], types=["<&>", "never"]))
    assert "<script>" in shown and "&amp;" in shown and "<&>" in shown and "never" in shown


@pictures
def test_picture_of_narrow_mentions_has_fewer_arrows_or_is_refused(name: str) -> None:
    if SUBJECTS[name].any_width:
        with pytest.raises(InputError, match="always allows mentions of any width; omit the maximal width"):
            drawn(name, WORDS, types=TYPES, max_width=2)
        return
    narrow, whole = (drawn(name, WORDS, types=TYPES, **width) for width in ({"max_width": 2}, {}))
    assert len(heads(narrow, "faint")) < len(heads(whole, "faint"))
