"""Per-row operations on the mentions of a word and a group of types: probabilities, entropies, and walks through
the widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels import joint
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import MINUS_INFINITY

Pick = Callable[[Tensor], Tensor]
"""Choose one of (entries, choices) by log-weight."""


def ending_probabilities(scores: GroupScores, room: Tensor, *, differentiable: bool) -> Tensor:
    """(R, c, g): the probability of each mention; 0 in padding."""
    if not differentiable:
        uses = joint.uses(scores, room)
        return uses.close if uses.branch is None else uses.close + pad(uses.branch, (0, 0, 0, 1))
    ends = joint.choices_of(scores.close.shape[2], scores.close.device).ends.to(scores.close.dtype)
    steps = joint.choice_probabilities(scores, room)
    next(steps)
    return torch.stack([probabilities @ ends for probabilities, _ in steps], dim=1)


def row_entropy(scores: GroupScores, room: Tensor) -> Tensor:
    """(R,): the entropy of each row; 0 in padding."""
    steps = joint.choice_probabilities(scores, room)
    terms = (-(p * logs.masked_fill(p == 0, 0.0)).sum(1) for p, logs in steps)
    return sum(terms, scores.close.new_zeros(len(scores.close))).masked_fill(room <= 0, 0.0)


def walk(scores: GroupScores, sums: Sequence[Tensor], rows: Tensor, states: Tensor, pick: Pick) -> Tensor:
    """(mentions, 4): for entries that begin at `rows` with active types `states`, their mentions as (entry, row, width,
    place of the type).

    `sums` are β_0, …, β_c of all rows, of sums or of maxima.
    """
    choices = joint.choices_of(scores.close.shape[2], scores.close.device)
    entries = torch.arange(len(rows), device=rows.device)
    found = [entries.new_zeros(0, 4)]
    for width in range(scores.close.shape[1]):
        if not len(rows):
            break
        weights = joint.conditional(scores.rows(rows), width, sums[width][rows], sums[width + 1][rows])
        chosen = pick(weights.masked_fill(choices.active != states[:, None], MINUS_INFINITY))
        entry, kind = choices.ends[chosen].nonzero(as_tuple=True)
        found.append(torch.stack([entries[entry], rows[entry], torch.full_like(entry, width), kind], dim=1))
        states = choices.on[chosen]
        kept = states > 0
        rows, states, entries = rows[kept], states[kept], entries[kept]
    return torch.cat(found)
