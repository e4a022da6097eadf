"""The entropy of what follows the first parts of discontinuous mentions. NumPy, without torch.

The entropy of a menu is that of the choice among its items, plus the expected entropy of the menus that chosen items
lead to.
"""

from __future__ import annotations

import numpy as np

from hyperspan.structures.discontinuous_menus import Menu, Menus, following, log_some_given, softplus
from hyperspan.structures.mentions import Parts


def menu_entropy(items: np.ndarray, below: np.ndarray, required: np.ndarray, axis: int) -> np.ndarray:
    """The entropy of menus; `below` are those of the menus that items lead to.

    >>> no = np.zeros(2, dtype=bool)
    >>> float(np.exp(menu_entropy(np.zeros(2), np.zeros(2), no, 0)).round(3))  # three choices that are alike
    3.0
    """
    total = log_some_given(items, required, axis)
    possible = (items > -np.inf) & (np.expand_dims(total, axis) > -np.inf)
    with np.errstate(invalid="ignore"):
        others = np.where(required, items, softplus(items))
        each = items - others + np.expand_dims(others.sum(axis) - total, axis)
        probability = np.where(required, 1.0, np.where(possible, np.exp(np.minimum(each, 0.0)), 0.0))
        own = np.where(possible, probability * (below - items), 0.0).sum(axis)
    return np.maximum(np.where(total > -np.inf, total, 0.0) + own, 0.0)


class MenuEntropies:
    """The entropies of the menus of a batch, in float64."""

    def __init__(self, menus: Menus):
        self.menus = menus
        later, gaps = menus.arrays.last.shape[2], menus.arrays.gap.shape[2]
        self.parts: list[np.ndarray] = []
        """(B, n, m) for 1, 2, … parts that may still come: of the menu of a part that begins at a word."""
        self.gaps: list[np.ndarray] = []
        """(B, n, m) for the same: of a gap."""
        no = np.zeros((1, 1, 1, 1), dtype=bool)
        for part_items, gap_items in zip(menus.part_items, menus.gap_items, strict=True):
            below = np.zeros_like(part_items)
            if self.gaps:
                below[:, :, later:] = self._next(self.gaps[-1], later)
            self.parts.append(menu_entropy(part_items, below, no, 2))
            self.gaps.append(menu_entropy(gap_items, self._next(self.parts[-1], gaps), no, 2))

    def _next(self, values: np.ndarray, count: int) -> np.ndarray:
        """(B, n, m) -> (B, n, count, m): the entries of the next words; 0 beyond the last."""
        return np.maximum(following(values, count), 0.0)

    def events(self) -> np.ndarray:
        """(B, n, c, m): of what each event holds."""
        menus = self.menus
        more = self._next(self.gaps[-1], menus.more.shape[2]) if self.gaps else np.zeros_like(menus.more)
        for sentence, kind, done, *start in menus.private:
            if len(done) == 1 and not start:
                ((i, j),) = done
                more[sentence, i, j - i - 1, kind] = self._after(sentence, kind, done)
        below = np.stack([np.zeros_like(more), more])
        return menu_entropy(np.stack([menus.close, menus.more]), below, menus.required, 0)

    def _after(self, sentence: int, kind: int, done: Parts) -> float:
        """Of the menu of the gap after some parts, which may have private items."""
        menus, j, more = self.menus, done[-1][1], self.menus.parts - len(done) - 1
        if (sentence, kind, done) not in menus.private:
            return float(self.gaps[more][sentence, j, kind]) if j < self.gaps[more].shape[1] else 0.0
        menu = menus.after(sentence, kind, done)
        return self._of(menu, [self._part(sentence, kind, done, j + width + 1) for width in range(len(menu.items))])

    def _part(self, sentence: int, kind: int, done: Parts, start: int) -> float:
        """Of the menu of the part after a gap."""
        menus, more = self.menus, self.menus.parts - len(done) - 1
        if (sentence, kind, done, start) not in menus.private:
            return float(self.parts[more][sentence, start, kind]) if start < self.parts[more].shape[1] else 0.0
        menu, below = menus.part(sentence, kind, done, start), list[float]()
        for item in range(len(menu.items)):
            part, goes_on = menus.part_at(start, item)
            below.append(self._after(sentence, kind, (*done, part)) if goes_on else 0.0)
        return self._of(menu, below)

    def _of(self, menu: Menu, below: list[float]) -> float:
        return float(menu_entropy(menu.items, np.array(below), menu.required, 0))
