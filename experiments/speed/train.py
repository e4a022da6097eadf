"""The training speed of a model of the paper's sizes, as a share of torch's matrix products and of the machine's peak.

Whole steps of the training loop, on batches of 32 sentences: ids, loss, gradients, clipping, Adam. The operations of
decoding count three times: once for the forward pass, twice for the backward pass.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import torch

from experiments.cli import MeasuredThreads, OneDevice, Rounds, Sentences
from experiments.speed import gpu
from experiments.speed.invented import MAX_WIDTHS, BenchmarkCorpus, invented_sentences
from experiments.speed.measure import (
    Ceiling,
    clock_for,
    in_turns,
    machine,
    median_ratio,
    peak_memory,
)
from experiments.speed.paper_model import necessary_operations, paper_model, trainer_for
from experiments.speed.peak import Peak
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.types import Sentence

BATCHES = 6
"""The number of batches per round, of all lengths."""
LONGEST = 324
"""The length of the longest sentence of GENIA's train set."""


def measure_width(max_width: str, sentences: Sequence[Sentence], rounds: int) -> dict[str, Any]:
    """All figures for one maximum width."""
    model = paper_model(max_width, sentences, ["words.word_dropout=0.05"])
    trainer = trainer_for(model, sentences)
    every = [[sentences[i] for i in batch] for batch in shuffled_batches(trainer.lengths, 32, seed=0)]
    batches = sorted(every, key=lambda batch: len(batch[0]))[:: max(len(every) // BATCHES, 1)]
    lengths = [len(sentence) for batch in batches for sentence in batch]
    ceiling, peak = Ceiling(), Peak(torch.get_num_threads())

    def train() -> None:
        for batch in batches:
            trainer.take_step(batch)

    products, limits, steps = in_turns([ceiling, peak, train], rounds, clock_for(torch.get_num_threads()))
    operations = 3 * necessary_operations(model, lengths)
    return {
        "c": max_width,
        "words_per_second": sum(lengths) / statistics.median(steps),
        "fraction_of_ceiling": operations / ceiling.operations * median_ratio(products, steps),
        "fraction_of_peak": operations / peak.operations * median_ratio(limits, steps),
    }


def memory_of_a_long_sentence() -> dict[str, int]:
    """Peak memory before and after a step on the longest sentence of GENIA's train set, with no limit on width."""
    sentences = invented_sentences(50)
    trainer = trainer_for(paper_model("n", sentences), sentences)
    before = peak_memory()
    trainer.take_step([Sentence([f"word{index % 97}" for index in range(LONGEST)], tags=["T1"] * LONGEST)])
    return {"words": LONGEST, "before, MB": before, "after, MB": peak_memory()}


def run(
    data: Sentences = None, threads: MeasuredThreads = 2, rounds: Rounds = 5, device: OneDevice = "cpu"
) -> dict[str, Any]:
    torch.set_num_threads(threads)
    corpus = BenchmarkCorpus.read(data)
    return gpu.measure("train", corpus, rounds) if device == "cuda" else measure(corpus, rounds)


def measure(corpus: BenchmarkCorpus, rounds: int) -> dict[str, Any]:
    """All figures, on the CPU."""
    return {
        "machine": machine(),
        **corpus.figures,
        "long sentence, c = n": memory_of_a_long_sentence(),  # first: peak memory only ever grows
        "widths": [measure_width(max_width, corpus.sentences, rounds) for max_width in MAX_WIDTHS],
    }
