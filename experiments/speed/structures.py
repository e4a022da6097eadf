"""The cost of exact inference, as ratios of times measured in one run: `python -m experiments.speed structures`.

1. Growth: the exponents with which the time of log_partition, marginals and argmax grows in n, c and m.
2. Forward and backward of log_partition, relative to an elementwise exp over the `close` tensor and to a loop in
   Python over the chains.
3. argmax with its Python sets, relative to log_partition forward.
4. The 20 best sets of one sentence of 1,000 words with no limit on the width, relative to its marginals: time and
   memory.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from experiments.cli import MeasuredThreads
from experiments.speed.measure import exponent, in_turns, machine, peak_memory
from hyperspan import kernels
from hyperspan.structures import EdgeScores, SegmentalHypergraph

BATCH, WORDS, WIDTHS, TYPES = 32, 40, 40, 7
LONG, SETS = 1_000, 20
ROUNDS = 20
"""The number of measurements per size."""
DENSITY = 6.0
"""Added to `absent` so that the best sets hold few mentions, as those of a trained model do."""


def make_scores(batch: int, n: int, c: int, m: int) -> EdgeScores:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    return EdgeScores(
        draw(batch, n, m) + DENSITY, draw(batch, n, m), draw(batch, n, c - 1, m) - 1, draw(batch, n, c, m)
    )


def learnable(scores: EdgeScores) -> list[torch.Tensor]:
    """absent, present, extend and close, with gradients."""
    return [tensor.clone().requires_grad_() for tensor in (scores.absent, scores.present, scores.extend, scores.close)]


def python_loop(scores: EdgeScores, lengths: list[int]) -> tuple[float, float]:
    """log_partition and its gradient chain by chain in plain Python, by the messages of the paper; and the sum of
    P(mention)."""

    def log_add(a: float, b: float) -> float:
        high, low = max(a, b), min(a, b)
        return high + math.log1p(math.exp(low - high))

    absent, present, extend, close = (t.tolist() for t in (scores.absent, scores.present, scores.extend, scores.close))
    total = expected = 0.0
    for b, length in enumerate(lengths):
        for i in range(length):
            for k in range(len(absent[b][i])):
                last = min(len(close[b][i]), length - i) - 1
                messages = [close[b][i][last][k]]
                for w in range(last - 1, -1, -1):
                    here, on = close[b][i][w][k], extend[b][i][w][k] + messages[-1]
                    messages.append(log_add(here, log_add(on, on + here)))
                messages.reverse()
                chain = log_add(absent[b][i][k], present[b][i][k] + messages[0])
                total += chain
                reach = math.exp(present[b][i][k] + messages[0] - chain)
                for w in range(last + 1):
                    here = close[b][i][w][k]
                    stopped = reach * math.exp(here - messages[w])
                    reach -= stopped
                    expected += stopped + reach / (1 + math.exp(-here))
    return total, expected


def growth() -> dict[str, dict[str, float]]:
    """Each size over a factor of 8, the others fixed. With c fixed, n is large enough that sentence boundaries do not
    matter."""
    makers: dict[str, tuple[list[int], Callable[[int], tuple[EdgeScores, list[int]]]]] = {
        "n": ([250, 500, 1000, 2000], lambda n: (make_scores(4, n, 10, 7), [n] * 4)),
        "c": ([8, 16, 32, 64], lambda c: (make_scores(4, 300, c, 7), [300] * 4)),
        "m": ([4, 8, 16, 32], lambda m: (make_scores(4, 200, 20, m), [200] * 4)),
    }

    def grows(axis: str, name: str) -> float:
        sizes, make = makers[axis]
        made = [SegmentalHypergraph(*make(size)) for size in sizes]  # which caches nothing that depends on the scores
        return exponent(sizes, [partial(CALLS[name], distribution) for distribution in made], ROUNDS)

    return {name: {axis: grows(axis, name) for axis in makers} for name in ("log_partition", "marginals", "argmax")}


def long_sentence() -> SegmentalHypergraph:
    return SegmentalHypergraph(make_scores(1, LONG, LONG, TYPES), [LONG])


CALLS: dict[str, Callable[[SegmentalHypergraph], object]] = {
    "log_partition": lambda distribution: distribution.log_partition,
    "marginals": lambda distribution: distribution.marginals,
    "argmax": lambda distribution: distribution.argmax(),
    "best sets": lambda distribution: distribution.topk(SETS),
}


def best_sets_over_marginals() -> float:
    """The time of the best sets of a long sentence relative to its marginals, in processor time on one thread, which
    depends less on other load."""
    distribution, threads = long_sentence(), torch.get_num_threads()
    torch.set_num_threads(1)
    calls = [partial(CALLS[name], distribution) for name in ("best sets", "marginals")]
    ranked, marginals = map(statistics.median, in_turns(calls, 10, time.process_time))
    torch.set_num_threads(threads)
    return ranked / marginals


def peak_megabytes(name: str) -> float | None:
    """The peak memory of a first call in a process; None if the system does not report it."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None

    def kilobytes(entry: str) -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(entry))

    CALLS[name](SegmentalHypergraph(make_scores(1, 8, 8, TYPES), [8]))  # what is made once
    distribution = long_sentence()
    gc.collect()
    reset.write_text("5")  # the peak is from now on
    before = kilobytes("VmRSS")
    CALLS[name](distribution)
    return round((kilobytes("VmHWM") - before) / 1024)


def measure(engine: str) -> dict[str, Any]:
    """All figures with one engine: "c" (compiled kernels where possible) or "reference" (only PyTorch)."""
    scores, lengths = make_scores(BATCH, WORDS, WIDTHS, TYPES), [WORDS] * BATCH
    tensors = learnable(scores)
    close = tensors[-1]
    calls = [
        lambda: torch.autograd.grad(SegmentalHypergraph(EdgeScores(*tensors), lengths).log_partition.sum(), tensors),
        lambda: torch.autograd.grad(close.exp().sum(), close),
        lambda: SegmentalHypergraph(scores, lengths).log_partition,
        lambda: SegmentalHypergraph(scores, lengths).argmax(),
    ]
    both, elementwise, forward, decode = map(statistics.median, in_turns(calls, 10 * ROUNDS))
    ((loop,),) = in_turns([lambda: python_loop(scores, lengths)], 1, warm_up=False)
    total, expected = python_loop(scores, lengths)
    distribution = SegmentalHypergraph(scores, lengths)
    assert math.isclose(total, distribution.log_partition.sum().item(), rel_tol=1e-4)
    assert math.isclose(expected, distribution.marginals.sum().item(), rel_tol=1e-3)
    return {
        "engine": engine,
        "log_partition forward + backward / exp forward + backward": both / elementwise,
        "Python loop / log_partition, forward + backward": loop / both,
        "argmax with sets / log_partition forward": decode / forward,
        f"{SETS} best sets / marginals, of {LONG:,} words": best_sets_over_marginals(),
        "milliseconds": {
            "log_partition forward + backward": both * 1e3,
            "exp": elementwise * 1e3,
            "forward": forward * 1e3,
        },
        "exponents": growth(),
    }


def run(threads: MeasuredThreads = 2) -> dict[str, Any]:
    torch.set_num_threads(threads)
    runs = []
    fastest = kernels.report()["devices"]["cpu"]["log_partition"]["runs"]
    for engine in dict.fromkeys([fastest, "reference"]):
        with kernels.only(engine):
            runs.append(measure(engine))
    scores = make_scores(BATCH, WORDS, WIDTHS, TYPES)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:
        names = ("marginals", "best sets")
        peaks = dict(zip(names, fresh.map(peak_megabytes, names, chunksize=1), strict=True))
    return {
        "machine": machine(),
        "shape": {"B": BATCH, "n": WORDS, "c": WIDTHS, "m": TYPES},
        "mentions in the best sets": sum(map(len, SegmentalHypergraph(scores, [WORDS] * BATCH).argmax())),
        f"peak memory for {LONG:,} words, MB": peaks,
        "peak memory, MB": peak_memory(),
        "engines": runs,
    }
