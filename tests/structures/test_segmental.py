"""The segmental hypergraph: what is not the same for all structures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import EdgeScores, SegmentalHypergraph
from hyperspan.structures.graphs import hyperpaths
from tests.structures.cases import STRUCTURES, edge_scores


def random_scores(
    batch: int, n: int, c: int, m: int, dtype: torch.dtype = torch.float64, untied: bool = False
) -> EdgeScores:
    return edge_scores((batch, n, c, m), dtype, seed=7, spread=1.5, impossible=0.0, untied=untied)


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_edge_marginals_are_those_of_the_hypergraph(data: st.DataObject) -> None:
    case = data.draw(STRUCTURES["segmental"])
    edges = SegmentalHypergraph(case.vectorised.scores.untied(), case.lengths).edge_marginals
    assert edges.branch is not None
    for sentence, explicit in enumerate(case.explicit):
        seen: dict[str, dict[tuple[int, ...], float]] = {name: {} for name in ("X", "I", "IX", "II", "IXI")}
        total = case.brute[sentence].log_partition
        for path in hyperpaths(explicit.graph):
            weights = [explicit.weights(edge) for edge in path]
            probability = 0.0 if -math.inf in weights else math.exp(math.fsum(weights) - total)
            for edge in path:
                symbol, i, k, j = edge.head  # type: ignore[misc]
                tail = "".join(node.symbol for node in edge.tail)  # type: ignore[attr-defined]
                place = (i, k) if symbol == "T" else (i, j - i, k)
                if symbol in "TI":
                    table = seen[tail if symbol == "T" else "I" + tail]
                    table[place] = table.get(place, 0.0) + probability
        tensors = zip(seen, (edges.absent, edges.present, edges.close, edges.extend, edges.branch), strict=True)
        for name, tensor in tensors:
            expected = torch.zeros_like(tensor[sentence])
            for place, probability in seen[name].items():
                expected[place] = probability
            torch.testing.assert_close(tensor[sentence], expected, atol=case.tolerance, rtol=case.tolerance)


def test_topk_opens_no_more_chains_than_can_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 300 chains of a sentence, those of the best set and the k - 1 nearest others."""
    opened: list[int] = []
    alternatives = SegmentalHypergraph.alternatives

    def counted(self: Any, sentence: int, units: np.ndarray, k: int) -> Any:
        opened.append(len(units))
        return alternatives(self, sentence, units, k)

    monkeypatch.setattr(SegmentalHypergraph, "alternatives", counted)
    distribution = SegmentalHypergraph(random_scores(1, 60, 60, 5), [60])
    ranked, present = distribution.topk(20)[0], {(one[0], one[2]) for one in distribution.argmax()[0]}
    assert opened == [len(present) + min(19, 300 - len(present))]
    more = distribution.topk(60)[0]
    assert [value for _, value in ranked] == [value for _, value in more[:20]]
    for mentions, value in ranked:
        assert math.isclose(distribution.log_prob([mentions]).item(), value, abs_tol=1e-9)


def over_arrays(scores: EdgeScores, lengths: list[int]) -> SegmentalHypergraph:
    return SegmentalHypergraph(EdgeScores(*(tensor.numpy() for tensor in scores.tensors().values())), lengths)


@pytest.mark.parametrize("made", [SegmentalHypergraph, over_arrays])
def test_what_is_impossible_is_named_by_start_and_type(made: Callable[[EdgeScores, list[int]], Any]) -> None:
    scores = random_scores(2, 2, 2, 1)
    scores.absent[1, 0], scores.present[1, 0] = -math.inf, -math.inf
    words = made(scores, [2, 2])
    for decode in (words.argmax, words.sample, words.max_expected_f1):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: for start 0 and type 0"):
            decode()
    scores.close[0, 1, 0, 0] = math.nan
    for decode in (made(scores, [2, 2]).argmax, lambda: made(scores, [2, 2]).topk(2)):
        with pytest.raises(ValueError, match="start 1 and type 0 a score is NaN"):
            decode()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.condition(require=[{(0, 4, 0)}, set()]), "at most c = 3 words"),
        (lambda d: d.condition(require=[{(0, 1, 0)}, set()], forbid=[{(0, 1, 0)}, set()]), "required or forbidden"),
        (lambda d: d.log_prob([(0, 1, 0), (1, 2, 0)]), "a collection of mentions"),
        (lambda d: d.scores.to(torch.float16), "float32 or float64 scores"),
    ],
)
def test_mistakes_are_explained(call, message: str) -> None:
    distribution = SegmentalHypergraph(random_scores(2, 4, 3, 2), [4, 3])
    with pytest.raises(ValueError, match=message):
        call(distribution)


def test_sentences_of_a_batch_with_the_same_mentions_are_as_they_are_alone() -> None:
    scores, lengths = random_scores(3, 4, 3, 2), [4, 3, 4]
    sets = [{(1, 2, 0), (2, 3, 1)}, {(2, 3, 1)}, {(2, 3, 1), (2, 4, 1)}]

    def alone(b: int) -> SegmentalHypergraph:
        row = slice(b, b + 1)
        own = EdgeScores(scores.absent[row], scores.present[row], scores.extend[row], scores.close[row])
        return SegmentalHypergraph(own, lengths[row])

    separately = torch.cat([alone(b).log_prob([some]) for b, some in enumerate(sets)])
    torch.testing.assert_close(SegmentalHypergraph(scores, lengths).log_prob(sets), separately)


@pytest.mark.parametrize("create_graph", [False, True])
def test_scores_that_depend_on_each_other(create_graph: bool) -> None:
    leaf = random_scores(2, 4, 3, 2)
    tensors = [leaf.absent, leaf.extend, leaf.close]
    for tensor in tensors:
        tensor.requires_grad_()

    def value() -> torch.Tensor:
        scores = EdgeScores(leaf.absent, -leaf.absent, leaf.extend, leaf.close, leaf.extend + leaf.close[:, :, :-1] + 1)
        return SegmentalHypergraph(scores, [4, 3]).log_partition.sum()

    found = torch.autograd.grad(value(), tensors, create_graph=create_graph)
    for tensor, gradient in zip(tensors, found, strict=True):
        place = (0, 1, *[0] * (tensor.dim() - 2))
        with torch.no_grad():
            low, step = value(), 1e-6
            tensor[place] += step
            high = value()
            tensor[place] -= step
        assert math.isclose(gradient[place].item(), (high - low).item() / step, abs_tol=1e-5)


def test_lengths_may_be_any_whole_numbers() -> None:
    scores = random_scores(2, 4, 3, 2)
    expected = SegmentalHypergraph(scores, [4, 3]).log_partition
    kinds: list[Any] = [torch.tensor([4, 3], dtype=torch.int32), np.array([4, 3]), (4, 3)]
    for lengths in kinds:
        torch.testing.assert_close(SegmentalHypergraph(scores, lengths).log_partition, expected)
    with pytest.raises(ValueError, match="whole numbers"):
        SegmentalHypergraph(scores, [4.0, 3.0])  # type: ignore[list-item]


def test_large_scores_cancel_chain_by_chain() -> None:
    """A hundred chains of scores around 1e4 in float32: the log-probability of the best set is still right."""
    scores = edge_scores((1, 50, 4, 2), torch.float32, seed=4, spread=1e4, impossible=0.0, untied=False)
    exact = SegmentalHypergraph(scores.to(torch.float64), [50])
    best = exact.argmax()
    assert abs(SegmentalHypergraph(scores, [50]).log_prob(best).item() - exact.log_prob(best).item()) < 0.05


def test_scores_show_their_shape_alone() -> None:
    shown = repr(random_scores(9, 4, 3, 2, untied=True))
    assert shown == "EdgeScores(B=9, n=4, c=3, m=2, untied, torch.float64 on cpu)"
