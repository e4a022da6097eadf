"""Scores of discontinuous mentions, and the hyperedges that sets of them use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.numbers import MINUS_INFINITY, finite
from hyperspan.structures.discontinuous_edges import edges_of
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.mentions import AnyMention, parts_of
from hyperspan.structures.scores import Scores, check_scores, mean_of


@dataclass(frozen=True)
class DiscontinuousScores(Scores):
    """The scores of the edges of a :class:`~hyperspan.structures.DiscontinuousHypergraph`.

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

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    open: Tensor
    gap: Tensor
    last: Tensor

    def __post_init__(self) -> None:
        if self.close.dim() != 4:
            raise ValueError(f"expected close of shape (B, n, c, m), got {tuple(self.close.shape)}")
        batch, n, c, m = self.close.shape
        if c < 1:
            raise ValueError("expected at least one width in close (c >= 1), got c = 0")
        widths = {name: tensor.shape[2] if tensor.dim() == 4 else 0 for name, tensor in self.tensors().items()}
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
        return f"DiscontinuousScores({sizes}, {self.close.dtype} on {self.close.device})"

    def limits(self, parts: int) -> Limits:
        """The limits on mentions of at most `parts` parts."""
        return Limits(parts, self.close.shape[2], self.gap.shape[2], self.last.shape[2])

    def narrowed(self, limits: Limits) -> DiscontinuousScores:
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

    def inside(self, lengths: Tensor) -> DiscontinuousScores:
        """These scores, with -inf where a part or a gap would reach beyond its sentence."""
        return replace(
            self, **{name: _inside(self.tensors()[name], lengths) for name in ("close", "open", "gap", "last")}
        )


def _inside(values: Tensor, lengths: Tensor) -> Tensor:
    """(B, n, widths, m): -inf where the words i to i + w are not all in the sentence."""
    _, n, widths, _ = values.shape
    last = torch.arange(n, device=values.device)[:, None] + torch.arange(widths, device=values.device)  # (n, widths)
    return values.masked_fill((last >= lengths[:, None, None])[..., None], MINUS_INFINITY)


def mean_scores(given: Sequence[DiscontinuousScores], limits: Limits) -> DiscontinuousScores:
    """The scores of the normalised geometric mean of some distributions over mentions within these limits."""
    return mean_of([scores.narrowed(limits) for scores in given])


class PartRows(NamedTuple):
    """The scores that sets of mentions use besides those of the first chain, as index columns (sentence, start, width,
    type), and the start of the chain."""

    close: Tensor
    open: Tensor
    gap: Tensor
    last: Tensor
    events: Tensor
    """(5, events): the first parts."""


def part_rows(sets: Sequence[Iterable[AnyMention]], device: torch.device) -> PartRows:
    """The hyperedges of these sets, each once: mentions share their common prefixes of parts."""
    found: dict[str, dict[object, tuple[int, int, int, int, int]]] = {name: {} for name in PartRows._fields}
    for sentence, mentions in enumerate(sets):
        for mention in mentions:
            start, kind, parts = mention[0], mention[2], parts_of(mention)
            first = "events", parts[:1], (start, parts[0][1] - start - 1)
            for name, prefix, (at, width) in (first, *edges_of(parts)):
                found[name][sentence, kind, prefix] = (sentence, at, width, kind, start)
    return PartRows(
        *(
            torch.from_numpy(np.array(list(rows.values()), dtype=np.int64).reshape(-1, 5).T.copy()).to(device)
            for rows in found.values()
        )
    )


def conditional_scores(scores: DiscontinuousScores, events: Tensor, rows: PartRows) -> Tensor:
    """(B, n, m): for each chain, the log-probability of what follows its first parts, given those parts."""
    total = torch.zeros_like(scores.absent).flatten()
    _, n, m = scores.absent.shape
    used = (scores.close, scores.open, scores.gap, scores.last, -finite(events))
    for tensor, (sentence, start, width, kind, chain) in zip(used, rows, strict=True):
        total = total.index_add(0, (sentence * n + chain) * m + kind, tensor[sentence, start, width, kind])
    return total.view_as(scores.absent)
