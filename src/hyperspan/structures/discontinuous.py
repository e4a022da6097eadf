"""A distribution over sets of mentions that may have gaps.

The segmental hypergraph with one change: where a first part ends, its mention may continue after a gap.
:mod:`hyperspan.structures.gaps` explains why every set of mentions is one hyperpath, and has the recurrences;
docs/concepts/discontinuous.md shows them in a picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hyperspan.kernels.numbers import is_array, replaced, to_numpy, widened
from hyperspan.structures.calibration import TypeCalibration, gap_biases, like
from hyperspan.structures.constraints import AnySets, KnownMentions, PartialMarks, known_of, known_of_marks
from hyperspan.structures.distribution import check_types, places_above
from hyperspan.structures.edges import discontinuous_path_scores
from hyperspan.structures.gaps import Menus
from hyperspan.structures.gaps_decoding import (
    ExpectedEdges,
    best_mentions,
    draw_mentions,
    probability_of,
    probable_mentions,
)
from hyperspan.structures.gaps_kbest import chain_alternatives
from hyperspan.structures.kbest import Mentions
from hyperspan.structures.mentions import AnyMention, check_discontinuous, parts_of, with_parts
from hyperspan.structures.places import Places
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Values, check_lengths, mean_of
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.segmental_chains import Chains
from hyperspan.structures.units import AnySet, Given, Uniform, UnitProduct

Summed = tuple[Menus, SegmentalHypergraph]
"""Menus, and the distribution over first parts: sets of events, each a first part of one or more mentions."""


class DiscontinuousHypergraph(UnitProduct[Values]):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' scores).

    A mention has one part, ``(start, end, type)``, or up to `parts` of them, ``(start, end, type, ((start, end), …))``
    with words between them. With `parts` = 1 this is the :class:`SegmentalHypergraph`, whose units it has: *chains*,
    all mentions of a type that begin at a word. Everything is exact. Arrays are not copied and must not change.

    >>> import torch
    >>> from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores
    >>> zeros = torch.zeros(1, 3, 1)
    >>> first, later = torch.zeros(1, 3, 1, 1), torch.zeros(1, 3, 1, 1)
    >>> scores = DiscontinuousScores(zeros, zeros, first[:, :, :0], first, first, gap=later, last=later)
    >>> words = DiscontinuousHypergraph(scores, lengths=[3])
    >>> words.log_partition.exp()  # each of the three words may be a mention, and the first and last together
    tensor([16.])
    >>> words.condition(require=[[(0, 3, 0, ((0, 1), (2, 3)))]]).log_partition.exp()
    tensor([8.])
    """

    def __init__(
        self,
        scores: DiscontinuousScores[Values],
        lengths: Any,
        parts: int = 2,
        known: KnownMentions | None = None,
        best: Places | None = None,
    ):
        """Make the distribution from the scores of a batch and the number of words of each sentence, under the
        constraints `known`; `best` are the mentions of the most probable sets, if already known."""
        if parts < 1:
            raise ValueError(f"expected mentions of at least one part, got parts = {parts}")
        batch, n, c, m = scores.close.shape
        self.scores: DiscontinuousScores[Any] = scores
        self.parts, self.known = parts, known
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self.limits_of_mentions = scores.limits(parts)
        self._known_best = best
        self._kept: dict[bool, Summed] = {}

    def with_scores(self, scores: Any, lengths: Sequence[int] | None = None) -> Self:
        return type(self)(scores, self.lengths if lengths is None else lengths, self.parts, self.known)

    def _with_known(self, known: KnownMentions) -> Given:
        joined = known if self.known is None else self.known.joined(known)
        return Given(type(self)(self.scores, self.lengths, self.parts, joined), known.chains)

    # -- probabilities -----------------------------------------------------------------------------------------------
    # Nothing that depends on tensors is kept: each call sees the current scores and builds a fresh autograd graph.

    def _summed(self, *, best: bool = False) -> Summed:
        """The menus of all choices, or of the best of arrays."""
        if best in self._kept:
            return self._kept[best]
        menus = Menus(self.scores, self.lengths, self.parts, best=best, known=self.known)
        edges = EdgeScores(self.scores.absent, self.scores.present, self.scores.extend, menus.events)
        if menus.required.any():
            required = np.asarray(menus.required.any(0))
            edges = edges.given(required, np.zeros_like(required))
        found = menus, SegmentalHypergraph(edges, self.lengths)
        if is_array(self.scores.close):
            self._kept[best] = found
        return found

    def first_parts(self, *, best: bool = False) -> SegmentalHypergraph:
        """The distribution over first parts or, if `best`, one over arrays with the same best set of them."""
        return self._summed(best=best)[1]

    @property
    def unit_log_partition(self) -> Values:
        """(B, n, m): the log-partition of each chain; 0 in padding."""
        return self.first_parts().unit_log_partition

    def unit_scores(self, mention_sets: AnySets) -> tuple[Values, list[bool]]:
        sets, known = check_discontinuous(mention_sets, self.lengths, self.types), self.known
        kept = [{mention for mention in some if self.limits_of_mentions.allow(mention)} for some in sets]
        impossible = [
            len(some) < len(every) or (known is not None and not known.allows(sentence, some))
            for sentence, (some, every) in enumerate(zip(kept, sets, strict=True))
        ]
        return discontinuous_path_scores(self.scores, kept), impossible

    @property
    def edge_marginals(self) -> DiscontinuousScores[Values]:
        """The probability of each edge in the place of its score, or the expected number of those in a place; 0 in
        padding. This is the gradient of the log-partition."""
        return self._edges(None)

    def _edges(self, weights: Any) -> DiscontinuousScores[Any]:
        """Expected edges, those of each chain times its weight (B, n, m)."""
        if not is_array(self.scores.close):
            from hyperspan.kernels.autograd import gradients

            def total(scores: DiscontinuousScores[Any]) -> Any:
                chains: Any = self.with_scores(scores).unit_log_partition
                return (chains if weights is None else chains * weights).sum()

            return gradients(total, self.scores)
        menus, first = self._summed()
        edges, share = first.edge_marginals, 1.0 if weights is None else weights[:, :, None]
        extend = edges.extend if edges.branch is None else edges.extend + edges.branch
        found = ExpectedEdges(menus, np.asarray(first.marginals) * share)
        absent, present = (one * (1.0 if weights is None else weights) for one in (edges.absent, edges.present))
        return DiscontinuousScores(absent, present, extend * share, found.close, found.open, found.gap, found.last)

    @property
    def marginals(self) -> Values:
        """(B, n, c, m): the probability of each contiguous mention; for others see :meth:`discontinuous_marginals`."""
        menus, first = self._summed()
        alone = first.marginals * menus.shares[0]
        return self._certain(alone, self.known.required) if self.known is not None and is_array(alone) else alone

    def _continued(self) -> np.ndarray:
        """(B, n, c, m): the probability that other parts follow each first part, over arrays."""
        menus, first = self._summed()
        goes_on = first.marginals * menus.shares[1]
        return goes_on if self.known is None else self._certain(goes_on, self.known.opened)

    def _certain(self, probabilities: Any, where: np.ndarray) -> Any:
        """Probabilities, of which rounding may have made certain ones slightly less probable."""
        return replaced(probabilities, where, 1.0)

    def discontinuous_marginals(self, least: float = 0.01) -> list[dict[AnyMention, float]]:
        """For each sentence, the discontinuous mentions with a probability of at least `least`."""
        result: list[dict[AnyMention, float]] = [{} for _ in self.lengths]
        [found] = self.places([[least] * self.types])
        for row, probability, parts in zip(found.rows.tolist(), found.probabilities, found.parts, strict=False):
            if parts:
                result[row[0]][with_parts(parts, row[3])] = float(probability)
        return result

    def probabilities_of(self, found: Places) -> np.ndarray:
        arrays = self._over_arrays()
        (menus, first), known = arrays._summed(), self.known
        sentence, start, end, kind = found.rows.astype(np.int64, copy=False).T
        if found.parts:
            end = np.array(
                [parts[0][1] if parts else j for parts, j in zip(found.parts, end.tolist(), strict=True)],
                dtype=np.int64,
            )
        place = sentence, start, end - start - 1, kind
        alone, goes_on = np.asarray(first.marginals)[place] * menus.shares_at(place)
        if known is not None:
            alone, goes_on = self._certain(alone, known.required[place]), self._certain(goes_on, known.opened[place])
        for row, parts in enumerate(found.parts):
            if parts:
                b, k = int(sentence[row]), int(kind[row])
                alone[row] = probability_of(menus, b, parts, k, float(goes_on[row]))
        return np.minimum(alone, 1.0)

    def given_first_parts(self, mentions: Sequence[tuple[int, AnyMention]]) -> np.ndarray:
        """(mentions,): the probability of each (sentence, mention), given that some mention has its first part."""
        menus = self._over_arrays()._summed()[0]
        found: list[float] = []
        for sentence, mention in mentions:
            (start, end), *later = parts = parts_of(mention)
            alone, goes_on = menus.shares_at((sentence, start, end - start - 1, mention[2])).tolist()
            found.append(probability_of(menus, sentence, parts, mention[2], goes_on) if later else alone)
        return np.minimum(np.array(found, dtype=np.float64), 1.0)

    # -- under constraints, of some types, and as a teacher ----------------------------------------------------------

    def given(self, require: AnySets | None, forbid: AnySets | None) -> Given:
        return self._with_known(
            known_of(require, forbid, self.lengths, self.scores.close.shape, self.limits_of_mentions)
        )

    def given_marks(self, gold: AnySets, marks: PartialMarks) -> Given:
        sets = check_discontinuous(gold, self.lengths, self.types)
        return self._with_known(known_of_marks(sets, marks, self.scores.close.shape, self.limits_of_mentions))

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        n = self.scores.close.shape[1]
        # Absent single mentions do not settle a start: discontinuous ones may begin there.
        everything = replace(marks, forbidden=[()] * len(self.lengths))
        return everything.known_chains(self.lengths, n, min(self.limits_of_mentions.hull, max(n, 1)))

    def restrict(self, types: Sequence[int]) -> Self:
        chosen = check_types(types, self.types)
        known = None if self.known is None else self.known.restrict(chosen)
        return type(self)(self.scores.map(lambda values: values[..., chosen]), self.lengths, self.parts, known)

    def select(self, sentences: Sequence[int]) -> Self:
        chosen = list(sentences)
        known = None if self.known is None else self.known.select(chosen)
        lengths = [self.lengths[b] for b in chosen]
        return type(self)(self.scores.map(lambda values: values[chosen]), lengths, self.parts, known)

    def tilted(self, weight: float) -> Self:
        scores = self.scores
        return self.with_scores(scores.changed(close=scores.close + weight, last=scores.last + weight))

    def geometric_mean(self, others: Sequence[DiscontinuousHypergraph]) -> Self:
        limits = self.limits_of_mentions
        for other in others:
            limits = limits.shared(other.limits_of_mentions)
        scores = mean_of([one.scores.narrowed(limits) for one in (self, *others)])
        return type(self)(scores, self.lengths, limits.parts)

    def expected_edges(self, teacher: DiscontinuousHypergraph, weights: Any = None) -> DiscontinuousScores[Values]:
        limits, own = self.limits_of_mentions.shared(teacher.limits_of_mentions), self.scores.tensors()
        taught = teacher.scores.narrowed(limits).map(lambda one: one if is_array(one) else one.detach())
        found = DiscontinuousHypergraph(taught, self.lengths, limits.parts)._edges(weights).tensors()
        return DiscontinuousScores(
            **{name: found[name] if one.ndim == 3 else widened(found[name], one.shape[2]) for name, one in own.items()}
        )

    # -- decoding, over arrays ---------------------------------------------------------------------------------------

    def _over_arrays(self) -> Self:
        """The same distribution over arrays, without gradients."""
        return self if is_array(self.scores.close) else self.with_scores(self.scores.map(to_numpy))

    def best(self) -> Places:
        if self._known_best is not None:
            return self._known_best
        menus, first = self._over_arrays()._summed(best=True)
        found = best_mentions(menus, first.best().rows)
        if is_array(self.scores.close):
            self._known_best = found
        return found

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each entry of `wanted`: the mentions of the best sets (None), or those that reach their type's
        threshold."""
        arrays = self._over_arrays()
        return [arrays._best_places() if least is None else arrays._places_above(least) for least in wanted]

    def _best_places(self) -> Places:
        found = self.best()
        return found._replace(probabilities=self.probabilities_of(found))

    def _places_above(self, least: Sequence[float]) -> Places:
        contiguous = places_above(self.marginals, least)
        return probable_mentions(self._summed()[0], contiguous, self._continued(), least, self.lengths)

    def leads(self) -> tuple[np.ndarray, np.ndarray]:
        return self.first_parts(best=True).leads()

    def alternatives(self, sentence: int, units: np.ndarray, k: int) -> Sequence[Iterator[tuple[float, Mentions]]]:
        menus, first = self._summed(best=True)
        chains = Chains.at(first.scores, self.lengths, (np.full(len(units), sentence), *units.T))
        return [
            chain_alternatives(menus, chains, row, (sentence, start, kind), k)
            for row, (start, kind) in enumerate(units.tolist())
        ]

    def draw(self, k: int, uniform: Uniform) -> list[list[AnySet]]:
        menus, first = self._summed()
        return draw_mentions(menus, first.draw(k, uniform), uniform)

    # -- calibration -------------------------------------------------------------------------------------------------

    def calibrated(self, calibration: TypeCalibration) -> Self:
        """The calibrated distribution, with the same most probable sets; the scores must already be divided by its
        temperatures, and there must be no constraints."""
        arrays, scores = self._over_arrays(), self.scores
        menus, first = arrays._summed(best=True)
        first_parts = first.best().rows
        best = best_mentions(menus, first_parts)
        present, opened = gap_biases(calibration, arrays.scores, menus, first_parts, best, self.lengths)
        biased = scores.changed(present=scores.present + like(present, scores.present))
        if opened is not None:
            biased = biased.changed(open=scores.open + like(opened, scores.open))
        return type(self)(biased, self.lengths, self.parts, best=best)
