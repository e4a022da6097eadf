"""The same results on a GPU. Also a program of its own, for machines without pytest: python -m
tests.structures.test_cuda."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hyperspan.structures import EdgeScores, negative_log_likelihood
from tests.structures.subjects import SUBJECTS, Gold, Subject, Tensors

try:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
except ImportError:  # run as a program
    pass

LENGTHS = [12, 0, 7, 1]
GOLD: Gold = [{(0, 9, 2), (0, 3, 2), (3, 5, 0)}, set(), {(6, 7, 1)}, set()]


def tensors_on(device: str, subject: Subject, dtype: torch.dtype) -> Tensors:
    """Some are impossible, and NaN in padding."""
    tensors = subject.random(len(LENGTHS), max(LENGTHS), 3, dtype)
    for name, tensor in tensors.items():
        if name not in subject.shared:
            tensor[2, 8] = math.nan  # beyond the words
        if name == "close" and tensor.dim() == 4:
            tensor[0, 3, 2, 1] = -math.inf
            tensor[2, 6, 1:] = math.nan  # from the last word to beyond it
    return {name: tensor.to(device).requires_grad_() for name, tensor in tensors.items()}


def answers(device: str, subject: Subject, dtype: torch.dtype) -> tuple[list[Tensor], list[Any]]:
    tensors = tensors_on(device, subject, dtype)
    distribution = subject.build(tensors, torch.tensor(LENGTHS, device=device))
    values = subject.values(distribution, GOLD)
    if tensors.keys() <= {"absent", "present", "extend", "close", "branch"} and tensors["close"].dim() == 4:
        values.append(negative_log_likelihood(EdgeScores(**tensors), GOLD, LENGTHS, beta=2.0).values)
    assert all(value.device.type == device and value.dtype == dtype for value in values)
    torch.stack([value[value.isfinite()].sum() for value in values]).sum().backward()
    values += [tensor.grad for tensor in tensors.values() if tensor.grad is not None]
    # Sets that are equally probable may come in any order, so their probabilities are compared.
    best, _, *others = subject.decoded(distribution)
    ranked = [[value for _, value in sets] for sets in distribution.topk(10)]
    values += [torch.tensor(probabilities, dtype=dtype) for probabilities in ranked]
    assert len(distribution.sample(5, torch.Generator(device).manual_seed(1))[0]) == 5
    drawn = distribution.sample(300, torch.Generator().manual_seed(3))
    return [value.detach().cpu() for value in values], [best, *others, drawn]


def test_cuda_agrees_with_cpu() -> None:
    for subject in SUBJECTS.values():
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-9)):
            (on_cpu, cpu_sets), (on_cuda, cuda_sets) = (answers(device, subject, dtype) for device in ("cpu", "cuda"))
            for left, right in zip(on_cpu, on_cuda, strict=True):
                torch.testing.assert_close(left, right, atol=tolerance, rtol=tolerance)
            assert cpu_sets[:-1] == cuda_sets[:-1]
            # A uniform number may fall between two roundings of one probability.
            pairs = zip(cpu_sets[-1], cuda_sets[-1], strict=True)
            assert sum(a != b for left, right in pairs for a, b in zip(left, right, strict=True)) <= 2


if __name__ == "__main__":
    test_cuda_agrees_with_cpu()
    print("CUDA agrees with the CPU on", torch.cuda.get_device_name())
