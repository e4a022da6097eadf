"""What the structures share: checks of what they are given, and sums, draws and rankings in log space that bear -inf."""

from __future__ import annotations

import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY, finite

WAYS_AT_ONCE = 2**22
"""`topk` takes so many sentences at once that it does not compare more ways than this at one place."""


def check_scores(tensors: dict[str, Tensor], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises unless the tensors have these shapes, and all are float32 or all float64, on one device."""
    leader, standard = next(iter(tensors.items()))
    for name, tensor in tensors.items():
        if tuple(tensor.shape) != shapes[name]:
            raise ValueError(
                f"expected {name} of shape {shapes[name]} beside {leader} {tuple(standard.shape)}, got {tuple(tensor.shape)}"
            )
        if tensor.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"expected float32 or float64 scores, got {name} in {tensor.dtype}: convert it, for example with .float()"
            )
        if (tensor.dtype, tensor.device) != (standard.dtype, standard.device):
            raise ValueError(
                f"expected all scores with {leader}'s dtype and device, {standard.dtype} on {standard.device}, "
                f"got {name} in {tensor.dtype} on {tensor.device}: move it with .to()"
            )


def check_count(k: int) -> None:
    if k < 0:
        raise ValueError(f"expected k >= 0, got {k}")


def check_possible(value: Tensor) -> None:
    """Raises unless every sentence can hold something: `value` is (B,), its best or total score."""
    for sentence, score in enumerate(value.tolist()):
        if not score > MINUS_INFINITY:
            reason = "a score is NaN" if score != score else "every one has a score of -inf"
            raise ValueError(f"sentence {sentence} has no possible mention set: {reason}; check the scores")


def check_no_nan(value: Tensor) -> None:
    """Raises if a sentence's best or total score, (B,), is NaN."""
    check_possible(value.masked_fill(value == MINUS_INFINITY, 0.0))


def log_probability(score: Tensor, log_partition: Tensor) -> Tensor:
    """score - log_partition, (B,), at most 0 whatever the rounding, and -inf where nothing is possible."""
    impossible = log_partition == MINUS_INFINITY
    return (score - finite(log_partition)).masked_fill(impossible, MINUS_INFINITY).clamp(max=0.0)


def surprise(log_probabilities: Tensor) -> Tensor:
    """-p log p, and 0 with gradient 0 where p is 0."""
    probabilities = log_probabilities.exp()
    return -probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)


def largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest along dimension 1, and where they stand; for k = 1 the first of equals, which topk does not promise."""
    return values.max(1, keepdim=True) if k == 1 else values.topk(k, dim=1)


def draw(log_weights: Tensor, draws: int, generator: torch.Generator | None) -> Tensor:
    """(..., choices) -> (..., draws): independent choices, each in proportion to exp(log_weight).

    Random numbers come from the generator's own device. Where no choice is possible, the result means nothing.
    """
    weights = (log_weights - finite(log_weights.amax(-1, keepdim=True))).exp()
    reached = weights.cumsum(-1)
    device = generator.device if generator is not None else weights.device
    shape = (*weights.shape[:-1], draws)
    level = torch.rand(shape, generator=generator, dtype=weights.dtype, device=device).to(weights.device)
    # The first choice that reaches beyond the level: never one of weight 0, which reaches no further than the one before.
    chosen = torch.searchsorted(reached, level * reached[..., -1:], right=True)
    return chosen.clamp(max=weights.shape[-1] - 1)
