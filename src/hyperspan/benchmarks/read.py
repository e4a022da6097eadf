"""How fast files of annotated text are read, beside the least that reading their bytes costs.

For JSON the least is `json.loads` of the same bytes, for other files splitting their lines into words. Rates are of CPU time, in MB
of decompressed input a second.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperspan.benchmarks.invented import invented_sentences
from hyperspan.corpora import Source, detect, document_of, read_corpus, write_corpus


def cpu_seconds(call: Callable[[], object], repeat: int = 3) -> float:
    """The best of a few."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def least(raw: bytes) -> object:
    """The cheapest thing that a reader of these bytes could do."""
    if raw[:1] == b"[":
        return json.loads(raw)
    if raw[:1] == b"{":
        return [json.loads(line) for line in raw.splitlines()]
    return sum(len(line.split()) for line in raw.decode("utf-8", errors="replace").split("\n"))


def measure(path: Path) -> dict[str, Any]:
    source = Source(str(path), path=path)
    with source.open() as stream:
        raw = stream.read()
    name = detect(source)
    seconds = cpu_seconds(lambda: sum(len(document.mentions) for document in read_corpus(path, name)))
    return {
        "file": path.name,
        "format": name,
        "megabytes": len(raw) / 1e6,
        "megabytes_per_second": len(raw) / 1e6 / seconds,
        "times_the_least": seconds / cpu_seconds(lambda: least(raw)),
    }


def convert(megabytes: int) -> dict[str, float]:
    """Converts a made corpus of about this size in a process of its own: seconds, and MB of memory at the peak."""
    sentences = invented_sentences(200)
    with tempfile.TemporaryDirectory() as folder:
        made, target = Path(folder) / "made.jsonl", Path(folder) / "made.tsv"
        documents = (document_of(sentences, id=str(number)) for number in range(megabytes * 6))
        write_corpus(documents, made, "jsonl")
        start = time.perf_counter()
        command = [sys.executable, "-m", "hyperspan", "convert", str(made), str(target), "--to", "columns"]
        subprocess.run(command, check=True, capture_output=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return {
            "megabytes": made.stat().st_size / 1e6,
            "seconds": time.perf_counter() - start,
            "peak_megabytes": peak,
        }


def run(
    files: Annotated[list[Path] | None, typer.Argument(help="Files of annotated text.")] = None,
    stream: Annotated[
        int, typer.Option(metavar="MB", help="Also convert a made corpus of about this size, for its memory.")
    ] = 0,
) -> dict[str, Any]:
    figures: dict[str, Any] = {"files": [measure(path) for path in files or []]}
    return figures | ({"jsonl to columns": convert(stream)} if stream else {})


def report(figures: dict[str, Any]) -> Iterator[str]:
    """The lines to print."""
    for entry in figures["files"]:
        yield (
            f"{entry['format']:<13} {entry['megabytes']:6.2f} MB  {entry['megabytes_per_second']:6.1f} MB/s  "
            f"{entry['times_the_least']:5.1f} × the least  {entry['file']}"
        )
    if made := figures.get("jsonl to columns"):
        yield (
            f"jsonl to columns: {made['megabytes']:.0f} MB in {made['seconds']:.0f} s, "
            f"{made['peak_megabytes']:.0f} MB of memory at the peak"
        )
