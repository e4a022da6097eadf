"""Fit the calibration of a model whose types are independent, so that the probabilities of the mentions it finds are
calibrated on dev.

The loss is the cross-entropy of the mentions in the most probable sets (correct or not) plus a small share of the
negative log-likelihood of all chains. Calibration does not change the most probable sets
(:mod:`hyperspan.structures.calibration`), so the predicted mentions stay the same. All types first share one
temperature and one bias; each type then departs from them, against a penalty, so that rare types stay close. They all
keep the shared values if that predicts other folds of dev better: errors repeat within a document, so that a type may
have many mentions and yet little evidence. Folds are of consecutive sentences. A model that is already calibrated moves
from its current values towards these, weighted by the mentions of a type against :data:`PRIOR_MENTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hyperspan.evaluation.calibration import Calibration, calibrate
from hyperspan.structures.calibration import TypeCalibration, allowed_bias
from hyperspan.training.calibration_chains import ChainBatch, PartBatch, Tempered

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
FOLDS = 5
"""The number of dev folds for the held-out estimate."""


@dataclass(frozen=True)
class CalibrationFit:
    """The fitted calibration, and its quality on dev."""

    chosen: TypeCalibration
    by_type: bool
    """Whether types have values of their own; or else all share one temperature and one bias."""
    before: Calibration
    """The calibration of predicted mentions with one temperature."""
    after: Calibration
    held_out: Calibration
    """The same, with each dev fold calibrated on the other folds."""


class DevChains:
    """The chains of dev at all candidate temperatures."""

    def __init__(
        self,
        batches: Iterable[ChainBatch | PartBatch],
        types: int,
        temperature: float,
        had: TypeCalibration | None = None,
    ):
        """Tabulate the chains; `had` is the current calibration of the model, if any."""
        batches = list(batches)
        self.types, self.temperatures = types, temperature * FACTORS
        self.had = None if had is None else self._places(had)
        marked = [batch.marked for batch in batches]
        self.kind = np.concatenate([one.places[2] for one in marked])
        sentence = np.concatenate([batch.numbers[one.places[0]] for batch, one in zip(batches, marked, strict=True)])
        self.fold = sentence * FOLDS // (sentence.max(initial=0) + 1)  # consecutive sentences together
        self.is_gold = np.concatenate([one.gold.any(1) for one in marked])
        firsts = np.cumsum([0, *(len(one.gold) for one in marked)])
        self.row = np.concatenate([one.row + first for one, first in zip(marked, firsts, strict=False)])
        self.right = np.concatenate([one.right for one in marked])
        tables = [[batch.tempered(value) for batch in batches] for value in self.temperatures]
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

    def best(self, folds: Sequence[int], by_type: bool) -> list[tuple[int, int]]:
        """For each type, the best temperature and bias on these dev folds."""
        losses = self.losses[:, list(folds)].sum(1)  # (types, temperatures, biases)

        def penalty(t: int, b: int) -> np.ndarray:
            return (np.log(FACTORS / FACTORS[t])[:, None] / SPREAD[0]) ** 2 + ((BIASES - BIASES[b]) / SPREAD[1]) ** 2

        own = int(np.argmin(abs(FACTORS - 1)))
        surer = np.where(FACTORS < 1, SURER, 1.0)[:, None]
        common = _lowest_place(losses.sum(0) + MODEL_PENALTY * surer * penalty(own, 0))
        chosen = np.array([common] * self.types)
        if by_type:
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
        rows, own = np.arange(len(self.row)), (int(np.argmin(abs(FACTORS - 1))), 0)
        shared, by_type = self.held_out(by_type=False), self.held_out(by_type=True)
        apart = self.cross_entropy(by_type) < self.cross_entropy(shared)
        chosen = self.best(range(FOLDS), apart)
        found = [self.calibration([own] * self.types, rows), self.calibration(chosen, rows)]
        found.append(by_type if apart else shared)
        measured = (calibrate(values.tolist(), self.right.tolist()) for values in found)
        values = TypeCalibration(
            [round(self.temperatures[t], 4) for t, _ in chosen], [float(BIASES[b]) for _, b in chosen]
        )
        return CalibrationFit(values, apart, *measured)

    def held_out(self, by_type: bool) -> np.ndarray:
        """(mentions found,): their probabilities, with each fold calibrated on the others."""
        rows, found = np.arange(len(self.row)), np.empty(len(self.row))
        for fold in range(FOLDS):
            part = rows[self.fold[self.row] == fold]
            found[part] = self.calibration(self.best([one for one in range(FOLDS) if one != fold], by_type), part)
        return found

    def cross_entropy(self, probabilities: np.ndarray) -> float:
        """That of the predicted mentions."""
        return -float(np.log(np.where(self.right, probabilities, 1 - probabilities).clip(1e-9)).sum())


def _lowest_place(table: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(table.argmin(), table.shape)
    return int(row), int(column)
