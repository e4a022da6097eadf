"""Scores of mentions of any type that begin at the same word and depend on each other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import in_float64
from hyperspan.kernels.transfer import to_device
from hyperspan.structures.mentions import Mention
from hyperspan.structures.scores import EdgeScores, check_scores

MOST_TYPES = 8
"""The largest number of types in a group: 8 types have 4^8 = 65,536 local choices at each span."""


@dataclass(frozen=True)
class JointScores:
    """The scores of a segmental hypergraph, and of pairs of mentions that begin at the same word; both kinds of pairs
    are optional.

    ============  ==================  ==================================================================================
    field         shape               is added when
    ============  ==================  ==================================================================================
    ``edges``     EdgeScores          as in a segmental hypergraph
    ``together``  (B, n, c, m, m)     mentions (i, w, k) and (i, w, l), k < l, are both in the set; others do not count
    ``within``    (B, n, c, m, m)     (i, w, k) is in the set, and so is a wider mention of type l ≠ k that begins at i
    ============  ==================  ==================================================================================

    Entries that no set uses may hold anything, even NaN: those beyond a sentence, and those of impossible pairs.
    """

    edges: EdgeScores
    together: Tensor | None = None
    within: Tensor | None = None

    def __post_init__(self) -> None:
        shape = (*self.edges.close.shape, self.edges.close.shape[3])
        given = {"close": self.edges.close} | self.pairs()
        check_scores(given, {"close": tuple(self.edges.close.shape), "together": shape, "within": shape})

    def __repr__(self) -> str:
        names = "".join(f", {name}" for name in self.pairs())
        return f"JointScores({self.edges!r}{names})"

    @property
    def close(self) -> Tensor:
        """(B, n, c, m): the `close` scores of the edges."""
        return self.edges.close

    def pairs(self) -> dict[str, Tensor]:
        """The scores of pairs that are given, by name."""
        return {name: tensor for name in ("together", "within") if (tensor := getattr(self, name)) is not None}

    def tensors(self) -> dict[str, Tensor]:
        """All tensors that are given, by name."""
        return self.edges.tensors() | self.pairs()

    def map(self, function: Callable[[Tensor], Tensor]) -> JointScores:
        """The same scores with a function applied to each tensor."""
        return JointScores(
            self.edges.map(function), **{name: function(tensor) for name, tensor in self.pairs().items()}
        )

    def __truediv__(self, temperature: float) -> JointScores:
        """These scores at a temperature: above 1 the distribution is flatter, below 1 sharper; the ranking stays."""
        return self.map(lambda tensor: tensor / temperature)

    def to(self, *args: Any, **kwargs: Any) -> JointScores:
        """Move or convert these scores; takes the arguments of :meth:`torch.Tensor.to`."""
        return self.map(lambda tensor: tensor.to(*args, **kwargs))

    def in_float64(self) -> JointScores:
        """These scores in float64, on the CPU if their device has no such numbers."""
        return self.map(in_float64)

    @property
    def needs_gradient(self) -> bool:
        """Whether autograd tracks computations on these scores."""
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors().values())

    def given(self, required: Tensor, forbidden: Tensor) -> JointScores:
        """These scores, with -inf for sets that lack a required mention or have a forbidden one; masks are (B, n, c,
        m)."""
        return replace(self, edges=self.edges.given(required, forbidden))

    def restrict(self, types: Sequence[int]) -> JointScores:
        """The scores of some types, in this order."""
        kept = list(types)
        edges = self.edges.map(lambda tensor: tensor[..., kept])
        pairs: dict[str, Tensor] = {}
        for name, tensor in self.pairs().items():
            chosen = tensor[..., kept, :][..., kept]
            if name == "together":  # only k < l counts, and the order may have changed
                upper = torch.ones(tensor.shape[-2:], dtype=torch.bool, device=tensor.device).triu(1)
                either = torch.where(upper, tensor, tensor.transpose(-1, -2))
                chosen = either[..., kept, :][..., kept]
            pairs[name] = chosen
        return JointScores(edges, **pairs)

    def group(self, types: Sequence[int], room: Tensor) -> GroupScores:
        """The scores of a group of types, one row per word of the batch, 0 in padding; `room` (B * n,) as kernels
        expect."""
        kept = list(types)
        whole = kept == list(range(self.close.shape[3]))
        widths = torch.arange(self.close.shape[2], device=room.device)
        beyond = room[:, None] <= widths  # (R, c)
        last = room.clamp(max=len(widths))[:, None] <= widths + 1  # (R, c): where nothing can continue

        def rows(tensor: Tensor | None, outside: Tensor, pair: bool = False) -> Tensor | None:
            if tensor is None or (pair and len(kept) == 1):
                return None
            some = tensor if whole else tensor[..., kept]
            some = some[..., kept, :] if pair and not whole else some
            some = some.flatten(0, 1)
            return some.masked_fill(outside.view(*outside.shape, *[1] * (some.dim() - outside.dim())), 0.0)

        edges = self.edges
        starts, steps = beyond[:, 0], beyond[:, 1:]
        found = (
            *(rows(tensor, starts) for tensor in (edges.absent, edges.present)),
            rows(edges.extend, steps),
            rows(edges.close, beyond),
            rows(edges.branch, steps),
            rows(self.together, beyond, pair=True),
            rows(self.within, last, pair=True),
        )
        return GroupScores(*found)  # type: ignore[arg-type]


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


def pair_uses(
    mention_sets: Sequence[Iterable[Mention]], group_of: Sequence[int], max_width: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The pair scores that sets use, as index columns (sentence, start, width, k, l), for `together` and for
    `within`."""
    together: list[tuple[int, ...]] = []
    within: list[tuple[int, ...]] = []
    for sentence, mentions in enumerate(mention_sets):
        starts: dict[int, dict[int, set[int]]] = {}
        for start, end, kind in mentions:
            if end - start <= max_width:
                starts.setdefault(start, {}).setdefault(kind, set()).add(end - start - 1)
        for start, by_type in starts.items():
            for k, widths in by_type.items():
                for l, others in by_type.items():  # noqa: E741
                    if k == l or group_of[k] != group_of[l]:
                        continue
                    together += [(sentence, start, width, k, l) for width in widths & others if k < l]
                    within += [(sentence, start, width, k, l) for width in widths if width < max(others)]
    columns = [np.array(sorted(rows), dtype=np.int64).reshape(-1, 5).T for rows in (together, within)]
    found = to_device(columns, device)
    return found[0], found[1]
