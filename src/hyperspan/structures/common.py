"""Helpers that structures share: input checks, and sums, draws and rankings in log space that handle -inf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY, finite

PORTION_OF_WAYS = 2**22
"""The most alternatives that `topk` compares at one place; it batches as many sentences as that allows."""


class ScoreTensors:
    """Scores (log-weights) of a padded batch, by name. A subclass is a frozen dataclass of tensors; None means not
    given."""

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are given, by name."""
        return {name: tensor for name, tensor in vars(self).items() if tensor is not None}

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same scores with a function applied to each tensor."""
        return type(self)(**{name: function(tensor) for name, tensor in self.tensors().items()})

    def __truediv__(self, temperature: float) -> Self:
        """These scores at a temperature: above 1 the distribution is flatter, below 1 sharper; the ranking stays."""
        return self.map(lambda tensor: tensor / temperature)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert these scores; takes the arguments of :meth:`torch.Tensor.to`."""
        return self.map(lambda tensor: tensor.to(*args, **kwargs))

    def in_float64(self) -> Self:
        """These scores in float64, on the CPU if their device has no such numbers."""
        return self.map(in_float64)


def in_float64(tensor: Tensor) -> Tensor:
    """The tensor in float64, on the CPU if its device has no such numbers."""
    return tensor.to(float64_device(tensor.device), torch.float64)


def float64_device(device: torch.device) -> torch.device:
    """The device on which to compute in float64: Apple's GPUs cannot.

    >>> float64_device(torch.device("mps")), float64_device(torch.device("cuda"))
    (device(type='cpu'), device(type='cuda'))
    """
    return torch.device("cpu") if device.type == "mps" else device


def check_scores(tensors: dict[str, Tensor], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise an error unless the tensors have these shapes, and all are float32 or all float64, on one device."""
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


def portions(count: int, ways: int) -> Iterator[slice]:
    """Slices of sentences to process together, where `ways` alternatives are compared at one place of each sentence."""
    size = max(1, PORTION_OF_WAYS // ways)
    return (slice(begin, begin + size) for begin in range(0, count, size))


def entropy_term(log_probabilities: Tensor) -> Tensor:
    """-p log p, and 0 with gradient 0 where p is 0."""
    probabilities = log_probabilities.exp()
    return -probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)


def largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest along dimension 1, with indices; for k = 1 the first among ties, which torch.topk does not
    guarantee."""
    return values.max(1, keepdim=True) if k == 1 else values.topk(k, dim=1)


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
