"""What the outputs of a layer stand for: by it weights are explained, and a warm start finds those of a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Outputs:
    """The outputs of a layer: each role for each type.

    They are in the order of roles, all types of the first and so on, or in that of types with `by_type`.

    >>> Outputs(["starts", "ends"], types=3).count, Outputs(["is outside"]).count
    (6, 1)
    """

    roles: Sequence[str]
    """What an output says of a word or a span."""
    types: int = 0
    """0: the outputs belong to no type, one for each role."""
    by_type: bool = False
    shared: int = 0
    """The number of further outputs, before the others, that belong to no type."""

    @property
    def count(self) -> int:
        """The number of outputs."""
        return self.shared + len(self.roles) * (self.types or 1)

    def by_role(self, weights: Tensor) -> Tensor:
        """(…, outputs) -> (…, roles, types), without those shared."""
        typed = weights[..., self.shared :]
        if self.by_type:
            return typed.unflatten(-1, (self.types, len(self.roles))).transpose(-1, -2)
        return typed.unflatten(-1, (len(self.roles), self.types))

    def of_types(self, learnt: Tensor, weights: Tensor) -> Tensor:
        """(outputs of the trained types, …) -> (outputs, …): each type a weighted mean of the trained ones.

        `weights` is (types, trained types).
        """
        shared, typed = learnt.tensor_split([self.shared])
        order = (weights.shape[1], -1) if self.by_type else (-1, weights.shape[1])
        outputs = typed.unflatten(0, order)
        found = torch.tensordot(weights, outputs if self.by_type else outputs.transpose(0, 1), 1)  # (types, roles, …)
        return torch.cat([shared, (found if self.by_type else found.transpose(0, 1)).flatten(0, 1)])


class TypeAxes(NamedTuple):
    """The axes of a parameter that index outputs, and what these are."""

    outputs: Outputs
    axes: tuple[int, ...] = (0,)


class WeightColumns(NamedTuple):
    """Weights of handcrafted features, and what their columns stand for."""

    weights: Tensor  # (features + 1, outputs); row 0 is of unknown features
    outputs: Outputs
    of_spans: bool = False
    """Whether these are features of spans, not of words."""


class OutputLayer(nn.Module):
    """A layer that an encoder makes: from representations to outputs."""

    output_axes: ClassVar[dict[str, int]] = {}
    """The axis of each of its parameters that indexes outputs; empty if they cannot be copied to other labels."""
    outputs: Outputs

    def columns(self) -> list[WeightColumns]:
        """The weights of its features; empty if it reads vectors."""
        return []


class WordLinear(nn.Linear, OutputLayer):
    """Scores that are linear in vectors of words."""

    output_axes: ClassVar[dict[str, int]] = {"weight": 0, "bias": 0}

    def __init__(self, dimension: int, outputs: Outputs):
        super().__init__(dimension, outputs.count)
        self.outputs = outputs
