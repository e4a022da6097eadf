"""The figures of other structures show the whole hypergraph and the hyperpath of the mentions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from experiments.figures import FIGURES, draw_figure
from experiments.figures.readings import sets_with_structure_of
from hyperspan import Mention
from hyperspan.baselines.linear_chain import linear_chain_mentions, outermost
from hyperspan.baselines.mention_separators import separated_mentions
from hyperspan.baselines.readings import closure, structure_of
from hyperspan.baselines.semi_markov import semi_markov_mentions
from hyperspan.baselines.tree import constituents_of, is_nested
from hyperspan.errors import InputError, SpanError
from hyperspan.structures.graphs import joint_mentions, mentions_of
from tests.experiments.support import figures
from tests.render.pictures import SETS, SVG, TYPES, WORDS, as_mentions, check_places, heads, texts

DECODERS: dict[str, Any] = {
    "joint": joint_mentions,
    "linear-chain": linear_chain_mentions,
    "semi-markov": semi_markov_mentions,
    "mention-hypergraph": mentions_of,
    "mention-separators": separated_mentions,
    "tree": constituents_of,
}


def fits(structure: str, triples) -> bool:
    if structure in ("linear-chain", "semi-markov"):
        return not outermost(triples)[1]
    return structure != "tree" or is_nested(triples)


@pytest.mark.parametrize("structure", FIGURES)
@settings(max_examples=30, deadline=None)
@given(triples=SETS)
def test_figure_path_encodes_the_mentions(structure, triples) -> None:
    mentions = as_mentions(triples)
    if not fits(structure, triples):
        with pytest.raises(SpanError, match="cannot represent both"):
            draw_figure(structure, WORDS, mentions, types=TYPES)
        return
    figure = FIGURES[structure](WORDS, TYPES, mentions, None)
    path = figure.path()
    assert set(path) <= set(figure.graph.edges)
    assert DECODERS[structure](path) == (closure(triples) if figure.is_ambiguous else triples)
    both = draw_figure(structure, WORDS, mentions, types=TYPES)
    alone = draw_figure(structure, WORDS, mentions, types=TYPES, show="path")
    assert len(heads(both, "strong")) == len(heads(alone, "strong")) == len(set(path))
    assert len(heads(both, "faint")) == len(figure.graph.edges) - len(set(path)) and not heads(alone, "faint")


@pytest.mark.parametrize("structure", FIGURES)
def test_figure_arrows_have_a_head_for_each_child(structure) -> None:
    figure = FIGURES[structure](WORDS, TYPES, [], None)
    nodes = {
        node
        for edge in figure.graph.edges
        for node in edge.tail
        if getattr(node, "end", -2) != getattr(node, "start", -1)  # empty sequences of a tree are not drawn
    }
    drawn = heads(draw_figure(structure, WORDS, types=TYPES, show="graph"), "strong")
    assert sorted(drawn) == sorted(sum(node in nodes for node in edge.tail) for edge in figure.graph.edges)


@pytest.mark.parametrize("structure", FIGURES)
@pytest.mark.parametrize("show", ["both", "graph", "path"])
def test_figure_nodes_are_inside_the_picture_and_apart(structure, show) -> None:
    words, mentions = ["a", "rather-long-word", "c", "d", "e"], [Mention(1, 3, "X"), Mention(4, 5, "long label")]
    check_places(draw_figure(structure, words, mentions, show=show))


@pytest.mark.parametrize("structure", FIGURES)
def test_figure_names_types_and_escapes_text(structure) -> None:
    mentions = [Mention(0, 1, "<&>")]
    shown = texts(draw_figure(structure, ["<script>", "&amp;"], mentions, types=["<&>", "never"]))
    assert "<script>" in shown and "&amp;" in shown and "<&>" in shown and "never" in shown


@pytest.mark.parametrize("structure", FIGURES)
def test_figure_of_contiguous_mentions_refuses_discontinuous_ones(structure) -> None:
    with pytest.raises(SpanError, match=r"mention 0:1,3:4:part is discontinuous, .*; draw the structure discontinuous"):
        draw_figure(structure, WORDS, [Mention(0, 4, "part", ((0, 1), (3, 4)))])


@pytest.mark.parametrize("show", ["both", "path"])
@pytest.mark.parametrize("types", [1, 2, 3])
def test_figure_of_joint_types_has_nodes_apart_whatever_their_number(types, show) -> None:
    labels = ["X", "Y", "Z"][:types]
    mentions = [Mention(0, 2, label) for label in labels] + [Mention(0, 1, "X"), Mention(1, 3, labels[-1])]
    svg = draw_figure("joint", list("abc"), mentions, types=labels, show=show)
    check_places(svg)
    assert len(heads(svg, "strong")) == len(FIGURES["joint"](list("abc"), labels, mentions, None).path())


def test_figure_of_joint_types_draws_the_end_of_each_type_on_the_arrow() -> None:
    """At one word both types end, and the second goes on: one arrow through both ends to the next word."""
    mentions = [Mention(0, 1, "X"), Mention(0, 1, "Y"), Mention(0, 2, "Y")]
    svg = draw_figure("joint", ["a", "b"], mentions, show="path")
    dots = ET.fromstring(svg).findall(f"{SVG}g[@class='strong']")
    labels = [[text.text for text in dot.findall(f"{SVG}text")] for dot in dots]
    assert sorted(label for label in labels if label[0] == "X") == [["X", "1"], ["X", "2"], ["X", "2"]]
    assert sorted(heads(svg, "strong"))[-2:] == [2, 3]  # A to A and E, and this arrow


def test_figure_of_joint_types_refuses_more_than_can_be_read() -> None:
    with pytest.raises(InputError, match=r"there are 5 types, and up to 4 are drawn together.*choose fewer types"):
        draw_figure("joint", WORDS, types=list("ABCDE"))


@pytest.mark.parametrize("structure", FIGURES)
def test_figure_max_width_removes_wider_mentions_or_is_refused(structure) -> None:
    if FIGURES[structure].limits_width:
        narrow = draw_figure(structure, WORDS, types=TYPES, max_width=2)
        assert len(heads(narrow, "faint")) < len(heads(draw_figure(structure, WORDS, types=TYPES), "faint"))
        return
    with pytest.raises(InputError, match="always allows mentions of any width; omit the maximal width"):
        draw_figure(structure, WORDS, types=TYPES, max_width=2)


@given(triples=SETS)
def test_sets_with_structure_of_finds_all_such_sets(triples) -> None:
    largest = sorted(closure(triples))
    subsets = chain.from_iterable(combinations(largest, size) for size in range(len(largest) + 1))
    alike = [found for _, found in sets_with_structure_of(triples)]
    assert len(alike) == len(set(alike))
    assert set(alike) == {frozenset(subset) for subset in subsets if structure_of(subset) == structure_of(triples)}


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["mention-hypergraph", "mention-separators"])
def test_command_lists_what_else_an_ambiguous_structure_stands_for(structure) -> None:
    arguments = [structure, "A B C D", "-m", "1:3:X", "-m", "0:4:X"]
    answer = figures(*arguments)
    lines = answer.stderr.splitlines()
    assert answer.stdout.startswith("<svg")
    assert lines[0] == "the same hyperpath also stands for these mention sets:" and len(lines) == 7
    assert lines[1] == "     all: A B C (0:3:X), A B C D (0:4:X), B C (1:3:X), B C D (1:4:X)"
    assert "   other: A B C (0:3:X), B C D (1:4:X)" in lines
    assert figures(*arguments, "--show", "graph").stderr == ""


def test_command_cuts_a_long_list_of_readings() -> None:
    mentions = [argument for i in range(9) for argument in ("-m", f"{i}:{18 - i}:X")]
    lines = figures("mention-separators", " ".join("abcdefghijklmnopqr"), *mentions).stderr.splitlines()
    assert len(lines) == 10 and lines[-1].strip() == "and more"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["forest", "A B", "--labels", "X"],
            "'forest' has no figure here; choose one of joint, linear-chain, semi-markov",
        ),
        (["segmental", "A B", "--labels", "X"], "or draw a segmental or discontinuous one with hyperspan draw"),
        (["linear-chain", "A B", "-m", "0:2:X", "-m", "0:1:X"], "0:1:X and 0:2:X overlap, and a linear chain cannot"),
        (["semi-markov", "A B", "-m", "0:2:X", "-m", "0:1:X"], "0:1:X and 0:2:X overlap, and a semi-Markov chain"),
        (["tree", "A B C", "-m", "0:2:X", "-m", "1:3:X"], "0:2:X and 1:3:X cross, and a tree cannot represent both"),
        (["tree", "A B", "-m", "0:1:X", "-m", "0:1:Y"], "0:1:X and 0:1:Y have the same words, and a tree"),
        (["tree", "A B"], "there are no mention types"),
        (["tree", "A B", "--labels", "X", "-o", "nowhere/at/all.svg"], "nowhere"),
    ],
)
def test_command_answers_mistakes_in_one_sentence(arguments: list[str], message: str) -> None:
    answer = figures(*arguments)
    assert answer.returncode == 2 and message in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_command_refuses_to_overwrite(tmp_path: Path) -> None:
    target = tmp_path / "tree.svg"
    arguments = ["tree", "A B", "-m", "0:1:X", "-o", str(target)]
    answer = figures(*arguments)
    assert (answer.stdout, answer.stderr) == ("", f"wrote {target}\n")
    answer = figures(*arguments)
    assert answer.returncode == 2 and "--force" in answer.stderr
    assert not figures(*arguments, "--force").returncode
