"""Training losses: the negative log-likelihood, and the margin that makes misses cost more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from hyperspan.kernels.numbers import placed
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.mentions import AnyMention, MentionSets, check_mentions
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, check_lengths
from hyperspan.structures.segmental import SegmentalHypergraph

if TYPE_CHECKING:
    from torch import Tensor


def softmax_margin(
    scores: EdgeScores,
    gold: MentionSets,
    lengths: Tensor | Sequence[int],
    beta: float = 1.0,
    marks: PartialMarks | None = None,
) -> EdgeScores:
    """Add the paper's cost Δ to the scores of edges that gold does not use.

    T → X costs `beta` where a gold mention starts (a miss), T → I costs 1 where none does (a false alarm), and
    everything else costs 0. Gold mentions wider than c are on no hyperpath and do not count as starts. With `marks`,
    sentences are partially annotated: a start and type costs nothing if nothing is listed there and some mention is
    unknown.

    >>> import torch
    >>> from hyperspan.structures import EdgeScores, softmax_margin
    >>> start, width = torch.zeros(1, 2, 1), torch.zeros(1, 2, 2, 1)
    >>> scores = EdgeScores(absent=start, present=start, extend=width[:, :, 1:], close=width)
    >>> augmented = softmax_margin(scores, [{(0, 2, 0)}], lengths=[2], beta=3.0)
    >>> augmented.absent.flatten(), augmented.present.flatten()
    (tensor([3., 0.]), tensor([0., 1.]))
    """
    batch, n, c, m = scores.close.shape
    known = check_lengths(lengths, batch, n)
    checked = check_mentions(gold, known, m)
    starts = starts_of([{one for one in some if one[1] - one[0] <= c} for some in checked], scores.absent)
    empty = None if marks is None else ~starts & placed(marks.known_chains(known, n, c), starts)
    return with_margin(scores, starts, beta, empty)


def starts_of(sets: Sequence[Iterable[AnyMention]], like: Tensor) -> Tensor:
    """(B, n, m): where a mention of type k begins at word i, for `like` of that shape."""
    starts = np.zeros(like.shape, dtype=bool)
    rows = [(b, one[0], one[2]) for b, mentions in enumerate(sets) for one in mentions]
    starts[tuple(np.array(rows, dtype=np.int64).reshape(-1, 3).T)] = True
    return placed(starts, like)


AnyScores = TypeVar("AnyScores", EdgeScores, DiscontinuousScores)


def with_margin(scores: AnyScores, starts: Tensor, beta: float, empty: Tensor | None = None) -> AnyScores:
    """Add the margin; `empty` (B, n, m) marks where no gold mention starts, by default everywhere except at
    `starts`."""
    if beta < 1.0:
        raise ValueError(f"expected beta >= 1, so that a miss costs no less than a false alarm, got {beta}")
    miss = beta * starts.to(scores.absent.dtype)
    false_alarm = (~starts if empty is None else empty).to(scores.absent.dtype)
    return replace(scores, absent=scores.absent + miss, present=scores.present + false_alarm)


class Loss(NamedTuple):
    """A loss, and the gold mentions that it leaves out because they are wider than c."""

    values: Tensor
    """(B,): the negative log-likelihood of each sentence, never negative."""
    unrepresentable: tuple[int, ...]
    """How many gold mentions of each sentence are not in its gold structure."""


def negative_log_likelihood(
    scores: EdgeScores,
    gold: MentionSets,
    lengths: Tensor | Sequence[int],
    beta: float | None = None,
    marks: PartialMarks | None = None,
) -> Loss:
    """-log p(gold) for each sentence, under scores augmented by :func:`softmax_margin` when `beta` is given.

    With `marks`, sentences are partially annotated: p(gold) sums over all sets that agree with the annotation.

    >>> import torch
    >>> from hyperspan.structures import EdgeScores, negative_log_likelihood
    >>> scores = EdgeScores(*(torch.zeros(1, 3, 1),) * 2, torch.zeros(1, 3, 1, 1), torch.zeros(1, 3, 2, 1))
    >>> values, too_wide = negative_log_likelihood(scores, [{(0, 1, 0), (0, 3, 0)}], lengths=[3])
    >>> values  # five possible mentions; the one of three words is wider than c = 2 and left out
    tensor([3.4657])
    >>> too_wide
    (1,)
    """
    batch, n, c, m = scores.close.shape
    known = check_lengths(lengths, batch, n)
    checked = check_mentions(gold, known, m)
    kept = [{one for one in some if one[1] - one[0] <= c} for some in checked]
    if beta is not None:
        scores = softmax_margin(scores, kept, known, beta, marks)
    values = -SegmentalHypergraph(scores, known).log_prob_of_known(kept, marks)
    return Loss(values, tuple(len(every) - len(some) for every, some in zip(checked, kept, strict=True)))
