"""Open, decompress and stream files of word vectors and Brown clusters."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hyperspan.corpora.archives import is_archive, members_of, open_member, unpacking
from hyperspan.corpora.file_types import GZIP
from hyperspan.errors import CorpusError, InputError

ZIP = b"PK\x03\x04"
_HEAD = 65_536
"""The number of bytes read to recognise the format of a file."""
_LONGEST_LINE = 16 * 2**20
"""The maximum number of bytes of a line."""


def head_of(path: Path) -> bytes:
    """The first bytes of a file, decompressed; an error if the file is missing or empty."""
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file of word vectors or clusters")
    if not path.is_file():
        raise InputError(f"{path} is not a file; name a file of word vectors or clusters")
    with opened(path) as stream:
        head = stream.read(_HEAD)
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
