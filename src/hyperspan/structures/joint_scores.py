"""Scores of mentions of any type that begin at the same word and depend on each other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import namespace, placed, replaced
from hyperspan.structures.scores import EdgeScores, Scores, Values, check_scores

MOST_TYPES = 8
"""The largest number of types in a group: 8 types have 4^8 = 65,536 local choices at each span."""


@dataclass(frozen=True, eq=False)
class JointScores(Scores, Generic[Values]):
    """The scores of a segmental hypergraph, and of pairs of mentions that begin at the same word; both kinds of pairs
    are optional. All are NumPy arrays, or all tensors.

    ============  ==================  ==================================================================================
    field         shape               is added when
    ============  ==================  ==================================================================================
    ``edges``     EdgeScores          as in a segmental hypergraph
    ``together``  (B, n, c, m, m)     mentions (i, w, k) and (i, w, l), k < l, are both in the set; others do not count
    ``within``    (B, n, c, m, m)     (i, w, k) is in the set, and so is a wider mention of type l ≠ k that begins at i
    ============  ==================  ==================================================================================

    Entries that no set uses may hold anything, even NaN: those beyond a sentence, and those of impossible pairs.
    """

    edges: EdgeScores[Values]
    together: Values | None = None
    within: Values | None = None

    def __post_init__(self) -> None:
        shape = (*self.edges.close.shape, self.edges.close.shape[3])
        given = {"close": self.edges.close} | self.pairs()
        check_scores(given, {"close": tuple(self.edges.close.shape), "together": shape, "within": shape})

    def __repr__(self) -> str:
        names = "".join(f", {name}" for name in self.pairs())
        return f"JointScores({self.edges!r}{names})"

    @property
    def close(self) -> Values:
        """(B, n, c, m): the `close` scores of the edges."""
        return self.edges.close

    def pairs(self) -> dict[str, Any]:
        """The scores of pairs that are given, by name."""
        given = {"together": self.together, "within": self.within}
        return {name: values for name, values in given.items() if values is not None}

    def tensors(self) -> dict[str, Any]:
        """All arrays or tensors that are given, by name."""
        return self.edges.tensors() | self.pairs()

    def map(self, function: Callable[[Any], Any]) -> JointScores[Any]:
        """The same scores with a function applied to each array or tensor."""
        edges = self.edges.map(function)
        return JointScores(edges, **{name: function(values) for name, values in self.pairs().items()})

    def given(self, required: Any, forbidden: Any) -> JointScores[Values]:
        """These scores, with -inf for sets that lack a required mention or have a forbidden one; masks are (B, n, c,
        m)."""
        return replace(self, edges=self.edges.given(required, forbidden))

    def restrict(self, types: Sequence[int]) -> JointScores[Values]:
        """The scores of some types, in this order."""
        kept = list(types)
        edges = self.edges.map(lambda values: values[..., kept])
        pairs: dict[str, Any] = {}
        for name, values in self.pairs().items():
            if name == "together":  # only k < l counts, and the order may have changed
                upper = placed(np.triu(np.ones(values.shape[-2:], dtype=bool), 1), values)
                values = namespace(values).where(upper, values, values.swapaxes(-1, -2))
            pairs[name] = values[..., kept, :][..., kept]
        return JointScores(edges, **pairs)

    def group(self, types: Sequence[int], room: Any) -> GroupScores:
        """The scores of a group of types, one row per word of the batch, 0 in padding; `room` (B * n,) as kernels
        expect."""
        kept = list(types)
        whole = kept == list(range(self.close.shape[3]))
        widths = placed(np.arange(self.close.shape[2]), room)
        beyond = room[:, None] <= widths  # (R, c)
        last = room.clip(max=len(widths))[:, None] <= widths + 1  # (R, c): where nothing can continue

        def rows(values: Any, outside: Any, pair: bool = False) -> Any:
            if values is None or (pair and len(kept) == 1):
                return None
            some = values if whole else values[..., kept]
            some = some[..., kept, :] if pair and not whole else some
            some = some.reshape(len(room), *some.shape[2:])
            return replaced(some, outside.reshape(*outside.shape, *[1] * (some.ndim - outside.ndim)), 0.0)

        edges = self.edges
        starts, steps = beyond[:, 0], beyond[:, 1:]
        return GroupScores(
            rows(edges.absent, starts),
            rows(edges.present, starts),
            rows(edges.extend, steps),
            rows(edges.close, beyond),
            rows(edges.branch, steps),
            rows(self.together, beyond, pair=True),
            rows(self.within, last, pair=True),
        )


def check_groups(groups: Iterable[Iterable[int]] | None, types: int) -> tuple[tuple[int, ...], ...]:
    """Return the groups of types that interact, each type in exactly one; None puts all types in one group.

    >>> check_groups([[2, 0]], 4)
    ((0, 2), (1,), (3,))
    """
    given = [range(types)] if groups is None else groups
    try:
        found = [tuple(sorted(map(operator.index, group))) for group in given]
        listed = [kind for group in found for kind in group]
        wrong = len(set(listed)) < len(listed) or not all(0 <= kind < types for kind in listed)
    except TypeError:
        found, listed, wrong = [], [], True
    if wrong:
        raise ValueError(f"expected groups of types from 0 to {types - 1}, each type in one group, got {groups!r}")
    for group in found:
        if len(group) > MOST_TYPES:
            raise ValueError(
                f"expected groups of at most {MOST_TYPES} types, got one of {len(group)}, which has 4^{len(group)} choices at "
                "each span: give smaller groups of types that interact"
            )
    found += [(kind,) for kind in range(types) if kind not in listed]
    return tuple(sorted(group for group in found if group))
