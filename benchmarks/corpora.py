"""How fast each format is read, beside what reading its bytes costs at the least: ``python benchmarks/corpora.py [--data FOLDER]``.

For JSON the least is `json.loads` of the same bytes, for the others iterating over their lines. Formats of which no real file is
at hand are written from GENIA's dev set first. Rates are of CPU time, in MB of decompressed input a second.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hyperspan.corpora import FORMATS, Problems, Source, detect, read_corpus, write_corpus
from hyperspan.errors import HyperspanError

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("HYPERSPAN_DATA", BESIDE)), help="where the corpora are"
    )
    data = parser.parse_args().data
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
