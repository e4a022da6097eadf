"""Distributions on a device without float64, as Apple's GPUs are: what is computed in float64 is computed on the CPU.

Tensors that claim to be on the device "meta", and hold their values on the CPU, stand in for those of such a device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from hyperspan.kernels import numbers
from hyperspan.structures.distribution import Distribution
from tests.structures.subjects import SUBJECTS

LENGTHS = [5, 3]
DEVICE = torch.device("meta")


class Elsewhere(Tensor):
    """A tensor on the device."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def of(held: Tensor) -> Elsewhere:
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            Elsewhere, held.shape, strides=held.stride(), dtype=held.dtype, device=DEVICE
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})

    def tolist(self) -> Any:
        return self.held.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        assert force
        return self.held.numpy()


class Device(TorchDispatchMode):
    """Makes what is created on the device a stand-in, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


def computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operation, which is on the device if one of its arguments is, or if it is made or moved
    there."""
    there = any(isinstance(one, Elsewhere) for one in tree_leaves((args, kwargs)))
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]) == DEVICE
        kwargs = kwargs | {"device": torch.device("cpu")}
    given = tree_map(lambda one: one.held if isinstance(one, Elsewhere) else one, (args, kwargs))
    found = func(*given[0], **given[1])

    def kept(one: Any) -> Any:
        if not (there and isinstance(one, Tensor)):
            return one
        if one.dtype == torch.float64:
            raise TypeError(f"the device has no float64, which {func} asks for")
        return Elsewhere.of(one)

    return tree_map(kept, found)


ANSWERS: dict[str, Callable[[Distribution], Any]] = {
    "entropy": lambda one: one.entropy,
    "topk": lambda one: one.topk(3),
    "sample": lambda one: one.sample(5, torch.Generator().manual_seed(1)),
}
USED = {
    **dict.fromkeys(("segmental", "joint", "discontinuous", "constituency", "semi-Markov"), tuple(ANSWERS)),
    "linear chain": ("topk", "sample"),
    "mention separators": ("topk",),
}
"""What each structure computes in float64, or from what it has computed so."""


@pytest.mark.parametrize(("case", "name"), [(case, name) for case, names in USED.items() for name in names])
def test_structures_answer_without_float64(case: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(numbers, "float64_device", lambda device: cpu if device == DEVICE else device)
    subject, answer = SUBJECTS[case], ANSWERS[name]
    tensors = subject.random(2, max(LENGTHS), 2, torch.float32)
    wanted = answer(subject.build(tensors, LENGTHS))
    with Device():
        found = answer(subject.build({name: Elsewhere.of(one) for name, one in tensors.items()}, LENGTHS))
    if name == "entropy":
        assert isinstance(found, Elsewhere)  # where its scores are
        torch.testing.assert_close(found.held, wanted)
    else:
        assert found == wanted
