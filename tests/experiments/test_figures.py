"""What the figures of other structures have of their own; tests/render/test_pictures.py has what all pictures show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import chain, combinations
from pathlib import Path

import pytest
from hypothesis import given

from experiments.figures import FIGURES, draw_figure
from experiments.figures.readings import sets_with_structure_of
from hyperspan import Mention
from hyperspan.baselines.readings import closure, structure_of
from hyperspan.errors import InputError, SpanError
from tests.experiments.support import figures
from tests.render.pictures import SETS, SVG, WORDS, check_places, heads


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
