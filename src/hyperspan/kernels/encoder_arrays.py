"""The fused encoder of a segmental model in C, over NumPy arrays: from word vectors to the scores of hyperedges. No
torch.

It is several times as fast as running its parts (the word LSTM, the span LSTM and the scorer's linear layers) one after
the other; :mod:`hyperspan.kernels.encoder` explains when those run.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hyperspan.errors import InputError
from hyperspan.kernels.choice import precisions
from hyperspan.kernels.encoder_gaps import PartScores
from hyperspan.kernels.encoder_weights import PackedWeights
from hyperspan.kernels.libraries import EncoderLibrary

PRECISIONS = ("float32", "bfloat16")
BLOCK = 24
"""The number of sentences in a block, which one thread processes; a multiple of the rows multiplied at once."""


@dataclass(frozen=True)
class InferenceOptions:
    """Options that trade accuracy for speed in inference."""

    precision: str = "float32"
    """The precision of products in the fused encoder; "bfloat16" is faster on processors that support it, and slightly
    less exact."""
    skip: float = math.inf
    """Skip words where T → X scores this much more than T → I for all types."""


def check_precision(precision: str, device: str) -> None:
    """Raise an error if this precision is not supported."""
    if precision not in PRECISIONS:
        raise InputError(f"there is no precision {precision!r}; choose one of {', '.join(PRECISIONS)}")
    if precision not in precisions(device):
        raise InputError(
            f"the precision {precision} needs the kernels for the CPU, compiled when hyperspan was installed, and a processor "
            "with avx512_bf16; leave it at float32"
        )


class ScoreArrays(NamedTuple):
    """The scores of hyperedges, as in :class:`hyperspan.structures.EdgeScores`."""

    absent: np.ndarray  # (B, n, m)
    present: np.ndarray  # (B, n, m)
    extend: np.ndarray  # (B, n, c - 1, m)
    close: np.ndarray  # (B, n, c, m)
    branch: np.ndarray | None = None  # (B, n, c - 1, m); None if tied


class KnownTokens(NamedTuple):
    """Words given by the gate contributions of their tokens, computed by :func:`gate_rows`."""

    table: np.ndarray  # (tokens, gates), float32
    tokens: np.ndarray  # (N,): the token of each word, int32


def gate_rows(library: EncoderLibrary, packed: PackedWeights, vectors: np.ndarray, threads: int) -> np.ndarray:
    """(tokens, gates): the contributions of vectors to the gates of both directions of the first layer."""
    result = np.empty((len(vectors), packed.gates), dtype=np.float32)
    run, addresses = library.gate_rows[packed.precision], (vectors.ctypes.data, result.ctypes.data)
    count = ctypes.c_int64(len(vectors))
    if run(ctypes.byref(packed.struct), count, *map(ctypes.c_void_p, addresses), ctypes.c_int64(threads)):
        raise MemoryError(f"no memory for {len(vectors):,} words; give fewer at once")
    return result


def encode(
    library: EncoderLibrary,
    packed: PackedWeights,
    words: np.ndarray | KnownTokens,
    given: Sequence[int],
    max_width: int | None,
    options: InferenceOptions,
    temperature: float,
    threads: int,
    openmp: int | None = None,
    parts: PartScores | None = None,
) -> ScoreArrays:
    """The scores of sentences of the given lengths, divided by the temperature.

    `words` are their vectors, (N, d), or their tokens, in packed order: all first words, longest sentence first, then
    all second words. `parts`, created by :meth:`PackedWeights.part_scores`, receive the scores of discontinuous
    mentions.
    """
    count, longest, m = len(given), max(given), packed.types
    width = min(max_width or longest, longest)
    lengths = np.array(given, dtype=np.int64)
    place = np.argsort(-lengths, kind="stable")  # as in the batch
    lengths = lengths[place]
    blocks = _blocks(lengths, width, threads)
    absent, present, extend, close, branch = (
        np.empty((count, longest, *widths, m), dtype=np.float32)
        for widths in ((), (), (width - 1,), (width,), () if packed.tied else (width - 1,))
    )
    problem = _EncoderProblem(
        *(count, longest, width, len(blocks) - 1),
        *map(address, (lengths, place, blocks)),
        *((None, *map(address, words)) if isinstance(words, KnownTokens) else (address(words), None, None)),
        1.0 / temperature,
        *map(address, (absent, present, extend, close)),
        None if packed.tied else address(branch),
        options.skip,
        openmp,
        *((0, 0) if parts is None else (parts.gap.shape[2], parts.last.shape[2])),
        *((None,) * 3 if parts is None else map(address, parts)),
    )
    run = library.encode[options.precision]
    if run(ctypes.byref(packed.struct), ctypes.byref(problem), ctypes.c_int64(threads)):
        raise MemoryError(f"no memory for sentences of {longest:,} words; give fewer or shorter ones at once")
    return ScoreArrays(absent, present, extend, close, None if packed.tied else branch)


class _EncoderProblem(ctypes.Structure):
    """The struct Problem of encode.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("sentences", "longest", "width", "blocks")),
        *((name, ctypes.c_void_p) for name in ("lengths", "place", "blocks_from", "words", "table", "tokens")),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("absent", "present", "extend", "close", "branch")),
        ("skip", ctypes.c_float),
        ("openmp", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("gap_width", "later_width")),
        *((name, ctypes.c_void_p) for name in ("open", "gap", "last")),
    )


def _blocks(lengths: np.ndarray, width: int, threads: int) -> np.ndarray:
    """(blocks + 1,): the first sentence of each block. Blocks are equal work, and all threads get equally many."""
    if len(lengths) == 1:
        return np.array([0, 1], dtype=np.int64)
    cost = (lengths * (4 + np.minimum(lengths, width))).cumsum()
    rounds = -(-len(lengths) // (BLOCK * threads))
    wanted = min(rounds * threads, len(lengths))
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, wanted) / wanted) + 1
    starts = {0, *inner.tolist(), len(lengths)}  # no np.unique: it imports numpy.ma, which a fork may interrupt
    return np.array(sorted(starts), dtype=np.int64)


def address(array: np.ndarray | None) -> int | None:
    """The data address of an array, None for none; several times faster than ``array.ctypes.data``."""
    return None if array is None else array.__array_interface__["data"][0]
