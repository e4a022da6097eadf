"""The speed of a bulk job from raw text to shards, with several processes on one GPU: `python -m
experiments.speed bulk-gpu --device cuda`.

Each run is a separate process with a time limit; the most important run comes first. Texts are synthetic or given, one
document per line; each is annotated once per run. The rate is measured from the first words to when the last
shard is committed. GPU use is the share of that time in which a kernel runs, according to nvidia-smi.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import OneDevice
from experiments.speed.measure import machine
from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.inputs import find_inputs
from hyperspan.bulk.plan import ShardLimits
from hyperspan.bulk.processes import Processes, is_mps_on
from hyperspan.bulk.run import Progress, run_job
from hyperspan.bulk.shards import JobSettings
from hyperspan.errors import InputError
from hyperspan.runtime.loading import load

SENTENCES = 8
"""The number of sentences per document: about 240 words, as in an abstract."""
FILE_BYTES = 2_000_000
VOCABULARY = 8_000
LENGTHS = (13, 18, 21, 24, 26, 29, 33, 38, 43, 55)
"""Deciles of GENIA's sentence lengths."""


def invented_lines(seed: int = 0) -> Iterator[str]:
    """An endless stream of synthetic sentences, about as long as GENIA's."""
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


def write_texts(folder: Path, text: Path | None, words: int) -> list[str]:
    """Write about `words` words to files, one document per line; return the file names."""
    lines = invented_lines() if text is None else given_lines(text)
    files: list[str] = []
    while words > 0:
        size, documents = 0, []
        while size < FILE_BYTES and words > 0 and (some := list(islice(lines, SENTENCES))):
            documents.append(" ".join(some))
            words, size = words - documents[-1].count(" ") - 1, size + len(documents[-1])
        if not documents:
            break
        file = folder / f"{len(files):04}.txt"
        file.write_text("\n".join(documents), encoding="utf-8")
        files.append(str(file))
    return files


# -- in its own process -------------------------------------------------------------------------------------------


@contextmanager
def gpu_use() -> Iterator[list[tuple[float, float]]]:
    """Pairs of a time and the GPU utilisation before it, from nvidia-smi; empty without a GPU."""
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


@dataclass(frozen=True)
class BulkRun:
    """A job to measure."""

    texts: list[str]
    output: str
    model: str
    device: str
    workers: int
    shard_megabytes: float
    seconds: float
    """The time limit; only shards finished by then count."""


class EnoughError(Exception):
    """Raised when a run reaches its time limit."""


def measure(run: BulkRun) -> dict[str, Any]:
    """The figures of a job."""
    begun = time.perf_counter()
    seen: list[tuple[float, Progress]] = []
    settings = JobSettings(kind="lines", limits=ShardLimits(bytes=round(run.shard_megabytes * 1e6)))
    target = folder_at(run.output)
    inputs, _ = find_inputs(run.texts, "lines", target.name)

    def see(progress: Progress) -> None:
        seen.append((time.perf_counter(), progress))
        if time.perf_counter() - begun > run.seconds:
            raise EnoughError

    with gpu_use() as used, suppress(EnoughError):
        run_job(Processes(run.device, run.workers), target, settings, run.model, inputs, False, (), see)
    (first, before), (end, last) = seen[0], seen[-1]
    use = [share for moment, share in used if first <= moment <= end]
    return {
        **{name: getattr(run, name) for name in ("model", "device", "workers")},
        "mps": is_mps_on(),
        "words": last.words,
        "shards": last.shards,
        "stopped": last.shards < last.total,
        "words_per_second": (last.words - before.words) / max(end - first, 1e-9),
        "gpu_busy": sum(use) / len(use) if use else None,
        "seconds": end - first,
        "seconds_until_the_first_words": first - begun,
    }


def compare(run: BulkRun, documents: int) -> dict[str, Any]:
    """Compare the first documents of a job with the model's results on the CPU."""
    first = sorted(Path(run.output, "documents").glob("part-*.jsonl"))[0]
    with first.open(encoding="utf-8") as file:
        records = [json.loads(line) for line in islice(file, documents)]
    common = only_job = only_cpu = 0
    furthest = 0.0
    for record, own in zip(records, load(run.model).pipe(record["text"] for record in records), strict=True):
        job = {(one["start"], one["end"], one["label"]): one["probability"] for one in record["mentions"]}
        cpu = {(one.start, one.end, one.label): one.probability or 0.0 for one in own.mentions}
        both = job.keys() & cpu.keys()
        common, only_job, only_cpu = (
            common + len(both),
            only_job + len(job) - len(both),
            only_cpu + len(cpu) - len(both),
        )
        furthest = max([furthest, *(abs(job[one] - cpu[one]) for one in both)])
    return {
        "model": run.model,
        "documents": len(records),
        "mentions_of_both": common,
        "only_of_the_job": only_job,
        "only_on_the_cpu": only_cpu,
        "largest_difference_of_probabilities": furthest,
    }


# -- from outside ------------------------------------------------------------------------------------------------------


def _in_a_process(run: BulkRun, compared: int = 0) -> dict[str, Any]:
    """The figures of a run, or of its comparison, from a separate process; or the reason for failure."""
    command = [sys.executable, "-m", "experiments.speed.bulk_gpu", json.dumps(asdict(run)), str(compared)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=run.seconds + 10)
        figures = json.loads(said.splitlines()[-1]) if said.strip() else {"failed": f"exit status {process.returncode}"}
    except subprocess.TimeoutExpired:
        figures = {"failed": f"not done after {run.seconds + 10:g} s"}
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    print(f"hyperspan: {json.dumps(figures)}", file=sys.stderr, flush=True)
    return figures


def run(
    device: OneDevice = "cpu",
    model: Annotated[
        list[str] | None, typer.Option(help="A bundled model, or the folder of one; several in turn. Default: genia.")
    ] = None,
    workers: Annotated[
        list[int] | None, typer.Option(min=1, help="How many; several runs in turn. Default: 2.")
    ] = None,
    words: Annotated[
        int, typer.Option(help="Of the first run. Later ones have half as many for each worker.")
    ] = 200_000,
    text: Annotated[
        Path | None, typer.Option(help="Text to annotate, a sentence a line, perhaps .xz. Default: invented.")
    ] = None,
    shard_megabytes: Annotated[float, typer.Option(help="Of each shard.")] = 0.5,
    seconds: Annotated[float, typer.Option(help="When a run is stopped; what is done by then counts.")] = 600.0,
    check: Annotated[int, typer.Option(help="Documents to compare with the CPU; 0 for none.")] = 0,
) -> dict[str, Any]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that terminating this process also ends its runs
    ways = [(count, each) for count in workers or [2] for each in model or ["genia"]]
    runs: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="bulk-") as folder:
        texts = write_texts(Path(folder), text, words)
        if not texts:
            raise InputError(f"{text} holds no text; name a file of sentences, or leave --text out")
        for number, (count, each) in enumerate(ways):
            some = texts[: max(len(texts) * count // (2 * ways[0][0]), 1)] if number else texts
            one = BulkRun(some, f"{folder}/out{number}", each, device, count, shard_megabytes, seconds)
            runs.append(_in_a_process(one))
            if check and "failed" not in runs[-1] and count == ways[0][0]:
                agreement.append(_in_a_process(one, check))
    return {
        "machine": machine(),
        "cpus": os.cpu_count(),
        "text": "invented" if text is None else text.name,
        "runs": runs,
        "agreement": agreement,
    }


def main() -> None:
    """The entry point of a subprocess: a run or, if documents are to be compared, its comparison."""
    one, compared = BulkRun(**json.loads(sys.argv[1])), int(sys.argv[2])
    print(json.dumps(compare(one, compared) if compared else measure(one)), flush=True)


if __name__ == "__main__":
    main()
