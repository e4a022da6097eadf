"""How fast a model of the paper's sizes trains, as a share of the machine's matrix products.

Whole steps of the training loop, on batches of 32 sentences: ids, loss, gradients, clipping, Adam. Three times the operations that
decoding needs count: one for the way forward, two for the way back.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer

from hyperspan.batch import shuffled_batches
from hyperspan.benchmarks import gpu
from hyperspan.benchmarks.invented import MAX_WIDTHS, invented_sentences, necessary_operations, paper_model
from hyperspan.benchmarks.measure import (
    Ceiling,
    Data,
    Rounds,
    Threads,
    in_turns,
    machine,
    median_ratio,
    peak_memory,
    sentences_in,
)
from hyperspan.training.loop import Trainer
from hyperspan.types import Sentence

BATCHES = 6
"""So many batches are trained on in a round, spread over all lengths."""
LONGEST = 324
"""Words of the longest sentence of GENIA's train set."""


def measure_width(max_width: str, sentences: Sequence[Sentence], rounds: int) -> dict[str, Any]:
    """All figures for one maximal width."""
    model = paper_model(max_width, sentences, ["words.word_dropout=0.05"]).train()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, sentences, [], Path(folder))
    every = [[sentences[i] for i in batch] for batch in shuffled_batches(trainer.lengths, 32, seed=0)]
    batches = sorted(every, key=lambda batch: len(batch[0]))[:: max(len(every) // BATCHES, 1)]
    lengths = [len(sentence) for batch in batches for sentence in batch]
    ceiling = Ceiling()

    def train() -> None:
        for batch in batches:
            trainer.take_step(batch)

    products, steps = in_turns([ceiling, train], rounds)
    share = 3 * necessary_operations(model, lengths) / ceiling.operations
    return {
        "c": max_width,
        "words_per_second": sum(lengths) / statistics.median(steps),
        "fraction_of_ceiling": share * median_ratio(products, steps),
    }


def memory_of_a_long_sentence() -> dict[str, int]:
    """Peak memory before and after a step on the longest sentence of GENIA's train set, with no limit on width."""
    sentences = invented_sentences(50)
    long = Sentence([f"word{index % 97}" for index in range(LONGEST)], tags=["T1"] * LONGEST)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(paper_model("n", sentences).train(), sentences, [], Path(folder))
    before = peak_memory()
    trainer.take_step([long])
    return {"words": LONGEST, "before, MB": before, "after, MB": peak_memory()}


def run(
    data: Data = None,
    threads: Threads = 2,
    rounds: Rounds = 5,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="The CPU, or an NVIDIA GPU.")] = "cpu",
) -> dict[str, Any]:
    torch.set_num_threads(threads)
    sentences = sentences_in(data)
    return gpu.measure("train", sentences, rounds) if device == "cuda" else measure(sentences, rounds)


def measure(sentences: Sequence[Sentence] | None, rounds: int) -> dict[str, Any]:
    """Everything, on the given sentences or on invented ones."""
    used = sentences or invented_sentences()
    return {
        "machine": machine(),
        "sentences": "given" if sentences else "invented, as long as GENIA's",
        "long sentence": memory_of_a_long_sentence(),  # first: peak memory only ever grows
        "widths": [measure_width(max_width, used, rounds) for max_width in MAX_WIDTHS],
    }


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    if "memory_bytes_per_second" in figures:
        yield from gpu.report(figures)
        return
    yield f"{figures['machine']}; sentences {figures['sentences']}"
    for entry in figures["widths"]:
        speed, share = entry["words_per_second"], entry["fraction_of_ceiling"]
        yield f"c = {entry['c']}: {speed:>8,.0f} words/s in training, {share:.2f} of the ceiling"
    yield "a long sentence, c = n: " + ", ".join(
        f"{name} {value:,}" for name, value in figures["long sentence"].items()
    )
