"""The decoding and training speed of a model of the paper's sizes on an NVIDIA GPU, and its bottlenecks.

Decoding is from batches of ids on the GPU to Python sets of mentions; training is whole steps of the loop, with batches
of several sizes. The figures are relative to the matrix products and memory copies of the same GPU, and include its
utilisation: if the GPU mostly waits, the program cannot launch kernels fast enough.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from experiments.speed.invented import MAX_WIDTHS, BenchmarkCorpus
from experiments.speed.measure import Call, in_turns, on_gpu
from experiments.speed.paper_model import batches_for, decoder, necessary_operations, paper_model, trainer_for
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.training.loop import Trainer
from hyperspan.types import Sentence

WORDS = 400_000
"""The minimum number of words to decode per round; sentences are repeated to reach it."""
TRAINING_BATCHES = (32, 128, 512)
STEPS = 12
"""The number of batches to train on per round, or all if there are fewer."""
SIZE, BYTES = 8192, 2**32
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx")
IDLE = 0.5
"""A GPU that idles for more than this share of the time is not the bottleneck."""


class Ceilings:
    """The limits of this GPU: operations per second in float32 products on tensor cores, bytes per second in copies."""

    def __init__(self) -> None:
        one, other = torch.randn(2, SIZE, SIZE, device="cuda")
        memory = torch.empty(BYTES // 4, device="cuda")
        target = torch.empty_like(memory)
        products, copies = (
            min(taken)
            for taken in in_turns([on_gpu(lambda: one @ other), on_gpu(lambda: target.copy_(memory))], rounds=5)
        )
        self.operations, self.bytes = 2 * SIZE**3 / products, 2 * BYTES / copies


@contextmanager
def tensor_cores() -> Iterator[None]:
    """A context with float32 products on tensor cores, as in training."""
    kept = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(kept)


def necessary_bytes(model: Recognizer, lengths: Sequence[int]) -> int:
    """The bytes that the span LSTM must move: the state and cell of every span, both directions, written and read
    once."""
    widths = [min(model.max_width or n, n) for n in lengths]
    spans = sum(width * n - width * (width - 1) // 2 for n, width in zip(lengths, widths, strict=True))
    return spans * 2 * 2 * 2 * 4 * model.config.encoder.span_hidden


def figures_of(
    call: Call, model: Recognizer, lengths: Sequence[int], batches: int, rounds: int, limits: Ceilings, passes: int
) -> dict[str, Any]:
    """The figures of a call that runs over batches of these lengths; `passes` is how often operations and bytes
    count."""
    (taken,) = in_turns([on_gpu(call)], rounds)
    seconds, words = statistics.median(taken), sum(lengths)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        on_gpu(call)()
    events = profiled.key_averages()
    # Only what runs on the GPU: not the operators that launched it, nor named ranges of them.
    kernels = [event for event in events if event.device_type.name == "CUDA" and "#" not in event.key]
    busy = sum(event.self_device_time_total for event in kernels) / 1e6 / seconds
    return {
        "words_per_second": words / seconds,
        "fraction_of_ceiling": passes * necessary_operations(model, lengths) / seconds / limits.operations,
        "fraction_of_memory": passes * necessary_bytes(model, lengths) / seconds / limits.bytes,
        "gpu_busy": busy,
        "milliseconds_a_batch": 1e3 * seconds / batches,
        "launches_a_batch": sum(event.count for event in events if event.key in LAUNCHES) / batches,
        "limit": "launches" if busy < IDLE else "the steps of the LSTMs, which wait for one another",
    }


def decode_width(max_width: str, sentences: Sequence[Sentence], rounds: int, limits: Ceilings) -> dict[str, Any]:
    """The figures of decoding for one maximum width."""
    model = paper_model(max_width, sentences).to("cuda")
    batches = batches_for(model, sentences)
    lengths = [len(sentence) for sentence in sentences]
    figures = figures_of(decoder(model, batches), model, lengths, len(batches), rounds, limits, passes=1)
    return {"c": max_width, **figures}


def train_width(max_width: str, sentences: Sequence[Sentence], rounds: int, limits: Ceilings) -> dict[str, Any]:
    """The figures of training for one maximum width: by batch size, and those of the fastest."""
    by_size = []
    for size in TRAINING_BATCHES:
        changes = ["words.word_dropout=0.05", f"training.batch_size={size}"]
        model = paper_model(max_width, sentences, changes).to("cuda")
        trainer = trainer_for(model, sentences)
        batches = list(shuffled_batches(trainer.lengths, size, seed=0))[:STEPS]
        lengths = [trainer.lengths[index] for batch in batches for index in batch]

        def train(trainer: Trainer = trainer, batches: list[list[int]] = batches) -> None:
            for given, parts in trainer.prepared(batches):
                trainer.optimiser.take_step(parts, len(given))

        figures = figures_of(train, model, lengths, len(batches), rounds, limits, passes=3)
        by_size.append({"sentences_a_batch": size, **figures})
    best = max(by_size, key=lambda figures: figures["words_per_second"])
    return {"c": max_width, **best, "by_size": by_size}


def measure(what: str, corpus: BenchmarkCorpus, rounds: int) -> dict[str, Any]:
    """Decoding or training."""
    if not torch.cuda.is_available():
        raise InputError("PyTorch finds no NVIDIA GPU here; leave --device out to measure the CPU")
    if what == "decode":
        times = -(-WORDS // max(sum(map(len, corpus.sentences)), 1))
        corpus = corpus._replace(sentences=corpus.sentences * times)
    with tensor_cores():
        limits = Ceilings()
        measured = decode_width if what == "decode" else train_width
        return {
            "machine": f"{torch.cuda.get_device_name()}, torch {torch.__version__}",
            **corpus.figures,
            "ceiling_operations_per_second": limits.operations,
            "memory_bytes_per_second": limits.bytes,
            "widths": [measured(max_width, corpus.sentences, rounds, limits) for max_width in MAX_WIDTHS],
            "peak GPU memory, MB": round(torch.cuda.max_memory_allocated() / 1e6),
        }
