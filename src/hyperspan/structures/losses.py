"""Training losses: the negative log-likelihood, and the margin that makes misses cost more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from hyperspan.structures.constraints import PartialMarks, mask_of
from hyperspan.structures.mentions import Mention, MentionSets, check_mentions
from hyperspan.structures.scores import EdgeScores, Hyperpaths, check_lengths, hyperpaths_of
from hyperspan.structures.segmental import SegmentalHypergraph


def softmax_margin(
    scores: EdgeScores, gold: MentionSets, lengths: Tensor | Sequence[int], beta: float = 1.0
) -> EdgeScores:
    """Add the paper's cost Δ to the scores of edges that gold does not use.

    T → X costs `beta` where a gold mention starts (a miss), T → I costs 1 where none does (a false alarm), and
    everything else costs 0. Gold mentions wider than c are on no hyperpath and do not count as starts.

    >>> import torch
    >>> from hyperspan.structures import EdgeScores, softmax_margin
    >>> start, width = torch.zeros(1, 2, 1), torch.zeros(1, 2, 2, 1)
    >>> scores = EdgeScores(absent=start, present=start, extend=width[:, :, 1:], close=width)
    >>> augmented = softmax_margin(scores, [{(0, 2, 0)}], lengths=[2], beta=3.0)
    >>> augmented.absent.flatten(), augmented.present.flatten()
    (tensor([3., 0.]), tensor([0., 1.]))
    """
    batch, n, c, m = scores.close.shape
    paths = hyperpaths_of(gold, check_lengths(lengths, batch, n), c, m, scores.close.device)
    return _with_margin(scores, _starts(scores, paths), beta)


def _starts(scores: EdgeScores, paths: Hyperpaths) -> Tensor:
    """(B, n, m): whether a gold mention of type k starts at i."""
    starts = torch.zeros_like(scores.absent, dtype=torch.bool)
    starts[tuple(paths.present)] = True
    return starts


def _with_margin(scores: EdgeScores, starts: Tensor, beta: float, empty: Tensor | None = None) -> EdgeScores:
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

    With `marks`, sentences are partially annotated: p(gold) sums over all sets that agree with the annotation. A start
    and type has no margin if nothing is listed there and some mention is unknown.

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
    if marks is not None:
        return _partial_loss(scores, check_mentions(gold, known, m), known, beta, marks)
    paths = hyperpaths_of(gold, known, c, m, scores.close.device)
    if beta is not None:
        scores = _with_margin(scores, _starts(scores, paths), beta)
    fitting = replace(paths, too_wide=())
    return Loss(-SegmentalHypergraph(scores, known).log_prob_of(fitting), paths.too_wide)


def _partial_loss(
    scores: EdgeScores, gold: Sequence[set[Mention]], lengths: list[int], beta: float | None, marks: PartialMarks
) -> Loss:
    """log Z minus the log Z of the sets that agree with the annotation."""
    _, n, c, _ = scores.close.shape
    if beta is not None:
        known = torch.from_numpy(marks.known_chains(lengths, n, c)).to(scores.close.device)
        starts = torch.from_numpy(mask_of(gold, scores.close.shape).any(2)).to(scores.close.device)
        scores = _with_margin(scores, starts, beta, ~starts & known)
    too_wide = tuple(sum(end - start > c for start, end, _ in mentions) for mentions in gold)
    return Loss(-SegmentalHypergraph(scores, lengths).log_prob_of_known(gold, marks), too_wide)
