"""The hypergraph of mentions with gaps over NumPy arrays: what annotating asks of it, exactly, without torch.

The formulas are those of :class:`hyperspan.structures.DiscontinuousHypergraph`, which also has gradients and other devices; tests
compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.kernels.encoder_gaps import PartScores
from hyperspan.kernels.menu_arrays import run_menus
from hyperspan.structures.constraints import inside
from hyperspan.structures.discontinuous_edges import first_parts, is_possible, shared_score
from hyperspan.structures.discontinuous_menus import (
    Menus,
    PartArrays,
    best_mentions,
    event_probabilities,
    probability_of,
    probable_mentions,
)
from hyperspan.structures.mentions import AnyMention, check_discontinuous, parts_of
from hyperspan.structures.places import Places, places_above, places_at, with_discontinuous
from hyperspan.structures.segmental_arrays import ArrayHypergraph


class ArrayMenus(Menus):
    """The menus of a batch of sentences, in C where that can be."""

    def __init__(self, arrays: PartArrays, lengths: Sequence[int], parts: int, *, best: bool = False):
        self._shares: tuple[np.ndarray, np.ndarray] | None = None
        if choose("menus", "cpu") != "c":
            super().__init__(arrays, parts, best=best)
            return
        found = run_menus(arrays, lengths, parts, best=best)
        self.arrays, self.parts = arrays, parts
        self.from_word, self.after_part = list(found.from_word), list(found.after_part)
        self.more, self.events = found.more, found.events
        if found.alone is not None and found.goes_on is not None:
            self._shares = found.alone, found.goes_on

    def item_probabilities(self, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, c, m) each: how probable it is that a first part is a mention, and that others follow it, given how probable events are."""
        if self._shares is None:
            return event_probabilities(self, events)
        alone, goes_on = self._shares
        return events * alone, events * goes_on


class ProbableItems(NamedTuple):
    """The menus of a batch, and how probable the items of its events are."""

    menus: ArrayMenus
    alone: np.ndarray  # (B, n, c, m): that a first part is a mention
    goes_on: np.ndarray  # (B, n, c, m): that others follow it


class DiscontinuousArrayHypergraph:
    """A distribution over the mention sets of each sentence of a padded batch; see DiscontinuousHypergraph.

    Types are indices, a mention is ``(start, end, type)`` in words or, with up to `parts` parts, ``(start, end, type, parts)``. The
    arrays are not copied and must not change.
    """

    exact_marginals = True

    def __init__(self, first: ScoreArrays, longer: PartScores, lengths: Sequence[int], parts: int):
        self.first, self.longer, self.parts, self.lengths = first, longer, parts, list(lengths)
        self.max_width, self.types = first.close.shape[2:]
        self._kept: ProbableItems | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.lengths)} sentences of {sum(self.lengths)} words, {self.types} types"
        return f"DiscontinuousArrayHypergraph({sizes}, at most {self.parts} parts)"

    def _menus(self, *, best: bool = False) -> ArrayMenus:
        opening, gap, last = self.longer
        last = np.where(inside(self.lengths, last.shape), last, np.array(-np.inf, dtype=last.dtype))
        return ArrayMenus(PartArrays(self.first.close, opening, gap, last), self.lengths, self.parts, best=best)

    def _events(self, menus: Menus) -> ArrayHypergraph:
        """The distribution over first parts: sets of events, each a first part of one or more mentions."""
        return ArrayHypergraph(self.first._replace(close=menus.events), self.lengths)

    @property
    def _probable(self) -> ProbableItems:
        if self._kept is None:
            menus = self._menus()
            self._kept = ProbableItems(menus, *menus.item_probabilities(self._events(menus).marginals))
        return self._kept

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def log_partition(self) -> np.ndarray:
        """(B,): the logarithm of the sum of exp(score) over all mention sets."""
        return self._events(self._menus()).log_partition

    def log_prob(self, mention_sets: Sequence[Sequence[AnyMention] | set[AnyMention]]) -> np.ndarray:
        """(B,): the log-probability of one mention set a sentence; -inf for a set with a mention beyond the limits."""
        sets = check_discontinuous(mention_sets, self.lengths, self.types)
        exact = self._in_float64()
        scores = {"close": exact.first.close, **exact.longer._asdict()}
        widths = {name: array.shape[2] for name, array in scores.items()}
        kept = [{mention for mention in some if is_possible(mention, self.parts, widths)} for some in sets]
        events = exact._events(exact._menus())
        first = [first_parts(some) for some in kept]
        total = events.log_prob(first)
        weights = [sum(events.scores.close[b, i, j - i - 1, k] for i, j, k in some) for b, some in enumerate(first)]
        possible = (total > -np.inf) & np.array([len(some) == len(all_) for some, all_ in zip(kept, sets, strict=True)])
        with np.errstate(invalid="ignore"):
            total += shared_score(kept, scores) - weights
        return np.where(possible, np.minimum(total, 0.0), -np.inf)

    @property
    def marginals(self) -> np.ndarray:
        """(B, n, c, m): the probability of each mention of one part; `discontinuous_marginals` has the others."""
        return self._probable.alone

    def discontinuous_marginals(self, least: float = 0.01) -> list[dict[AnyMention, float]]:
        """For each sentence the mentions of more than one part that are at least so probable."""
        menus, _, goes_on = self._probable
        result: list[dict[AnyMention, float]] = [{} for _ in self.lengths]
        found = probable_mentions(menus, goes_on, [least] * self.types)
        for (sentence, mention), probability in zip(*found, strict=True):
            result[sentence][mention] = probability
        return result

    # -- decoding -------------------------------------------------------------------------------------------------

    def _best(self) -> tuple[np.ndarray, list[tuple[int, AnyMention]]]:
        menus = self._menus(best=True)
        return best_mentions(menus, self._events(menus)._best())

    def argmax(self) -> list[frozenset[AnyMention]]:
        """The most probable set of each sentence; of two equal choices the one with fewer mentions."""
        rows, longer = self._best()
        sets: list[set[AnyMention]] = [set() for _ in self.lengths]
        for sentence, start, end, kind in rows.tolist():
            sets[sentence].add((start, end, kind))
        for sentence, mention in longer:
            sets[sentence].add(mention)
        return [frozenset(mentions) for mentions in sets]

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each of `wanted`: the mentions of the best sets (None), or those as probable as their type has to be."""
        return [self._best_places() if least is None else self._places_above(least) for least in wanted]

    def _best_places(self) -> Places:
        menus, alone, goes_on = self._probable
        rows, longer = self._best()
        probable: list[float] = []
        for b, mention in longer:
            (start, end), *_ = parts = parts_of(mention)
            opened = float(goes_on[b, start, end - start - 1, mention[2]])
            probable.append(probability_of(menus, b, parts, mention[2], opened))
        return with_discontinuous(places_at(alone, rows), longer, probable)

    def _places_above(self, least: Sequence[float]) -> Places:
        menus, alone, goes_on = self._probable
        return with_discontinuous(places_above(alone, least), *probable_mentions(menus, goes_on, least))

    # -- other distributions --------------------------------------------------------------------------------------

    def restrict(self, types: Sequence[int]) -> DiscontinuousArrayHypergraph:
        """The distribution over the mentions of some types alone; types are independent, so nothing else changes."""
        first = ArrayHypergraph(self.first, self.lengths).restrict(types).scores
        longer = PartScores(*(array[..., list(types)] for array in self.longer))
        return DiscontinuousArrayHypergraph(first, longer, self.lengths, self.parts)

    def _in_float64(self) -> DiscontinuousArrayHypergraph:
        first = ArrayHypergraph(self.first, self.lengths)._in_float64().scores
        longer = PartScores(*(array.astype(np.float64) for array in self.longer))
        return DiscontinuousArrayHypergraph(first, longer, self.lengths, self.parts)
