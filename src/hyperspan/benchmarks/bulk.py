"""How fast a bulk job is from raw text to shards, with several workers for one GPU: `hyperspan benchmark bulk --device cuda`.

Each run is a process of its own with a limit on its time, the first of them the most important. Texts are invented or given, one
document a line; each is annotated once in a run. The rate counts from when the first worker is given a shard to when the last
shard is committed. GPU use is what nvidia-smi sees in that time: the share of it in which a kernel runs.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperspan.benchmarks.measure import Device, machine
from hyperspan.errors import InputError

SENTENCES = 8
"""In a document: about 240 words, as in an abstract."""
FILE_BYTES = 2_000_000
MEASURE = "measure"
VOCABULARY = 8_000
LENGTHS = (13, 18, 21, 24, 26, 29, 33, 38, 43, 55)
"""GENIA's sentences, by tenths."""


def invented_lines(seed: int = 0) -> Iterator[str]:
    """Sentences of invented words without end, about as long as GENIA's."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("aeioubcdfglmnprst", k=chance.randint(2, 11))) for _ in range(VOCABULARY)]
    while True:
        ranks = (min(int(chance.paretovariate(0.9)), VOCABULARY) - 1 for _ in range(chance.choice(LENGTHS)))
        yield " ".join(words[rank] for rank in ranks).capitalize() + "."


def given_lines(path: Path) -> Iterator[str]:
    """The lines of a file that are not empty."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            yield from filter(None, map(str.strip, file))
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); name a file of text, or leave --text out") from None


def write_texts(folder: Path, text: Path | None, words: int) -> list[int]:
    """Writes documents of some sentences, one a line, to files; returns how many words each file has."""
    lines = invented_lines() if text is None else given_lines(text)
    counts: list[int] = []
    while sum(counts) < words:
        count, size, documents = 0, 0, []
        while size < FILE_BYTES and sum(counts) + count < words and (some := list(islice(lines, SENTENCES))):
            documents.append(" ".join(some))
            count, size = count + documents[-1].count(" ") + 1, size + len(documents[-1])
        if not documents:
            break
        (folder / f"{len(counts):04}.txt").write_text("\n".join(documents), encoding="utf-8")
        counts.append(count)
    return counts


# -- in a process of its own -------------------------------------------------------------------------------------------


@contextmanager
def gpu_use() -> Iterator[list[tuple[float, float]]]:
    """When nvidia-smi looked, and what share of the time before that the GPU worked; nothing where there is none."""
    seen: list[tuple[float, float]] = []
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        yield seen
        return

    def read() -> None:
        for line in process.stdout or ():
            with suppress(ValueError):
                seen.append((time.perf_counter(), float(line) / 100))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        process.kill()
        process.wait()


def measure(folder: str, files: str, output: str, workers: str, device: str, model: str, megabytes: str) -> None:
    """One job; prints its figures."""
    from hyperspan.bulk.folder import folder_at
    from hyperspan.bulk.inputs import find_inputs
    from hyperspan.bulk.plan import ShardLimits
    from hyperspan.bulk.pool import PoolEngine
    from hyperspan.bulk.run import run_job
    from hyperspan.bulk.shards import JobSettings

    begun = time.perf_counter()
    names = [str(file) for file in sorted(Path(folder).glob("*.txt"))[: int(files)]]
    settings = JobSettings(kind="lines", limits=ShardLimits(bytes=round(float(megabytes) * 1e6)))
    target = folder_at(output)
    inputs, _ = find_inputs(names, "lines", target.name)
    engine = PoolEngine(device, int(workers))
    with gpu_use() as seen:
        summary = run_job(engine, target, settings, model, inputs, False, (), lambda progress: None)
    ended, counts = time.perf_counter(), engine.statistics
    taken = counts.ended - counts.begun
    use = [share for moment, share in seen if counts.begun <= moment <= counts.ended]
    by_worker = asdict(counts.workers)
    figures = {
        "model": model,
        "workers": int(workers),
        "device": device,
        "words": summary.words,
        "documents": summary.documents,
        "mentions": summary.mentions,
        "rejected": summary.rejected,
        "shards": summary.shards,
        "words_per_second": summary.words / taken,
        "seconds": taken,
        "seconds_with_start": ended - begun,
        "gpu_busy": sum(use) / len(use) if use else None,
        "batches": counts.batches,
        "words_a_batch": counts.words / max(counts.batches, 1),
        "computing_threads": engine.threads,
        "share_of_time_computing": counts.computing / taken / engine.threads,
        "share_of_time_idle": counts.idle / taken / engine.threads,
        "milliseconds_a_batch": 1e3 * counts.computing / max(counts.batches, 1),
        "share_of_workers_waiting": by_worker["waiting"] / max(by_worker["total"], 1e-9),
        "share_of_workers_collating": by_worker["collating"] / max(by_worker["total"], 1e-9),
        "worker_cpu_microseconds_a_word": 1e6 * by_worker["cpu"] / max(summary.words, 1),
    }
    print(json.dumps(figures), flush=True)


def compare(folder: str, output: str, device: str, model: str, documents: str) -> None:
    """Whether a job found what the model finds on the CPU, in its first documents."""
    from hyperspan.inference.loading import load

    first = sorted(Path(output, "documents").glob("part-*.jsonl"))[0]
    with first.open(encoding="utf-8") as file:
        records = [json.loads(line) for line in islice(file, int(documents))]
    both = only_job = only_cpu = 0
    furthest = 0.0
    for record, own in zip(records, load(model).pipe(record["text"] for record in records), strict=True):
        job = {(one["start"], one["end"], one["label"]): one["probability"] for one in record["mentions"]}
        cpu = {(one.start, one.end, one.label): one.probability or 0.0 for one in own.mentions}
        both, only_job, only_cpu = (
            both + len(job.keys() & cpu.keys()),
            only_job + len(job.keys() - cpu.keys()),
            only_cpu + len(cpu.keys() - job.keys()),
        )
        furthest = max([furthest, *(abs(job[one] - cpu[one]) for one in job.keys() & cpu.keys())])
    figures = {
        "documents": len(records),
        "mentions_of_both": both,
        "only_job": only_job,
        "only_cpu": only_cpu,
        "largest_difference_of_probabilities": furthest,
    }
    print(json.dumps(figures), flush=True)


# -- from outside ------------------------------------------------------------------------------------------------------


def _in_a_process(seconds: float, *arguments: object) -> dict[str, Any]:
    """What a process of this module prints, or why it printed nothing."""
    command = [sys.executable, "-m", "hyperspan.benchmarks.bulk", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=seconds)
        figures = json.loads(said.splitlines()[-1]) if said.strip() else {"failed": f"exit status {process.returncode}"}
    except subprocess.TimeoutExpired:
        figures = {"failed": f"not done after {seconds:g} s"}
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
    print(f"hyperspan: {json.dumps(figures)}", file=sys.stderr, flush=True)
    return figures


def run(
    device: Device = "cpu",
    model: Annotated[
        list[str] | None, typer.Option(help="A bundled model, or the folder of one; several in turn. Default: genia.")
    ] = None,
    workers: Annotated[
        list[int] | None, typer.Option(min=1, help="How many; several runs in turn. Default: 2.")
    ] = None,
    words: Annotated[int, typer.Option(help="Of the first run; others have as many for each worker.")] = 200_000,
    text: Annotated[
        Path | None, typer.Option(help="Text to annotate, a sentence a line, perhaps .xz. Default: invented.")
    ] = None,
    shard_megabytes: Annotated[float, typer.Option(help="Of each shard.")] = 0.5,
    seconds: Annotated[float, typer.Option(help="The limit of a run.")] = 600.0,
    check: Annotated[int, typer.Option(help="Documents to compare with the CPU; 0 for none.")] = 0,
) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="bulk-") as name:
        texts, folder = Path(name) / "texts", Path(name)
        texts.mkdir()
        counts = write_texts(texts, text, words)
        if not counts:
            raise InputError(f"{text} holds no text; name a file of sentences, or leave --text out")
        ways = [(each, count) for count in workers or [2] for each in model or ["genia"]]
        most = ways[0][1]
        for number, (each, count) in enumerate(ways):
            files = max(len(counts) * count // most, 1)
            output = folder / f"out{number}"
            runs.append(
                _in_a_process(
                    seconds, MEASURE, texts, min(files, len(counts)), output, count, device, each, shard_megabytes
                )
            )
            if check and "failed" not in runs[-1] and count == most:
                agreement.append(
                    {"model": each} | _in_a_process(seconds, "compare", texts, output, device, each, check)
                )
    return {
        "machine": machine(),
        "cpus": os.cpu_count(),
        "text": "invented" if text is None else text.name,
        "runs": runs,
        "agreement": agreement,
    }


if __name__ == "__main__":
    {MEASURE: measure, "compare": compare}[sys.argv[1]](*sys.argv[2:])
