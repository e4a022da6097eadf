"""What bulk jobs cost: `python -m experiments.speed bulk --words 5000000`.

1. Words a second of the plain engine, with all threads and with one, of one and of two Ray workers, and of a Ray Data
   dataset with one worker: on the same made corpus, one after the other, from when the first shard is done to the last.
   And of cutting text into sentences and words alone.
2. What Ray costs a document: documents without words, with Ray less without.
3. Time and memory of a whole job over a large made corpus: the plain engine, and two Ray workers.

Every measurement is a process of its own, whose memory, with that of all below it, is looked at twice a second.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from experiments.speed.invented import genia_length
from experiments.speed.measure import machine
from hyperspan import ArrowAnnotator
from hyperspan.bulk import Progress, annotate_files
from hyperspan.cli.options import ModelName
from hyperspan.runtime.loading import load
from hyperspan.types import Document

SENTENCES = 8
"""In a document: about 240 words, as in an abstract."""
EMPTY = 30_000
"""Documents without words."""


def make_corpus(path: Path, words: int) -> int:
    """Writes documents of invented words, sentences as long as GENIA's; returns how many."""
    chance = random.Random(0)
    characters = "aeioubcdfglmnprst"
    vocabulary = ["".join(chance.choices(characters, k=chance.randint(2, 11))) for _ in range(8_000)]
    documents = made = 0
    with path.open("w", encoding="utf-8") as file:
        while made < words:
            lengths = [genia_length(100 * chance.random()) for _ in range(SENTENCES)]
            text = " ".join(
                " ".join(vocabulary[min(int(chance.paretovariate(0.9)), 8_000) - 1] for _ in range(length)).capitalize()
                + "."
                for length in lengths
            )
            file.write(json.dumps({"id": documents, "text": text}) + "\n")
            documents, made = documents + 1, made + sum(lengths)
    return documents


def below(ancestor: int) -> list[int]:
    """A process and all that descend from it."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = []
    for process in parents:
        above = process
        while above in parents and above != ancestor:
            above = parents[above]
        if above == ancestor:
            found.append(process)
    return found


# -- in a process of its own -------------------------------------------------------------------------------------------


class Steps:
    """When shards were done, and what CPU time this process and all below it had taken by then."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float, Progress]] = []
        self.cpu: dict[int, float] = {}

    def __call__(self, progress: Progress) -> None:
        if progress.shards and (not self.seen or progress.shards != self.seen[-1][2].shards):
            for process in below(os.getpid()):  # of one that has ended the last is kept
                with suppress(OSError):
                    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
                    self.cpu[process] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            self.seen.append((time.perf_counter(), sum(self.cpu.values()), progress))

    def rates(self, documents: int) -> dict[str, float]:
        """From the first shard to the last."""
        (first, cpu_before, before), (last, cpu_after, after) = self.seen[0], self.seen[-1]
        words, each = after.words - before.words, documents * (after.shards - before.shards) / after.shards
        return {
            "words a second": words / (last - first),
            "words a second of CPU": words / (cpu_after - cpu_before),
            "microseconds of CPU a document": 1e6 * (cpu_after - cpu_before) / each,
        }


def run_job(
    corpus: Path, output: Path, engine: Any, workers: int, threads: int, shard_bytes: int, model: str
) -> dict[str, float]:
    """One job, and how fast it went once its first shard was done."""
    torch.set_num_threads(threads)
    steps, start = Steps(), time.perf_counter()
    options: dict[str, Any] = {} if engine == "plain" else {"workers": workers}
    summary = annotate_files(
        [corpus], output, model=model, engine=engine, shard_bytes=shard_bytes, on_progress=steps, **options
    )
    return {
        "seconds": time.perf_counter() - start,
        "seconds until the first shard": steps.seen[0][0] - start,
        "words": summary.words,
        "documents": summary.documents,
        "shards": summary.shards,
        **steps.rates(summary.documents),
    }


def run_dataset(corpus: Path, model: str) -> dict[str, float]:
    """The same texts as a dataset of Ray Data, with one worker."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    texts = ray.data.read_json(str(corpus), override_num_blocks=24)
    worker: Any = {"fn_constructor_args": (model,), "compute": ray.data.ActorPoolStrategy(size=1)}
    found = texts.map_batches(ArrowAnnotator, batch_format="pyarrow", **worker)
    counts: list[tuple[float, int]] = []
    words = 0
    for batch in found.select_columns(["text"]).iter_batches(batch_size=None):
        words += sum(len(text.split()) for text in batch["text"])
        counts.append((time.perf_counter(), words))
    ray.shutdown()
    (first, before), (last, after) = counts[0], counts[-1]
    return {"words": words, "words a second": (after - before) / (last - first) if last > first else 0.0}


def run_split(corpus: Path, model: str) -> dict[str, float]:
    """Texts cut into sentences and words, and nothing else, by one thread."""
    annotator = load(model)
    texts = [json.loads(line)["text"] for line in corpus.read_text("utf-8").splitlines()]
    begun = time.process_time()
    words = sum(len(sentence) for text in texts for sentence in annotator.split(Document(text)).sentences)
    return {"words": words, "words a second of CPU": words / (time.process_time() - begun)}


# -- from outside ------------------------------------------------------------------------------------------------------


def measured(*arguments: str) -> dict[str, Any]:
    """What a process of this file says, and the memory that it and all below it held."""
    command = [sys.executable, "-m", "experiments.speed.bulk", *arguments]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    memory: list[tuple[float, float]] = []
    while process.poll() is None:
        memory.append(_memory(process.pid))
        time.sleep(0.5)
    said = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    early = memory[: max(len(memory) // 3, 1)]
    return {
        **json.loads(said.splitlines()[-1]),
        "MB at the peak": max(total for total, _ in memory),
        "MB of the largest process": max(largest for _, largest in memory),
        "MB of the largest process in the first third": max(largest for _, largest in early),
    }


def _memory(ancestor: int) -> tuple[float, float]:
    """The MB of a process and all below it, each page that is shared counted as its share; and those of the largest."""
    sizes = []
    for process in below(ancestor):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            sizes += [int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")]
    return sum(sizes), max(sizes, default=0.0)


def run(
    words: Annotated[int, typer.Option(help="Of the large corpus; 0 leaves it out.")] = 5_000_000,
    sample: Annotated[int, typer.Option(help="Words of the corpus that all engines annotate.")] = 400_000,
    model: ModelName = "genia",
) -> dict[str, Any]:
    threads = str(len(os.sched_getaffinity(0)))
    engines = {
        f"plain, {threads} threads": ("plain", "0", threads),
        "plain, 1 thread": ("plain", "0", "1"),
        "ray, 1 worker": ("ray", "1", "1"),
        "ray, 2 workers": ("ray", "2", "1"),
    }
    with tempfile.TemporaryDirectory(prefix="bulk-") as name:
        folder = Path(name)
        small, empty, large = folder / "sample.jsonl", folder / "empty.jsonl", folder / "large.jsonl"
        documents = make_corpus(small, sample)
        empty.write_text("".join(f'{{"id": {n}, "text": ""}}\n' for n in range(EMPTY)))
        bytes_of_shard = str(max(small.stat().st_size // 24, 1))
        figures: dict[str, Any] = {"machine": machine(), "sample": {"words": sample, "documents": documents}}
        figures["speed"] = {
            title: measured(str(small), str(folder / title), *engine, bytes_of_shard, model)
            for title, engine in engines.items()
        }
        figures["speed"]["ray.data, 1 worker"] = measured(str(small), "dataset", model)
        figures["speed"]["cutting text alone"] = measured(str(small), "split", model)
        figures["documents without words"] = {
            title: measured(str(empty), str(folder / f"empty {title}"), *engines[title], "25000", model)
            for title in ("plain, 1 thread", "ray, 1 worker")
        }
        if words:
            make_corpus(large, words)
            figures["large"] = {"MB of the corpus": large.stat().st_size / 1e6} | {
                title: measured(str(large), str(folder / f"large {title}"), *engines[title], "4000000", model)
                for title in (f"plain, {threads} threads", "ray, 2 workers")
            }
    return figures


def measure_one(corpus: str, what: str, *rest: str) -> None:
    """What a process of its own does."""
    if what in ("dataset", "split"):
        print(json.dumps((run_dataset if what == "dataset" else run_split)(Path(corpus), *rest)))
    else:
        engine, workers, threads, size, model = rest
        print(json.dumps(run_job(Path(corpus), Path(what), engine, int(workers), int(threads), int(size), model)))


if __name__ == "__main__":
    measure_one(*sys.argv[1:])
