"""The latency of one sentence from raw text to mentions, and of the command line from start to end."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import torch

from experiments.cli import MeasuredThreads, Rounds, Sentences
from experiments.speed.invented import MAX_WIDTHS, BenchmarkCorpus
from experiments.speed.measure import in_turns, machine, peak_memory, sentence_latency
from experiments.speed.paper_model import paper_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import bundled_models
from hyperspan.runtime.loading import load

STARTS = 5
"""The number of times the command is started."""


def start_up() -> float:
    """Seconds of ``hyperspan annotate "…"`` from start to end; the best of several runs."""
    command = [sys.executable, "-m", "hyperspan", "annotate", "IL-2 gene expression requires NF-kappa B."]
    start = partial(subprocess.run, command, check=True, capture_output=True)
    return min(in_turns([start], STARTS, warm_up=False)[0])


def run(data: Sentences = None, threads: MeasuredThreads = 2, rounds: Rounds = 5) -> dict[str, Any]:
    torch.set_num_threads(threads)
    used = BenchmarkCorpus.read(data).sentences[:300]
    texts = [" ".join(sentence.tokens) for sentence in used]
    annotators = {f"paper's sizes, c = {c}": Annotator(paper_model(c, used)) for c in MAX_WIDTHS}
    annotators |= {f"bundled model {name}": load(name) for name in bundled_models()}
    return {
        "machine": machine(),
        "sentences": len(texts),
        "models": {name: sentence_latency(each, texts, rounds) for name, each in annotators.items()},
        "start_up_seconds": start_up() if bundled_models() else None,
        "peak memory, MB": peak_memory(),
    }
