"""Inference over the chains of a segmental hypergraph: log-partitions, marginals, the best mentions.

The scores are those of a padded batch, `lengths` its sentence lengths. :mod:`hyperspan.kernels.chain_reference` defines
chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import chain_c, chain_dense, chain_reference
from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.chain_reference import (
    Edges,
    PackedScores,
    Posteriors,
    choices_from,
    log_posteriors,
    pack,
    posteriors,
    shorter_probability,
)
from hyperspan.kernels.chain_rows import rows_of
from hyperspan.kernels.choice import choose
from hyperspan.kernels.numerics import MINUS_INFINITY
from hyperspan.kernels.transfer import STREAMS, stream_of, to_device

__all__ = [
    "Edges",
    "PackedScores",
    "Posteriors",
    "best_rows",
    "chain_layout",
    "check_possible",
    "choices_from",
    "layout_of",
    "lengths_on",
    "log_partition",
    "log_posteriors",
    "marginals",
    "pack",
    "padding",
    "posteriors",
    "shorter_probability",
]


def chain_layout(lengths: Sequence[int], n: int, max_width: int, device: torch.device) -> ChainLayout:
    """The layout of the chains of a batch, cached for all computations on that batch."""
    return _layout(choose("layout", device.type), tuple(lengths), n, max_width, device, stream_of(device))


@lru_cache(maxsize=STREAMS)
def _layout(
    made_by: str, lengths: tuple[int, ...], n: int, max_width: int, device: torch.device, _stream: int
) -> ChainLayout:
    with torch.inference_mode(False):
        if made_by == "triton":
            from hyperspan.kernels.triton_chains import DeviceLayout

            return DeviceLayout(lengths, n, max_width, device)
        return ChainLayout(lengths, n, max_width, device)


def layout_of(scores: Edges, lengths: Sequence[int]) -> ChainLayout:
    """The layout of the chains of these scores."""
    _, n, c, _ = scores.close.shape
    return chain_layout(lengths, n, c, scores.close.device)


@lru_cache(maxsize=STREAMS)
def _lengths_on(lengths: tuple[int, ...], device: torch.device, _stream: int) -> Tensor:
    with torch.inference_mode(False):
        return to_device([np.array(lengths, dtype=np.int64)], device)[0]


def lengths_on(lengths: Sequence[int], device: torch.device) -> Tensor:
    """(B,): the lengths on a device, copied once for all computations on a batch."""
    return _lengths_on(tuple(lengths), device, stream_of(device))


def padding(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, 1): which starts are beyond their sentence."""
    device, n = scores.close.device, scores.close.shape[1]
    return (torch.arange(n, device=device) >= lengths_on(lengths, device)[:, None]).unsqueeze(-1)


def log_partition(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; twice differentiable."""
    kernels = _triton(scores)
    chosen = _chosen("log_partition", scores, ("triton",) if kernels is None else ())
    if chosen == "c":
        return chain_c.log_partition(scores, lengths)
    if chosen == "reference":
        return chain_reference.log_partition(layout_of(scores, lengths), scores)
    used = kernels if chosen == "triton" else None
    return chain_dense.log_partition(scores, lengths_on(lengths, scores.close.device), used)


def marginals(scores: Edges, lengths: Sequence[int], *, differentiable: bool) -> Tensor:
    """(B, n, c, m): the probability of each mention, 0 in padding."""
    chosen = _chosen("marginals", scores, ("c", "dense") if differentiable else ())
    if chosen == "c":
        return chain_c.marginals(scores, lengths)
    if chosen == "dense":
        return chain_dense.marginals(scores, lengths_on(lengths, scores.close.device))
    return chain_reference.marginals(layout_of(scores, lengths), scores)


@torch.no_grad()
def best_rows(scores: Edges, lengths: Sequence[int]) -> np.ndarray:
    """(mentions, 4): the best mentions as (sentence, start, end, type), by sentence; ties go to the choice with fewer
    mentions.

    Raises an error if a sentence has no possible set.
    """
    chosen = _chosen("argmax", scores)
    if chosen == "c" and (found := chain_c.best_rows(scores, lengths)) is not None:
        return found
    known = lengths_on(lengths, scores.close.device)
    if chosen == "dense":
        best = chain_dense.best(scores, known)
    else:
        best = chain_reference.best(layout_of(scores, lengths), scores)
    outside = padding(scores, lengths)
    check_possible(torch.maximum(scores.absent, best).masked_fill(outside, 0.0))
    return _read_off(scores, known, *((best > scores.absent) & ~outside).nonzero(as_tuple=True))


def check_possible(value: Tensor) -> None:
    """Raise an error unless every chain has a possible choice: `value` (B, n, m) is its best or total score, 0 in
    padding."""
    if bool((value > MINUS_INFINITY).all()):
        return
    sentence, start, kind = (~(value > MINUS_INFINITY)).nonzero()[0].tolist()
    reason = "a score is NaN" if value[sentence, start, kind].isnan() else "every choice there has a score of -inf"
    raise ValueError(
        f"sentence {sentence} has no possible mention set: for start {start} and type {kind} {reason}; "
        "check the scores, or what was required and forbidden"
    )


def _chosen(computation: str, scores: Edges, unfit: tuple[str, ...] = ()) -> str:
    tied_alone = () if scores.branch is None else ("triton", "dense")
    return choose(computation, scores.close.device.type, (*tied_alone, *unfit))


def _triton(scores: Edges) -> ModuleType | None:
    """The Triton kernels, if they support chains of these sizes."""
    if choose("log_partition", scores.close.device.type) != "triton":
        return None
    from hyperspan.kernels import triton_chains

    return triton_chains if triton_chains.fits(scores.close) else None


def _read_off(scores: Edges, lengths: Tensor, sentence: Tensor, start: Tensor, kind: Tensor) -> np.ndarray:
    """The best mentions of chains that are present, in one copy from the device."""
    rows = rows_of(scores, lengths, sentence, start, kind, scores.close.dtype)
    last = rows.longest().argmax(1)
    ending = (rows.shorter_log_odds > 0) & (
        torch.arange(rows.shorter_log_odds.shape[1], device=last.device) < last[:, None]
    )
    chain, widths = ending.nonzero(as_tuple=True)
    pairs = ((sentence, sentence[chain]), (start, start[chain]), (last, widths), (kind, kind[chain]))
    sentence, start, width, kind = (torch.cat(pair) for pair in pairs)
    found = torch.stack([sentence, start, start + width + 1, kind], dim=1).cpu().numpy()
    return found[np.lexsort(found.T[::-1])]
