"""The time and memory cost of a configuration: `python -m experiments.speed cost mine.toml --device cuda`.

Steps of training and batches of inference on the configuration's training sentences, each part in its own process, so
that memory is measured separately. Seconds on a CPU are processor time, independent of other load.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from itertools import islice
from typing import Annotated, Any

import torch
import typer

from experiments.speed.measure import in_turns, machine, on_gpu, peak_memory
from experiments.speed.paper_model import trainer_for
from hyperspan.cli.options import Device, Overrides
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.nn.validation import validate
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.training.data import read_train
from hyperspan.training.run import choose_device
from hyperspan.training.settings import CorpusFacts, complete, typical
from hyperspan.types import Sentence

WARM_UP = 2


def measure(config: Config, part: str, device: str, steps: int) -> dict[str, Any]:
    """Seconds per thousand words and peak memory in MB, for training or inference."""
    validate(typical(config))
    place = choose_device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    corpus = [sentence for text in read_train(config) for sentence in text if len(sentence)]
    config, sentences = complete(config, CorpusFacts.of(corpus)), corpus[:3_000]
    model = new_model(config, sentences).to(place)
    before = peak_memory()
    order = shuffled_batches(list(map(len, sentences)), config.training.batch_size, seed=1)
    batches = [[sentences[index] for index in indices] for indices in islice(order, WARM_UP + steps)]
    if part == "training":
        take: Callable[[list[Sentence]], object] = trainer_for(model, sentences).take_step
    else:
        annotator = Annotator(model.eval())
        take = lambda batch: list(annotator.recognize(batch))  # noqa: E731
    for batch in batches[:WARM_UP]:
        take(batch)
    rest, clock = batches[WARM_UP:], time.process_time if place.type == "cpu" else time.perf_counter
    call = on_gpu(lambda: [*map(take, rest)]) if place.type == "cuda" else lambda: [*map(take, rest)]
    ((seconds,),) = in_turns([call], 1, clock, warm_up=False)
    return {
        "part": part,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds_per_1000_words": round(1000 * seconds / sum(len(sentence) for batch in rest for sentence in batch), 4),
        "peak_mb": round(torch.cuda.max_memory_allocated() / 1e6) if place.type == "cuda" else peak_memory(),
        "mb_before": None if place.type == "cuda" else before,
        "longest": max(len(sentence) for batch in batches for sentence in batch),
    }


def run(
    config: Annotated[str, typer.Argument(help="A TOML file, such as those of experiments/configs.")],
    overrides: Overrides = None,
    device: Device = "cpu",
    steps: Annotated[int, typer.Option(min=1, help="Batches that are measured.")] = 8,
) -> dict[str, Any]:
    read = Config.read(config, overrides or [])
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        tasks = [(read, part, device, steps) for part in ("training", "inference")]
        parts = pool.starmap(measure, tasks, chunksize=1)
    return {"machine": machine() if device == "cpu" else torch.cuda.get_device_name(), "parts": parts}
