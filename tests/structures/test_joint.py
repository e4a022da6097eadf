"""The segmental hypergraph whose types run together: what it is without pairs, its groups, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from experiments.figures.graphs import joint_hypergraph, joint_hyperpath, joint_mentions
from hyperspan.structures import JointScores, JointSegmentalHypergraph, SegmentalHypergraph
from hyperspan.structures.constraints import PartialMarks
from tests.structures.cases import edge_scores


def random_scores(
    shape: tuple[int, int, int, int],
    dtype: torch.dtype = torch.float64,
    *,
    untied: bool = False,
    impossible: float = 0.0,
    pairs: tuple[str, ...] = ("together", "within"),
) -> JointScores:
    generator = torch.Generator().manual_seed(11)
    edges = edge_scores(shape, torch.float64, 7, 1.5, impossible, untied)
    more: dict[str, Tensor] = {}
    for name in pairs:
        more[name] = torch.randn(*shape, shape[3], generator=generator, dtype=torch.float64)
        more[name][torch.rand(more[name].shape, generator=generator) < impossible] = -math.inf
    return JointScores(edges, **more).to(dtype)


def every_value(words: Any, gold: list[set[tuple[int, int, int]]]) -> list[Tensor]:
    return [words.log_partition, words.log_prob(gold), words.entropy, words.marginals]


def decoded(words: Any) -> Iterator[Any]:
    yield words.argmax()
    yield [[mentions for mentions, _ in ranked] for ranked in words.topk(6)]
    yield words.above(0.4)


@pytest.mark.parametrize("pairs", [None, 0.0])
@pytest.mark.parametrize("groups", [None, [[0, 2]], [[0], [1], [2]]])
@pytest.mark.parametrize("untied", [False, True])
def test_joint_without_scores_of_pairs_is_the_segmental_hypergraph(pairs, groups, untied) -> None:
    edges = edge_scores((2, 4, 3, 3), torch.float64, 3, 1.5, 0.0, untied)
    zeros = None if pairs is None else torch.full((2, 4, 3, 3, 3), pairs, dtype=torch.float64)
    joint, plain = (
        JointSegmentalHypergraph(JointScores(edges, zeros, zeros), [4, 3], groups),
        SegmentalHypergraph(edges, [4, 3]),
    )
    gold = [{(0, 2, 1), (0, 3, 2), (1, 2, 0)}, {(1, 2, 2), (1, 2, 0)}]
    require, forbid = [{(0, 1, 0)}, ()], [{(0, 2, 1)}, {(1, 2, 1), (1, 3, 1)}]
    marks = PartialMarks(np.array([[True, False, True], [False, True, True]]), [None, [(0, 2)]], [(), {(0, 1, 0)}])
    given_joint, given_plain = joint.condition(require, forbid), plain.condition(require, forbid)
    found, expected = every_value(joint, gold), every_value(plain, gold)
    found += [*every_value(given_joint, gold), joint.constraint_log_prob(require, forbid)]
    expected += [*every_value(given_plain, gold), plain.constraint_log_prob(require, forbid)]
    found.append(joint.log_prob_of_known([{(0, 1, 0)}, set()], marks))
    expected.append(plain.log_prob_of_known([{(0, 1, 0)}, set()], marks))
    for value, other in zip(found, expected, strict=True):
        torch.testing.assert_close(value, other)
    assert list(decoded(joint)) == list(decoded(plain)) and list(decoded(given_joint)) == list(decoded(given_plain))
    for ranked, others in zip(joint.topk(20), plain.topk(20), strict=True):
        np.testing.assert_allclose([value for _, value in ranked], [value for _, value in others])


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda s: JointSegmentalHypergraph(s, [3, 2], [[0, 2]]), r"groups of types from 0 to 1, each type in one group"),
    (lambda s: JointSegmentalHypergraph(s, [3, 2], [[0], [0, 1]]), r"each type in one group, got \[\[0\], \[0, 1\]\]"),
    (lambda s: JointSegmentalHypergraph(s, [3, 2], [0, 1]), r"each type in one group, got \[0, 1\]"),  # type: ignore[list-item]
    (lambda s: JointSegmentalHypergraph(s, [3, 2], [[0.5]]), "each type in one group"),  # type: ignore[list-item]
    (lambda s: JointSegmentalHypergraph(s, [3, 2], [["a"]]), "each type in one group"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_joint_mistakes_are_explained(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call(random_scores((2, 3, 2, 2)))


def test_joint_groups_may_not_be_too_large() -> None:
    scores = random_scores((1, 1, 1, 9), pairs=())
    with pytest.raises(
        ValueError, match=r"at most 8 types, got one of 9, which has 4\^9 choices .*: give smaller groups"
    ):
        JointSegmentalHypergraph(scores, [1])
    assert JointSegmentalHypergraph(scores, [1], [[1, 0]]).groups == ((0, 1), *((kind,) for kind in range(2, 9)))


def test_joint_groups_are_independent_and_can_be_taken_apart() -> None:
    scores = random_scores((2, 4, 3, 4))
    words = JointSegmentalHypergraph(scores, [4, 3], [[3, 0], [1, 2]])
    assert words.groups == ((0, 3), (1, 2))
    parts = [words.restrict(types) for types in ([3, 0], [1, 2])]
    assert all(isinstance(part, JointSegmentalHypergraph) for part in parts)
    for value, own in zip(
        every_value(words, [set(), set()])[:3],
        zip(*(every_value(p, [set()] * 2) for p in parts), strict=True),
        strict=False,
    ):
        torch.testing.assert_close(value, sum(own))
    torch.testing.assert_close(parts[0].marginals, words.marginals[..., [3, 0]])
    with_mentions = words.log_prob([{(0, 2, 3), (0, 2, 0), (0, 3, 0)}, set()])
    torch.testing.assert_close(
        with_mentions, parts[0].log_prob([{(0, 2, 0), (0, 2, 1), (0, 3, 1)}, set()]) + parts[1].log_prob([set(), set()])
    )
    required = words.condition(require=[{(0, 2, 3)}, ()]).marginals  # tells of its group alone
    torch.testing.assert_close(required[..., [1, 2]], words.marginals[..., [1, 2]])
    assert (required[0, 0, :, 0] - words.marginals[0, 0, :, 0]).abs().max() > 0.01
    assert not isinstance(words.restrict([0, 1]), JointSegmentalHypergraph)


def test_joint_groups_follow_their_types_to_other_places() -> None:
    words = JointSegmentalHypergraph(random_scores((2, 4, 3, 3)), [4, 3], [[0], [1, 2]])
    turned = words.restrict([2, 1, 0])
    assert isinstance(turned, JointSegmentalHypergraph) and set(turned.groups) == {(0, 1), (2,)}
    torch.testing.assert_close(turned.marginals, words.marginals[..., [2, 1, 0]])


def test_joint_types_of_one_group_depend_on_each_other_at_one_start_alone() -> None:
    words = JointSegmentalHypergraph(random_scores((1, 3, 2, 2)), [3])
    given_one = words.condition(require=[{(0, 1, 0)}]).marginals - words.marginals
    assert given_one[0, 0, :, 1].abs().min() > 1e-3 and given_one[0, 1:].abs().max() < 1e-12


def test_joint_hypergraph_refuses_mentions_outside_it() -> None:
    graph = joint_hypergraph(3, ["X", "Y"], max_width=2)
    found = {(0, 1, 0), (0, 1, 1), (0, 2, 1), (2, 3, 0)}
    assert joint_mentions(joint_hyperpath(found, graph)) == found
    for mention in [(0, 3, 0), (2, 4, 0), (0, 1, 2), (-1, 1, 0)]:
        with pytest.raises(ValueError, match="not in this hypergraph"):
            joint_hyperpath({mention}, graph)


def test_joint_scores_show_their_shape_alone() -> None:
    scores = random_scores((2, 4, 3, 2))
    assert repr(scores) == "JointScores(EdgeScores(B=2, n=4, c=3, m=2, tied, torch.float64 on cpu), together, within)"
    assert repr(JointScores(scores.edges)).endswith("cpu))")
    assert repr(JointSegmentalHypergraph(scores, [4, 1])) == (
        "JointSegmentalHypergraph(2 sentences of 5 words, 2 types)"
    )
