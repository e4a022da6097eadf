"""Inference over the independent chains of a segmental hypergraph, in plain PyTorch.

A and E nodes carry no score, so each (sentence, start, type) is independent: a chain that is either *absent* or walks I
nodes of growing width until it stops. Write ``stop_w`` for the log-weight of stopping at width w and ``go_w`` for that
of continuing from w, whether or not a mention ends there::

    go_w = log(exp(extend_w) + exp(branch_w))             (tied: extend_w + log(1 + exp(close_w)))

Then the log-weight of "the longest mention has width w" is the closed form ``present + go_0 + … + go_{w-1} +
stop_w``, and every shorter width is, independently, a mention with log-odds ``branch - extend`` (tied: close).
That is the whole structure: log-partition, marginals, entropy, samples and the k best follow from it in
O(c m n), with a cumulative sum where the paper passes messages.

This is the reference, over chains packed as in :mod:`hyperspan.kernels.chain_layout`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import softplus

from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.numerics import MINUS_INFINITY, finite


class Edges(Protocol):
    """The scores of a padded batch: see the table in :class:`hyperspan.structures.EdgeScores`."""

    @property
    def absent(self) -> Tensor: ...  # (B, n, m)
    @property
    def present(self) -> Tensor: ...  # (B, n, m)
    @property
    def extend(self) -> Tensor: ...  # (B, n, c - 1, m)
    @property
    def close(self) -> Tensor: ...  # (B, n, c, m)
    @property
    def branch(self) -> Tensor | None: ...  # (B, n, c - 1, m); None if tied


class PackedScores(NamedTuple):
    """A batch's scores in packed order."""

    absent: Tensor  # (chains, m)
    present: Tensor  # (chains, m)
    extend: Tensor  # (rows of width 1 and more, m): continuing to this row, no mention at the one before
    stop: Tensor  # (rows, m)
    branch: (
        Tensor | None
    )  # (rows of width 1 and more, m): continuing to this row, a mention at the one before; None if tied

    def shorter_log_odds(self, layout: ChainLayout) -> Tensor:
        """(rows of width 1 and more, m): log-odds of a mention at the previous row, given that the chain continued."""
        if self.branch is None:
            return layout.shorter(self.stop)
        return self.branch - self.extend.masked_fill(
            self.branch == MINUS_INFINITY, 0.0
        )  # -inf, not NaN, where neither is possible

    def go(self, layout: ChainLayout) -> Tensor:
        """(rows of width 1 and more, m): log-weight of continuing to this row."""
        if self.branch is None:
            return self.extend + softplus(layout.shorter(self.stop), threshold=50.0)  # exact: the default stops at 20
        impossible = (self.extend == MINUS_INFINITY) & (self.branch == MINUS_INFINITY)
        either = torch.logaddexp(self.extend.masked_fill(impossible, 0.0), self.branch.masked_fill(impossible, 0.0))
        return either.masked_fill(impossible, MINUS_INFINITY)  # so that its gradient is 0, not NaN

    def longest(self, layout: ChainLayout, go: Tensor) -> Tensor:
        """(rows, m): log-weight of "this row is the longest mention", given that the chain is present."""
        return torch.cat([self.stop[: layout.chains], self.stop[layout.longer] + layout.running_sum(go)])


def pack(layout: ChainLayout, scores: Edges) -> PackedScores:
    """The scores of a padded batch in packed order."""
    return PackedScores(
        absent=layout.pack_chains(scores.absent),
        present=layout.pack_chains(scores.present),
        extend=layout.pack_extensions(scores.extend),
        stop=layout.pack_widths(scores.close),
        branch=None if scores.branch is None else layout.pack_extensions(scores.branch),
    )


class Posteriors(NamedTuple):
    """The probability of each choice of a chain."""

    absent: Tensor  # (chains, m)
    present: Tensor  # (chains, m)
    extended: Tensor  # (rows of width 1 and more, m): continuing to this row
    stopped: Tensor  # (rows, m): this row is the longest


def relative_scores(layout: ChainLayout, chains: PackedScores) -> tuple[Tensor, Tensor, Tensor]:
    """The best score of each chain (chains, m), and relative to it, so that no exp overflows, the scores of being
    absent (chains, m) and of stopping at each row (rows, m)."""
    longest = chains.longest(layout, chains.go(layout))
    best = torch.maximum(chains.absent, layout.reduce(longest, "maximum") + chains.present)
    pivot = finite(best.detach())
    return pivot, chains.absent - pivot, longest + layout.per_row(chains.present - pivot)


class ChainLogPartition(Function):
    """(chains, m): log(exp(absent) + Σ_w exp(present + longest_w)). Its gradients are the posteriors of the edges."""

    @staticmethod
    def forward(ctx, layout: ChainLayout, *scores: Any) -> Tensor:
        pivot, absent, stopped = relative_scores(layout, PackedScores(*scores))
        absent, stopped = absent.exp_(), stopped.exp_()
        total = absent + layout.reduce(stopped, "add")
        ctx.save_for_backward(*scores, absent, stopped, total)
        ctx.layout = layout
        return pivot + total.log()

    @staticmethod
    def backward(ctx, gradient: Tensor):
        *scores, absent, stopped, total = ctx.saved_tensors
        layout, chains = ctx.layout, PackedScores(*scores)
        if torch.is_grad_enabled():  # a second derivative is needed: recompute differentiably
            log_absent, log_stopped = log_posteriors(layout, chains)
            choices = choices_from(layout, log_absent.exp() * gradient, log_stopped.exp() * layout.per_row(gradient))
        else:
            share = gradient / total.masked_fill(total == 0, 1.0)
            choices = choices_from(layout, absent * share, layout.per_row(share).mul_(stopped))
        branched = choices.extended * torch.sigmoid(chains.shorter_log_odds(layout))
        if chains.branch is None:
            return None, *choices[:3], layout.add_to_shorter(choices.stopped, branched), None
        return None, choices.absent, choices.present, choices.extended - branched, choices.stopped, branched


def log_posteriors(layout: ChainLayout, chains: PackedScores) -> tuple[Tensor, Tensor]:
    """Log-probabilities of being absent (chains, m) and of stopping at each row (rows, m); differentiable."""
    _, absent, stopped = relative_scores(layout, chains)
    weights = choices_from(layout, absent.exp(), stopped.exp())
    total = weights.absent + weights.present
    log_total = total.masked_fill(total == 0, 1.0).log()
    return absent - log_total, stopped - layout.per_row(log_total)


def choices_from(layout: ChainLayout, absent: Tensor, stopped: Tensor) -> Posteriors:
    """Derive all posteriors from where chains stop: a chain continued to a width if it stopped there or later."""
    extended = layout.remaining_sum(stopped[layout.longer])
    with_more = layout.counts[1] if layout.counts[1:] else 0
    present = torch.cat([stopped[:with_more] + extended[:with_more], stopped[with_more : layout.chains]])
    return Posteriors(absent, present, extended, stopped)


def posteriors(layout: ChainLayout, chains: PackedScores) -> Posteriors:
    """The probability of each choice; differentiable."""
    log_absent, log_stopped = log_posteriors(layout, chains)
    return choices_from(layout, log_absent.exp(), log_stopped.exp())


def shorter_probability(layout: ChainLayout, chains: PackedScores) -> Tensor:
    """(rows of width 1 and more, m): the probability of a mention at the previous row, given that the chain
    continued."""
    return torch.sigmoid(chains.shorter_log_odds(layout))


def log_partition(layout: ChainLayout, scores: Edges) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; twice differentiable."""
    return layout.unpack_chains(ChainLogPartition.apply(layout, *pack(layout, scores)))


def marginals(layout: ChainLayout, scores: Edges) -> Tensor:
    """(B, n, c, m): the probability of each mention, 0 in padding; differentiable."""
    chains = pack(layout, scores)
    found = posteriors(layout, chains)
    return layout.unpack_widths(
        layout.add_to_shorter(found.stopped, found.extended * shorter_probability(layout, chains))
    )


def best(layout: ChainLayout, scores: Edges) -> Tensor:
    """(B, n, m): the best score of each chain if it is present, 0 in padding. No gradient."""
    chains = pack(layout, scores)
    if chains.branch is None:
        go = chains.extend + chains.shorter_log_odds(layout).clamp_(min=0.0)
    else:
        go = torch.maximum(chains.extend, chains.branch)
    return layout.unpack_chains(layout.reduce(chains.longest(layout, go), "maximum") + chains.present)
