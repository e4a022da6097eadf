"""The same results on a GPU. Also a program of its own, for machines without pytest: python -m
tests.structures.test_cuda."""

from __future__ import annotations

import math
from typing import Any

import torch

from hyperspan.structures import EdgeScores, SegmentalHypergraph, negative_log_likelihood

try:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
except ImportError:  # run as a program
    pass

SHAPE, LENGTHS = (4, 12, 9, 3), [12, 0, 7, 1]
GOLD = [{(0, 9, 2), (0, 3, 2), (2, 5, 0)}, set(), {(6, 7, 1)}, set()]


def scores_on(device: str, dtype: torch.dtype, *, untied: bool) -> EdgeScores:
    generator = torch.Generator().manual_seed(0)
    batch, n, c, m = SHAPE
    shapes = [(batch, n, m), (batch, n, m), (batch, n, c - 1, m), (batch, n, c, m), (batch, n, c - 1, m)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    tensors[3][0, 3, 2, 1] = -math.inf
    tensors[3][2, 6, 1:] = math.nan  # padding
    return EdgeScores(*(tensor.to(device).requires_grad_() for tensor in tensors[: 5 if untied else 4]))


def test_cuda_agrees_with_cpu() -> None:
    for dtype in (torch.float32, torch.float64):
        for untied in (False, True):
            found = []
            for device in ("cpu", "cuda"):
                scores = scores_on(device, dtype, untied=untied)
                distribution = SegmentalHypergraph(scores, torch.tensor(LENGTHS, device=device))
                values: list[Any] = [distribution.log_partition, distribution.marginals, distribution.entropy]
                values.append(negative_log_likelihood(scores, GOLD, LENGTHS, beta=2.0).values)
                assert all(value.device.type == device for value in values)
                torch.stack([value.sum() for value in values]).sum().backward()
                values += [tensor.grad for tensor in scores.tensors().values()]
                constrained = distribution.condition(
                    require=[{(0, 2, 0)}, [], [], []], forbid=[[], [], {(0, 1, 1)}, []]
                )
                sets: list[Any] = [distribution.argmax(), constrained.argmax(), distribution.above(0.4)]
                sets.append([[mentions for mentions, _ in ranked] for ranked in distribution.topk(20)])
                sets.append([mentions for mentions, _ in distribution.max_expected_f1()])
                sets.append(distribution.sample(300, torch.Generator().manual_seed(3)))
                found.append(([value.detach().cpu() for value in values], sets))
            (on_cpu, cpu_sets), (on_cuda, cuda_sets) = found
            tolerance = 1e-4 if dtype == torch.float32 else 1e-9
            for left, right in zip(on_cpu, on_cuda, strict=True):
                torch.testing.assert_close(left, right, atol=tolerance, rtol=tolerance)
            assert cpu_sets[:5] == cuda_sets[:5]
            # In float32 a uniform number may fall between two roundings of one probability.
            differing = sum(
                a != b
                for left, right in zip(cpu_sets[5], cuda_sets[5], strict=True)
                for a, b in zip(left, right, strict=True)
            )
            assert differing <= 2
            own = SegmentalHypergraph(scores_on("cuda", dtype, untied=untied), LENGTHS)
            assert len(own.sample(5, torch.Generator("cuda").manual_seed(1))[0]) == 5


if __name__ == "__main__":
    test_cuda_agrees_with_cpu()
    print("CUDA agrees with the CPU on", torch.cuda.get_device_name())
