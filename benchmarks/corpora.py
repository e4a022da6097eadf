"""How fast each format is read, beside what reading its bytes costs at the least: ``python benchmarks/corpora.py [--data FOLDER]``.

For JSON the least is `json.loads` of the same bytes, for the others iterating over their lines. Formats of which no real file is
at hand are written from GENIA's dev set first. Rates are of CPU time, in MB of decompressed input a second.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hyperspan.corpora import FORMATS, Problems, Source, detect, document_of, read_corpus, write_corpus
from hyperspan.errors import HyperspanError
from hyperspan.types import Mention, Sentence

BESIDE = Path(__file__).parents[1].parent / "shared" / "data"
REAL = (
    "genia/train.data",
    "genia/xml/GENIAcorpus3.02.first126articles.xml.gz",
    "litbank/train.data.gz",
    "germeval2014/NER-de-test.tsv.gz",
    "genia/other_formats/w2ner.genia.dev.json.gz",
    "genia/other_formats/yhcc.genia.dev.jsonlines.gz",
)
MADE = ("jsonl", "gliner", "doccano", "label-studio", "conll2003", "docbin")


def cpu_seconds(call: Callable[[], object], repeat: int = 3) -> float:
    """The best of a few."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def least(path: Path) -> Callable[[], object]:
    """The cheapest thing that a reader of this file could do."""
    with Source(str(path), path=path).open() as stream:
        raw = stream.read()
    if raw[:1] == b"[":
        return lambda: json.loads(raw)
    if raw[:1] == b"{":
        return lambda: [json.loads(line) for line in raw.splitlines()]
    return lambda: sum(len(line.split()) for line in raw.decode("utf-8", errors="replace").split("\n"))


def measure(path: Path, name: str) -> None:
    with Source(str(path), path=path).open() as stream:
        megabytes = len(stream.read()) / 1e6
    mentions = 0

    def read() -> None:
        nonlocal mentions
        mentions = sum(len(document.mentions) for document in read_corpus(path, name, Problems()))

    seconds, floor = cpu_seconds(read), cpu_seconds(least(path))
    print(
        f"{name:<13} {megabytes:6.2f} MB {mentions:7,} mentions  {megabytes / seconds:6.1f} MB/s  "
        f"{seconds / floor:5.1f} × the least  {path.name}"
    )


def stream(megabytes: int) -> None:
    """Converts a made corpus of this size in a process of its own, and says what memory that took at the peak."""
    words = [
        "the",
        "former",
        "head",
        "of",
        "the",
        "central",
        "bank",
        "of",
        "Oz",
        "met",
        "nobody",
        "at",
        "the",
        "old",
        "zoo",
        "of",
        "Seattle",
        "today",
        ".",
    ]
    found = [
        Mention(0, 9, "PER"),
        Mention(4, 9, "ORG"),
        Mention(8, 9, "GPE"),
        Mention(12, 17, "FAC"),
        Mention(16, 17, "GPE"),
    ]
    documents = megabytes * 1_000_000 // 2_000  # about the size of one in jsonl
    with tempfile.TemporaryDirectory() as folder:
        made, target = Path(folder) / "made.jsonl", Path(folder) / "made.tsv"
        write_corpus((document_of([Sentence(words, found)] * 2, id=str(n)) for n in range(documents)), made, "jsonl")
        start = time.perf_counter()
        command = [sys.executable, "-m", "hyperspan", "convert", str(made), str(target), "--to", "columns"]
        subprocess.run(command, check=True, capture_output=True)
        seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"jsonl to columns: {made.stat().st_size / 1e6:.0f} MB in {seconds:.0f} s, {peak:.0f} MB of memory at the peak"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("HYPERSPAN_DATA", BESIDE)), help="where the corpora are"
    )
    parser.add_argument(
        "--stream", type=int, metavar="MB", help="only convert a made corpus of about this size, for its memory"
    )
    arguments = parser.parse_args()
    data = arguments.data
    if arguments.stream:
        stream(arguments.stream)
        return
    if not (data / REAL[0]).exists():
        print(f"no corpora in {data}: name their folder with --data")
        return
    for file in REAL:
        measure(data / file, detect(Source(file, path=data / file)))
    with tempfile.TemporaryDirectory() as folder:
        for name in MADE:
            target = Path(folder) / f"made{FORMATS[name].suffixes[0]}"
            try:
                write_corpus(read_corpus(data / "genia/dev.data"), target, name, lossy="outermost", force=True)
                measure(target, name)
            except HyperspanError as error:
                print(f"{name:<13} left out: {error}")


if __name__ == "__main__":
    main()
