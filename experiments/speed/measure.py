"""Measurements that are comparable across machines: ratios of calls that take turns within one run."""

from __future__ import annotations

import gc
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from experiments.processor import processor

Call = Callable[[], object]


def in_turns(
    calls: Sequence[Call], rounds: int, clock: Callable[[], float] = time.perf_counter, *, warm_up: bool = True
) -> list[list[float]]:
    """The seconds of each call in each round. A slow phase of the machine affects all calls of its round equally."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls if warm_up else ():
        call()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for call, taken in zip(calls, times, strict=True):
                start = clock()
                call()
                taken.append(clock() - start)
    finally:
        gc.enable()
    return times


def clock_for(threads: int) -> Callable[[], float]:
    """Processor time for one thread, which other programs do not lengthen; with several, of which some wait, the
    wall's."""
    return time.process_time if threads == 1 else time.perf_counter


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median over rounds of the ratio of two times."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def on_gpu(call: Call) -> Call:
    """Wrap a call to wait until the GPU has finished it."""

    import torch

    def wait() -> None:
        call()
        torch.cuda.synchronize()

    return wait


class Ceiling:
    """Products of two large square matrices: the operations per second that torch's products reach here."""

    SIZE, TIMES = 2048, 3

    def __init__(self) -> None:
        import torch

        self.one, self.other = torch.randn(2, self.SIZE, self.SIZE)
        self.operations = self.TIMES * 2 * self.SIZE**3

    def __call__(self) -> None:
        for _ in range(self.TIMES):
            self.one.mm(self.other)


def exponent(sizes: Sequence[int], calls: Sequence[Call], rounds: int) -> float:
    """The slope of log time over log size, by least squares over the best time of each size."""
    times = [min(taken) for taken in in_turns(calls, rounds)]
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, times)]).slope


def peak_memory(who: int = resource.RUSAGE_SELF) -> int:
    """The peak memory of this process, or of its children, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return round(resource.getrusage(who).ru_maxrss * unit / 1e6)


def sentence_latency(annotate: Callable[[str], object], texts: Sequence[str], rounds: int) -> dict[str, float]:
    """The median and the 99th percentile of milliseconds per sentence, from the best time of each sentence."""
    times = sorted(min(taken) for taken in in_turns([partial(annotate, text) for text in texts], rounds))
    return {f"p{percent}_ms": 1e3 * times[min(len(times) * percent // 100, len(times) - 1)] for percent in (50, 99)}


def machine() -> str:
    """The processor, the number of threads used, and the version of torch."""
    import torch

    return f"{processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
