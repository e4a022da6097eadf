"""The segmental hypergraph over arrays: what is not the same for all structures."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.structures import EdgeScores, SegmentalHypergraph
from hyperspan.structures.places import rows_of_sets
from hyperspan.structures.segmental_arrays import ArrayHypergraph


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
