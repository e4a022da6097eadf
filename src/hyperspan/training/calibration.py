"""Fit the per-type calibration of a segmental model, so that the probabilities of the mentions it finds are calibrated
on dev.

The loss is the cross-entropy of the mentions in the most probable sets (correct or not) plus a small share of the
negative log-likelihood of all chains. Calibration does not change the most probable sets
(:mod:`hyperspan.structures.segmental_calibration`), so the predicted mentions stay the same. All types first share one
temperature and one bias; each type then departs from them, against a penalty, so that rare types stay close. A model
that is already calibrated moves from its current values towards these, weighted by the mentions of a type against
:data:`PRIOR_MENTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hyperspan.evaluation.calibration import Calibration, calibrate
from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.structures.mentions import MentionSets
from hyperspan.structures.segmental_calibration import TypeCalibration, allowed_bias, chain_leads

FACTORS = np.array([1.06**step for step in range(-5, 12)])
"""Factors for the temperature of the model, from 0.75 to 1.9."""
BIASES = np.arange(0.0, -2.51, -0.125)
LIKELIHOOD_SHARE = 0.05
"""The weight of the chains' likelihood relative to that of predicted mentions."""
SPREAD = (0.3, 0.7)
"""Departures, in log-temperature and in bias, that cost 1 times the penalties below."""
MODEL_PENALTY, TYPE_PENALTY = 2.0, 10.0
"""In nats: the penalty of all types together from the temperature of the model, and of one type from the shared
values."""
SURER = 5.0
"""The factor on the penalty of all types together when the model becomes more confident."""
PRIOR_MENTIONS = 100
"""The number of mentions that weigh as much as the model's previous values."""
LEAST_PROBABLE = 1e-3
"""Chains without mentions are left out if a mention is less probable than this."""
FOLDS = 5
"""The number of dev folds for the held-out estimate."""


class ChainBatch(NamedTuple):
    """The relevant chains of a batch: those with a likely, predicted or gold mention."""

    scores: ScoreArrays  # absent, present (chains,); extend, branch (chains, c - 1); close (chains, c)
    kind: np.ndarray  # (chains,)
    sentence: np.ndarray  # (chains,)
    room: np.ndarray  # (chains,): words from the start on
    found: np.ndarray  # (chains, c): mentions of the most probable sets
    gold: np.ndarray  # (chains, c)


def chain_batch(
    scores: ScoreArrays,
    lengths: Sequence[int],
    starts: np.ndarray,
    found: MentionSets,
    gold: MentionSets,
    numbers: np.ndarray,
    known: np.ndarray | None = None,
) -> ChainBatch:
    """The chains of a batch; `starts` (B, n, m) are their mention probabilities, `numbers` (B,) the sentence indices.

    Where `known` (B, n, m) is false, the annotation of a chain is incomplete.
    """
    marked = [np.zeros(scores.close.shape, dtype=bool) for _ in range(2)]
    for mask, sets in zip(marked, (found, gold), strict=True):
        for sentence, mentions in enumerate(sets):
            for start, end, kind in mentions:
                mask[sentence, start, end - start - 1, kind] = True
    here = np.arange(scores.close.shape[1]) < np.array(lengths)[:, None]  # (B, n)
    kept = ((starts > LEAST_PROBABLE) & here[:, :, None]) | (marked[0] | marked[1]).any(2)
    if known is not None:
        kept &= known
    sentence, start, kind = kept.nonzero()

    def chosen(array: np.ndarray) -> np.ndarray:
        return array[sentence, start, ..., kind]

    return ChainBatch(
        ScoreArrays(*(None if array is None else chosen(array) for array in scores)),  # type: ignore[arg-type]
        *(kind, numbers[sentence], np.array(lengths)[sentence] - start),
        *map(chosen, marked),
    )


class Tempered(NamedTuple):
    """Chains at one temperature."""

    log_odds: np.ndarray  # (chains,): of having a mention
    leads: np.ndarray  # (chains,)
    found: np.ndarray  # (mentions found,): their probability, given that their chain has a mention
    gold: np.ndarray  # (chains,): the log-probability of the gold mentions of a chain, given that it has a mention


def _tempered(batch: ChainBatch, temperature: float) -> Tempered:
    """Compute the quantities of the kernels for all widths of a chain at once."""
    absent, present, extend, close, branch = (
        None if array is None else array.astype(np.float64) / temperature for array in batch.scores
    )
    assert absent is not None and present is not None and extend is not None and close is not None
    count, c = close.shape
    inside = np.arange(c) < batch.room[:, None]
    between = inside[:, 1:]
    close, extend = np.where(inside, close, -np.inf), np.where(between, extend, 0.0)
    branch = extend + np.where(between, close[:, :-1], 0.0) if branch is None else np.where(between, branch, 0.0)
    longest = close.copy()
    longest[:, 1:] += np.logaddexp(extend, branch).cumsum(1)
    total = np.logaddexp.reduce(longest, axis=1)
    share = np.exp(longest - total[:, None])  # (chains, c): the probability of each longest mention
    longer = share[:, ::-1].cumsum(1)[:, ::-1][:, 1:]  # (chains, c - 1): of a longer one
    odds = branch - extend
    probability = share.copy()
    probability[:, :-1] += longer / (1 + np.exp(-odds))
    last = np.where(batch.gold, np.arange(c), -1).max(1)  # (chains,): the longest gold mention
    choice = np.where(batch.gold[:, :-1], -np.logaddexp(0, -odds), -np.logaddexp(0, odds))
    shorter = np.where(np.arange(c - 1) < last[:, None], choice, 0.0).sum(1)
    scores = ScoreArrays(*(None if array is None else array / temperature for array in batch.scores))  # type: ignore[arg-type]
    return Tempered(
        present + total - absent,
        chain_leads(scores, batch.room),
        probability[batch.found],
        (longest - total[:, None])[np.arange(count), last] + shorter,
    )


@dataclass(frozen=True)
class CalibrationFit:
    """The fitted calibration, and its quality on dev."""

    chosen: TypeCalibration
    before: Calibration
    """The calibration of predicted mentions with one temperature."""
    after: Calibration
    held_out: Calibration
    """The same, with each dev fold calibrated on the other folds."""


class DevChains:
    """The chains of dev at all candidate temperatures."""

    def __init__(
        self, batches: Iterable[ChainBatch], types: int, temperature: float, had: TypeCalibration | None = None
    ):
        """Tabulate the chains; `had` is the current calibration of the model, if any."""
        batches = list(batches)
        self.types, self.temperatures = types, temperature * FACTORS
        self.had = None if had is None else self._places(had)
        self.kind = np.concatenate([batch.kind for batch in batches])
        sentence = np.concatenate([batch.sentence for batch in batches])
        self.fold = sentence * FOLDS // (sentence.max(initial=0) + 1)  # consecutive sentences together
        self.is_gold = np.concatenate([batch.gold.any(1) for batch in batches])
        rows = [batch.found.nonzero() for batch in batches]
        firsts = np.cumsum([0, *(len(batch.kind) for batch in batches)])
        self.row = np.concatenate([row + first for (row, _), first in zip(rows, firsts, strict=False)])
        self.right = np.concatenate([batch.gold[batch.found] for batch in batches])
        tables = [[_tempered(batch, value) for batch in batches] for value in self.temperatures]
        self.tables = [Tempered(*map(np.concatenate, zip(*parts, strict=True))) for parts in tables]
        self.losses = np.array([[self._losses(kind, fold) for fold in range(FOLDS)] for kind in range(types)])
        self.counts = np.zeros((types, FOLDS), dtype=int)  # mentions that are found
        np.add.at(self.counts, (self.kind[self.row], self.fold[self.row]), 1)

    def _places(self, given: TypeCalibration) -> np.ndarray:
        """(types, 2): the indices of the nearest candidate temperature and bias of each type."""
        temperatures = abs(np.log(self.temperatures) - np.log(np.asarray(given.temperatures))[:, None]).argmin(1)
        return np.stack([temperatures, abs(BIASES - np.asarray(given.biases)[:, None]).argmin(1)], axis=1)

    def probabilities(self, table: Tempered, bias: np.ndarray | float, rows: np.ndarray) -> np.ndarray:
        """The probabilities of some predicted mentions."""
        chains = self.row[rows]
        log_odds = table.log_odds[chains] + allowed_bias(bias, table.leads[chains])
        return table.found[rows] / (1 + np.exp(-log_odds))

    def _losses(self, kind: int, fold: int) -> np.ndarray:
        """(temperatures, biases): the loss of one type in one dev fold."""
        chains = np.nonzero((self.kind == kind) & (self.fold == fold))[0]
        rows = np.nonzero((self.kind[self.row] == kind) & (self.fold[self.row] == fold))[0]
        right, gold = self.right[rows], self.is_gold[chains]
        losses: list[np.ndarray] = []
        for table in self.tables:
            p = self.probabilities(table, BIASES[:, None], rows).clip(1e-9, 1 - 1e-9)  # (biases, mentions found)
            log_odds = table.log_odds[chains] + allowed_bias(BIASES[:, None], table.leads[chains])  # (biases, chains)
            sets = np.logaddexp(0, log_odds).sum(1) - (log_odds + table.gold[chains])[:, gold].sum(1)
            losses.append(LIKELIHOOD_SHARE * sets - np.log(np.where(right, p, 1 - p)).sum(1))
        return np.array(losses)

    def best(self, folds: Sequence[int]) -> list[tuple[int, int]]:
        """For each type, the best temperature and bias on these dev folds."""
        losses = self.losses[:, list(folds)].sum(1)  # (types, temperatures, biases)

        def penalty(t: int, b: int) -> np.ndarray:
            return (np.log(FACTORS / FACTORS[t])[:, None] / SPREAD[0]) ** 2 + ((BIASES - BIASES[b]) / SPREAD[1]) ** 2

        own = int(np.argmin(abs(FACTORS - 1)))
        surer = np.where(FACTORS < 1, SURER, 1.0)[:, None]
        common = _lowest_place(losses.sum(0) + MODEL_PENALTY * surer * penalty(own, 0))
        chosen = np.array([_lowest_place(one + TYPE_PENALTY * penalty(*common)) for one in losses])
        if self.had is not None:  # both grids are even, in the logarithm of temperatures and in biases
            counts = self.counts[:, list(folds)].sum(1)[:, None]
            chosen = np.rint((counts * chosen + PRIOR_MENTIONS * self.had) / (counts + PRIOR_MENTIONS)).astype(int)
        return [(int(t), int(b)) for t, b in chosen]

    def calibration(self, chosen: Sequence[tuple[int, int]], rows: np.ndarray) -> np.ndarray:
        """The probabilities of some predicted mentions, with the values chosen for each type."""
        result = np.empty(len(rows))
        for kind, (t, b) in enumerate(chosen):
            own = self.kind[self.row[rows]] == kind
            result[own] = self.probabilities(self.tables[t], BIASES[b], rows[own])
        return result

    def fit(self) -> CalibrationFit:
        rows, folds = np.arange(len(self.row)), range(FOLDS)
        chosen = self.best(folds)
        own = (int(np.argmin(abs(FACTORS - 1))), 0)
        held_out = np.empty(len(rows))
        for fold in folds:
            part = rows[self.fold[self.row] == fold]
            held_out[part] = self.calibration(self.best([other for other in folds if other != fold]), part)
        found = [self.calibration([own] * self.types, rows), self.calibration(chosen, rows), held_out]
        measured = (calibrate(values.tolist(), self.right.tolist()) for values in found)
        values = TypeCalibration(
            [round(self.temperatures[t], 4) for t, _ in chosen], [float(BIASES[b]) for _, b in chosen]
        )
        return CalibrationFit(values, *measured)


def _lowest_place(table: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(table.argmin(), table.shape)
    return int(row), int(column)
