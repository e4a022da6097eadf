"""Read gzip and zip files; reject other compression formats and damaged archives with a clear error."""

from __future__ import annotations

import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from hyperspan.corpora.file_types import HEAD_BYTES, OFFICE, looks_like_office, signature_of
from hyperspan.errors import CorpusError

READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""The exceptions of the standard library for truncated or damaged files."""
ZIP_ERRORS = (*READ_ERRORS, RuntimeError, ValueError, struct.error, OverflowError)
"""Its exceptions for zip archives that are damaged, encrypted, or compressed by an unknown method."""
_OFFICE = {"[Content_Types].xml", "mimetype"}
"""A zip archive with one of these members is an office document or an e-book."""


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Turn the errors of damaged files into a :class:`CorpusError` that names the file."""
    try:
        yield
    except READ_ERRORS as error:
        raise _unreadable(name, error) from None


def check_unpacked(name: str, head: bytes) -> None:
    """Raise an error if a file with these first bytes must be unpacked or converted first.

    >>> check_unpacked("made.xz", b"\\xfd7zXZ\\x00\\x00")
    Traceback (most recent call last):
    ...
    hyperspan.errors.CorpusError: made.xz: is packed with xz, but only gzip and zip can be read; unpack it first
    """
    if looks_like_office(head, name):
        raise CorpusError(f"{name}: is {OFFICE}")
    signature = signature_of(head)
    if signature is None or not signature.compression:
        return
    if signature.compression == "zip":
        raise CorpusError(
            f"{name}: is a zip archive that is damaged, inside another archive, or from a stream; unpack it first and give the "
            "files in it"
        )
    raise CorpusError(
        f"{name}: is packed with {signature.compression}, but only gzip and zip can be read; unpack it first"
    )


def is_archive(path: Path) -> bool:
    """Whether a file is a complete zip archive; a truncated one has lost its directory."""
    return path.is_file() and zipfile.is_zipfile(path)


def is_office_document(path: Path) -> bool:
    """Whether a file is an office document or an e-book, even a damaged one, rather than an archive of texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not _OFFICE.isdisjoint(archive.namelist())
    except ZIP_ERRORS:
        with suppress(OSError), path.open("rb") as file:
            return looks_like_office(file.read(HEAD_BYTES), path.name)
        return False


def members_of(path: Path) -> list[str]:
    """Return the names of the files in a zip archive."""
    try:
        return _archive(path).namelist()
    except ZIP_ERRORS as error:
        raise _unreadable(str(path), error) from None


def has_member(path: Path, member: str) -> bool:
    """Whether a zip archive contains a file of this name."""
    try:
        return member in _archive(path).NameToInfo
    except ZIP_ERRORS:
        return False


def open_member(path: Path, member: str) -> IO[bytes]:
    """Open a file of a zip archive for reading."""
    try:
        return _archive(path).open(member)
    except (*ZIP_ERRORS, KeyError) as error:
        raise _unreadable(f"{path}/{member}", error) from None


def _archive(path: Path) -> zipfile.ZipFile:
    """Return the open archive; it stays open, so that its directory is read once, not once per member."""
    about = path.stat()
    # The process id is part of the key: a forked process must not share its parent's position in the file.
    return _opened(path.absolute(), about.st_mtime_ns, about.st_size, os.getpid())


@lru_cache(maxsize=1)
def _opened(path: Path, *_: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _unreadable(name: str, error: BaseException) -> CorpusError:
    reason = ascii(" ".join(str(error).split()))[1:-1] or type(error).__name__
    reason = reason if len(reason) <= 80 else f"{reason[:60]} …"
    return CorpusError(f"{name}: cannot be read ({reason}); check that it is complete and readable")
