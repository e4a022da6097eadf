"""What an answer may cost, counted in operations and memory."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hyperspan import kernels
from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores, EdgeScores, SegmentalHypergraph

MEBIBYTE = 2**20


class Operations(TorchDispatchMode):
    """The number of operations on tensors, and the bytes of the largest result."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.count += 1
        if isinstance(found, torch.Tensor):
            self.largest = max(self.largest, found.numel() * found.element_size())
        return found


def scores(n: int, c: int, m: int) -> EdgeScores:
    """Scores of one sentence, in which hardly anything is a mention."""
    start, width = torch.zeros(1, n, m), torch.zeros(1, n, c, m)
    return EdgeScores(start + 15, start, width[:, :, 1:], width)


def array_hypergraph(n: int, c: int, m: int) -> SegmentalHypergraph:
    return SegmentalHypergraph(EdgeScores(*(tensor.numpy() for tensor in scores(n, c, m).tensors().values())), [n])


def instructions(call: Callable[[], object]) -> int:
    """The number of Python instructions that a call runs."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_conditioned_menus_take_no_slow_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    n, sizes, slow = 30, [(), (), (3,), (4,), (4,), (3,), (2,)], 0
    arrays = [np.zeros((1, n, *widths, 2), dtype=np.float32) for widths in sizes]
    distribution = DiscontinuousHypergraph(DiscontinuousScores(*arrays), [n], parts=3)
    logaddexp = np.logaddexp

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal slow
        found = logaddexp(*given, **options)
        slow += np.size(found)
        return found

    monkeypatch.setattr(np, "logaddexp", counted)
    assert np.isfinite(distribution.condition(forbid=[[(0, 2, 0)]]).log_partition).all()
    assert not slow


def test_sample_of_arrays_needs_little_memory_for_a_long_sentence() -> None:
    distribution = array_hypergraph(8_000, 2, 4)
    tracemalloc.start()
    try:
        drawn = distribution.sample(256, np.random.default_rng(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(drawn[0]) == 256
    assert peak < 32 * MEBIBYTE


def test_sample_of_tensors_needs_little_memory_for_a_long_sentence() -> None:
    distribution = SegmentalHypergraph(scores(8_000, 2, 4), [8_000])
    with Operations() as operations:
        drawn = distribution.sample(256, torch.Generator().manual_seed(0))
    assert len(drawn[0]) == 256
    assert operations.largest < 32 * MEBIBYTE


def test_log_prob_is_linear_in_the_mentions_of_a_sentence() -> None:
    n = 400
    distribution = array_hypergraph(n, 2, 1)
    distribution.log_prob([[]])
    few, many = ({(start, start + 1, 0) for start in range(count)} for count in (n // 2, n))
    assert instructions(lambda: distribution.log_prob([many])) <= 2.6 * instructions(
        lambda: distribution.log_prob([few])
    )


@pytest.mark.parametrize("value", ["log_partition", "marginals", "best_rows"])
def test_conditions_add_few_operations_on_a_gpu(value: str) -> None:
    def operations(distribution: SegmentalHypergraph) -> int:
        with kernels.reference(), torch.no_grad(), Operations() as found:  # what runs on a GPU
            answer = getattr(distribution, value)
            assert isinstance(answer() if value == "best_rows" else answer, torch.Tensor | np.ndarray)
        return found.count

    plain = SegmentalHypergraph(scores(40, 36, 3), [40])
    assert operations(plain.condition(forbid=[{(0, 1, 0)}])) <= 1.5 * operations(plain)
