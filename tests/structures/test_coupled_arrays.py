"""Coupled mentions over arrays against those over tensors, which are tested against brute force."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.structures import CoupledHypergraph
from hyperspan.structures.coupled_arrays import CoupledArrayHypergraph
from hyperspan.structures.coupling import FAMILIES, Couplings, Factors
from hyperspan.structures.places import rows_of_sets
from tests.structures.brute_force import all_mentions
from tests.structures.cases_coupled import random_factors
from tests.structures.test_segmental_arrays import both

COUPLINGS = Couplings(dict.fromkeys(FAMILIES, -1.5), dict.fromkeys(FAMILIES, 0.5), mention=0.2, least=0.01, most=5)


def check_equal(
    array: CoupledArrayHypergraph, tensor: CoupledHypergraph, tolerance: float, expected_f1: bool = True
) -> None:
    """Everything that both offer; the expected F1 takes by far the longest."""
    assert array.types == tensor.types and array.lengths == tensor.lengths and array.max_width == tensor.max_width
    log_partition = tensor.log_partition.numpy()
    assert array.log_partition == pytest.approx(log_partition, rel=tolerance, abs=10 * tolerance)
    assert array.marginals == pytest.approx(tensor.marginals.numpy(), abs=tolerance)
    if not (log_partition > -np.inf).all():
        with pytest.raises(ValueError, match="no possible mention set"):
            array.argmax()
        with pytest.raises(ValueError, match="no possible mention set"):
            array.sample(1)
        assert [bool(ranked) for ranked in array.topk(2)] == (log_partition > -np.inf).tolist()
        return
    assert array.entropy == pytest.approx(tensor.entropy.numpy(), rel=10 * tolerance, abs=10 * tolerance)
    best = array.argmax()
    assert best == tensor.argmax()
    if expected_f1:
        assert array.expected_f1(best) == pytest.approx(tensor.expected_f1(best), abs=1e-9)
    assert array.log_prob(best) == pytest.approx(tensor.log_prob(best).numpy(), rel=tolerance, abs=10 * tolerance)
    for ours, theirs in zip(array.topk(6), tensor.topk(6), strict=True):
        assert [mentions for mentions, _ in ours] == [mentions for mentions, _ in theirs]
        assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=10 * tolerance)
    wanted = [None, [0.3] * array.types]
    for ours, theirs in zip(array.places(wanted), tensor.places(wanted), strict=True):
        assert ours.rows.tolist() == theirs.rows.tolist()
        assert ours.probabilities == pytest.approx(theirs.probabilities, abs=tolerance)


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    c=st.integers(1, 7),
    m=st.integers(1, 3),
    tied=st.booleans(),
    double=st.booleans(),
    impossible=st.booleans(),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_coupled_array_hypergraph_equals_that_of_tensors(
    lengths: list[int], c: int, m: int, tied: bool, double: bool, impossible: bool, seed: int, data: st.DataObject
) -> None:
    base, other = both(lengths, c, m, tied=tied, seed=seed, dtype=torch.float64 if double else torch.float32)
    if impossible:  # the arrays share their memory with the tensors
        random = np.random.default_rng(seed)
        for scores in (base.scores.present, base.scores.extend, base.scores.close, base.scores.branch):
            if scores is not None:
                scores[random.random(scores.shape) < 0.2] = -np.inf
    factors = data.draw(random_factors(lengths, m, c, np.arange(m)))
    array, tensor = CoupledArrayHypergraph(base, factors), CoupledHypergraph(other, factors)
    tolerance = 1e-9 if double else 1e-5
    kinds = sorted(data.draw(st.sets(st.integers(0, m - 1), min_size=1)))
    chosen = [data.draw(st.sets(st.sampled_from(all_mentions(n, m, c)), max_size=3)) if n else set() for n in lengths]
    require = [set(sorted(mentions)[:1]) for mentions in chosen]
    forbid = [mentions - wanted for mentions, wanted in zip(chosen, require, strict=True)]
    wide = [{*mentions, *([(0, n, 0)] if n > c else [])} for mentions, n in zip(chosen, lengths, strict=True)]
    for sets in (chosen, require, wide):
        assert array.log_prob(sets) == pytest.approx(tensor.log_prob(sets).numpy(), rel=tolerance, abs=10 * tolerance)
    restricted = tensor.restrict(kinds)
    assert isinstance(restricted, CoupledHypergraph)
    pairs = [
        (array, tensor),
        (array.condition(require, forbid), tensor.condition(require, forbid)),
        (array.restrict(kinds), restricted),
    ]
    whose_f1 = data.draw(st.sampled_from(range(len(pairs))))
    for index, (ours, theirs) in enumerate(pairs):
        check_equal(ours, theirs, tolerance, expected_f1=index == whose_f1)


@pytest.mark.parametrize("lengths", [[7, 0, 5], [0]])
def test_coupled_array_hypergraph_of_couplings_equals_that_of_tensors(lengths: list[int]) -> None:
    base, other = both(lengths, 4, 2, tied=True, seed=5, dtype=torch.float64)
    array, tensor = CoupledArrayHypergraph.of(base, COUPLINGS), CoupledHypergraph.of(other, COUPLINGS)
    assert bool(array.factors) == any(lengths)
    check_equal(array, tensor, 1e-9)


def test_coupled_array_hypergraph_without_factors_is_its_base() -> None:
    base, other = both([4, 2], 3, 2, tied=False, seed=1)
    none = np.zeros((0, 2), dtype=int)
    nothing = Factors(np.zeros(0, dtype=int), none, none, none, np.zeros((0, 4)))
    array = CoupledArrayHypergraph(base, [nothing])
    check_equal(array, CoupledHypergraph(other, []), 1e-5)
    assert array.sample(3, np.random.default_rng(1)) == base.sample(3, np.random.default_rng(1))


@pytest.mark.parametrize("tied", [True, False])
def test_coupled_array_hypergraph_samples_as_its_marginals_say(tied: bool) -> None:
    base, _ = both([4, 2], 3, 2, tied=tied, seed=3)
    array, draws = CoupledArrayHypergraph.of(base, COUPLINGS), 4000
    assert array.factors
    samples = array.sample(draws, np.random.default_rng(1))
    for sentence, sets in enumerate(samples):
        counts = Counter(mention for mentions in sets for mention in mentions)
        for start, end, kind in all_mentions(array.lengths[sentence], 2, 3):
            wanted = array.marginals[sentence, start, end - start - 1, kind]
            assert counts[start, end, kind] / draws == pytest.approx(wanted, abs=5 * (0.25 / draws) ** 0.5)
    entropy = [-np.mean(array.log_prob([one, other])) for one, other in zip(*samples, strict=True)]
    assert np.mean(entropy) * 2 == pytest.approx(array.entropy.sum(), rel=0.05)
    assert array.sample(3, np.random.default_rng(1)) == array.sample(3, np.random.default_rng(1))


def test_coupled_array_hypergraph_makes_required_mentions_certain() -> None:
    base, _ = both([3], 3, 1, tied=True, seed=0)
    array = CoupledArrayHypergraph.of(base, COUPLINGS).condition(require=[[(0, 2, 0)]])
    [places] = array.places([[1.0]], rows_of_sets([[(0, 2, 0)]]))
    assert places.rows.tolist() == [[0, 0, 2, 0]] and places.probabilities.tolist() == [1.0]


def test_coupled_array_hypergraph_refuses_negative_counts() -> None:
    base, _ = both([3], 3, 1, tied=True, seed=0)
    array = CoupledArrayHypergraph.of(base, COUPLINGS)
    for ask in (array.topk, array.sample):
        with pytest.raises(ValueError, match="expected k >= 0"):
            ask(-1)


def test_coupled_arrays_import_without_torch() -> None:
    code = "import sys, hyperspan.structures.coupled_arrays; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
