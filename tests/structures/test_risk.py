"""Decoding by threshold and by expected F1, against enumeration of every choice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.structures import EdgeScores, SegmentalHypergraph
from tests.structures.cases import STRUCTURES


@pytest.mark.parametrize("structure", ["segmental", "discontinuous", "joint", "joint, arrays"])
@given(data=st.data())
def test_max_expected_f1_beats_every_other_set(structure: str, data: st.DataObject) -> None:
    case = data.draw(STRUCTURES[structure])
    for (chosen, value), brute in zip(case.vectorised.max_expected_f1(), case.brute, strict=True):
        assert math.isclose(brute.expected_f1(chosen), value, abs_tol=1e-7)
        few = sorted(brute.scores, key=len)[:64]  # the candidates: many sets, not only possible ones
        best = max(brute.expected_f1(other) for other in few)
        assert value >= best - 1e-7


def test_expected_f1_may_want_more_mentions_than_any_set_has() -> None:
    """Exactly one of many mentions is there, each as likely: naming all of them is better than naming one."""
    start, wide = torch.zeros(1, 50, 1), torch.zeros(1, 50, 50, 1)
    scores = EdgeScores(start, start - math.inf, wide[:, :, 1:] - math.inf, wide - math.inf)
    scores.absent[0, 0], scores.present[0, 0] = -math.inf, 0.0
    scores.close[0, 0], scores.extend[0, 0] = 0.0, 0.0
    untied = replace(scores, branch=torch.full_like(scores.extend, -math.inf))
    [(chosen, value)] = SegmentalHypergraph(untied, [50]).max_expected_f1()
    assert len(chosen) == 50 and math.isclose(value, 2 / 51, rel_tol=1e-9)
