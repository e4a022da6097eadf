"""Small batches of random sentences, for the cases of every structure: so small that all their sets are enumerated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.structures.brute_force import all_mentions


@dataclass(frozen=True)
class Batch:
    """The sizes of a batch, and how its scores are drawn."""

    lengths: list[int]
    n: int
    c: int
    m: int
    single: bool
    """Whether its scores are in float32."""
    seed: int
    spread: float
    impossible: float
    """The share of scores that are -inf."""
    generator: torch.Generator = field(default_factory=torch.Generator)

    @property
    def size(self) -> int:
        return len(self.lengths)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.size, self.n, self.c, self.m

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32 if self.single else torch.float64

    @property
    def tolerance(self) -> float:
        return 2e-4 if self.single else 1e-9

    @property
    def drawn(self) -> tuple[torch.dtype, int, float, float]:
        """What functions that draw scores ask for."""
        return self.dtype, self.seed, self.spread, self.impossible

    def random(self, *shape: int, possible: Any = None) -> Tensor:
        """Other scores at each call, of which those at `possible` are never -inf, so that some set is possible."""
        values = torch.randn(shape, generator=self.generator, dtype=torch.float64) * self.spread
        blocked = torch.rand(shape, generator=self.generator) < self.impossible
        if possible is not None:
            blocked[possible] = False
        return values.masked_fill(blocked, -math.inf).to(self.dtype)


@st.composite
def batches(draw: st.DrawFn, longest: Mapping[int, int], most: int = 100, *, any_width: bool = False) -> Batch:
    """Sentences of up to so many words for each number of types, none of which can hold more mentions than `most`; of
    any width, or of up to c words."""
    m = draw(st.sampled_from(sorted(longest)))
    n = draw(st.integers(0, longest[m]))
    c = n if any_width else draw(st.integers(1, n + 1))
    lengths = draw(st.lists(st.integers(0, n), min_size=1, max_size=3))
    while len(all_mentions(max(lengths), m, c)) > most:
        lengths = [max(length - 1, 0) for length in lengths]
    single, seed = draw(st.booleans()), draw(st.integers(0, 2**31))
    spread, impossible = draw(st.sampled_from([0.0, 1.0, 5.0])), draw(st.sampled_from([0.0, 0.2]))
    return Batch(lengths, n, c, m, single, seed, spread, impossible, torch.Generator().manual_seed(seed + 1))
