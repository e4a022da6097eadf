"""Open, decompress and stream files of word vectors and Brown clusters."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hyperspan.corpora.file_types import GZIP, HEAD_BYTES, is_archive, members_of, open_member, unpacking
from hyperspan.errors import CorpusError, InputError

ZIP = b"PK\x03\x04"
_LONGEST_LINE = 16 * 2**20
"""The maximum number of bytes of a line."""


def head_of(path: Path) -> bytes:
    """The first bytes of a file, decompressed; an error if the file is missing or empty."""
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file of word vectors or clusters")
    if not path.is_file():
        raise InputError(f"{path} is not a file; name a file of word vectors or clusters")
    with opened(path) as stream:
        head = stream.read(HEAD_BYTES)
    if not head.strip():
        raise CorpusError(f"{path}: the file is empty; check that it was downloaded completely")
    return head


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file; damage found while reading raises a CorpusError."""
    with unpacking(str(path)), path.open("rb") as raw:
        if raw.peek(2)[:2] == GZIP:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield io.BufferedReader(unpacked)  # type: ignore[arg-type]
        elif raw.peek(4)[:4] == ZIP and (member := _only_member(path)):
            with open_member(path, member) as unpacked:
                yield io.BufferedReader(unpacked)  # type: ignore[arg-type]
        else:
            yield raw


def _only_member(path: Path) -> str | None:
    """The single file in a zip archive; None if the archive is an npz file or damaged."""
    members = [name for name in members_of(path) if not name.endswith("/")] if is_archive(path) else []
    if not members or any(name.endswith(".npy") for name in members):
        return None
    if len(members) > 1:
        raise CorpusError(
            f"{path}: holds {len(members)} files ({', '.join(members)[:200]}); unpack it and name one of them"
        )
    return members[0]


def numbered_lines(path: Path, stream: IO[bytes], start: int = 1) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; a small archive can unpack to a line of any size."""
    number = start
    while line := stream.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            most = f"a line of more than {_LONGEST_LINE // 2**20} MiB"
            raise CorpusError(
                f"{path}:{number}: {most}, which no file of word vectors or clusters has; check its format"
            )
        yield number, line
        number += 1


def decoded(text: bytes, where: str, advice: str = "convert the file to UTF-8") -> str:
    """Decode bytes as UTF-8; raise a CorpusError that names the place in the file."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{where}: {text[:40]!r} is not UTF-8 text ({error.reason}); {advice}") from None


_DEEPEST = 1_000
"""The longest path to a cluster; real trees have a few dozen steps."""


def read_clusters(path: str | Path) -> dict[str, str]:
    """Read Brown clusters: map each word to the path of its cluster from the root of the tree, a string of 0 and 1.

    Lines are `bits<TAB>word<TAB>count`, as the clustering program writes them (a count may be missing), or
    `word<TAB>id`, as spaCy publishes them: the id is the path read as a number *from its end*, so that `id & 15` are
    the first four steps. Such an id has lost the trailing zeros of the path; they are restored as far as the other
    paths require, since no path is a prefix of another. Words with the id 0 have no cluster and are left out.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "clusters.tsv"
    >>> _ = file.write_text("0010\\tLondon\\t52\\n0011\\tMonday\\t17\\n", encoding="utf-8")
    >>> read_clusters(file)
    {'London': '0010', 'Monday': '0011'}
    >>> _ = file.write_text("London\\t4\\nMonday\\t12\\nxyzzy\\t0\\n", encoding="utf-8")
    >>> read_clusters(file)
    {'London': '0010', 'Monday': '0011'}
    """
    path = Path(path)
    head_of(path)
    rows: list[tuple[int, list[str]]] = []
    with opened(path) as stream:
        for number, raw in numbered_lines(path, stream):
            line = raw.rstrip(b"\r\n")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line:
                rows.append((number, decoded(line, f"{path}:{number}").split("\t")))
    for number, row in rows:
        if len(row) not in (2, 3):
            raise CorpusError(
                f"{path}:{number}: {len(row)} columns between tabs; expected bits, word, count or word, id of a Brown cluster"
            )
    if all(_is_bits(row[0]) for _, row in rows):
        clusters = ((row[1], row[0]) for _, row in rows)
    elif all(_is_bits(row[1]) for _, row in rows):  # the columns exchanged: real ids have other digits too
        clusters = ((row[0], row[1]) for _, row in rows)
    else:
        clusters = _paths_of_ids(path, rows)
    first: dict[str, str] = {}
    for word, bits in clusters:
        first.setdefault(word, bits)
    return first


def _is_bits(text: str) -> bool:
    return 0 < len(text) <= _DEEPEST and not text.strip("01")


def _paths_of_ids(path: Path, rows: list[tuple[int, list[str]]]) -> Iterator[tuple[str, str]]:
    """Words and paths from words and ids."""
    for number, row in rows:
        fits = _is_bits(row[0]) if len(row) == 3 else row[1].isascii() and row[1].isdecimal() and len(row[1]) < 300
        if not fits or len(row) != len(rows[0][1]):
            message = (
                f"{str(row)[:200]} is neither bits, word, count nor word, id; expected Brown clusters, all lines alike"
            )
            raise CorpusError(f"{path}:{number}: {message}")
    stripped = [(row[0], format(int(row[1]), "b")[::-1]) for _, row in rows if int(row[1])]
    inner = {bits[:end] for bits in {bits for _, bits in stripped} for end in range(len(bits))}
    for word, bits in stripped:
        leaf = bits
        while leaf in inner:
            leaf += "0"
        yield word, leaf
