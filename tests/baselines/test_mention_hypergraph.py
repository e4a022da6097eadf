"""The mention hypergraph: its distribution is over hyperpaths, some of them spurious, and its structures are
ambiguous."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.figures.graphs import consistent_hyperpath_of, is_consistent, mention_network, separators_hypergraph
from hyperspan.baselines.mention_hypergraph import MentionHypergraph, WordEdgeScores
from hyperspan.baselines.readings import closure, read, structure_of
from hyperspan.structures import EdgeScores, MentionSet, SegmentalHypergraph
from hyperspan.structures.graphs import Counting, Hypergraph, hyperpaths, inside, mentions_of, viterbi
from tests.baselines.cases_mention_hypergraph import network_weights
from tests.baselines.cases_mention_separators import closed
from tests.structures.brute_force import Case, all_mentions, all_sets
from tests.structures.cases import STRUCTURES

TWO: MentionSet = frozenset({(1, 3, 0), (0, 4, 0)})
FOUR: MentionSet = TWO | {(0, 3, 0), (1, 4, 0)}
SMALL = [(0, 2), (1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1), (2, 0)]


def random_scores(n: int, m: int, tensors: int = 4, seed: int = 1) -> WordEdgeScores:
    generator = torch.Generator().manual_seed(seed)
    return WordEdgeScores(*torch.randn(tensors, 1, n, m, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize(("n", "m"), SMALL)
def test_hyperpaths_are_all_sets_and_consistent_ones_are_the_closed_sets(n: int, m: int) -> None:
    graph = mention_network(n, m)
    paths = {mentions_of(path): path for path in hyperpaths(graph)}
    assert set(paths) == set(all_sets(all_mentions(n, m, n)))
    for mentions, path in paths.items():
        assert is_consistent(path) == (closed(mentions) == mentions)
        assert consistent_hyperpath_of(mentions, graph) == paths[closed(mentions)]


@pytest.mark.parametrize(("n", "m", "spurious"), [(1, 1, 0), (2, 1, 0), (3, 1, 24), (4, 1, 816), (3, 2, 2496)])
def test_spurious_structures_are_counted(n: int, m: int, spurious: int) -> None:
    """All hyperpaths but the consistent ones, which the label sequences of the mention separators count as well."""

    def count(graph: Hypergraph) -> int:
        return inside(graph, lambda _: 0.0, Counting())[graph.root]

    every, labels = count(mention_network(n, m)), count(separators_hypergraph(n, m))
    assert every == 2 ** len(all_mentions(n, m, n))
    assert sum(map(is_consistent, hyperpaths(mention_network(n, m)))) == labels == every - spurious


@pytest.mark.parametrize("tensors", [4, 5])
def test_it_is_a_segmental_hypergraph_whose_scores_know_the_last_word_only(tensors: int) -> None:
    scores = random_scores(9, 3, tensors)
    extend, close, branch = torch.zeros(1, 9, 8, 3), torch.zeros(1, 9, 9, 3), torch.zeros(1, 9, 8, 3)
    extend, close, branch = extend.double(), close.double(), branch.double()
    for start in range(9):
        for width in range(9 - start):
            close[:, start, width] = scores.close[:, start + width]
            if width < 8 - start:
                extend[:, start, width] = scores.extend[:, start + width]
                branch[:, start, width] = (scores.extend + scores.close)[:, start + width]
                if scores.branch is not None:
                    branch[:, start, width] = scores.branch[:, start + width]
    segmental = SegmentalHypergraph(EdgeScores(scores.absent, scores.present, extend, close, branch), [9])
    distribution = MentionHypergraph(scores, [9])
    torch.testing.assert_close(distribution.log_partition, segmental.log_partition)
    torch.testing.assert_close(distribution.marginals, segmental.marginals)
    assert distribution.argmax() == segmental.argmax()
    gold: MentionSet = frozenset({(0, 4, 0), (1, 3, 0), (2, 9, 2), (7, 8, 1)})
    torch.testing.assert_close(distribution.log_prob([gold]), segmental.log_prob([closure(gold)]))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_consistent_hyperpaths_are_less_than_everything(data: st.DataObject) -> None:
    """The probabilities of the closed sets add up to at most 1; what is missing is spurious. The best one is closed."""
    case: Case = data.draw(STRUCTURES["mention hypergraph"])
    for sentence, (length, brute) in enumerate(zip(case.lengths, case.brute, strict=True)):
        consistent = math.fsum(p for mentions, p in brute.probabilities.items() if closed(mentions) == mentions)
        spurious = math.fsum(p for mentions, p in brute.probabilities.items() if closed(mentions) != mentions)
        assert math.isclose(consistent + spurious, 1, abs_tol=1e-9)
        assert spurious == 0 or length > 2
        assert closed(case.vectorised.argmax()[sentence]) == case.vectorised.argmax()[sentence]


@pytest.mark.parametrize("seed", range(5))
def test_log_prob_is_that_of_the_gold_network(seed: int) -> None:
    """Added up over the hyperpath of the explicit graph; the best hyperpath is that of Viterbi."""
    scores = random_scores(6, 2, seed=seed)
    distribution, graph, weights = MentionHypergraph(scores, [6]), mention_network(6, 2), network_weights(scores, 0)
    gold: MentionSet = frozenset({(0, 4, 0), (1, 3, 0), (3, 6, 1), (4, 5, 1)})
    score = math.fsum(map(weights, consistent_hyperpath_of(gold, graph)))
    expected = score - distribution.log_partition.item()
    assert math.isclose(distribution.log_prob([gold]).item(), expected, abs_tol=1e-9)
    best, path = viterbi(graph, weights)
    assert is_consistent(path) and distribution.argmax() == [mentions_of(path)]
    assert math.isclose(distribution.log_prob(distribution.argmax()).item(), best - distribution.log_partition.item())
    nested = MentionHypergraph(scores, [6], reading="nested").argmax()[0]
    assert nested == read(structure_of(mentions_of(path)), "nested")


def test_abcd_is_ambiguous_here_and_not_in_the_segmental_hypergraph() -> None:
    distribution = MentionHypergraph(random_scores(4, 1), [4])
    assert distribution.log_prob([TWO]).item() == distribution.log_prob([FOUR]).item() > -math.inf
    # Even with these very scores the segmental hypergraph tells the two sets apart.
    segmental = distribution.by_start
    assert segmental.log_prob([TWO]).item() != segmental.log_prob([FOUR]).item()
    assert math.isclose(segmental.log_prob([FOUR]).item(), distribution.log_prob([TWO]).item(), abs_tol=1e-12)


def test_unknown_readings_are_refused() -> None:
    zeros = WordEdgeScores(*torch.zeros(4, 1, 4, 2))
    with pytest.raises(ValueError, match="one of all, nested"):
        MentionHypergraph(zeros, [4], reading="some")  # type: ignore[arg-type]
