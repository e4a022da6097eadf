"""The menus of discontinuous mentions, computed in C where possible, with the interface of the NumPy ones. No torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.menu_arrays import run_menus
from hyperspan.structures.constraints import inside
from hyperspan.structures.discontinuous_given import Known
from hyperspan.structures.discontinuous_menus import (
    Menu,
    Menus,
    PartArrays,
    best_some,
    best_some_given,
    event_probabilities,
    item_shares,
    log_some,
    log_some_given,
)


class ArrayMenus(Menus):
    """The menus of a batch of sentences; NumPy computes the few that constraints concern."""

    def __init__(
        self,
        arrays: PartArrays,
        lengths: Sequence[int],
        parts: int,
        *,
        best: bool = False,
        known: Known | None = None,
    ):
        self._shares: tuple[np.ndarray, np.ndarray] | None = None
        if choose("menus", "cpu") != "c":
            super().__init__(PartArrays(*(_inside(array, lengths) for array in arrays)), parts, best=best, known=known)
            return
        self.arrays, self.parts = arrays._replace(last=_inside(arrays.last, lengths)), parts
        found = run_menus(self.arrays, lengths, parts, best=best)
        self.some, self.some_given = (best_some, best_some_given) if best else (log_some, log_some_given)
        self.gap_items, self.part_items = list(found.gap_items), [self.arrays.last, *found.part_items][: parts - 1]
        self.close, self.more, self.events = arrays.close, found.more, found.events
        self.required, self.private = np.zeros((2, 1, 1, 1, 1), dtype=bool), dict[object, Menu]()
        if found.alone is not None and found.goes_on is not None:
            self._shares = found.alone, found.goes_on
        if known is not None:
            place = self.constrain(known)
            if self._shares is not None:
                for shares, changed in zip(self._shares, item_shares(self, place), strict=True):
                    shares[place] = changed

    def item_probabilities_at(self, events: np.ndarray, place: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The same at some places, which is faster where they are few."""
        if self._shares is None:
            alone, goes_on = self.item_probabilities(events)
            return alone[place], goes_on[place]
        alone, goes_on = self._shares
        return events[place] * alone[place], events[place] * goes_on[place]

    def item_probabilities(self, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, c, m) each: the probability that a first part is a mention, and that others follow it, given the event
        probabilities."""
        if self._shares is None:
            return event_probabilities(self, events)
        alone, goes_on = self._shares
        return events * alone, events * goes_on


def _inside(values: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """(B, n, widths, m): -inf where words would be beyond their sentence."""
    found = values.copy()
    found[~inside(lengths, values.shape)[..., 0]] = -np.inf
    return found
