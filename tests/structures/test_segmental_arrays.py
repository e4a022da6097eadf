"""The segmental hypergraph over arrays against the one over tensors, which is tested against brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.structures import EdgeScores, SegmentalHypergraph
from hyperspan.structures.places import rows_of_sets
from hyperspan.structures.segmental_arrays import ArrayHypergraph
from tests.structures.brute_force import all_mentions


def both(
    lengths: list[int], c: int, m: int, *, tied: bool, seed: int, dtype: torch.dtype = torch.float32
) -> tuple[ArrayHypergraph, SegmentalHypergraph]:
    """The same distribution twice; padding holds what must not matter."""
    generator, n = torch.Generator().manual_seed(seed), max(lengths, default=0)
    shapes = [(), (), (c - 1,), (c,), *([] if tied else [(c - 1,)])]
    tensors = [2 * torch.randn(len(lengths), n, *widths, m, generator=generator).to(dtype) for widths in shapes]
    for tensor in tensors:
        for sentence, length in enumerate(lengths):
            tensor[sentence, length:] = float("nan")
    arrays = ScoreArrays(*(tensor.numpy() for tensor in tensors))
    return ArrayHypergraph(arrays, lengths), SegmentalHypergraph(EdgeScores(*tensors), lengths)


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    c=st.integers(1, 7),
    m=st.integers(1, 3),
    tied=st.booleans(),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_array_hypergraph_equals_that_of_tensors(
    lengths: list[int], c: int, m: int, tied: bool, seed: int, data: st.DataObject
) -> None:
    array, tensor = both(lengths, c, m, tied=tied, seed=seed)
    kinds = sorted(data.draw(st.sets(st.integers(0, m - 1), min_size=1)))
    chosen = [data.draw(st.sets(st.sampled_from(all_mentions(n, m, c)), max_size=3)) if n else set() for n in lengths]
    require = [set(sorted(mentions)[:1]) for mentions in chosen]
    forbid = [mentions - wanted for mentions, wanted in zip(chosen, require, strict=True)]
    wide = [{*mentions, *([(0, n, 0)] if n > c else [])} for mentions, n in zip(chosen, lengths, strict=True)]
    for sets in (chosen, require, wide):
        assert array.log_prob(sets) == pytest.approx(tensor.log_prob(sets).numpy(), rel=1e-5, abs=1e-4)
    for one, other in (
        (array, tensor),
        (array.condition(require, forbid), tensor.condition(require, forbid)),
        (array.restrict(kinds), tensor.restrict(kinds)),
    ):
        assert one.types == other.types and one.lengths == other.lengths
        assert one.log_partition == pytest.approx(other.log_partition.numpy(), rel=1e-5, abs=1e-4)
        assert one.marginals == pytest.approx(other.marginals.numpy(), abs=1e-5)
        assert one.entropy == pytest.approx(other.entropy.numpy(), rel=1e-4, abs=1e-4)
        assert one.argmax() == other.argmax()
        best = one.argmax()
        assert one.log_prob(best) == pytest.approx(other.log_prob(best).numpy(), rel=1e-5, abs=1e-4)
        for ours, theirs in zip(one.topk(5), other.topk(5), strict=True):
            assert [mentions for mentions, _ in ours] == [mentions for mentions, _ in theirs]
            assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=1e-5)
        for ours, theirs in zip(
            one.places([None, [0.3] * one.types]), other.places([None, [0.3] * one.types]), strict=True
        ):
            assert ours.rows.tolist() == theirs.rows.tolist()
            assert ours.probabilities == pytest.approx(theirs.probabilities, abs=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_array_hypergraph_samples_as_its_marginals_say(tied: bool) -> None:
    array, _ = both([4, 2], 3, 2, tied=tied, seed=3)
    draws = 4000
    samples = array.sample(draws, np.random.default_rng(1))
    for sentence, sets in enumerate(samples):
        counts = Counter(mention for mentions in sets for mention in mentions)
        for start, end, kind in all_mentions(array.lengths[sentence], 2, 3):
            wanted = array.marginals[sentence, start, end - start - 1, kind]
            assert counts[start, end, kind] / draws == pytest.approx(wanted, abs=5 * (0.25 / draws) ** 0.5)
    assert array.sample(3, np.random.default_rng(1)) == array.sample(3, np.random.default_rng(1))


def test_array_hypergraph_makes_required_mentions_certain() -> None:
    array, _ = both([3], 3, 1, tied=True, seed=0)
    given = array.condition(require=[[(0, 2, 0)]])
    [places] = given.places([[1.0]], rows_of_sets([[(0, 2, 0)]]))
    assert places.rows.tolist() == [[0, 0, 2, 0]] and places.probabilities.tolist() == [1.0]


def test_array_hypergraph_says_what_is_impossible() -> None:
    array, _ = both([2], 2, 1, tied=True, seed=0)
    array.scores.absent[0, 1], array.scores.present[0, 1] = -np.inf, -np.inf
    with pytest.raises(
        ValueError, match=r"sentence 0 has no possible mention set: for start 1 and type 0 every choice"
    ):
        array.argmax()
    array.scores.absent[0, 0] = np.nan
    with pytest.raises(ValueError, match="a score is NaN"):
        ArrayHypergraph(array.scores, [2]).topk(2)
    with pytest.raises(ValueError, match="expected k >= 0"):
        array.sample(-1)
    with pytest.raises(ValueError, match="each once"):
        array.restrict([1])
