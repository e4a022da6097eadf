"""Packed files that are damaged, encrypted, packed in other ways or far larger than they look: one sentence each."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

import pytest

from hyperspan.corpora import json_values, read_corpus, source
from hyperspan.corpora.formats import FORMATS, READERS
from hyperspan.corpora.source import Problems, Source, sources_in
from hyperspan.errors import CorpusError, HyperspanError, InputError

LINES = "".join(
    f'{{"text": "the Seattle zoo {n}", "mentions": [{{"start": 4, "end": 11, "label": "GPE"}}]}}\n' for n in range(40)
)
BOMB = 40 * 2**20
"""Bytes; the limits are made smaller than this in tests."""


def zipped(compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("a.jsonl", LINES)
        archive.writestr("b.jsonl", LINES)
    return stream.getvalue()


def attempt(path: Path) -> str:
    """The sentence with which a file is refused, or nothing if it is read."""
    try:
        list(read_corpus(path))
    except HyperspanError as error:
        return str(error)
    return ""


def test_read_corpus_names_the_damaged_zip(tmp_path: Path) -> None:
    whole = zipped()
    path = tmp_path / "damaged.zip"
    directory = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[:directory] + b"XX" + whole[directory + 2 :])  # the directory
    assert "damaged.zip: cannot be read (Bad magic number for central directory)" in attempt(path)
    path.write_bytes(b"XX" + whole[2:])  # the first file
    assert "damaged.zip/a.jsonl: cannot be read (Bad magic number for file header)" in attempt(path)
    path.write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])  # its content
    assert "damaged.zip/a.jsonl: cannot be read (" in attempt(path)
    at = whole.index(b"PK\x01\x02") + 16
    path.write_bytes(whole[:at] + b"\0\0\0\0" + whole[at + 4 :])  # its checksum
    assert "Bad CRC-32" in attempt(path)
    path.write_bytes(whole[: len(whole) // 2])
    assert "is a zip archive that is damaged, inside another archive, or from a stream; unpack it" in attempt(path)


def test_a_damaged_directory_leaks_no_bytes_into_the_sentence(tmp_path: Path) -> None:
    whole = bytearray(zipped())
    directory = whole.index(b"PK\x01\x02")
    name = whole.index(b"a.jsonl", directory)
    whole[directory + 8 : directory + 10] = b"\0\x08"  # names are UTF-8
    whole[name : name + 7] = b"\xff\x1b[31m\xfe"
    (tmp_path / "damaged.zip").write_bytes(whole)
    sentence = attempt(tmp_path / "damaged.zip")
    assert "cannot be read (" in sentence and sentence.isascii() and sentence.isprintable()
    assert len(sentence.partition("(")[2]) < 150


@pytest.mark.parametrize("keep", [40, 200])
def test_a_torn_office_document_is_told_from_a_torn_archive(tmp_path: Path, keep: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>" * 100)
    for name, content in (("a.docx", stream.getvalue()), ("b.docx", zipped()), ("c.zip", stream.getvalue())):
        (tmp_path / name).write_bytes(content[: max(keep, 60)])
        assert f"{name}: is an office document; save its text" in attempt(tmp_path / name)


def test_read_corpus_refuses_an_encrypted_zip(tmp_path: Path) -> None:
    whole = bytearray(zipped())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := whole.find(sign, start + 1)) >= 0:
            whole[start + place] |= 1
    (tmp_path / "secret.zip").write_bytes(whole)
    assert "is encrypted, password required" in attempt(tmp_path / "secret.zip")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_read_corpus_of_any_damaged_zip_is_documents_or_a_sentence(compression: int, tmp_path: Path) -> None:
    whole, chance, path = zipped(compression), random.Random(compression), tmp_path / "made.zip"
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice((len(damaged), chance.randrange(len(damaged))))])
        refused += attempt(path) != ""
    assert refused > 50


@pytest.mark.parametrize(
    ("name", "content", "packer"),
    [
        ("a.xz", lzma.compress(LINES.encode()), "xz"),
        ("a.bz2", bz2.compress(LINES.encode()), "bzip2"),
        ("a.zst", b"\x28\xb5\x2f\xfd" + bytes(20), "Zstandard"),
        ("a.gz", gzip.compress(gzip.compress(LINES.encode())), "gzip twice"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(20), "7-Zip"),
    ],
    ids=["xz", "bzip2", "zstd", "gzip", "7z"],
)
def test_read_corpus_says_what_packed_a_file(name: str, content: bytes, packer: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    message = f"{tmp_path / name}: is packed with {packer}, but only gzip and zip can be read; unpack it first"
    assert attempt(tmp_path / name) == message
    for reader in (FORMATS[name].read for name in READERS):
        with pytest.raises(InputError, match=r"is packed with|two files|is in its folder"):
            list(reader(Source("standard input", stream=io.BytesIO(content)), Problems()))


def test_read_corpus_refuses_tar_in_gzip(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("a.jsonl")
        entry.size = len(LINES)
        archive.addfile(entry, io.BytesIO(LINES.encode()))
    assert "is packed with tar" in attempt(tmp_path / "a.tar.gz")


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("brat", "ace")])
def test_readers_refuse_damaged_gzip(name: str) -> None:
    packed = gzip.compress(LINES.encode())
    for damaged in (packed[:30], packed[:-8] + bytes(8), packed[:12] + b"\xff\xff" + packed[14:]):
        with pytest.raises(CorpusError, match=r"made.gz: cannot be read \(|is no DocBin|^made.gz:"):
            list(FORMATS[name].read(Source("made.gz", stream=io.BytesIO(damaged)), Problems()))


@pytest.mark.parametrize(
    ("name", "head", "tail"),
    [
        ("jsonl", b'{"text": "', b""),
        ("jsonl", b'{"text":\n"', b'"}'),
        ("doccano", b'[{"text": "', b'"}]'),
        ("doccano", b'[{"text":\n"', b'"}]'),
        ("jsonl", b"{\n", b""),
        ("columns", b"", b""),
        ("conll2003", b"", b""),
        ("four-lines", b"", b""),
        ("w2ner", b'{"sentence": ["', b""),
    ],
)
def test_readers_refuse_lines_and_records_beyond_the_limit(
    name: str, head: bytes, tail: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (source, json_values):
        monkeypatch.setattr(module, "LONGEST_LINE", 2**20)
    monkeypatch.setattr(source, "LARGEST_TEXT", 2**20)
    path = tmp_path / "bomb.gz"
    fill = b" \n" if head == b"{\n" else b"x"
    path.write_bytes(gzip.compress(head + fill * (BOMB // len(fill)) + tail, 1))
    with pytest.raises(CorpusError, match=r"bomb.gz(:\d: a (line|record))? has more than 1 MiB.* cut it into several"):
        list(FORMATS[name].read(Source(str(path), path), Problems()))


def test_source_text_and_docbin_have_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(source, "LARGEST_TEXT", 2**20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(BOMB), 1))
    with pytest.raises(CorpusError, match=r"bomb.gz has more than 1 MiB, but must fit into memory"):
        Source(str(path), path).text()
    pytest.importorskip("spacy")
    from hyperspan.corpora import docbin

    monkeypatch.setattr(docbin, "LARGEST_TEXT", 2**20)
    (tmp_path / "bomb.spacy").write_bytes(zlib.compress(bytes(BOMB), 1))
    assert "bomb.spacy: unpacks to more than 1 MiB" in attempt(tmp_path / "bomb.spacy")


def test_source_text_has_a_limit_for_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE_OF_TEXT", 2**20)

    def text(content: bytes) -> str:
        return Source("made.txt", stream=io.BytesIO(content)).text()

    line = b"x" * 2**20
    assert len(text(line)) == 2**20
    assert len(text((line + b"\n") * 3)) == 3 * 2**20 + 3
    for before in (b"", b"a\n", line + b"\n"):
        place = f"made.txt:{before.count(10) + 1}: a line has more than 1 MiB"
        with pytest.raises(CorpusError, match=place):
            text(before + line + b"x\nb\n")


def test_archives_of_many_files_are_opened_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(300):
            archive.writestr(f"{number}.ann", "T1\tGPE 0 2\tOz\n")
            archive.writestr(f"{number}.txt", "Oz")
    opened = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal opened
        opened += event == "call" and frame.f_code is zipfile.ZipFile.__init__.__code__  # type: ignore[attr-defined]

    sys.setprofile(count)
    try:
        assert len(list(read_corpus(tmp_path / "many.zip", "brat"))) == 300
    finally:
        sys.setprofile(None)
    assert opened == 1


def test_sources_in_follows_an_archive_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "made.zip"
    for text in ("Oz", "Kansas"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", text)
        assert [found.text() for found in sources_in(path)] == [text]


MEASURED = """
from pathlib import Path
import sys
from hyperspan.cli import main
try:
    main()
finally:  # the most that this process has ever held, without those before it and beside it
    print(Path("/proc/self/status").read_text(), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_line_of_400_mb_is_one_sentence_in_little_memory() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bomb.jsonl.gz"
        with gzip.open(path, "wb", 1) as file:
            file.write(b'{"format": "hyperspan", "version": 1, "text": "')
            for _ in range(400):
                file.write(b"x" * 2**20)
        command = [sys.executable, "-c", MEASURED, "convert", str(path), "-", "--format", "jsonl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "bomb.jsonl.gz:1: a line has more than 128 MiB" in done.stderr
    assert done.stdout == ""
    [kilobytes] = re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)
    assert 20_000 < int(kilobytes) < 800_000
