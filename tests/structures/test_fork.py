"""What a distribution keeps is kept without a lock: a fork of the process that came while another thread held it would
wait for it for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hyperspan.kernels import chains
from hyperspan.kernels import joint as joint_kernel
from hyperspan.structures import EdgeScores, JointScores, JointSegmentalHypergraph, SegmentalHypergraph
from hyperspan.structures.distribution import Distribution


def segmental() -> SegmentalHypergraph:
    start, width = np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 2))
    return SegmentalHypergraph(EdgeScores(start, start, width[:, :, 1:], width), [2])


def joint() -> JointSegmentalHypergraph:
    return JointSegmentalHypergraph(JointScores(segmental().scores), [2])


CASES: dict[str, tuple[Any, str, Callable[[], Distribution], Callable[[Any], Any]]] = {
    "chains": (chains, "run", segmental, lambda one: one.marginals),
    "tables": (joint_kernel, "highest_sums", joint, lambda one: one.topk(3)),
}
"""What is computed first (a function of a module), a distribution, and a value that needs it."""


@pytest.mark.parametrize("case", CASES)
def test_structures_keep_values_without_a_lock(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, made, value = CASES[case]
    compute, begun, may_end = getattr(module, name), threading.Event(), threading.Event()
    holder = threading.Thread(target=lambda: value(made()), daemon=True)

    def slow(*given: Any) -> Any:
        if threading.current_thread() is holder:
            begun.set()
            assert may_end.wait(60)
        return compute(*given)

    monkeypatch.setattr(module, name, slow)
    holder.start()
    assert begun.wait(60)
    other = threading.Thread(target=lambda: value(made()), daemon=True)
    other.start()
    other.join(20)
    waits = other.is_alive()
    may_end.set()
    holder.join()
    other.join()
    assert not waits
