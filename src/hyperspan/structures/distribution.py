"""The interface that every distribution over mention sets implements.

A structure is a subclass of :class:`Distribution`. Models that decide step by step are not structures, but they answer
through the same interface.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from hyperspan.kernels.numbers import nonzero, placed, replaced, to_numpy
from hyperspan.structures.constraints import AnySets, PartialMarks
from hyperspan.structures.mentions import (
    Mention,
    MentionSet,
    NotSupportedError,
    fragments_of,
    parts_of,
    with_parts,
)
from hyperspan.structures.places import Places, rows_of_sets, sets_of
from hyperspan.structures.scores import Values

if TYPE_CHECKING:
    import torch

SETS_PER_SET = 50
"""Where types depend on each other, `topk` of some types reads this many of the best sets of all types per set
returned."""
MOST_SETS = 10_000
"""The upper limit on the sets that it reads, unless more are asked for."""

_SEGMENTAL = "a SegmentalHypergraph (model.kind = 'segmental')"
_DISCONTINUOUS = "a DiscontinuousHypergraph (model.kind = 'discontinuous')"


class Distribution(ABC, Generic[Values]):
    """A distribution over the mention sets of each sentence of a padded batch, over NumPy arrays or over tensors.

    A mention is ``(start, end, type)`` in words, `end` exclusive. `log_prob`, `entropy`, `sample` and `condition` are
    exact or raise :class:`NotSupportedError`; `limits` gives the reason. All distributions have `argmax`, `topk` and
    `marginals`. For a model that decides step by step, these are conditional on its earlier decisions, and
    `exact_marginals` is false.
    """

    lengths: list[int]
    """The number of words of each sentence."""
    types: int
    """m: the number of types."""
    limits: ClassVar[str] = "it is not implemented"
    """Why some methods are not supported, as the end of a sentence."""

    @property
    def exact_marginals(self) -> bool:
        """Whether `marginals` sum over all mention sets, instead of being conditional on earlier decisions."""
        return True

    @property
    @abstractmethod
    def marginals(self) -> Values:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k; 0 in padding."""

    @abstractmethod
    def argmax(self) -> list[MentionSet]:
        """The best set of each sentence."""

    @abstractmethod
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k best sets of each sentence with their log-probabilities, best first; fewer where fewer exist."""

    @property
    def log_partition(self) -> Values:
        """(B,): the logarithm of the sum of exp(score) over all mention sets."""
        raise self._not_supported("log_partition")

    def log_prob(self, mention_sets: AnySets) -> Values:
        """(B,): the log-probability of one mention set per sentence."""
        raise self._not_supported("log_prob")

    @property
    def entropy(self) -> Values:
        """(B,): the entropy of the distribution over mention sets, in nats."""
        raise self._not_supported("entropy")

    def sample(
        self, k: int = 1, generator: torch.Generator | np.random.Generator | None = None
    ) -> list[list[MentionSet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
        raise self._not_supported("sample")

    def condition(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Distribution:
        """The distribution given that some mentions are in the set and others are not.

        Each is a collection of mentions per sentence.
        """
        has_parts = _have_parts(require) or _have_parts(forbid)
        raise self._not_supported("condition", _DISCONTINUOUS if has_parts else _SEGMENTAL)

    def constraint_log_prob(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Values:
        """(B,): the log-probability that some mentions are in the set and others are not: constrained log Z minus log
        Z."""
        given: Any = self.condition(require, forbid).log_partition
        impossible = given == -math.inf  # also where nothing at all is possible
        return replaced(given - self.log_partition, impossible, -math.inf)

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Values:
        """(B,): log p of the gold mentions; with `marks`, of all sets that agree with the partial annotation."""
        if marks is None:
            return self.log_prob(gold)
        if not marks.of_whole_types(gold):
            raise self._not_supported("condition")
        found: list[Any] = []
        for row in np.unique(marks.types, axis=0):
            places = {kind: place for place, kind in enumerate(row.nonzero()[0].tolist())}
            if not places:
                continue
            same = (marks.types == row).all(1)
            sets = [
                {(start, end, places[kind]) for start, end, kind in mentions} if here else set[Mention]()
                for mentions, here in zip(gold, same, strict=True)
            ]
            values = self.restrict(list(places)).log_prob(sets)
            found.append(replaced(values, placed(~same, values), 0.0))
        if not found:  # nothing is annotated: zeros that carry gradients
            values: Any = self.log_prob(gold)
            return replaced(values, placed(np.ones(len(gold), dtype=bool), values), 0.0)
        total: Any = sum(found[1:], found[0])
        return total

    def cross_entropy(self, teacher: Any, weights: Values | None = None) -> Values:
        """(B,): -Σ p(set) log q(set) over all sets, where q is this distribution and p a teacher of the same kind. The
        teacher gets no gradient.

        If the teacher has mentions that are impossible here, p is conditioned on their absence. `weights` (B, n, m)
        weight the term of each chain: all mentions of a type that begin at a word.
        """
        raise self._not_supported("cross_entropy")

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        """(B, n, m): the starts and types that the partial annotation covers completely."""
        raise self._not_supported("known_chains")

    def geometric_mean(self, others: Sequence[Any]) -> Distribution:
        """The normalised geometric mean of this distribution and others of the same kind, over the mentions that all of
        them have."""
        raise self._not_supported("geometric_mean")

    def restrict(self, types: Sequence[int]) -> Distribution:
        """The distribution over only the mentions of some types, with the other types summed out.

        Type k of the result is ``types[k]``. Structures whose types are independent return the same kind of structure.
        """
        return Restricted(self, types)

    def best_rows(self) -> np.ndarray:
        """(mentions, 4): the mentions of `argmax` as (sentence, start, end, type), in that order."""
        return rows_of_sets(self.argmax())

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each entry of `wanted`: the mentions of the best sets (None), or those that reach their type's threshold.

        `certain` (mentions, 4) are mentions known to be present, which rounding may have made slightly less probable.
        """
        marginals: Any = self.marginals
        if certain is not None and len(certain):
            marginals = to_numpy(marginals).copy()
            marginals[_columns(certain)] = 1.0
        return [self._best_places(marginals) if least is None else places_above(marginals, least) for least in wanted]

    def _best_places(self, marginals: Any) -> Places:
        rows = self.best_rows()
        return Places(rows, np.minimum(to_numpy(marginals[placed_columns(_columns(rows), marginals)]), 1.0))

    def above(self, threshold: float) -> list[MentionSet]:
        """For each sentence, every mention with a probability of at least `threshold`.

        The set at 0.5 has the fewest expected errors; lower thresholds trade precision for recall.
        """
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"expected a threshold above 0 and at most 1, got {threshold}")
        [found] = self.places([[threshold] * self.types])
        return sets_of(found, len(self.lengths))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.lengths)} sentences of {sum(self.lengths)} words, {self.types} types)"

    def _not_supported(self, name: str, instead: str = _SEGMENTAL) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__} has no {name}: {self.limits}; use {instead}, which has it")


def _have_parts(given: AnySets | None) -> bool:
    """Whether any of these mentions is discontinuous."""
    return any(fragments_of(mention) for mentions in given or () for mention in mentions)


def _columns(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """The index columns of these rows in an array (B, n, c, m)."""
    sentence, start, end, kind = rows.astype(np.int64, copy=False).T
    return sentence, start, end - start - 1, kind


def placed_columns(columns: Iterable[np.ndarray], like: Any) -> tuple[Any, ...]:
    """The index columns, placed as the values are that they index."""
    return tuple(placed(column, like) for column in columns)


def places_above(marginals: Any, least: Sequence[float]) -> Places:
    """The places of the mentions that reach their type's threshold."""
    limits = placed(np.array(least), marginals)
    limits = limits.astype(marginals.dtype) if isinstance(marginals, np.ndarray) else limits.to(marginals.dtype)
    rows = nonzero((marginals >= limits) & (marginals > 0))  # 0 must not admit padding
    probabilities = to_numpy(marginals[placed_columns(rows.T, marginals)])
    rows[:, 2] += rows[:, 1] + 1
    return Places(rows, np.minimum(probabilities, 1.0))


def check_types(types: Iterable[int], count: int) -> list[int]:
    """Return the types as a list; raise an error unless each is from 0 to `count` - 1 and occurs once."""
    chosen = list(types)
    if len(set(chosen)) < len(chosen) or not all(0 <= kind < count for kind in chosen):
        raise ValueError(f"expected types from 0 to {count - 1}, each once, got {chosen}")
    return chosen


class Restricted(Distribution):
    """The mentions of some types in the sets of a distribution whose types depend on each other.

    `marginals` and `sample` are as exact as those of all types. `argmax` is the best set of *all* types without the
    mentions of other types. `topk` merges the best sets of all types, so a set is at least as probable as stated.
    """

    limits = "that would be a sum over all mentions of the other types"

    def __init__(self, whole: Distribution, types: Sequence[int]):
        self.whole, self.chosen = whole, check_types(types, whole.types)
        self.lengths, self.types = whole.lengths, len(self.chosen)
        self._place = {kind: place for place, kind in enumerate(self.chosen)}

    def _project(self, mentions: MentionSet) -> MentionSet:
        return frozenset((start, end, self._place[kind]) for start, end, kind in mentions if kind in self._place)

    @property
    def log_partition(self) -> Any:
        """(B,): the log-partition of all types, which the restriction does not change."""
        return self.whole.log_partition

    @property
    def exact_marginals(self) -> bool:
        return self.whole.exact_marginals

    @property
    def marginals(self) -> Any:
        return self.whole.marginals[..., self.chosen]

    def argmax(self) -> list[MentionSet]:
        return [self._project(mentions) for mentions in self.whole.argmax()]

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        result: list[list[tuple[MentionSet, float]]] = []
        for ranked in self.whole.topk(max(k, min(k * SETS_PER_SET, MOST_SETS))):
            merged: dict[MentionSet, float] = {}
            for mentions, log_probability in ranked:
                kept = self._project(mentions)
                merged[kept] = merged.get(kept, 0.0) + math.exp(log_probability)
            best = sorted(merged.items(), key=lambda item: -item[1])[:k]
            result.append([(mentions, math.log(p) if p > 0 else -math.inf) for mentions, p in best])
        return result

    def sample(self, k: int = 1, generator: Any = None) -> list[list[MentionSet]]:
        return [[self._project(mentions) for mentions in drawn] for drawn in self.whole.sample(k, generator)]

    def condition(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Distribution:
        def of_all(given: AnySets | None) -> AnySets | None:
            if given is None:
                return None
            return [[with_parts(parts_of(one), self.chosen[one[2]]) for one in some] for some in given]

        return Restricted(self.whole.condition(of_all(require), of_all(forbid)), self.chosen)

    def restrict(self, types: Sequence[int]) -> Distribution:
        return Restricted(self.whole, [self.chosen[kind] for kind in check_types(types, self.types)])
