"""Products of independent units: every answer, written once.

In the structures of this project a set of mentions is one choice for each *unit*: for all mentions of a type (or of a
group of types) that begin at a word. Units are independent, so p(set) is a product over them, and every answer follows
from a few things that a structure says of its units:

| it says                          | and from that follow                                             |
|----------------------------------|------------------------------------------------------------------|
| `unit_log_partition`             | `log_partition`                                                  |
| `unit_scores(sets)`              | `log_prob`                                                       |
| `edge_marginals`                 | `entropy`, `cross_entropy`                                       |
| `marginals`, `best()`            | `argmax`, `above`, `places`                                      |
| `leads()`, `alternatives(...)`   | `topk`                                                           |
| `draw(k, uniform)`               | `sample`                                                         |
| `given(...)`, `given_marks(...)` | `condition`, `constraint_log_prob`, learning from partial labels |
| `tilted(weight)`                 | `max_expected_f1`                                                |

Where log Z and probabilities are computed:

| structure                  | its units               | log Z and marginals                   |
|----------------------------|-------------------------|---------------------------------------|
| `SegmentalHypergraph`      | chains: (start, type)   | `kernels/chains.py`: a formula, and C |
| `DiscontinuousHypergraph`  | chains of first parts   | the same; `gaps.py` adds what follows |
| `JointSegmentalHypergraph` | (start, group of types) | `kernels/joint.py`: a formula, and C  |

Marginals are always the gradient of log Z: kernels find both in one pass over arrays, and autograd uses them for
tensors (`kernels/autograd.py`). Brute force and explicit hypergraphs (`graphs`) are what tests compare them with.

Scores are NumPy arrays, which need no torch, or tensors, with gradients. What is discrete (the k best, samples) is
computed from arrays in float64, :meth:`UnitProduct.exact`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from hyperspan.kernels.chains import check_possible
from hyperspan.kernels.numbers import (
    MINUS_INFINITY,
    finite,
    float64_device,
    inside,
    is_array,
    placed,
    replaced,
)
from hyperspan.structures.constraints import AnySets, PartialMarks
from hyperspan.structures.distribution import Distribution, check_types
from hyperspan.structures.kbest import Alternatives, Mentions, cheapest_sets
from hyperspan.structures.places import Places, sets_of
from hyperspan.structures.scores import Values, weighted

if TYPE_CHECKING:
    import torch

AnySet = frozenset[Any]
Uniform = Callable[..., np.ndarray]
"""Random numbers from 0 to 1 in an array of the given shape."""
NEGLIGIBLE = 1e-9
"""Mentions that are less probable do not count in an expected F1."""
NODES = 16
"""The least number of nodes of the quadrature for it."""


class Given(NamedTuple):
    """A distribution under constraints."""

    distribution: Any
    units: np.ndarray
    """(B, n, u): the units that they concern."""


class UnitProduct(Distribution[Values]):
    """A distribution that is a product of independent units, u for each word."""

    scores: Any
    """The scores of its edges: arrays or tensors by name."""

    # -- what a structure says of its units --------------------------------------------------------------------------

    @property
    @abstractmethod
    def unit_log_partition(self) -> Values:
        """(B, n, u): the log-partition of each unit; 0 in padding."""

    @property
    @abstractmethod
    def edge_marginals(self) -> Any:
        """The probability of each edge in the place of its score, 0 in padding: the gradient of log Z."""

    @abstractmethod
    def unit_scores(self, mention_sets: AnySets) -> tuple[Values, list[bool]]:
        """(B, n, u): the score of what sets choose in each unit, with anything in padding; and for each sentence
        whether its set is impossible whatever the scores."""

    @abstractmethod
    def best(self) -> Places:
        """The mentions of the most probable sets; the probabilities are not theirs. Raises an error if a sentence has
        no possible set."""

    @abstractmethod
    def leads(self) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, u) each, in float64: the score of each unit without mentions, and how much more its best choice with
        mentions scores. Every sentence must have a possible set."""

    @abstractmethod
    def alternatives(self, sentence: int, units: np.ndarray, k: int) -> Sequence[Iterator[tuple[float, Mentions]]]:
        """For each of some units, (units, 2) starts and numbers: its choices as (cost, mentions), the k cheapest first;
        cost is minus score."""

    @abstractmethod
    def draw(self, k: int, uniform: Uniform) -> list[list[AnySet]]:
        """k independent samples of each sentence's set, all from uniform random numbers."""

    @abstractmethod
    def given(self, require: AnySets | None, forbid: AnySets | None) -> Given:
        """The distribution given that some mentions are in the set and others are not; raise an error for invalid
        ones."""

    @abstractmethod
    def given_marks(self, gold: AnySets, marks: PartialMarks) -> Given:
        """The distribution given a partial annotation."""

    @abstractmethod
    def tilted(self, weight: float) -> Self:
        """The distribution in which every mention scores this much more."""

    @abstractmethod
    def expected_edges(self, teacher: Any, weights: Any = None) -> Any:
        """How often sets of a teacher that are possible here use each score of this distribution, times the weights
        (B, n, u) of their units; no gradient."""

    @abstractmethod
    def with_scores(self, scores: Any, lengths: Sequence[int] | None = None) -> Self:
        """The same distribution with other scores, under the same constraints."""

    def exact(self) -> Self:
        """The same distribution over arrays in float64, without gradients."""
        return self.with_scores(self.scores.exact())

    def _precise(self) -> Self:
        """This distribution; over arrays, in float64, since there is no gradient whose type has to match."""
        return self.exact() if is_array(self.scores.close) else self

    # -- probabilities -----------------------------------------------------------------------------------------------

    @property
    def log_partition(self) -> Values:
        """(B,): log Z, the logarithm of the sum of exp(score) over all mention sets."""
        total: Any = self.unit_log_partition
        return total.sum((1, 2))

    def log_prob(self, mention_sets: AnySets) -> Values:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention beyond the
        limits."""
        precise = self._precise()
        scores, impossible = precise.unit_scores(mention_sets)
        total = precise._relative(scores).sum((1, 2))
        return replaced(total, placed(np.array(impossible, dtype=bool), total), MINUS_INFINITY)

    def _relative(self, scores: Any) -> Any:
        """(B, n, u): scores of units as log-probabilities; 0 in padding. Subtracted unit by unit, so that large scores
        cancel before they are summed."""
        total: Any = self.unit_log_partition
        with np.errstate(invalid="ignore"):
            found = replaced(scores - finite(total), total == MINUS_INFINITY, MINUS_INFINITY)
        outside = ~inside(self.lengths, total, 1)[:, :, 0]
        # Rounding may put the log-probability of an almost certain choice slightly above 0.
        return replaced(found, outside, 0.0).clip(max=0.0)

    @property
    def entropy(self) -> Values:
        """(B,): the entropy of the distribution over mention sets, in nats: log Z minus the expected score."""
        exact = self.with_scores(self.scores.in_float64())
        total: Any = exact.unit_log_partition
        possible = exact.scores.map(finite)  # rounding may have made impossible edges slightly probable
        per_word = finite(total).sum(2) - weighted(possible, exact.edge_marginals)
        found = per_word.sum(1).clip(min=0.0)
        return found if is_array(found) else found.to(self.scores.close)

    def cross_entropy(self, teacher: Any, weights: Values | None = None) -> Values:
        """(B,): -Σ p(set) log q(set) over all sets, where q is this distribution and p a teacher of the same kind. The
        teacher gets no gradient.

        That is log Z of q minus the scores of all its edges, each times its probability under p. If the teacher has
        mentions that are impossible here, p is conditioned on their absence. `weights` (B, n, u) weight the term of
        each unit.
        """
        total: Any = self.unit_log_partition if weights is None else self.unit_log_partition * weights
        return (total.sum(2) - weighted(self.scores, self.expected_edges(teacher, weights))).sum(1)

    # -- under constraints, of some types, of some sentences ---------------------------------------------------------

    def condition(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Self:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence. The result's
        `log_partition` minus that of `self` is the log-probability of the constraints.
        """
        return self.given(require, forbid).distribution

    def constraint_log_prob(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Values:
        """(B,): the log-probability that some mentions are in the set and others are not: constrained log Z minus log
        Z."""
        precise = self._precise()
        return precise._log_prob_given(precise.given(require, forbid))

    def log_prob_of_known(self, gold: AnySets, marks: PartialMarks | None) -> Values:  # type: ignore[override]
        """(B,): log p of the gold mentions; with `marks`, of all sets that agree with the partial annotation."""
        if marks is None:
            return self.log_prob(gold)
        precise = self._precise()
        return precise._log_prob_given(precise.given_marks(gold, marks))

    def _log_prob_given(self, given: Given) -> Any:
        per_unit = self._relative(given.distribution.unit_log_partition)
        # Two kernels may round equal units differently.
        return replaced(per_unit, placed(~given.units, per_unit), 0.0).sum((1, 2))

    def restrict(self, types: Sequence[int]) -> Any:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        return self.with_scores(self.scores.map(lambda values: values[..., chosen]))

    def select(self, sentences: Sequence[int]) -> Self:
        """The distribution of some sentences of the batch."""
        chosen = list(sentences)
        return self.with_scores(self.scores.map(lambda values: values[chosen]), [self.lengths[b] for b in chosen])

    # -- decoding ----------------------------------------------------------------------------------------------------

    def argmax(self) -> list[AnySet]:
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        return sets_of(self.best(), len(self.lengths))

    def best_rows(self) -> np.ndarray:
        return self.best().rows

    def topk(self, k: int) -> list[list[tuple[AnySet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        A set that has mentions in an empty unit of the best set costs at least what that unit's lead is below 0. So
        beside the units of the best set, only the k - 1 nearest empty ones can matter. Their choices are found lazily,
        best first. Equally probable sets come in a fixed order, whose only guarantee is that the first set equals
        `argmax`.
        """
        check_count(k)
        exact = self.exact()
        total = np.asarray(exact.unit_log_partition)
        if np.isnan(total).any():
            check_possible(total)
        possible = np.nonzero((total > MINUS_INFINITY).all((1, 2)))[0].tolist()
        exact = exact if len(possible) == len(total) else exact.select(possible)
        none, leads = exact.leads()
        result: list[list[tuple[AnySet, float]]] = [[] for _ in self.lengths]
        for row, sentence in enumerate(possible):
            here = slice(self.lengths[sentence])
            result[sentence] = exact._ranked(row, none[row, here], leads[row, here], total[sentence, here], k)
        return result

    def _ranked(
        self, sentence: int, none: np.ndarray, leads: np.ndarray, total: np.ndarray, k: int
    ) -> list[tuple[AnySet, float]]:
        """The k best sets of a sentence; the arrays are (length, u)."""
        filled = leads > 0
        lowest = np.where(filled, MINUS_INFINITY, leads)
        order = np.argsort(-lowest, axis=None, kind="stable")[: max(k - 1, 0)]
        nearest = np.stack(np.unravel_index(order[np.isfinite(lowest.ravel()[order])], leads.shape), axis=1)
        units = np.concatenate([np.argwhere(filled), nearest])
        choices = [Alternatives(ranked) for ranked in self.alternatives(sentence, units, k)]
        top = float((none - total)[~filled].sum())
        for (start, unit), choice in zip(units.tolist(), choices, strict=True):
            first = choice.get(0)
            if filled[start, unit] and first is not None:
                top -= first[0] + float(total[start, unit])
        return [(some, min(top - cost, 0.0)) for cost, some in cheapest_sets(choices, k)]

    def sample(self, k: int = 1, generator: torch.Generator | np.random.Generator | None = None) -> list[list[AnySet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
        check_count(k)
        exact = self.exact()
        check_possible(exact.unit_log_partition)
        return exact.draw(k, self._uniform(generator))

    def _uniform(self, generator: Any) -> Uniform:
        """Random numbers of a generator, of NumPy or of torch; without one, of the library's own."""
        close = self.scores.close
        if isinstance(generator, np.random.Generator) or (generator is None and is_array(close)):
            drawn = generator or np.random.default_rng()
            return lambda *shape: drawn.random(shape)
        import torch

        device = float64_device(close.device) if generator is None else generator.device
        return lambda *shape: torch.rand(shape, generator=generator, dtype=torch.float64, device=device).cpu().numpy()

    def max_expected_f1(self) -> list[tuple[AnySet, float]]:
        """The set of each sentence with the highest expected F1 under the distribution, and that expectation.

        F1 is 1 when both sets are empty. In a choice of k mentions, each contributes 2 Σ_s P(it is in the set, and the
        set has s mentions) / (s + k), so the best k are those that contribute most (Dembczynski et al. 2011). With
        1 / (s + k) = ∫ t^(s + k - 1) dt from 0 to 1, that is an integral over distributions in which each mention
        weighs t times as much, which quadrature computes exactly but for rounding.
        """
        exact = self.exact()
        check_possible(exact.unit_log_partition)
        [found] = exact.places([[NEGLIGIBLE] * self.types])
        sums = np.bincount(found.rows[:, 0], found.probabilities, minlength=len(self.lengths))
        empty = np.exp(exact.log_prob([()] * len(self.lengths)))
        largest = np.ceil(2 * sums + 12)
        while True:
            gains = exact._gains(found, int(largest.max(initial=1)))
            chosen = [_most_gains(gains, found.rows[:, 0] == b, int(largest[b]), empty[b]) for b in range(len(sums))]
            # The expected F1 of k mentions is at most 2 Σ p / (k + 1).
            needed = np.array([2 * total / max(value, 1e-3) for total, (_, value) in zip(sums, chosen, strict=True)])
            if (needed <= largest).all():
                break
            largest = np.maximum(largest, np.ceil(needed))
        sets = [sets_of(_some_of(found, rows), len(self.lengths))[b] for b, (rows, _) in enumerate(chosen)]
        return [(some, value) for some, (_, value) in zip(sets, chosen, strict=True)]

    def _gains(self, found: Places, largest: int) -> Callable[[int], np.ndarray]:
        """For a number k of mentions, up to a largest one, what each of those found contributes to a choice of k."""
        nodes, weights = np.polynomial.legendre.leggauss(NODES + math.ceil(4 * math.sqrt(largest)) + 16)
        nodes, weights = (nodes + 1) / 2, weights / 2
        total, sentence = self.log_partition, found.rows[:, 0]
        moments = np.empty((len(sentence), len(nodes)))
        for place, node in enumerate(nodes.tolist()):
            one = self.tilted(math.log(node))
            moments[:, place] = one.probabilities_of(found) * np.exp(one.log_partition - total)[sentence]
        return lambda k: 2 * (moments * weights) @ nodes ** (k - 1)

    def probabilities_of(self, found: Places) -> np.ndarray:
        """(mentions,): the probability of each mention, over arrays."""
        sentence, start, end, kind = found.rows.T
        return np.asarray(self.marginals)[sentence, start, end - start - 1, kind]


def _most_gains(
    gains: Callable[[int], np.ndarray], here: np.ndarray, largest: int, empty: float
) -> tuple[np.ndarray, float]:
    """The rows of the mentions of a sentence that have the highest expected F1 together, and that value."""
    rows = np.nonzero(here)[0]
    best, chosen = float(empty), rows[:0]
    for k in range(1, min(len(rows), largest) + 1):
        each = gains(k)[rows]
        order = np.argsort(-each, kind="stable")[:k]
        if (value := float(each[order].sum())) > best + 1e-12:
            best, chosen = value, rows[order]
    return chosen, best


def _some_of(found: Places, rows: np.ndarray) -> Places:
    parts = [found.parts[row] for row in rows.tolist()] if found.parts else ()
    return Places(found.rows[rows], found.probabilities[rows], parts)


def check_count(k: int) -> None:
    if k < 0:
        raise ValueError(f"expected k >= 0, got {k}")
