"""Chains of a segmental hypergraph, one row of widths each, for decoders that process some of them at a time."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hyperspan.kernels.chain_reference import Edges
from hyperspan.kernels.numerics import MINUS_INFINITY


class Rows(NamedTuple):
    """Chains with their widths last. `...` is the shape of the chains; widths beyond the sentence score -inf."""

    absent: Tensor  # (...)
    present: Tensor  # (...)
    extend: Tensor  # (..., c - 1)
    stop: Tensor  # (..., c)
    branch: Tensor  # (..., c - 1)
    shorter_log_odds: Tensor  # (..., c - 1): log-odds of a mention at this width, given a longer one

    def longest(self) -> Tensor:
        """(..., c): the score of each longest mention, with the better choice at every shorter width."""
        longest = self.stop + self.present.unsqueeze(-1)
        longest[..., 1:] += torch.maximum(self.extend, self.branch).cumsum_(-1)
        return longest


def rows_of(scores: Edges, lengths: Tensor, sentence: Tensor, start: Tensor, kind: Tensor, dtype: torch.dtype) -> Rows:
    """(chains,): the rows of the chains with these sentences, starts and types. `lengths` is (B,)."""
    chosen = (sentence, start, kind)
    room = lengths[sentence] - start
    absent, present = scores.absent[chosen].to(dtype), scores.present[chosen].to(dtype)
    extend, close = (tensor.transpose(2, 3)[chosen].to(dtype) for tensor in (scores.extend, scores.close))
    branch = None if scores.branch is None else scores.branch.transpose(2, 3)[chosen].to(dtype)
    return _rows(room, absent, present, extend, close, branch)


def _rows(room: Tensor, absent: Tensor, present: Tensor, extend: Tensor, close: Tensor, branch: Tensor | None) -> Rows:
    """Chains, each with room for some widths. A chain in padding, which may hold anything, is absent with a score of
    0."""
    outside = torch.arange(close.shape[-1], device=close.device) >= room.unsqueeze(-1)
    stop, extend = close.masked_fill(outside, MINUS_INFINITY), extend.masked_fill(outside[..., 1:], MINUS_INFINITY)
    absent, present = (tensor.masked_fill(outside[..., 0], 0.0) for tensor in (absent, present))
    if branch is None:
        log_odds = stop[..., :-1]
        return Rows(absent, present, extend, stop, extend + log_odds, log_odds)
    branch = branch.masked_fill(outside[..., 1:], MINUS_INFINITY)
    log_odds = branch - extend.masked_fill(branch == MINUS_INFINITY, 0.0)  # -inf, not NaN, where neither is possible
    return Rows(absent, present, extend, stop, branch, log_odds)
