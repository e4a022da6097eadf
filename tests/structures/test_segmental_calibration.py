"""Calibration by type: one exact distribution with the same most probable sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.structures.segmental_arrays import ArrayHypergraph
from hyperspan.structures.segmental_calibration import TypeCalibration
from tests.structures.cases import edge_scores


def random_arrays(lengths: list[int], c: int, m: int, *, tied: bool, seed: int) -> ArrayHypergraph:
    """In float32; padding holds what must not matter."""
    scores = edge_scores((len(lengths), max(lengths), c, m), torch.float32, seed, 2.0, 0.0, untied=not tied)
    for tensor in scores.tensors().values():
        for sentence, length in enumerate(lengths):
            tensor[sentence, length:] = math.nan
    return ArrayHypergraph(ScoreArrays(*(tensor.numpy() for tensor in scores.tensors().values())), lengths)


def applied(array: ArrayHypergraph, calibration: TypeCalibration) -> tuple[ScoreArrays, list[int], np.ndarray | None]:
    """The calibrated scores, the lengths and the best mentions; the scores of I edges come divided."""
    extend, close, branch = (
        None if part is None else (part / calibration.temperatures).astype(np.float32) for part in array.scores[2:]
    )
    given = ScoreArrays(*array.scores[:2], extend, close, branch)  # type: ignore[arg-type]
    scores, best = calibration.apply(calibration.temper(given), array.lengths)
    return scores, array.lengths, best


def calibrated(array: ArrayHypergraph, calibration: TypeCalibration) -> ArrayHypergraph:
    scores, lengths, _ = applied(array, calibration)
    return ArrayHypergraph(scores, lengths)


def drawn(m: int, seed: int) -> TypeCalibration:
    generator = np.random.default_rng(seed)
    return TypeCalibration(generator.uniform(0.5, 3, m).tolist(), (-generator.uniform(0, 4, m)).tolist())


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    c=st.integers(1, 7),
    m=st.integers(1, 3),
    tied=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_calibration_keeps_the_most_probable_sets(lengths: list[int], c: int, m: int, tied: bool, seed: int) -> None:
    array = random_arrays(lengths, c, m, tied=tied, seed=seed)
    found = calibrated(array, drawn(m, seed))
    assert found.argmax() == array.argmax()
    assert ArrayHypergraph(*applied(array, drawn(m, seed))).argmax() == array.argmax()  # as the runtime makes it
    assert [ranked[0][0] for ranked in found.topk(1)] == array.argmax()


@pytest.mark.parametrize("tied", [True, False])
def test_calibrated_marginals_are_sums_over_sets_also_under_constraints(tied: bool) -> None:
    array = random_arrays([3], 2, 1, tied=tied, seed=3)
    found = calibrated(array, TypeCalibration([1.7], [-1.2]))
    required, forbidden = (1, 2, 0), (0, 2, 0)
    known = found.condition([[required]], [[forbidden]])
    for one, allowed in ((found, lambda _: True), (known, lambda s: required in s and forbidden not in s)):
        sets = {mentions: math.exp(p) for mentions, p in one.topk(100)[0]}
        assert sum(sets.values()) == pytest.approx(1, abs=1e-5) and all(p < 1e-9 or allowed(s) for s, p in sets.items())
        for start, width in np.ndindex(3, 2):
            sums = sum(p for mentions, p in sets.items() if (start, start + width + 1, 0) in mentions)
            assert one.marginals[0, start, width, 0] == pytest.approx(sums, abs=1e-5)
    free = {mentions: p for mentions, p in found.topk(100)[0] if required in mentions and forbidden not in mentions}
    total = math.log(sum(map(math.exp, free.values())))
    for mentions, p in known.topk(100)[0]:
        assert p == pytest.approx(free[mentions] - total, abs=1e-4)
    assert known.marginals[0, 1, 0, 0] == pytest.approx(1) and known.marginals[0, 0, 1, 0] == 0


def test_calibration_makes_mentions_less_probable_by_type() -> None:
    array = random_arrays([6, 4], 4, 2, tied=True, seed=5)
    found = calibrated(array, TypeCalibration([1.0, 1.0], [0.0, -1.0]))
    assert found.marginals[..., 0] == pytest.approx(array.marginals[..., 0], abs=1e-6)
    assert (found.marginals[..., 1] <= array.marginals[..., 1] + 1e-6).all()
    assert found.marginals[..., 1].sum() < array.marginals[..., 1].sum()
