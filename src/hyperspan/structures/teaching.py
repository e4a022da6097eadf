"""The cross-entropy of a student distribution under a teacher's, for distillation.

It is log Z of the student minus the expected score of a set drawn from the teacher. Scores add up edge by edge, so it
only needs how often the teacher's sets use each score on average: the gradient of the teacher's log Z.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels import chains
from hyperspan.structures.scores import EdgeScores, check_lengths


def cross_entropy(
    scores: EdgeScores, teacher: EdgeScores, lengths: Tensor | Sequence[int], weights: Tensor | None = None
) -> Tensor:
    """(B,): -Σ p(set) log q(set) over all mention sets, for q from `scores` and p from a teacher's scores, which get no
    gradient.

    That is log Z of q minus the scores of all its edges, each times its probability under p. If the teacher allows
    wider mentions than q, p is its distribution given that there are none. `weights` (B, n, m) weight the term of each
    chain.

    >>> from hyperspan.structures import EdgeScores
    >>> scores = EdgeScores(*(torch.zeros(1, 2, 1),) * 2, torch.zeros(1, 2, 1, 1), torch.zeros(1, 2, 2, 1))
    >>> cross_entropy(scores, scores, lengths=[2])  # eight equally probable sets: log 8
    tensor([2.0794])
    """
    batch, n, c, _ = scores.close.shape
    known = check_lengths(lengths, batch, n)
    expected = _expected_uses(teacher, known, c, tied=scores.branch is None)
    per_chain = without_expected(chains.log_partition(scores, known), scores.tensors(), expected)
    return (per_chain if weights is None else per_chain * weights).sum((1, 2))


def without_expected(log_partition: Tensor, scores: dict[str, Tensor], uses: dict[str, Tensor]) -> Tensor:
    """(B, n, m): log-partitions minus scores times their expected uses; per start, so that large scores cancel before
    summing."""
    for name, tensor in scores.items():
        # Padding may hold anything, and is never used.
        used = uses[name] * tensor.masked_fill(uses[name] == 0, 0.0)
        log_partition = log_partition - (used if used.dim() == 3 else used.sum(2))
    return log_partition


def _expected_uses(scores: EdgeScores, lengths: Sequence[int], c: int, *, tied: bool) -> dict[str, Tensor]:
    """The expected uses of each score in sets without mentions wider than c, in tensors of c widths; if `tied`, I → (X,
    I) uses two."""
    narrow = (scores if tied else scores.untied()).narrowed(c)
    with torch.enable_grad():
        leaves = narrow.map(lambda tensor: tensor.detach().requires_grad_()).tensors()
        total = chains.log_partition(EdgeScores(**leaves), lengths).sum()
        uses = dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))
    if tied and "branch" in uses:
        branch = uses.pop("branch")
        uses |= {"extend": uses["extend"] + branch, "close": uses["close"] + pad(branch, (0, 0, 0, 1))}
    missing = c - uses["close"].shape[2]
    widths = {name: tensor.shape[2] + missing for name, tensor in uses.items()}
    return {
        name: tensor if tensor.dim() == 3 else widened(tensor, (*tensor.shape[:2], widths[name]))
        for name, tensor in uses.items()
    }


def widened(values: Tensor, shape: Sequence[int]) -> Tensor:
    """(B, n, widths, m) padded with zeros to more widths; (B, n, m) unchanged."""
    return pad(values, (0, 0, 0, shape[2] - values.shape[2])) if values.dim() == 4 else values
