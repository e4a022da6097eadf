"""Decoding for the smallest expected loss instead of the highest probability."""

from __future__ import annotations

import heapq
import math

import torch
from torch import Tensor

from hyperspan.structures.mentions import MentionSet

NEGLIGIBLE = 1e-12
"""Negligible probability: leaving it out changes an expected F1 by less than float64 rounding does."""


def sets_of(chosen: Tensor) -> list[MentionSet]:
    """(B, n, c, m) of booleans -> the mentions marked in each sentence."""
    sets: list[set[tuple[int, int, int]]] = [set() for _ in range(chosen.shape[0])]
    for sentence, start, width, kind in chosen.nonzero().tolist():
        sets[sentence].add((start, start + width + 1, kind))
    return [frozenset(mentions) for mentions in sets]


def mention_count_joint(absent: Tensor, longest: Tensor, share: Tensor) -> Tensor:
    """(s, chains, c): P(this mention is in the set, and the set has s mentions), for independent chains.

    `absent` (chains,) is P(no mention); `longest` (chains, c) is P(w is the longest); `share` (chains, c - 1) is
    P(mention at u) given a longer one. The generating function of the number of mentions is evaluated at enough roots
    of unity that aliasing is NEGLIGIBLE, and transformed back.
    """
    points = _count_bound(absent, longest, share) + 1
    z = torch.exp(2j * math.pi * torch.arange(points, dtype=torch.float64, device=absent.device) / points)[:, None]
    c = longest.shape[1]
    coin = [1 - share[:, u] + share[:, u] * z for u in range(c - 1)]  # each (points, chains)
    beyond = [torch.zeros(points, len(absent), dtype=torch.complex128, device=absent.device)]
    for width in range(c - 1, 0, -1):  # beyond[w]: a longest mention wider than w, and all coins between
        beyond.append(z * longest[:, width] + (coin[width] * beyond[-1] if width < c - 1 else 0))
    beyond.reverse()
    whole = absent + z * longest[:, 0] + (coin[0] * beyond[0] if c > 1 else 0)  # (points, chains)
    others = _product_of_others(whole)
    joint, before = [], torch.ones_like(whole)
    for width in range(c):
        here = z * longest[:, width] + (share[:, width] * z * beyond[width] if width < c - 1 else 0)
        joint.append(torch.fft.fft(before * here * others, dim=0).real / points)
        before = before * coin[width] if width < c - 1 else before
    return torch.stack(joint, dim=2).clamp(min=0.0)


def _count_bound(absent: Tensor, longest: Tensor, share: Tensor) -> int:
    """A bound that the set's size exceeds with NEGLIGIBLE probability (Chernoff's bound), or cannot exceed."""
    sizes = torch.arange(
        1, longest.shape[1] + 1, device=longest.device
    )  # a chain up to width w holds at most w + 1 mentions
    possible = int(((longest > 0) * sizes).amax(1).sum())
    bound = possible
    for tilt in (0.25, 0.5, 1.0, 2.0, 4.0):
        z = math.exp(tilt)
        noted = torch.cat([torch.ones_like(longest[:, :1]), 1 - share + share * z], dim=1).cumprod(1)
        log_moment = (absent + z * (longest * noted).sum(1)).log().sum().item()
        if math.isfinite(log_moment):
            bound = min(bound, math.ceil((log_moment - math.log(NEGLIGIBLE)) / tilt))
    return bound


def _product_of_others(values: Tensor) -> Tensor:
    """(points, chains): the product over all chains but one, for each of them, without division."""
    one = torch.ones_like(values[:, :1])
    before = torch.cat([one, values[:, :-1]], dim=1).cumprod(1)
    after = torch.cat([values[:, 1:], one], dim=1).flip(1).cumprod(1).flip(1)
    return before * after


def best_expected_f1(joint: Tensor, empty: float) -> tuple[float, Tensor]:
    """The choice of columns with the highest expected F1, and that value.

    `joint` (sizes, mentions) is P(mention in the set and the set of this size); `empty` is the probability of the empty
    set, against which the empty choice scores 1. In a choice of k mentions each contributes 2 Σ_s joint / (s + k), so
    the best k are those that contribute most (Dembczynski et al. 2011). Contributions fall with k, so the top k
    contributions to a smaller choice bound all larger choices up to k: ranges of k whose bound does not exceed the best
    value found are skipped.
    """
    sizes = torch.arange(joint.shape[0], dtype=torch.float64, device=joint.device)
    best, chosen = empty, torch.empty(0, dtype=torch.long, device=joint.device)
    ranges: list[tuple[float, int, int]] = [(-1.0, 1, joint.shape[1])]  # minus the bound, first k, last k
    while ranges:
        bound, first, last = heapq.heappop(ranges)
        if first > last or -bound <= best + 1e-12:
            continue
        gain, order = (2 * (joint / (sizes + first)[:, None]).sum(0)).sort(descending=True)
        total = gain.cumsum(0)
        if total[first - 1].item() > best + 1e-12:
            best, chosen = total[first - 1].item(), order[:first]
        middle = (first + 1 + last) // 2
        for low, high in ((first + 1, middle), (middle + 1, last)):
            if low <= high:
                heapq.heappush(ranges, (-total[high - 1].item(), low, high))
    return best, chosen
