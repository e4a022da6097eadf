"""How fast a model of the paper's sizes decodes and trains on an NVIDIA GPU, and what keeps it from being faster.

Decoding is from batches of ids on the GPU to Python sets of mentions; training is whole steps of the loop, with batches of several
sizes. Beside what matrix products and copies of memory reach on the same GPU stands how long it works at all: where it mostly
waits, the program cannot launch fast enough.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from hyperspan.batch import batches_by_length, shuffled_batches
from hyperspan.benchmarks.invented import MAX_WIDTHS, invented_sentences, necessary_operations, paper_model
from hyperspan.benchmarks.measure import in_turns
from hyperspan.errors import InputError
from hyperspan.models import Recognizer
from hyperspan.structures import SegmentalHypergraph
from hyperspan.training.loop import Trainer
from hyperspan.types import Sentence

WORDS = 400_000
"""So many words are decoded in a round; sentences are repeated until there are as many."""
TRAINING_BATCHES = (32, 128, 512)
STEPS = 12
"""So many batches, or all if there are fewer, are trained on in a round."""
SIZE, BYTES = 8192, 2**32
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx")
IDLE = 0.5
"""A GPU that waits for more than this share of the time is not what limits."""


class Ceilings:
    """What this GPU reaches: operations a second in float32 products as tensor cores do them, bytes a second in copies."""

    def __init__(self) -> None:
        one, other = torch.randn(2, SIZE, SIZE, device="cuda")
        memory = torch.empty(BYTES // 4, device="cuda")
        target = torch.empty_like(memory)
        products, copies = (
            min(taken)
            for taken in in_turns([_waiting(lambda: one @ other), _waiting(lambda: target.copy_(memory))], rounds=5)
        )
        self.operations, self.bytes = 2 * SIZE**3 / products, 2 * BYTES / copies


def _waiting(call: Callable[[], object]) -> Callable[[], None]:
    """The call, until the GPU is done with it."""

    def wait() -> None:
        call()
        torch.cuda.synchronize()

    return wait


@contextmanager
def tensor_cores() -> Iterator[None]:
    """With products of float32 by tensor cores, as in training."""
    kept = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(kept)


def necessary_bytes(model: Recognizer, lengths: Sequence[int]) -> int:
    """What the span LSTM cannot but move: the state and the cell of every span, both directions, written and read once."""
    widths = [min(model.max_width or n, n) for n in lengths]
    spans = sum(width * n - width * (width - 1) // 2 for n, width in zip(lengths, widths, strict=True))
    return spans * 2 * 2 * 2 * 4 * model.config.encoder.span_hidden


def figures_of(
    call: Callable[[], object],
    model: Recognizer,
    lengths: Sequence[int],
    passes: int,
    rounds: int,
    limits: Ceilings,
    times: int,
) -> dict[str, Any]:
    """The figures of a call that makes so many passes over a batch each; operations and bytes count so many times."""
    (taken,) = in_turns([_waiting(call)], rounds)
    seconds, words = statistics.median(taken), sum(lengths)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        _waiting(call)()
    events = profiled.key_averages()
    # What runs on the GPU itself: not the operators that launched it, nor the names of stretches of them.
    kernels = [event for event in events if event.device_type.name == "CUDA" and "#" not in event.key]
    busy = sum(event.self_device_time_total for event in kernels) / 1e6 / seconds
    return {
        "words_per_second": words / seconds,
        "fraction_of_ceiling": times * necessary_operations(model, lengths) / seconds / limits.operations,
        "fraction_of_memory": times * necessary_bytes(model, lengths) / seconds / limits.bytes,
        "gpu_busy": busy,
        "milliseconds_a_batch": 1e3 * seconds / passes,
        "launches_a_batch": sum(event.count for event in events if event.key in LAUNCHES) / passes,
        "limit": "launches" if busy < IDLE else "the steps of the LSTMs, which wait for one another",
    }


def decode_width(max_width: str, sentences: Sequence[Sentence], rounds: int, limits: Ceilings) -> dict[str, Any]:
    """The figures of decoding for one maximal width."""
    model = paper_model(max_width, sentences).to("cuda")
    lengths = [len(sentence) for sentence in sentences]
    batches = [
        model.collate([sentences[i] for i in batch])
        for batch in batches_by_length(lengths, model.max_width, model.batch_entries)
    ]

    @torch.inference_mode()
    def decode() -> None:
        for batch in batches:
            SegmentalHypergraph(model(batch), batch.lengths).argmax()

    return {"c": max_width, **figures_of(decode, model, lengths, len(batches), rounds, limits, times=1)}


def train_width(max_width: str, sentences: Sequence[Sentence], rounds: int, limits: Ceilings) -> dict[str, Any]:
    """The figures of training for one maximal width: by the size of batches, and those of the quickest."""
    by_size = []
    for size in TRAINING_BATCHES:
        changes = ["words.word_dropout=0.05", f"training.batch_size={size}"]
        model = paper_model(max_width, sentences, changes).to("cuda").train()
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(model, sentences, [], Path(folder))
        batches = list(shuffled_batches(trainer.lengths, size, seed=0))[:STEPS]
        lengths = [trainer.lengths[index] for batch in batches for index in batch]

        def train(trainer: Trainer = trainer, batches: list[list[int]] = batches) -> None:
            for given, parts in trainer.prepared(batches):
                trainer.optimisation.take_step(parts, len(given))

        figures = figures_of(train, model, lengths, len(batches), rounds, limits, times=3)
        by_size.append({"sentences_a_batch": size, **figures})
    best = max(by_size, key=lambda figures: figures["words_per_second"])
    return {"c": max_width, **best, "by_size": by_size}


def measure(what: str, sentences: Sequence[Sentence] | None, rounds: int) -> dict[str, Any]:
    """Decoding or training, on the given sentences or on invented ones."""
    if not torch.cuda.is_available():
        raise InputError("PyTorch finds no NVIDIA GPU here; leave --device out to measure the CPU")
    used = list(sentences or invented_sentences())
    if what == "decode":
        used *= -(-WORDS // max(sum(map(len, used)), 1))
    with tensor_cores():
        limits = Ceilings()
        measured = decode_width if what == "decode" else train_width
        return {
            "machine": f"{torch.cuda.get_device_name()}, torch {torch.__version__}",
            "sentences": "given" if sentences else "invented, as long as GENIA's",
            "words": sum(map(len, used)),
            "ceiling_operations_per_second": limits.operations,
            "memory_bytes_per_second": limits.bytes,
            "widths": [measured(max_width, used, rounds, limits) for max_width in MAX_WIDTHS],
            "peak GPU memory, MB": round(torch.cuda.max_memory_allocated() / 1e6),
        }


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    yield f"{figures['machine']}; {figures['words']:,} words ({figures['sentences']})"
    operations, speed = figures["ceiling_operations_per_second"] / 1e12, figures["memory_bytes_per_second"] / 1e12
    yield f"the ceilings are {operations:.0f} trillion operations and {speed:.1f} trillion bytes a second"
    for width in figures["widths"]:
        for entry in width.get("by_size", [width]):
            size = f", {entry['sentences_a_batch']} sentences a batch" if "sentences_a_batch" in entry else ""
            yield (
                f"c = {width['c']}{size}: {entry['words_per_second']:,.0f} words/s, {entry['milliseconds_a_batch']:.1f} ms and "
                f"{entry['launches_a_batch']:.0f} launches a batch; the GPU works {entry['gpu_busy']:.0%} of the time, at "
                f"{entry['fraction_of_ceiling']:.3f} of its operations and {entry['fraction_of_memory']:.3f} of its memory; limit: {entry['limit']}"
            )
    yield f"peak GPU memory {figures['peak GPU memory, MB']:,} MB"
