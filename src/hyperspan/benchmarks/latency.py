"""How long one sentence takes from raw text to mentions, and the command line from start to end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from hyperspan.benchmarks.invented import MAX_WIDTHS, BenchmarkCorpus, paper_model
from hyperspan.benchmarks.measure import Data, Rounds, Threads, in_turns, machine, peak_memory
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.loading import bundled_models, load

STARTS = 5
"""How often the command is started."""


def quantiles(annotator: Annotator, texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Milliseconds that half of the sentences and 99 in 100 take at most; the best time of each, whatever else ran."""
    times = sorted(min(taken) for taken in in_turns([partial(annotator, text) for text in texts], rounds))
    return {f"p{percent}_ms": 1e3 * times[min(len(times) * percent // 100, len(times) - 1)] for percent in (50, 99)}


def start_up() -> float:
    """Seconds of ``hyperspan annotate "…"`` from start to end; the best of some."""
    command = [sys.executable, "-m", "hyperspan", "annotate", "IL-2 gene expression requires NF-kappa B."]
    start = partial(subprocess.run, command, check=True, capture_output=True)
    return min(in_turns([start], STARTS, warm_up=False)[0])


def run(data: Data = None, threads: Threads = 2, rounds: Rounds = 5) -> dict[str, Any]:
    torch.set_num_threads(threads)
    used = BenchmarkCorpus.read(data).sentences[:300]
    texts = [" ".join(sentence.tokens) for sentence in used]
    annotators = {f"paper's sizes, c = {c}": Annotator(paper_model(c, used)) for c in MAX_WIDTHS}
    annotators |= {f"bundled model {name}": load(name) for name in bundled_models()}
    return {
        "machine": machine(),
        "sentences": len(texts),
        "models": {name: quantiles(each, texts, rounds) for name, each in annotators.items()},
        "start_up_seconds": start_up() if bundled_models() else None,
        "peak memory, MB": peak_memory(),
    }
