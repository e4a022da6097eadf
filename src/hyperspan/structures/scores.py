"""Scores of hyperedges, and the hyperedges that a set of mentions uses."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY
from hyperspan.kernels.transfer import to_device
from hyperspan.structures.common import ScoreTensors, check_scores
from hyperspan.structures.mentions import MentionSets, check_mentions


@dataclass(frozen=True)
class EdgeScores(ScoreTensors):
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
    are padding: they may hold anything. A score of -inf makes an edge impossible.

    >>> import torch
    >>> from hyperspan import EdgeScores
    >>> start, width = torch.zeros(1, 5, 2), torch.zeros(1, 5, 3, 2)
    >>> EdgeScores(absent=start, present=start, extend=width[:, :, 1:], close=width)
    EdgeScores(B=1, n=5, c=3, m=2, tied, torch.float32 on cpu)
    """

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None = None

    def __post_init__(self) -> None:
        if self.close.dim() != 4:
            raise ValueError(f"expected close of shape (B, n, c, m), got {tuple(self.close.shape)}")
        batch, n, c, m = self.close.shape
        if c < 1:
            raise ValueError("expected at least one width in close (c >= 1), got c = 0")
        shapes = {"close": (batch, n, c, m), "absent": (batch, n, m), "present": (batch, n, m)}
        shapes |= dict.fromkeys(("extend", "branch"), (batch, n, c - 1, m))
        given = self.tensors()
        check_scores({name: given[name] for name in shapes if name in given}, shapes)

    def __repr__(self) -> str:
        batch, n, c, m = self.close.shape
        tied = "tied" if self.branch is None else "untied"
        return f"EdgeScores(B={batch}, n={n}, c={c}, m={m}, {tied}, {self.close.dtype} on {self.close.device})"

    @property
    def max_width(self) -> int:
        """c: the largest number of words in a mention."""
        return self.close.shape[2]

    @property
    def needs_gradient(self) -> bool:
        """Whether autograd tracks computations on these scores."""
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors().values())

    def untied(self) -> EdgeScores:
        """The same scores with an explicit ``branch``."""
        if self.branch is not None:
            return self
        return replace(self, branch=self.extend + self.close[:, :, :-1])

    def given(self, required: Tensor, forbidden: Tensor) -> EdgeScores:
        """These scores, with -inf for sets that lack a required mention or have a forbidden one; masks are (B, n, c,
        m)."""
        longer = required.flip(2).cumsum(2).flip(2) - required.int()  # (B, n, c, m): required wider mentions
        scores = self.untied()
        blocked = {
            "absent": required.any(2),
            "extend": required[:, :, :-1],
            "close": forbidden | (longer > 0),
            "branch": forbidden[:, :, :-1],
        }
        values = scores.tensors()
        return replace(
            scores, **{name: values[name].masked_fill(mask, MINUS_INFINITY) for name, mask in blocked.items()}
        )

    def narrowed(self, max_width: int) -> EdgeScores:
        """The scores of mentions of at most `max_width` words: the distribution given that there are no wider ones."""
        kept = {"close": max_width, "extend": max_width - 1, "branch": max_width - 1}
        given = self.tensors()
        return replace(self, **{name: given[name][:, :, :c] for name, c in kept.items() if name in given})

    def skipping(self, margin: float) -> EdgeScores:
        """These scores, except that no mention can start where ``absent - present`` exceeds the margin for all
        types."""
        skipped = (self.absent - self.present > margin).all(2, keepdim=True)  # (B, n, 1)
        return replace(self, present=self.present.masked_fill(skipped, float("-inf")))


def mean_scores(given: Sequence[EdgeScores]) -> EdgeScores:
    """The scores of the normalised geometric mean of some distributions: the mean of their scores.

    The mean has no mentions that are wider than the c of any of them.
    """
    if len(given) == 1:
        return given[0]
    c, tied = min(scores.max_width for scores in given), all(scores.branch is None for scores in given)
    parts = [(scores if tied else scores.untied()).narrowed(c).tensors() for scores in given]
    return EdgeScores(
        **{name: sum((part[name] for part in parts[1:]), parts[0][name]) / len(parts) for name in parts[0]}
    )


def check_lengths(lengths: Tensor | Sequence[int], batch: int, n: int) -> list[int]:
    """Return the sentence lengths as a list; raise an error if they are invalid."""
    given = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    try:
        values = [operator.index(length) for length in given]  # pyright: ignore[reportGeneralTypeIssues]: checked here
    except TypeError:
        values = []
    if len(values) != batch:
        raise ValueError(f"expected {batch} whole numbers as lengths, one a sentence, got {given!r}")
    for sentence, length in enumerate(values):
        if not 0 <= length <= n:
            raise ValueError(f"expected lengths from 0 to n = {n}, got {length} for sentence {sentence}")
    return values


@dataclass(frozen=True)
class Hyperpaths:
    """The scored hyperedges that mention sets use, as index columns (sentence, start[, width], type).

    T → X is used wherever no mention starts, so only the other four are listed.
    """

    present: Tensor  # (3, number of edges)
    extend: Tensor  # (4, ...)
    close: Tensor
    branch: Tensor
    too_wide: tuple[int, ...]
    """How many mentions of each sentence are wider than c and therefore on no hyperpath."""


def hyperpaths_of(
    mention_sets: MentionSets,
    lengths: Sequence[int],
    max_width: int,
    types: int,
    device: torch.device | None = None,
) -> Hyperpaths:
    """The hyperedges of the given sets, one set per sentence; mentions wider than `max_width` are left out and
    counted."""
    checked = check_mentions(mention_sets, lengths, types)
    given = [(b, start, kind, end - start - 1) for b, mentions in enumerate(checked) for start, end, kind in mentions]
    mentions = np.array(sorted(given), dtype=np.int64).reshape(-1, 4)
    fitting = mentions[:, 3] < max_width
    too_wide = np.bincount(mentions[~fitting, 0], minlength=len(checked))
    mentions = mentions[fitting]
    chain, width = mentions[:, :3], mentions[:, 3]
    longest = np.ones(len(mentions), dtype=bool)  # the last mention of its (sentence, start, type)
    longest[:-1] = (chain[1:] != chain[:-1]).any(1)
    reach = width[longest]  # (chains,): there is an edge at every smaller width
    first = reach.cumsum() - reach  # (chains,)
    steps = np.repeat(chain[longest], reach, axis=0)
    at = np.arange(len(steps)) - np.repeat(first, reach)
    ending = np.zeros(len(steps), dtype=bool)
    ending[(np.repeat(first, np.diff(longest.nonzero()[0], prepend=-1)) + width)[~longest]] = True
    rows = np.column_stack([steps[:, :2], at, steps[:, 2]])
    close = np.column_stack([chain[longest, :2], reach, chain[longest, 2]])
    columns = [part.T for part in (chain[longest], rows[~ending], close, rows[ending])]
    return Hyperpaths(*to_device(columns, device or "cpu"), too_wide=tuple(too_wide.tolist()))
