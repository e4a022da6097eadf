"""What a configuration costs in time and memory: `hyperspan benchmark cost genia/transformer --device cuda`.

Steps of training and batches of use on the configuration's training sentences, each part in a process of its own, so that memory
is counted by itself. Seconds on a CPU are those that the processor worked, whatever else the machine did.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from hyperspan.batch import shuffled_batches
from hyperspan.benchmarks.measure import machine, peak_memory
from hyperspan.config import Config
from hyperspan.inference.annotator import Annotator
from hyperspan.models import new_model
from hyperspan.training.loop import Trainer
from hyperspan.training.run import choose_device, read_sentences

WARM_UP = 2


def measure(config: Config, part: str, device: str, steps: int) -> dict[str, Any]:
    """Seconds a thousand words and the peak of memory in MB, of training or of use."""
    place = choose_device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    sentences = [sentence for sentence in read_sentences(config.data.train, config) if len(sentence)][:3_000]
    model = new_model(config, sentences).to(place)
    before = peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, sentences, [], Path(folder)) if part == "training" else None
    order = list(
        islice(shuffled_batches(list(map(len, sentences)), config.training.batch_size, seed=1), WARM_UP + steps)
    )
    annotator = Annotator(model)

    def take(indices: list[int]) -> None:
        given = [sentences[index] for index in indices]
        if trainer is not None:
            trainer.take_step(given)
        else:
            list(annotator.recognize(given))

    model.train(part == "training")
    for indices in order[:WARM_UP]:
        take(indices)
    seconds = _timed(lambda: [take(indices) for indices in order[WARM_UP:]], place)
    words = sum(len(sentences[index]) for indices in order[WARM_UP:] for index in indices)
    on_gpu = place.type == "cuda"
    return {
        "part": part,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds_per_1000_words": round(1000 * seconds / words, 4),
        "peak_mb": round(torch.cuda.max_memory_allocated() / 1e6) if on_gpu else peak_memory(),
        "mb_before": None if on_gpu else before,
        "longest": max(len(sentences[index]) for indices in order for index in indices),
    }


def _timed(call: Callable[[], object], device: torch.device) -> float:
    if device.type == "cpu":
        begun = time.process_time()
        call()
        return time.process_time() - begun
    torch.cuda.synchronize()
    begun = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begun


def run(
    config: Annotated[str, typer.Argument(help="A TOML file, or a shipped configuration.")],
    overrides: Annotated[list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")] = "cpu",
    steps: Annotated[int, typer.Option(min=1, help="Batches that are measured.")] = 8,
) -> dict[str, Any]:
    read = Config.read(config, overrides or [])
    parts = []
    for part in ("training", "use"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            parts.append(pool.apply(measure, (read, part, device, steps)))
    return {"machine": machine() if device == "cpu" else torch.cuda.get_device_name(), "parts": parts}


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    yield figures["machine"]
    for part in figures["parts"]:
        yield ", ".join(f"{name} {value}" for name, value in part.items())
