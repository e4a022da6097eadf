"""Corpora: every reader, every writer, recognition, and archives."""

from __future__ import annotations

import functools
import gzip
import io
import lzma
import random
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from hyperspan.corpora import Problems, read_corpus, write_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import FORMATS
from hyperspan.corpora.source import Lossy, OnError
from hyperspan.errors import HyperspanError
from hyperspan.types import Document
from tests.fuzz.mutate import mutate
from tests.fuzz.samples import TOKENS, corpora, every_corpus, family
from tests.fuzz.target import FoundError, Input, Target, Workplace, check_message, mutated_part


def read_all(given: Path, name: str | None, on_error: OnError) -> list[Document]:
    """The documents of a corpus, cut into sentences; none where it is refused."""
    problems = Problems(on_error)
    try:
        documents = list(read_corpus(given, name, problems))
        for document in documents:
            with_sentences(document, problems)
    except HyperspanError as error:
        check_message(error)
        return []
    return documents


def path_of(given: Input, place: Workplace) -> Path:
    """The only file of an input, or the folder of several."""
    place.write(given)
    return place.folder / next(iter(given)) if len(given) == 1 else place.folder


class Reader(Target):
    """A file in a format, read as that format: stopping at what is wrong, and leaving it out."""

    def __init__(self, format_name: str):
        self.format_name, self.name = format_name, f"read-{format_name}"
        self.inputs = 500 if format_name == "docbin" else 2_400

    def seeds(self) -> Sequence[Input]:
        return corpora(self.format_name)

    def mutated(self, chance: random.Random) -> Input:
        kind = family(self.format_name)
        samples = self.seeds()
        others = [data for sample in samples for data in sample.values()]
        if kind == "docbin" and chance.random() < 0.5:  # inside, where no checksum notices
            inside = {name: zlib.decompress(data) for name, data in chance.choice(samples).items()}
            return {name: zlib.compress(mutate(chance, data, TOKENS[kind])) for name, data in inside.items()}
        return mutated_part(chance, chance.choice(samples), TOKENS[kind], others, as_json=0.5 * (kind == "json"))

    def run(self, given: Input, place: Workplace) -> None:
        path = path_of(given, place)
        for on_error in get_args(OnError):
            read_all(path, self.format_name, on_error)


class Detection(Target):
    """Any sample under any name, whose format is to be recognised."""

    name, inputs = "detect", 3_000

    def seeds(self) -> Sequence[Input]:
        return every_corpus()

    def mutated(self, chance: random.Random) -> Input:
        sample = chance.choice(self.seeds())
        parts = mutated_part(chance, sample, TOKENS[chance.choice(list(TOKENS))], as_json=0.3)
        if len(parts) == 1 and chance.random() < 0.5:
            suffix = chance.choice([suffix for entry in FORMATS.values() for suffix in entry.suffixes])
            return {f"corpus{suffix}": data for data in parts.values()}
        return parts

    def run(self, given: Input, place: Workplace) -> None:
        read_all(path_of(given, place), None, "skip")


class Writer(Target):
    """Documents of any content in hyperspan's own format, written in another: all of it, or nothing; and read again."""

    def __init__(self, format_name: str):
        self.format_name, self.name = format_name, f"write-{format_name}"
        self.inputs = 300 if format_name == "docbin" else 1_500

    def seeds(self) -> Sequence[Input]:
        return corpora("jsonl")

    def mutated(self, chance: random.Random) -> Input:
        return mutated_part(chance, chance.choice(self.seeds()), TOKENS["json"], as_json=0.8)

    def run(self, given: Input, place: Workplace) -> None:
        documents = read_all(path_of(given, place), "jsonl", "skip")
        for lossy in (None, *get_args(Lossy))[: 1 + zlib.crc32(repr(given).encode()) % 3]:
            ending = FORMATS[self.format_name].suffixes[0] if self.format_name != "brat" else ""
            target = place.folder / f"written{ending}"
            before = set(place.folder.rglob("*"))
            try:
                write_corpus(documents, target, self.format_name, lossy=lossy, force=True)
            except HyperspanError as error:
                check_message(error)
                if left := set(place.folder.rglob("*")) - before:
                    raise FoundError(f"a refused corpus left {len(left)} files") from error
            else:
                if documents:
                    list(read_corpus(target, self.format_name))


BOMB = 600_000_000
"""Bytes on one line, which packed are few."""


@functools.cache
def bomb() -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as file:
        for _ in range(BOMB // 1_000_000):
            file.write(b"a" * 1_000_000)
    return packed.getvalue()


def zipped(files: Input) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


def tarred(files: Input) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def archives_of(files: Input) -> list[dict[str, bytes]]:
    """The files of a sample in each kind of archive."""
    name, data = next(iter(files.items()))
    return [
        {f"{name}.gz": gzip.compress(data, mtime=0)},
        {f"{name}.xz": lzma.compress(data)},
        {"corpus.zip": zipped(files)},
        {"corpus.zip": zipped({f"in/{name}.gz": gzip.compress(data, mtime=0), "readme.md": b"words"})},
        {"corpus.tar": tarred(files)},
        {"corpus.tar.gz": gzip.compress(tarred(files), mtime=0)},
    ]


class Archives(Target):
    """Packed corpora, damaged outside or inside."""

    name, inputs = "archives", 4_000

    def seeds(self) -> Sequence[Input]:
        return [archive for sample in every_corpus() for archive in archives_of(sample)]

    def mutated(self, chance: random.Random) -> Input:
        if chance.random() < 0.002:
            return {chance.choice(("corpus.jsonl.gz", "corpus.data.gz", "corpus.txt.gz")): bomb()}
        sample = dict(chance.choice(every_corpus()))
        if chance.random() < 0.3:
            name = chance.choice(sorted(sample))
            sample[name] = mutate(chance, sample[name], TOKENS["json"])
            return chance.choice(archives_of(sample))
        tokens = (
            b"PK\x03\x04",
            b"PK\x01\x02",
            b"PK\x05\x06",
            b"\x1f\x8b\x08",
            b"\xfd7zXZ",
            b"ustar",
            b"\xff" * 8,
            b"\x00" * 8,
        )
        return mutated_part(chance, chance.choice(archives_of(sample)), tokens)

    def run(self, given: Input, place: Workplace) -> None:
        path = path_of(given, place)
        for name in (None, "jsonl", "brat"):
            read_all(path, name, "skip")
