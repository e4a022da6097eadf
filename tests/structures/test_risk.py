"""Decoding by threshold and by expected F1, against enumeration of every choice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.structures import EdgeScores, SegmentalHypergraph
from tests.structures.cases import STRUCTURES, edge_scores


@pytest.mark.parametrize("structure", ["segmental", "discontinuous", "joint", "joint, arrays"])
@given(data=st.data())
def test_max_expected_f1_beats_every_other_set(structure: str, data: st.DataObject) -> None:
    case = data.draw(STRUCTURES[structure])
    for (chosen, value), brute in zip(case.vectorised.max_expected_f1(), case.brute, strict=True):
        assert math.isclose(brute.expected_f1(chosen), value, abs_tol=1e-7)
        few = sorted(brute.scores, key=len)[:64]  # the candidates: many sets, not only possible ones
        best = max(brute.expected_f1(other) for other in few)
        assert value >= best - 1e-7


def test_expected_f1_when_every_word_may_be_a_mention() -> None:
    """c = 1, all eight mentions as likely as not: the best choice names them all."""
    zeros = torch.zeros(1, 4, 2)
    scores = EdgeScores(zeros, zeros, torch.zeros(1, 4, 0, 2), torch.zeros(1, 4, 1, 2))
    chosen, value = SegmentalHypergraph(scores, [4]).max_expected_f1()[0]
    expected = sum(math.comb(8, s) * 2 * s / (8 + s) for s in range(9)) / 2**8
    assert len(chosen) == 8 and math.isclose(value, expected, rel_tol=1e-9)


def test_expected_f1_may_want_more_mentions_than_any_set_has() -> None:
    """Exactly one of many mentions is there, each as likely: naming all of them is better than naming one."""
    start, wide = torch.zeros(1, 50, 1), torch.zeros(1, 50, 50, 1)
    scores = EdgeScores(start, start - math.inf, wide[:, :, 1:] - math.inf, wide - math.inf)
    scores.absent[0, 0], scores.present[0, 0] = -math.inf, 0.0
    scores.close[0, 0], scores.extend[0, 0] = 0.0, 0.0
    untied = replace(scores, branch=torch.full_like(scores.extend, -math.inf))
    [(chosen, value)] = SegmentalHypergraph(untied, [50]).max_expected_f1()
    assert len(chosen) == 50 and math.isclose(value, 2 / 51, rel_tol=1e-9)


def test_expected_f1_of_a_long_sentence_agrees_with_samples() -> None:
    scores = edge_scores((1, 20, 8, 3), torch.float64, seed=2, spread=1.0, impossible=0.1, untied=False)
    scores = EdgeScores(scores.absent + 4, scores.present, scores.extend - 1, scores.close)
    distribution = SegmentalHypergraph(scores, [20])
    (chosen, value), samples = (
        distribution.max_expected_f1()[0],
        distribution.sample(4000, torch.Generator().manual_seed(0))[0],
    )

    def mean_f1(candidate: frozenset) -> float:
        sizes = [(len(gold & candidate), len(gold) + len(candidate)) for gold in samples]
        return math.fsum(2 * hits / both if both else 1.0 for hits, both in sizes) / len(samples)

    assert math.isclose(mean_f1(chosen), value, abs_tol=0.02)
    assert all(mean_f1(other) <= value + 0.02 for other in (distribution.argmax()[0], distribution.above(0.5)[0]))
