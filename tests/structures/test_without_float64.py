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

from hyperspan.baselines.linear_chain import LinearChain, TagScores
from hyperspan.baselines.mention_separators import MentionSeparators
from hyperspan.baselines.semi_markov import SegmentScores, SemiMarkov
from hyperspan.baselines.tree import ConstituencyTrees
from hyperspan.structures import (
    DiscontinuousHypergraph,
    DiscontinuousScores,
    EdgeScores,
    JointScores,
    JointSegmentalHypergraph,
    SegmentalHypergraph,
    common,
)
from hyperspan.structures.distribution import Distribution

LENGTHS, N, C, M = [5, 3], 5, 3, 2
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


def random(*shape: int) -> Tensor:
    return torch.randn(2, N, *shape, generator=torch.Generator().manual_seed(sum(shape)))


def edges() -> EdgeScores:
    return EdgeScores(random(M), random(M), random(C - 1, M), random(C, M))


def discontinuous_scores() -> DiscontinuousScores:
    first = random(M), random(M), random(C - 1, M), random(C, M)
    return DiscontinuousScores(*first, random(C, M) - 1, gap=random(2, M), last=random(2, M))


CASES: dict[str, tuple[Callable[[Any], Distribution], list[Tensor]]] = {
    "segmental": (lambda all_: SegmentalHypergraph(EdgeScores(*all_), LENGTHS), list(edges().tensors().values())),
    "joint": (
        lambda all_: JointSegmentalHypergraph(JointScores(EdgeScores(*all_[:4]), all_[4], all_[5]), LENGTHS),
        [*edges().tensors().values(), random(C, M, M), random(C, M, M)],
    ),
    "discontinuous": (
        lambda all_: DiscontinuousHypergraph(DiscontinuousScores(*all_), LENGTHS),
        list(discontinuous_scores().tensors().values()),
    ),
    "semi-Markov": (lambda all_: SemiMarkov(SegmentScores(*all_), LENGTHS), [random(), random(C, M)]),
    "constituency": (lambda all_: ConstituencyTrees(all_[0], LENGTHS), [random(C, M)]),
    "separators": (lambda all_: MentionSeparators(all_[0], [4, 2]), [random(8, M)]),
    "linear chain": (
        lambda all_: LinearChain(TagScores(*all_), LENGTHS),
        [random(5), torch.zeros(5, 5), *torch.zeros(2, 5)],
    ),
}
ANSWERS: dict[str, Callable[[Distribution], Any]] = {
    "entropy": lambda one: one.entropy,
    "topk": lambda one: one.topk(3),
    "sample": lambda one: one.sample(5, torch.Generator().manual_seed(1)),
}
USED = {
    **dict.fromkeys(("segmental", "joint", "discontinuous"), tuple(ANSWERS)),
    "constituency": ("entropy", "topk", "sample"),
    **dict.fromkeys(("semi-Markov", "linear chain"), ("topk", "sample")),
    "separators": ("topk",),
}
"""What each structure computes in float64, or from what it has computed so."""


@pytest.mark.parametrize(("case", "name"), [(case, name) for case, names in USED.items() for name in names])
def test_structures_answer_without_float64(case: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(common, "float64_device", lambda device: cpu if device == DEVICE else device)
    (made, tensors), answer = CASES[case], ANSWERS[name]
    wanted = answer(made(tensors))
    with Device():
        found = answer(made([Elsewhere.of(tensor) for tensor in tensors]))
    if name == "entropy":
        assert isinstance(found, Elsewhere)  # where its scores are
        torch.testing.assert_close(found.held, wanted)
    else:
        assert found == wanted
