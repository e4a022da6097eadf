"""The hypergraph of discontinuous mentions over NumPy arrays: exact inference for annotation, without torch.

The formulas are those of :class:`hyperspan.structures.DiscontinuousHypergraph`, which also supports gradients and other
devices; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hyperspan.kernels.chains import check_possible
from hyperspan.kernels.encode import PartScores
from hyperspan.structures.constraints import inside
from hyperspan.structures.discontinuous_calibration import BestMentions, allowed_biases
from hyperspan.structures.discontinuous_edges import first_parts, shared_score
from hyperspan.structures.discontinuous_entropy import MenuEntropies
from hyperspan.structures.discontinuous_given import AnySets, Known, known_of
from hyperspan.structures.discontinuous_kbest import FirstParts, best_sets
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.discontinuous_menus import PartArrays, best_mentions, probability_of, probable_mentions
from hyperspan.structures.discontinuous_menus_c import ArrayMenus
from hyperspan.structures.discontinuous_sampling import draw_mentions
from hyperspan.structures.distribution import places_above
from hyperspan.structures.mentions import AnyMention, check_discontinuous, parts_of
from hyperspan.structures.places import Places, with_discontinuous
from hyperspan.structures.scores import EdgeScores
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.segmental_calibration import TypeCalibration

AnySet = frozenset[AnyMention]


class ProbableItems:
    """The menus of a batch, and the probabilities of its event items.

    `events` (B, n, c, m) are the probabilities of first parts.
    """

    def __init__(self, menus: ArrayMenus, events: np.ndarray, known: Known | None = None):
        self.menus, self.events, self.known = menus, events, known
        self._everywhere: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def everywhere(self) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, c, m) each: that a first part is a mention, and that others follow it."""
        if self._everywhere is None:
            self._everywhere = alone, goes_on = self.menus.item_probabilities(self.events)
            if self.known is not None:  # rounding may have made certain mentions slightly less probable
                alone[self.known.required] = goes_on[self.known.opened] = 1.0
        return self._everywhere

    def at(self, place: tuple[Any, ...]) -> tuple[Any, Any]:
        """The same at some places."""
        if self._everywhere is None and self.known is None:
            return self.menus.item_probabilities_at(self.events, place)
        alone, goes_on = self.everywhere
        return alone[place], goes_on[place]

    def probability(self, sentence: int, mention: AnyMention) -> float:
        """The probability of a mention."""
        (start, end), *_ = parts = parts_of(mention)
        alone, goes_on = self.at((sentence, start, end - start - 1, mention[2]))
        if len(parts) == 1:
            return float(alone)
        return min(probability_of(self.menus, sentence, parts, mention[2], float(goes_on)), 1.0)


class DiscontinuousArrayHypergraph:
    """A distribution over the mention sets of each sentence of a padded batch; see DiscontinuousHypergraph.

    Types are indices, a mention is ``(start, end, type)`` in words or, with up to `parts` parts, ``(start, end, type,
    parts)``. The arrays are not copied and must not change. `best` are the mentions of the most probable sets, if
    already known.
    """

    exact_marginals = True

    def __init__(
        self,
        first: EdgeScores[np.ndarray],
        longer: PartScores,
        lengths: Sequence[int],
        parts: int,
        known: Known | None = None,
        best: BestMentions | None = None,
    ):
        self.first, self.longer, self.parts, self.known, self._known_best = first, longer, parts, known, best
        self.lengths = list(lengths)
        self.max_width, self.types = first.close.shape[2:]
        self.limits_of_mentions = Limits(parts, self.max_width, longer.gap.shape[2], longer.last.shape[2])
        self._kept: ProbableItems | None = None
        self._kept_menus: tuple[ArrayMenus, SegmentalHypergraph] | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.lengths)} sentences of {sum(self.lengths)} words, {self.types} types"
        return f"DiscontinuousArrayHypergraph({sizes}, at most {self.parts} parts)"

    def _menus(self, *, best: bool = False) -> ArrayMenus:
        arrays = PartArrays(self.first.close, *self.longer)
        return ArrayMenus(arrays, self.lengths, self.parts, best=best, known=self.known)

    def _events(self, menus: ArrayMenus) -> SegmentalHypergraph:
        """The distribution over first parts: sets of events, each a first part of one or more mentions."""
        events = SegmentalHypergraph(replace(self.first, close=menus.events), self.lengths)
        if self.known is None:
            return events
        required = np.logical_or(*menus.required)
        return events.given_masks(required, np.zeros_like(required)).distribution

    @property
    def _summed(self) -> tuple[ArrayMenus, SegmentalHypergraph]:
        """The menus of all choices, and the distribution over first parts."""
        if self._kept_menus is None:
            menus = self._menus()
            self._kept_menus = menus, self._events(menus)
        return self._kept_menus

    @property
    def _probable(self) -> ProbableItems:
        if self._kept is None:
            menus, events = self._summed
            self._kept = ProbableItems(menus, events.marginals, self.known)
        return self._kept

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def log_partition(self) -> np.ndarray:
        """(B,): the logarithm of the sum of exp(score) over all mention sets."""
        return self._summed[1].log_partition

    def log_prob(self, mention_sets: AnySets) -> np.ndarray:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention beyond the
        limits."""
        sets, known = check_discontinuous(mention_sets, self.lengths, self.types), self.known
        kept = [{mention for mention in some if self.limits_of_mentions.allow(mention)} for some in sets]
        possible = [
            len(some) == len(every) and (known is None or known.allows(sentence, some))
            for sentence, (some, every) in enumerate(zip(kept, sets, strict=True))
        ]
        exact = self._in_float64()
        menus, first = exact._menus(), [first_parts(some) for some in kept]
        total = exact._events(menus).log_prob(first)
        weights = [sum(menus.events[b, i, j - i - 1, k] for i, j, k in some) for b, some in enumerate(first)]
        with np.errstate(invalid="ignore"):
            inner = shared_score(kept, {"close": exact.first.close, **exact.longer._asdict()}) - weights
        return np.where(np.array(possible) & (total > -np.inf), np.minimum(total + inner, 0.0), -np.inf)

    def first_parts(self, *, best: bool = False) -> SegmentalHypergraph:
        """The distribution over first parts or, if `best`, one with the same best set of them."""
        return self._events(self._menus(best=best))

    def given_first_parts(self, mentions: Sequence[tuple[int, AnyMention]]) -> np.ndarray:
        """(mentions,): the probability of each (sentence, mention), given that some mention has its first part."""
        menus = self._menus()
        items = ProbableItems(menus, np.ones_like(self.first.close))
        return np.array([items.probability(*found) for found in mentions], dtype=np.float64)

    @property
    def marginals(self) -> np.ndarray:
        """(B, n, c, m): the probability of each contiguous mention; for others see `discontinuous_marginals`."""
        return self._probable.everywhere[0]

    def discontinuous_marginals(self, least: float = 0.01) -> list[dict[AnyMention, float]]:
        """For each sentence, the discontinuous mentions with a probability of at least `least`."""
        _, goes_on = self._probable.everywhere
        result: list[dict[AnyMention, float]] = [{} for _ in self.lengths]
        found = probable_mentions(self._probable.menus, goes_on, [least] * self.types)
        for (sentence, mention), probability in zip(*found, strict=True):
            result[sentence][mention] = min(probability, 1.0)
        return result

    @property
    def entropy(self) -> np.ndarray:
        """(B,): the entropy of the distribution over mention sets, in nats: that of first parts plus that of their
        continuations."""
        exact = self._in_float64()
        menus = exact._menus()
        events = exact._events(menus)
        below = events.marginals * MenuEntropies(menus).events()
        return events.entropy + below.sum((1, 2, 3))

    # -- decoding -------------------------------------------------------------------------------------------------

    def _best(self) -> BestMentions:
        if self._known_best is not None:
            return self._known_best
        menus = self._menus(best=True)
        return BestMentions(*best_mentions(menus, self._events(menus).best().rows))

    def argmax(self) -> list[AnySet]:
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        rows, longer = self._best()
        sets: list[set[AnyMention]] = [set() for _ in self.lengths]
        for sentence, start, end, kind in rows.tolist():
            sets[sentence].add((start, end, kind))
        for sentence, mention in longer:
            sets[sentence].add(mention)
        return [frozenset(mentions) for mentions in sets]

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each entry of `wanted`: the mentions of the best sets (None), or those that reach their type's
        threshold."""
        return [self._best_places() if least is None else self._places_above(least) for least in wanted]

    def _best_places(self) -> Places:
        probable, (rows, longer) = self._probable, self._best()
        sentence, start, end, kind = rows.T
        alone, _ = probable.at((sentence, start, end - start - 1, kind))
        contiguous = Places(rows, np.minimum(alone, 1.0))
        return with_discontinuous(contiguous, longer, [probable.probability(*found) for found in longer])

    def _places_above(self, least: Sequence[float]) -> Places:
        alone, goes_on = self._probable.everywhere
        longer, probable = probable_mentions(self._probable.menus, goes_on, least)
        return with_discontinuous(places_above(alone, least), longer, np.minimum(probable, 1.0).tolist())

    def topk(self, k: int) -> list[list[tuple[AnySet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer where fewer
        exist."""
        if k < 0:
            raise ValueError(f"expected k >= 0, got {k}")
        exact = self._in_float64()
        events = exact._events(exact._menus())
        log_partition = events.unit_log_partition
        if np.isnan(log_partition).any():
            check_possible(log_partition)
        menus = exact._menus(best=True)
        first = first_parts_of(exact._events(menus).scores, exact.first.extend, menus.events, self.lengths)
        possible: list[bool] = np.all(log_partition > -np.inf, axis=(1, 2)).tolist()
        return best_sets(menus, first, log_partition, possible, k)

    def sample(self, k: int = 1, generator: np.random.Generator | None = None) -> list[list[AnySet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
        generator = generator or np.random.default_rng()
        exact = self._in_float64()
        menus = exact._menus()
        return draw_mentions(menus, exact._events(menus).sample(k, generator), generator)

    # -- other distributions --------------------------------------------------------------------------------------

    def calibrated(self, calibration: TypeCalibration) -> DiscontinuousArrayHypergraph:
        """The calibrated distribution, with the same most probable sets.

        The scores must already be divided by the temperatures; the distribution must have no constraints.
        """
        menus = self._menus(best=True)
        found = allowed_biases(calibration, self.first, menus, self._events(menus).best().rows, self.lengths)
        first = replace(self.first, present=self.first.present + found.present)
        longer = self.longer._replace(open=found.opened(self.longer.open))
        return DiscontinuousArrayHypergraph(first, longer, self.lengths, self.parts, best=found.best)

    def condition(self, require: AnySets | None = None, forbid: AnySets | None = None) -> DiscontinuousArrayHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence.
        """
        known = known_of(require, forbid, self.lengths, self.first.close.shape, self.limits_of_mentions)
        joined = known if self.known is None else self.known.joined(known)
        return DiscontinuousArrayHypergraph(self.first, self.longer, self.lengths, self.parts, joined)

    def restrict(self, types: Sequence[int]) -> DiscontinuousArrayHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = list(types)
        first = SegmentalHypergraph(self.first, self.lengths).restrict(chosen).scores
        longer = PartScores(*(array[..., chosen] for array in self.longer))
        known = None if self.known is None else self.known.restrict(chosen)
        return DiscontinuousArrayHypergraph(first, longer, self.lengths, self.parts, known)

    def _like(self, first: EdgeScores[np.ndarray], longer: PartScores) -> DiscontinuousArrayHypergraph:
        """The distribution with other scores under the same constraints."""
        return DiscontinuousArrayHypergraph(first, longer, self.lengths, self.parts, self.known)

    def _in_float64(self) -> DiscontinuousArrayHypergraph:
        first = self.first.in_float64()
        return self._like(first, PartScores(*(array.astype(np.float64) for array in self.longer)))


def first_parts_of(edges: EdgeScores, extend: np.ndarray, events: np.ndarray, lengths: Sequence[int]) -> FirstParts:
    """The chains over first parts, from the scores of their distribution, and the `extend` scores without
    constraints."""
    room = inside(lengths, events.shape).swapaxes(2, 3)  # (B, n, 1, c)
    skip, take, stop, best = (values.swapaxes(2, 3) for values in (edges.extend, extend, edges.close, events))
    return FirstParts(
        np.where(room[..., 0], edges.absent, 0.0),
        np.where(room[..., 0], edges.present, -np.inf),
        *(np.where(room[..., 1:], values, -np.inf) for values in (skip, take)),
        *(np.where(room, values, -np.inf) for values in (stop, best)),
    )
