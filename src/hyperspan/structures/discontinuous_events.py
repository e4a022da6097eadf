"""Differentiable weights of events (all mentions with the same first part): sums over all choices.

:mod:`hyperspan.structures.discontinuous_menus` explains the sum and has the NumPy version.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad, softplus

from hyperspan.kernels.numbers import MINUS_INFINITY, log_sum
from hyperspan.structures.discontinuous_given import Known, PrivateMenus
from hyperspan.structures.discontinuous_scores import DiscontinuousScores


def log_some(items: Tensor, dimension: int) -> Tensor:
    """log Σ exp(sum of the chosen items) over all choices of one or more items.

    Each choice has a last item u: that is Σ_u e^u Π_{v before u} (1 + e^v), a sum without cancellation.

    >>> log_some(torch.zeros(3), 0).exp()  # three items, so seven choices
    tensor(7.0000)
    """
    items = items.movedim(dimension, -1)
    if not items.shape[-1]:
        return items.new_full(items.shape[:-1], MINUS_INFINITY)
    return log_sum(items + pad(log_maybe(items[..., :-1]).cumsum(-1), (1, 0)), -1)


def log_maybe(items: Tensor) -> Tensor:
    """log(1 + e^item): with the item or without."""
    return softplus(items, threshold=50.0)  # exact: the default threshold stops at 20


def log_some_given(items: Tensor, required: Tensor, dimension: int) -> Tensor:
    """The same over all choices of one or more items that include the required ones."""
    given = torch.where(required, items, log_maybe(items)).sum(dimension)
    return torch.where(required.any(dimension), given, log_some(items, dimension))


def following(values: Tensor, count: int) -> Tensor:
    """(B, n, m) -> (B, n, count, m): the entries of the next words, i + 1 to i + count; -inf beyond the last.

    >>> following(torch.tensor([[[1.0], [2.0]]]), 2)[0, :, :, 0]
    tensor([[2., -inf],
            [-inf, -inf]])
    """
    batch, n, m = values.shape
    if count == 0 or n == 0:
        return values.new_zeros(batch, n, count, m)
    beyond = values.new_full((batch, count, m), MINUS_INFINITY)
    windows = torch.cat([values[:, 1:], beyond], dim=1).unfold(1, count, 1)  # (B, n, m, count)
    return windows.transpose(2, 3)


class MenuSums(NamedTuple):
    """The item weights of shared menus, for 1, 2, … parts that may still come."""

    parts: list[Tensor]
    """(B, n, c' or 2 c', m): the menu of a part that begins at word s, as the last and if others follow."""
    gaps: list[Tensor]
    """(B, n, g, m): the menu of a gap that begins at word j."""
    more: Tensor
    """(B, n, c, m): the discontinuous mentions that begin with the words i to i + w."""


class Events(NamedTuple):
    """The weights of first parts."""

    more: Tensor
    """(B, n, c, m): all discontinuous mentions that begin with this part."""
    all: Tensor
    """(B, n, c, m): the same, plus the contiguous mention."""
    required: Tensor | None
    """(B, n, c, m): which of them are required."""
    rest: Tensor
    """(B, n, c, m): the rest, if the contiguous mention is present."""


def menu_sums(scores: DiscontinuousScores, parts: int) -> MenuSums:
    """The menus that all first parts share; scores beyond sentences are -inf."""
    c, later, g = scores.close.shape[2], scores.last.shape[2], scores.gap.shape[2]
    found = MenuSums([], [], torch.full_like(scores.close, MINUS_INFINITY))
    for _ in range(1, parts):
        items = scores.last
        if found.gaps:
            more = scores.open[:, :, :later] + following(log_some(found.gaps[-1], 2), later)
            items = torch.cat([items, more], dim=2)
        found.parts.append(items)
        found.gaps.append(scores.gap + following(log_some(items, 2), g))
    if not found.gaps:
        return found
    return found._replace(more=scores.open + following(log_some(found.gaps[-1], 2), c))


def events_of(scores: DiscontinuousScores, parts: int, known: Known | None = None) -> Events:
    """The weights of all first parts under the constraints; scores beyond sentences are -inf."""
    sums = menu_sums(scores, parts)
    if known is None:
        some = log_some(torch.stack([scores.close, sums.more], -1), -1)
        return Events(sums.more, some, None, log_maybe(sums.more))
    device = scores.close.device
    levels, level = _levels(scores, parts, known, sums)
    more = sums.more
    for index, other in enumerate(levels[1:], 1):
        more = torch.where((level == index)[:, :, None], other.more, more)
    private = PrivateMenus(known, scores.limits(parts))
    if private.events:
        place = tuple(torch.from_numpy(column).to(device) for column in private.event_columns)
        more = more.index_put(place, scores.open[place] + _private_sums(scores, levels, level, private))
    forbidden, required, opened = (
        torch.from_numpy(mask).to(device) for mask in (known.forbidden, known.required, known.opened)
    )
    close = scores.close.masked_fill(forbidden, MINUS_INFINITY)
    some = log_some_given(torch.stack([close, more], -1), torch.stack([required, opened], -1), -1)
    return Events(more, some, required | opened, torch.where(opened, more, log_maybe(more)))


def _levels(scores: DiscontinuousScores, parts: int, known: Known, sums: MenuSums) -> tuple[list[MenuSums], Tensor]:
    """The shared menus for floors, the first without a floor; and (B, n, m) which of them each start uses.

    A start sees at most as many words as a mention can span. So floors twice that distance apart share menus, in which
    last parts may not end at a floor or up to that many words before it. This bounds the number of levels, however long
    the sentence.
    """
    device = scores.close.device
    if known.floor is None:
        return [sums], torch.zeros(scores.absent.shape, dtype=torch.long, device=device)
    _, n, later, _ = scores.last.shape
    hull = scores.limits(parts).hull
    closed = known.floor - np.arange(n)[:, None] >= hull  # (B, n, m): no mention ends after the floor
    shares = np.where(known.floor > 0, known.floor % (2 * hull), -1)
    shares[closed] = -2
    level, levels = np.zeros_like(known.floor), [sums]
    ends = np.arange(n)[:, None] + np.arange(1, later + 1)  # (n, c')
    for index, share in enumerate(np.unique(shares[shares != -1]).tolist(), 1):
        level[shares == share] = index
        under = np.full((len(known.floor), n + later + 1), share == -2)  # (B, ends)
        for sentence in np.nonzero((shares == share).any((1, 2)))[0].tolist():
            for floor in np.unique(known.floor[sentence][shares[sentence] == share]).tolist():
                under[sentence, max(floor - hull + 1, 0) : floor + 1] = True
        above = scores.last.masked_fill(torch.from_numpy(under[:, ends]).to(device)[..., None], MINUS_INFINITY)
        levels.append(menu_sums(replace(scores, last=above), parts))
    return levels, torch.from_numpy(level).to(device)


def _private_sums(scores: DiscontinuousScores, levels: list[MenuSums], level: Tensor, private: PrivateMenus) -> Tensor:
    """(events,): the weight of what may follow the first parts with private menus."""
    device, c = scores.close.device, scores.last.shape[2]
    below = scores.close.new_zeros(0)  # (rows,): the weights of the menus that private items lead to

    def there(columns: tuple[np.ndarray, ...] | np.ndarray) -> tuple[Tensor, ...]:
        return tuple(torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in columns)

    for more, of_parts, rows, children in private.steps():
        shared = torch.stack(
            [(one.parts if of_parts else one.gaps)[more] for one in levels]
        )  # (levels, B, n, items, m)
        sentence, word, kind, start = there((*rows.index, rows.first_words))
        items = shared[level[sentence, start, kind], sentence, word, :, kind]  # (rows, items)
        row, item = there(children)
        width, own = (item - c, scores.open) if of_parts else (item, scores.gap)
        led = own[sentence[row], word[row], width, kind[row]] + below
        items = items.index_put((row, item), led)
        required, forbidden = there(rows.masks(items.shape[1]))
        if of_parts:  # required items stay, even under a floor
            last = scores.last[sentence, word, :, kind]
            items = torch.cat([torch.where(required[:, :c], last, items[:, :c]), items[:, c:]], dim=1)
        items = items.masked_fill(forbidden, MINUS_INFINITY)
        below = log_some_given(items, required, 1)
    return below
