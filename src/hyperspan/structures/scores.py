"""Scores of hyperedges, as NumPy arrays or as tensors, and the hyperedges that a set of mentions uses.

Needs no torch for arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from hyperspan.kernels.numbers import (
    MINUS_INFINITY,
    in_float64,
    inside,
    is_array,
    namespace,
    placed,
    replaced,
    to_numpy,
)
from hyperspan.structures.mentions import Limits

if TYPE_CHECKING:
    from torch import Tensor

Values = TypeVar("Values", np.ndarray, "Tensor")
"""NumPy arrays, or tensors, which carry gradients."""


class Scores:
    """Scores (log-weights) of a padded batch, by name. A subclass is a frozen dataclass of arrays or of tensors; None
    means not given."""

    def tensors(self) -> dict[str, Any]:
        """The arrays or tensors that are given, by name."""
        return {name: values for name, values in vars(self).items() if values is not None}

    def map(self, function: Callable[[Any], Any]) -> Self:
        """The same scores with a function applied to each array or tensor."""
        return type(self)(**{name: function(values) for name, values in self.tensors().items()})

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Scores that are known to have the right shapes, unchecked."""
        made = object.__new__(cls)
        made.__dict__.update(values)
        return made

    def changed(self, **values: Any) -> Self:
        """These scores with others of the same shapes in the place of some, which are not checked again."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **values)
        return made

    def __truediv__(self, temperature: float) -> Self:
        """These scores at a temperature: above 1 the distribution is flatter, below 1 sharper; the ranking stays."""
        return self.map(lambda values: values / temperature)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert these tensors; takes the arguments of :meth:`torch.Tensor.to`."""
        return self.map(lambda tensor: tensor.to(*args, **kwargs))

    def in_float64(self) -> Self:
        """These scores in float64, on the CPU if their device has no such numbers."""
        return self.map(in_float64)

    def exact(self) -> Self:
        """These scores as arrays in float64, without gradients."""
        return self.map(lambda values: to_numpy(values).astype(np.float64))

    @property
    def needs_gradient(self) -> bool:
        """Whether autograd tracks computations on these scores."""
        given = [values for values in self.tensors().values() if not is_array(values)]
        return any(one.requires_grad for one in given) and namespace(given[0]).is_grad_enabled()


def check_scores(tensors: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise an error unless the scores have these shapes, and all are float32 or all float64, on one device."""
    leader, standard = next(iter(tensors.items()))
    known = standard.dtype in _number_types(standard)
    for name, tensor in tensors.items():
        if known and tensor.shape == shapes[name] and tensor.dtype == standard.dtype and is_array(tensor):
            continue  # at once, since a short text takes only 300 µs
        if tuple(tensor.shape) != shapes[name]:
            raise ValueError(
                f"expected {name} of shape {shapes[name]} beside {leader} {tuple(standard.shape)}, got {tuple(tensor.shape)}"
            )
        if tensor.dtype not in _number_types(tensor):
            raise ValueError(
                f"expected float32 or float64 scores, got {name} in {tensor.dtype}: convert it, for example with .float()"
            )
        if tensor.dtype != standard.dtype or _device(tensor) != _device(standard):
            raise ValueError(
                f"expected all scores with {leader}'s dtype and device, {standard.dtype} on {_device(standard)}, "
                f"got {name} in {tensor.dtype} on {_device(tensor)}: move it with .to()"
            )


def _shape_of(close: Any) -> tuple[int, int, int, int]:
    """(B, n, c, m), from the scores `close`."""
    if close.ndim != 4:
        raise ValueError(f"expected close of shape (B, n, c, m), got {tuple(close.shape)}")
    if close.shape[2] < 1:
        raise ValueError("expected at least one width in close (c >= 1), got c = 0")
    return tuple(close.shape)


def _number_types(values: Any) -> tuple[Any, Any]:
    xp = namespace(values)
    return xp.float32, xp.float64


def _device(values: Any) -> Any:
    return "cpu" if is_array(values) else values.device


@dataclass(frozen=True, eq=False)
class EdgeScores(Scores, Generic[Values]):
    """One score (log-weight) for every scored hyperedge of a padded batch of segmental hypergraphs.

    Indexed by sentence, start `i`, width `w = j - i` (how many words follow the first) and type `k`:

    | field     | hyperedge  | shape            | choosing it means                             |
    |-----------|------------|------------------|-----------------------------------------------|
    | `absent`  | T → X      | (B, n, m)        | no mention of type k starts at i              |
    | `present` | T → I      | (B, n, m)        | at least one does                             |
    | `extend`  | I → I      | (B, n, c - 1, m) | none ends at i + w, a longer one follows      |
    | `close`   | I → X      | (B, n, c, m)     | one ends at i + w, and it is the longest      |
    | `branch`  | I → (X, I) | (B, n, c - 1, m) | one ends at i + w, and a longer one follows   |

    B is the number of sentences, n the longest length, m the number of types, and c the number of widths, which may be
    larger than n. `branch` is `extend + close` unless given (the paper ties them). Entries that reach beyond a sentence
    are padding: they may hold anything. A score of -inf makes an edge impossible. All are NumPy arrays, or all tensors.

    >>> import torch
    >>> from hyperspan import EdgeScores
    >>> start, width = torch.zeros(1, 5, 2), torch.zeros(1, 5, 3, 2)
    >>> EdgeScores(absent=start, present=start, extend=width[:, :, 1:], close=width)
    EdgeScores(B=1, n=5, c=3, m=2, tied, torch.float32 on cpu)
    """

    absent: Values
    present: Values
    extend: Values
    close: Values
    branch: Values | None = None

    def __post_init__(self) -> None:
        batch, n, c, m = _shape_of(self.close)
        shapes = {"close": (batch, n, c, m), "absent": (batch, n, m), "present": (batch, n, m)}
        shapes |= dict.fromkeys(("extend", "branch"), (batch, n, c - 1, m))
        given = self.tensors()
        check_scores({name: given[name] for name in shapes if name in given}, shapes)

    def __repr__(self) -> str:
        batch, n, c, m = self.close.shape
        tied = "tied" if self.branch is None else "untied"
        return f"EdgeScores(B={batch}, n={n}, c={c}, m={m}, {tied}, {self.close.dtype} on {_device(self.close)})"

    @property
    def max_width(self) -> int:
        """c: the largest number of words in a mention."""
        return self.close.shape[2]

    def untied(self) -> EdgeScores[Values]:
        """The same scores with an explicit ``branch``."""
        if self.branch is not None:
            return self
        with np.errstate(all="ignore"):  # padding holds anything
            return replace(self, branch=self.extend + self.close[:, :, :-1])

    def given(self, required: np.ndarray, forbidden: np.ndarray) -> EdgeScores[Values]:
        """These scores, with -inf for sets that lack a required mention or have a forbidden one; masks are (B, n, c,
        m)."""
        # Going on without a mention may be impossible while going on with one is not.
        scores = self.untied() if required.any() else self
        closed = forbidden.copy()
        closed[:, :, :-1] |= np.logical_or.accumulate(required[:, :, :0:-1], axis=2)[:, :, ::-1]  # a wider one follows
        blocked = {"absent": required.any(2), "extend": required[:, :, :-1], "close": closed}
        if scores.branch is not None:
            blocked["branch"] = forbidden[:, :, :-1]
        values = scores.tensors()
        return scores.changed(
            **{
                name: replaced(values[name], placed(mask, values[name]), MINUS_INFINITY)
                for name, mask in blocked.items()
                if mask.any()
            }
        )

    def narrowed(self, max_width: int) -> EdgeScores[Values]:
        """The scores of mentions of at most `max_width` words: the distribution given that there are no wider ones."""
        kept = {"close": max_width, "extend": max_width - 1, "branch": max_width - 1}
        given = self.tensors()
        return replace(self, **{name: given[name][:, :, :c] for name, c in kept.items() if name in given})


@dataclass(frozen=True, eq=False)
class DiscontinuousScores(Scores, Generic[Values]):
    """The scores of the edges of a :class:`~hyperspan.structures.DiscontinuousHypergraph`: arrays or tensors.

    The first four are those of :class:`~hyperspan.structures.EdgeScores`: for contiguous mentions and the first parts
    of others. A discontinuous mention adds `open` for each part but the last, `gap` for each gap, and `last` for the
    last part.

    ========= ==================== ===========================================================================
    absent    (B, n, m)            no mention of type k begins at i
    present   (B, n, m)            one does
    extend    (B, n, c - 1, m)     some mention there has a first part of more than w + 1 words
    close     (B, n, c, m)         the words i to i + w are a mention
    open      (B, n, c, m)         the words i to i + w are a part, and others follow
    gap       (B, n, g, m)         the words j to j + d are a gap, and a part follows
    last      (B, n, c', m)        the words s to s + u are the last of several parts
    ========= ==================== ===========================================================================
    """

    absent: Values
    present: Values
    extend: Values
    close: Values
    open: Values
    gap: Values
    last: Values

    def __post_init__(self) -> None:
        batch, n, c, m = _shape_of(self.close)
        widths = {name: tensor.shape[2] if tensor.ndim == 4 else 0 for name, tensor in self.tensors().items()}
        if widths["last"] > c:
            raise ValueError(f"expected no wider later parts than first ones, got c' = {widths['last']} and c = {c}")
        shapes = {
            "close": (batch, n, c, m),
            "absent": (batch, n, m),
            "present": (batch, n, m),
            "open": (batch, n, c, m),
        }
        shapes |= {"extend": (batch, n, c - 1, m)} | {name: (batch, n, widths[name], m) for name in ("gap", "last")}
        check_scores({name: self.tensors()[name] for name in shapes}, shapes)

    def __repr__(self) -> str:
        batch, n, c, m = self.close.shape
        sizes = f"B={batch}, n={n}, c={c}, g={self.gap.shape[2]}, c'={self.last.shape[2]}, m={m}"
        return f"DiscontinuousScores({sizes}, {self.close.dtype} on {_device(self.close)})"

    def limits(self, parts: int) -> Limits:
        """The limits on mentions of at most `parts` parts."""
        return Limits(parts, self.close.shape[2], self.gap.shape[2], self.last.shape[2])

    def narrowed(self, limits: Limits) -> DiscontinuousScores[Values]:
        """The scores of mentions within some limits: the distribution given that there are no others."""
        return DiscontinuousScores(
            self.absent,
            self.present,
            self.extend[:, :, : limits.width - 1],
            self.close[:, :, : limits.width],
            self.open[:, :, : limits.width],
            self.gap[:, :, : limits.gap],
            self.last[:, :, : min(limits.later_width, limits.width)],
        )

    def inside(
        self, lengths: Sequence[int], names: Sequence[str] = ("close", "open", "gap", "last")
    ) -> DiscontinuousScores[Values]:
        """These scores, those of some names with -inf where a part or a gap would reach beyond its sentence."""
        given = {name: self.tensors()[name] for name in names}
        return self.changed(
            **{
                name: replaced(values, ~inside(lengths, values, values.shape[2]), MINUS_INFINITY)
                for name, values in given.items()
            }
        )


def mean_scores(given: Sequence[EdgeScores[Values]]) -> EdgeScores[Values]:
    """The scores of the normalised geometric mean of some distributions: the mean of their scores.

    The mean has no mentions that are wider than the c of any of them.
    """
    if len(given) == 1:
        return given[0]
    c, tied = min(scores.max_width for scores in given), all(scores.branch is None for scores in given)
    return mean_of([(scores if tied else scores.untied()).narrowed(c) for scores in given])


Some = TypeVar("Some", bound=Scores)


def mean_of(given: Sequence[Some]) -> Some:
    """The mean of scores of the same shapes."""
    parts = [scores.tensors() for scores in given]
    return type(given[0])(
        **{name: sum((part[name] for part in parts[1:]), parts[0][name]) / len(parts) for name in parts[0]}
    )


def check_lengths(lengths: Any, batch: int, n: int) -> list[int]:
    """Return the sentence lengths as a list; raise an error if they are invalid."""
    given = lengths.tolist() if hasattr(lengths, "tolist") else lengths
    try:
        values = [operator.index(length) for length in given]
    except TypeError:
        values = []
    if len(values) != batch:
        raise ValueError(f"expected {batch} whole numbers as lengths, one a sentence, got {given!r}")
    for sentence, length in enumerate(values):
        if not 0 <= length <= n:
            raise ValueError(f"expected lengths from 0 to n = {n}, got {length} for sentence {sentence}")
    return values


def weighted(scores: Scores, expected: Scores) -> Any:
    """(B, n): scores times how often each is used, summed; what is never used, as padding, may hold anything."""
    total, uses = 0.0, expected.tensors()
    for name, values in scores.tensors().items():
        used = uses[name] * replaced(values, uses[name] == 0, 0.0)
        total = total + used.sum(tuple(range(2, used.ndim)))
    return total
