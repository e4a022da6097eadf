"""Helpers that structures share: input checks, and log-probabilities and draws that handle -inf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from hyperspan.kernels.numbers import MINUS_INFINITY, finite
from hyperspan.kernels.numbers import in_float64 as in_float64
from hyperspan.structures.scores import Scores as ScoreTensors  # noqa: F401
from hyperspan.structures.scores import check_scores as check_scores
from hyperspan.structures.units import check_count as check_count


def check_possible(value: Tensor) -> None:
    """Raise an error unless every sentence has a possible set: `value` is (B,), its best or total score."""
    for sentence, score in enumerate(value.tolist()):
        if not score > MINUS_INFINITY:
            reason = "a score is NaN" if score != score else "every one has a score of -inf"
            raise ValueError(f"sentence {sentence} has no possible mention set: {reason}; check the scores")


def check_no_nan(value: Tensor) -> None:
    """Raise an error if a sentence's best or total score, (B,), is NaN."""
    check_possible(value.masked_fill(value == MINUS_INFINITY, 0.0))


def log_probability(score: Tensor, log_partition: Tensor, impossible: Iterable[bool] | None = None) -> Tensor:
    """score - log_partition, (B,): at most 0 despite rounding, and -inf where nothing, or this set, is possible."""
    never = log_partition == MINUS_INFINITY
    if impossible is not None:
        never = never | torch.tensor(list(impossible), dtype=torch.bool, device=never.device)
    return (score - finite(log_partition)).masked_fill(never, MINUS_INFINITY).clamp(max=0.0)


def in_sentence(lengths: Sequence[int], n: int, device: torch.device) -> Tensor:
    """(B, n): which words are in their sentence; the others are padding."""
    return torch.arange(n, device=device) < torch.tensor(lengths, dtype=torch.long, device=device)[:, None]


def draw(log_weights: Tensor, draws: int, generator: torch.Generator | None) -> Tensor:
    """(..., choices) -> (..., draws): independent choices, each in proportion to exp(log_weight).

    Random numbers are drawn on the generator's device. Where no choice is possible, the result is meaningless.
    """
    weights = (log_weights - finite(log_weights.amax(-1, keepdim=True))).exp()
    reached = weights.cumsum(-1)
    device = generator.device if generator is not None else weights.device
    shape = (*weights.shape[:-1], draws)
    level = torch.rand(shape, generator=generator, dtype=weights.dtype, device=device).to(weights.device)
    # Take the first choice whose cumulative weight exceeds the level; a choice of weight 0 never does so first.
    chosen = torch.searchsorted(reached, level * reached[..., -1:], right=True)
    return chosen.clamp(max=weights.shape[-1] - 1)
