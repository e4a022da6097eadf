"""Small batches of mentions with gaps, with every set of them enumerated."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import torch

from hyperspan.structures import DiscontinuousScores
from hyperspan.structures.discontinuous_menus import Limits
from hyperspan.structures.mentions import AnyMention, Parts, parts_of, with_parts
from tests.structures.brute_force import BruteForce, all_sets, arrays

MANY = 9
"""Sentences with more possible mentions than this are not enumerated: 2 ** 9 sets."""


def all_discontinuous(n: int, types: int, limits: Limits) -> list[AnyMention]:
    """Every mention that a sentence of n words can hold."""

    def longer(parts: Parts) -> list[Parts]:
        found = [parts]
        if len(parts) < limits.parts:
            for start in range(parts[-1][1] + 1, min(parts[-1][1] + limits.gap, n - 1) + 1):
                for end in range(start + 1, min(start + limits.later_width, n) + 1):
                    found += longer((*parts, (start, end)))
        return found

    firsts = [((i, j),) for i in range(n) for j in range(i + 1, min(i + limits.width, n) + 1)]
    return [with_parts(parts, kind) for kind in range(types) for first in firsts for parts in longer(first)]


def discontinuous_score(scores: SimpleNamespace, sentence: int, length: int, mentions: Any) -> float:
    """The score of one set, added up from the definition: each part and gap once for all mentions that are alike up to it."""

    def at(values: Any, start: int, end: int, kind: int) -> float:
        return values[sentence, start, end - start - 1, kind]

    total = 0.0
    for start in range(length):
        for kind in range(scores.close.shape[3]):
            own = [parts_of(mention) for mention in mentions if (mention[0], mention[2]) == (start, kind)]
            if not own:
                total += scores.absent[sentence, start, kind]
                continue
            total += scores.present[sentence, start, kind]
            total += scores.extend[sentence, start, : max(parts[0][1] for parts in own) - start - 1, kind].sum()
            total += sum(at(scores.close, *parts[0], kind) for parts in own if len(parts) == 1)
            total += sum(at(scores.last, *parts[-1], kind) for parts in own if len(parts) > 1)
            opened = {parts[:done] for parts in own for done in range(1, len(parts))}
            total += sum(at(scores.open, *done[-1], kind) for done in opened)
            gaps = {(parts[:done], parts[done][0]) for parts in own for done in range(1, len(parts))}
            total += sum(at(scores.gap, done[-1][1], begin, kind) for done, begin in gaps)
    return total


def brute_force_of(scores: DiscontinuousScores, lengths: list[int], parts: int) -> list[BruteForce]:
    known, limits, m = arrays(scores), scores.limits(parts), scores.close.shape[3]
    return [
        BruteForce(
            {
                found: discontinuous_score(known, sentence, length, found)
                for found in all_sets(all_discontinuous(length, m, limits))
            }
        )
        for sentence, length in enumerate(lengths)
    ]


def discontinuous_scores(
    batch: int,
    n: int,
    limits: Limits,
    m: int,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
    spread: float = 1.0,
    impossible: float = 0.0,
) -> DiscontinuousScores:
    """Random scores; a share `impossible` of all edges is -inf, but T → X never is, so that some set is possible."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*size: int, share: float = impossible) -> torch.Tensor:
        values = torch.randn(batch, n, *size, m, generator=generator, dtype=torch.float64) * spread
        values[torch.rand(values.shape, generator=generator) < share] = -math.inf
        return values.to(dtype)

    c = limits.width
    return DiscontinuousScores(
        draw(share=0.0), draw(), draw(c - 1), draw(c), draw(c), draw(limits.gap), draw(limits.later_width)
    )
