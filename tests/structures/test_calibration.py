"""Calibration by type, and of discontinuous mentions: one exact distribution with the same most probable sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores, EdgeScores, SegmentalHypergraph
from hyperspan.structures.calibration import TypeCalibration
from hyperspan.structures.mentions import AnyMention
from tests.structures.cases import edge_scores


def random_arrays(lengths: list[int], c: int, m: int, *, tied: bool, seed: int) -> SegmentalHypergraph:
    """In float32; padding holds what must not matter."""
    scores = edge_scores((len(lengths), max(lengths), c, m), torch.float32, seed, 2.0, 0.0, untied=not tied)
    for tensor in scores.tensors().values():
        for sentence, length in enumerate(lengths):
            tensor[sentence, length:] = math.nan
    return SegmentalHypergraph(EdgeScores(*(tensor.numpy() for tensor in scores.tensors().values())), lengths)


def applied(
    array: SegmentalHypergraph, calibration: TypeCalibration
) -> tuple[EdgeScores, list[int], np.ndarray | None]:
    """The calibrated scores, the lengths and the best mentions."""
    scores, best = calibration.apply(calibration.temper(array.scores), array.lengths)
    return scores, array.lengths, best


def calibrated(array: SegmentalHypergraph, calibration: TypeCalibration) -> SegmentalHypergraph:
    scores, lengths, _ = applied(array, calibration)
    return SegmentalHypergraph(scores, lengths)


def drawn(m: int, seed: int) -> TypeCalibration:
    generator = np.random.default_rng(seed)
    return TypeCalibration(generator.uniform(0.5, 3, m).tolist(), (-generator.uniform(0, 4, m)).tolist())


def check_sums(found: Any, longer: dict[AnyMention, float], tolerance: float) -> dict[frozenset[AnyMention], float]:
    """The probabilities of mentions, of which those with gaps are given, are sums over those of all sets, which it
    returns."""
    sets = {mentions: math.exp(p) for mentions, p in found.topk(10**6)[0]}
    assert sum(sets.values()) == pytest.approx(1, abs=tolerance)
    short = {(i, i + w + 1, k): p for (_, i, w, k), p in np.ndenumerate(found.marginals)}
    for mention, probability in (short | longer).items():
        sums = math.fsum(p for mentions, p in sets.items() if mention in mentions)
        assert probability == pytest.approx(sums, abs=tolerance)
    return sets


@settings(max_examples=25, deadline=None)
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
    assert SegmentalHypergraph(*applied(array, drawn(m, seed))).argmax() == array.argmax()  # as the runtime makes it
    assert [ranked[0][0] for ranked in found.topk(1)] == array.argmax()


@pytest.mark.parametrize("tied", [True, False])
def test_calibrated_marginals_are_sums_over_sets_also_under_constraints(tied: bool) -> None:
    array = random_arrays([3], 2, 1, tied=tied, seed=3)
    found = calibrated(array, TypeCalibration([1.7], [-1.2]))
    required, forbidden = (1, 2, 0), (0, 2, 0)
    known = found.condition([[required]], [[forbidden]])
    for one, allowed in ((found, lambda _: True), (known, lambda s: required in s and forbidden not in s)):
        sets = check_sums(one, {}, 1e-5)
        assert all(p < 1e-9 or allowed(s) for s, p in sets.items())
    free = {mentions: p for mentions, p in found.topk(100)[0] if required in mentions and forbidden not in mentions}
    total = math.log(sum(map(math.exp, free.values())))
    for mentions, p in known.topk(100)[0]:
        assert p == pytest.approx(free[mentions] - total, abs=1e-4)
    assert known.marginals[0, 1, 0, 0] == pytest.approx(1) and known.marginals[0, 0, 1, 0] == 0


# -- mentions with gaps ------------------------------------------------------------------------------------------------


Sizes = tuple[int, int, int, int]
"""c, g, c' and m."""
SIZES = st.tuples(st.integers(1, 5), st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)).map(
    lambda given: (max(given[0], given[2]), *given[1:])
)
LENGTHS = st.lists(st.integers(0, 7), min_size=1, max_size=4)


def both(
    lengths: list[int], sizes: Sizes, parts: int, seed: int
) -> tuple[DiscontinuousHypergraph, DiscontinuousHypergraph]:
    """The same distribution twice; some edges are impossible, but never that nothing begins."""
    generator, n, (c, g, later, m) = torch.Generator().manual_seed(seed), max(lengths), sizes
    widths = [(), (), (c - 1,), (c,), (c,), (g,), (later,)]
    tensors = [torch.randn(len(lengths), n, *one, m, generator=generator, dtype=torch.float64) * 2 for one in widths]
    for tensor in tensors[1:]:
        tensor[torch.rand(tensor.shape, generator=generator) < 0.1] = -math.inf
    array = DiscontinuousHypergraph(DiscontinuousScores(*(tensor.numpy() for tensor in tensors)), lengths, parts)
    return array, DiscontinuousHypergraph(DiscontinuousScores(*tensors), lengths, parts)


def check_equal(array: DiscontinuousHypergraph, tensor: DiscontinuousHypergraph, tolerance: float) -> None:
    assert array.types == tensor.types and array.lengths == tensor.lengths
    assert array.log_partition == pytest.approx(tensor.log_partition.numpy(), rel=tolerance, abs=tolerance)
    assert array.marginals == pytest.approx(tensor.marginals.numpy(), abs=tolerance)
    assert array.argmax() == tensor.argmax()
    wanted = [None, [0.3] * array.types]
    for ours, theirs in zip(array.places(wanted), tensor.places(wanted), strict=True):
        assert ours.rows.tolist() == theirs.rows.tolist() and list(ours.parts) == list(theirs.parts)
        assert ours.probabilities == pytest.approx(theirs.probabilities, abs=tolerance)
    for ours, theirs in zip(array.discontinuous_marginals(0.05), tensor.discontinuous_marginals(0.05), strict=True):
        assert ours == pytest.approx(theirs, abs=tolerance)


def drawn_with_gaps(m: int, seed: int) -> TypeCalibration:
    generator = np.random.default_rng(seed)
    return TypeCalibration([1.0] * m, (-generator.uniform(0, 4, m)).tolist(), -float(generator.uniform(0, 4)))


@settings(max_examples=25, deadline=None)
@given(LENGTHS, SIZES, st.integers(1, 3), st.integers(0, 999), st.booleans())
def test_calibration_of_gaps_keeps_the_most_probable_sets(
    lengths: list[int], sizes: Sizes, parts: int, seed: int, in_c: bool
) -> None:
    array, tensor = both(lengths, sizes, parts, seed)
    check_equal(array, tensor, 1e-9)
    with kernels.only("c") if in_c else kernels.reference():
        found = array.calibrated(drawn_with_gaps(sizes[3], seed))
        again = DiscontinuousHypergraph(found.scores, lengths, parts)  # which finds the best anew
        assert found.argmax() == again.argmax() == array.argmax()
        assert [ranked[0][0] for ranked in found.topk(1)] == array.argmax()
        check_equal(found, tensor.calibrated(drawn_with_gaps(sizes[3], seed)), 1e-9)


@pytest.mark.parametrize("parts", [2, 3])
def test_calibrated_probabilities_are_sums_over_sets(parts: int) -> None:
    array, _ = both([5], (2, 1, 1, 1), parts, 4)
    found = array.calibrated(TypeCalibration([1.0], [-1.2], -0.9))
    longer = found.discontinuous_marginals(0.0)[0]
    assert longer
    sets = check_sums(found, longer, 1e-9)
    for mentions, probability in list(sets.items())[:50]:
        assert found.log_prob([mentions])[0] == pytest.approx(math.log(probability), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, SIZES, st.integers(2, 3), st.integers(0, 999))
def test_calibration_makes_discontinuous_mentions_less_probable(
    lengths: list[int], sizes: Sizes, parts: int, seed: int
) -> None:
    array, _ = both(lengths, sizes, parts, seed)
    found = array.calibrated(TypeCalibration([1.0] * sizes[3], [0.0] * sizes[3], -1.5))
    before, after = (sum(sum(one.values()) for one in each.discontinuous_marginals(0.0)) for each in (array, found))
    assert after <= before + 1e-9 and (after < before or before == 0)
    none = array.calibrated(TypeCalibration([1.0] * sizes[3], [0.0] * sizes[3]))
    assert none.log_partition == pytest.approx(array.log_partition)
