"""The paper's earlier structures on a GPU. Also a program: python -m tests.structures.test_cuda_earlier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hyperspan.structures import ConstituencyTrees, MentionHypergraph, MentionSeparators, WordEdgeScores

try:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
except ImportError:  # run as a program
    pass

LENGTHS = [9, 0, 6, 1]
GOLD = [{(0, 7, 2), (0, 3, 2), (3, 5, 0)}, set(), {(5, 6, 1)}, set()]
BUILDERS: list[tuple[list[tuple[int, ...]], Callable[..., Any]]] = [
    ([(4, 9, 7, 3), (4, 9)], lambda scores, outside: ConstituencyTrees(scores, LENGTHS, outside)),
    ([(4, 10, 8, 3)], lambda scores: MentionSeparators(scores, torch.tensor(LENGTHS, device=scores.device))),
    ([(4, 9, 3)] * 4, lambda *scores: MentionHypergraph(WordEdgeScores(*scores), LENGTHS)),
    ([(4, 9, 3)] * 5, lambda *scores: MentionHypergraph(WordEdgeScores(*scores), LENGTHS, reading="nested")),
]


def scores_on(device: str, dtype: torch.dtype, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    tensors[0][2, 8] = math.nan  # padding
    return [tensor.to(device).requires_grad_() for tensor in tensors]


def test_cuda_agrees_with_cpu() -> None:
    for shapes, build in BUILDERS:
        for dtype in (torch.float32, torch.float64):
            found = []
            for device in ("cpu", "cuda"):
                tensors = scores_on(device, dtype, shapes)
                distribution = build(*tensors)
                values = [distribution.log_partition, distribution.marginals, distribution.entropy]
                values.append(distribution.log_prob(GOLD))
                assert all(value.device.type == device and value.dtype == dtype for value in values)
                torch.stack([value.sum() for value in values]).sum().backward()
                values += [tensor.grad for tensor in tensors]
                # Sets that are equally probable may come in any order, so their scores are compared.
                ranked = distribution.topk(10)
                values.append(
                    torch.tensor([[score for _, score in sets] for sets in ranked if len(sets) == 10], dtype=dtype)
                )
                sets = [distribution.argmax(), distribution.sample(100, torch.Generator().manual_seed(3))]
                assert len(distribution.sample(5, torch.Generator(device).manual_seed(1))[0]) == 5
                found.append(([value.detach().cpu() for value in values], sets))
            (on_cpu, cpu_sets), (on_cuda, cuda_sets) = found
            tolerance = 1e-4 if dtype == torch.float32 else 1e-9
            for left, right in zip(on_cpu, on_cuda, strict=True):
                torch.testing.assert_close(left, right, atol=tolerance, rtol=tolerance)
            assert cpu_sets[0] == cuda_sets[0]
            # A uniform number may fall between two roundings of one probability.
            pairs = zip(cpu_sets[1], cuda_sets[1], strict=True)
            assert sum(a != b for left, right in pairs for a, b in zip(left, right, strict=True)) <= 2


if __name__ == "__main__":
    test_cuda_agrees_with_cpu()
    print("CUDA agrees with the CPU on", torch.cuda.get_device_name())
