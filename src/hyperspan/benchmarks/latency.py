"""How long one sentence takes from raw text to mentions, and the command line from start to end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from hyperspan.benchmarks.invented import invented_sentences, paper_model
from hyperspan.benchmarks.measure import Data, Rounds, Threads, machine, peak_memory, sentences_in
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.loading import bundled_models, load

STARTS = 5
"""So often is the command started."""


def quantiles(annotator: Annotator, texts: Sequence[str], repeats: int) -> dict[str, float]:
    """Milliseconds that half of the sentences and 99 in 100 take at most."""
    for text in texts[:20]:
        annotator(text)
    times = []
    for text in texts:
        best = float("inf")
        for _ in range(repeats):  # what the sentence takes, not what else the machine was doing
            start = time.perf_counter()
            annotator(text)
            best = min(best, time.perf_counter() - start)
        times.append(best)
    times.sort()
    return {f"p{percent}_ms": 1e3 * times[min(len(times) * percent // 100, len(times) - 1)] for percent in (50, 99)}


def start_up() -> float:
    """Seconds of ``hyperspan annotate "…"``, all in all; the least of some."""
    command = [sys.executable, "-m", "hyperspan", "annotate", "IL-2 gene expression requires NF-kappa B."]
    taken = []
    for _ in range(STARTS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return min(taken)


def run(data: Data = None, threads: Threads = 2, rounds: Rounds = 5) -> dict[str, Any]:
    torch.set_num_threads(threads)
    used = list(sentences_in(data) or invented_sentences())[:300]
    texts = [" ".join(sentence.tokens) for sentence in used]
    annotators = {f"paper's sizes, c = {c}": Annotator(paper_model(c, used)) for c in ("6", "n")}
    annotators |= {f"bundled model {name}": load(name) for name in bundled_models()}
    return {
        "machine": machine(),
        "sentences": len(texts),
        "models": [{"model": name, **quantiles(each, texts, rounds)} for name, each in annotators.items()],
        "start_up_seconds": start_up() if bundled_models() else None,
        "peak memory, MB": peak_memory(),
    }


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    yield f"{figures['machine']}; {figures['sentences']} sentences, one by one, from raw text"
    for entry in figures["models"]:
        yield f"  {entry['model']:<24} p50 {entry['p50_ms']:.1f} ms, p99 {entry['p99_ms']:.1f} ms"
    if figures["start_up_seconds"] is not None:
        yield f'hyperspan annotate "…" takes {figures["start_up_seconds"]:.2f} s from start to end'
    yield f"peak memory {figures['peak memory, MB']:,} MB"
