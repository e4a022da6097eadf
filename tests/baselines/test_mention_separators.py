"""The mention separators: which labels can follow which, and what a structure leaves open."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.figures.graphs import separated_mentions, separators_hypergraph
from hyperspan.baselines.mention_separators import MentionSeparators, labels_of, structure_of_labels
from hyperspan.baselines.readings import closure, read, structure_of
from hyperspan.structures import EdgeScores, MentionSet, SegmentalHypergraph
from hyperspan.structures.graphs import hyperpaths
from tests.baselines.cases_mention_separators import closed
from tests.structures.brute_force import all_mentions, all_sets

TWO: MentionSet = frozenset({(1, 3, 0), (0, 4, 0)})
FOUR: MentionSet = TWO | {(0, 3, 0), (1, 4, 0)}


def random_separators(n: int, m: int, **options: str) -> MentionSeparators:
    generator = torch.Generator().manual_seed(1)
    return MentionSeparators(torch.randn(1, n + 1, 8, m, generator=generator, dtype=torch.float64), [n], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "m"), [(4, 1), (3, 1), (2, 2), (1, 3), (0, 2), (2, 0)])
def test_hyperpaths_and_closed_sets_are_one_to_one(n: int, m: int) -> None:
    paths = list(hyperpaths(separators_hypergraph(n, m)))
    sets = {mentions for mentions in all_sets(all_mentions(n, m, n)) if closed(mentions) == mentions}
    assert len(paths) == len(sets) and {separated_mentions(path) for path in paths} == sets
    assert len({separated_mentions(path, "nested") for path in paths}) == len(paths)


@given(st.frozensets(st.sampled_from(all_mentions(6, 2, 6)), max_size=7))
def test_labels_and_structures_are_the_same_thing(mentions: MentionSet) -> None:
    labels = labels_of(mentions, 6, 2)
    assert structure_of_labels(labels) == structure_of(mentions)
    assert labels_of(closure(mentions), 6, 2) == labels


def test_abcd_is_ambiguous_here_and_not_in_the_segmental_hypergraph() -> None:
    separators = random_separators(4, 1)
    assert separators.log_prob([TWO]).item() == separators.log_prob([FOUR]).item() > -math.inf
    generator = torch.Generator().manual_seed(1)
    shapes = [(1, 4, 1), (1, 4, 1), (1, 4, 3, 1), (1, 4, 4, 1)]
    segmental = SegmentalHypergraph(EdgeScores(*(torch.randn(shape, generator=generator) for shape in shapes)), [4])
    assert segmental.log_prob([TWO]).item() != segmental.log_prob([FOUR]).item()


def test_readings_of_the_same_structures() -> None:
    whole, nested = random_separators(4, 2), random_separators(4, 2, reading="nested")
    for (read_all, value), (read_nested, other) in zip(whole.topk(50)[0], nested.topk(50)[0], strict=True):
        assert value == other and read_nested == read(structure_of(read_all), "nested")
        assert math.isclose(nested.log_prob([read_nested]).item(), value, abs_tol=1e-9)
    assert nested.argmax()[0] == nested.topk(1)[0][0][0]
    draws = (separators.sample(20, torch.Generator().manual_seed(0))[0] for separators in (whole, nested))
    assert all(read(structure_of(a), "nested") == b for a, b in zip(*draws, strict=True))
    torch.testing.assert_close(whole.marginals, nested.marginals)
    with pytest.raises(ValueError, match="one of all, nested"):
        random_separators(4, 2, reading="some")
    with pytest.raises(ValueError, match=r"shape \(B, n \+ 1, 8, m\)"):
        MentionSeparators(torch.zeros(1, 3, 7, 1), [2])
