"""The exact probability that two mentions are both in a set, without conditioning a whole sentence on each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from hyperspan.structures.coupled import Base, CoupledHypergraph, FactorBatch, group_numbers
from hyperspan.structures.joint_rows import ending_probabilities
from hyperspan.structures.mentions import Mention

Pair = tuple[int, Mention, Mention]
"""(sentence, one mention, another one)."""


@torch.no_grad()
def pair_probabilities(distribution: Base | CoupledHypergraph, pairs: Sequence[Pair]) -> np.ndarray:
    """(pairs,): P(both). Mentions of different units are independent, unless a factor joins them.

    >>> from hyperspan.structures import EdgeScores, SegmentalHypergraph
    >>> zeros = torch.zeros(1, 1, 2)
    >>> word = SegmentalHypergraph(EdgeScores(zeros, zeros, torch.zeros(1, 1, 0, 2), torch.zeros(1, 1, 1, 2)), [1])
    >>> pair_probabilities(word, [(0, (0, 1, 0), (0, 1, 1))]).tolist()
    [0.25]
    """
    marginals = distribution.marginals.numpy(force=True).astype(np.float64)
    found = np.array([_at(marginals[b], one) * _at(marginals[b], other) for b, one, other in pairs])
    base = distribution.base if isinstance(distribution, CoupledHypergraph) else distribution
    groups = group_numbers(base)
    units = [[(b, one[0], int(groups[one[2]])) for one in mentions] for b, *mentions in pairs]
    unsure = {number for number, (one, other) in enumerate(units) if one == other}
    for batch, logs in distribution.posteriors() if isinstance(distribution, CoupledHypergraph) else ():
        unsure -= set(_of_factors(batch, logs.exp().numpy(force=True), pairs, units, found))
    for number in sorted(unsure):
        b, one, other = pairs[number]
        given = distribution.select([b]).condition(require=[[one]]).marginals[0].numpy(force=True)
        found[number] = _at(marginals[b], one) * _at(given, other)
    return found


def _at(marginals: np.ndarray, mention: Mention) -> float:
    start, end, kind = mention
    return float(marginals[start, end - start - 1, kind])


def _of_factors(
    batch: FactorBatch,
    probabilities: np.ndarray,
    pairs: Sequence[Pair],
    units: Sequence[Sequence[tuple[int, int, int]]],
    found: np.ndarray,
) -> list[int]:
    """Set P(both) of the pairs that a factor joins, given the probability of each pattern; return the indices of those
    that are exact."""
    known = batch.units
    columns = (column.tolist() for column in (known.sentence, known.start, known.group))
    place = {key: number for number, key in enumerate(zip(*columns, strict=True))}
    ending: dict[int, np.ndarray] = {}  # (c, types of its group), of each row
    kinds: dict[int, dict[int, int]] = {}
    for part in batch.parts:
        ends = ending_probabilities(part.scores, part.room, differentiable=False).numpy(force=True)
        numbers = part.numbers.tolist()
        ending |= dict(zip(numbers, ends, strict=True))
        columns_of = {kind: column for column, kind in enumerate(part.types)}
        kinds |= dict.fromkeys(numbers, columns_of)
    exact: list[int] = []
    for number, ((_, one, other), keys) in enumerate(zip(pairs, units, strict=True)):
        first, second = (place.get(key) for key in keys)
        if first is None or second is None or known.factor[first] != known.factor[second]:
            continue
        values = [
            np.array([ending[row][end - start - 1, kinds[row][kind]] for row in known.row[unit].tolist()])
            for unit, (start, end, kind) in ((first, one), (second, other))
        ]
        sure = any(np.all((value < 1e-6) | (value > 1 - 1e-6)) for value in values)
        found[number] = float(probabilities[known.factor[first]] @ (values[0] * values[1]))
        if first != second or sure:  # in one row of a unit, non-member mentions may depend on each other
            exact.append(number)
    return exact
