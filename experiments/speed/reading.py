"""The reading speed of annotated files, compared with the minimum cost of reading their bytes.

For JSON the minimum is `json.loads` of the same bytes, for other files splitting lines into words. Rates are in MB of
decompressed input per second of CPU time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.speed.invented import invented_sentences
from experiments.speed.measure import in_turns, peak_memory
from hyperspan.corpora import Source, detect, document_of, read_corpus, write_corpus


def least(raw: bytes) -> object:
    """The minimum work of a reader of these bytes."""
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

    def read() -> int:
        return sum(len(document.mentions) for document in read_corpus(path, name))

    seconds, cheapest = map(min, in_turns([read, partial(least, raw)], 3, time.process_time))
    return {
        "file": path.name,
        "format": name,
        "megabytes": len(raw) / 1e6,
        "megabytes_per_second": len(raw) / 1e6 / seconds,
        "times_the_least": seconds / cheapest,
    }


def convert(megabytes: int) -> dict[str, float]:
    """Convert a synthetic corpus of about this size in a separate process; return seconds and peak memory in MB."""
    sentences = invented_sentences(200)
    with tempfile.TemporaryDirectory() as folder:
        made, target = Path(folder) / "made.jsonl", Path(folder) / "made.tsv"
        write_corpus((document_of(sentences, id=str(number)) for number in range(megabytes * 6)), made, "jsonl")
        command = [sys.executable, "-m", "hyperspan", "convert", str(made), str(target), "--format", "columns"]
        start = partial(subprocess.run, command, check=True, capture_output=True)
        ((seconds,),) = in_turns([start], 1, warm_up=False)
        return {
            "megabytes": made.stat().st_size / 1e6,
            "seconds": seconds,
            "peak_megabytes": peak_memory(resource.RUSAGE_CHILDREN),
        }


def run(
    files: Annotated[list[Path] | None, typer.Argument(help="Files of annotated text.")] = None,
    stream: Annotated[
        int, typer.Option(metavar="MB", help="Also convert a made corpus of about this size, for its memory.")
    ] = 0,
) -> dict[str, Any]:
    figures: dict[str, Any] = {"files": [measure(path) for path in files or []]}
    return figures | ({"jsonl to columns": convert(stream)} if stream else {})
