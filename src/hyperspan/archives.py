"""Files that hold others: gzip and zip, which are unpacked, and those that are not. Whatever is wrong with one is a sentence."""

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

from hyperspan.contents import HEAD, OFFICE, begins_as_office, signature_of
from hyperspan.errors import CorpusError

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What the standard library raises for bytes that are cut off or damaged."""
NO_ZIP = (*DAMAGED, RuntimeError, ValueError, struct.error, OverflowError)
"""What it raises besides for archives that are encrypted, packed in a way it does not know, or whose directory is damaged."""
_OFFICE = {"[Content_Types].xml", "mimetype"}
"""Members that the archives of office documents and e-books have."""


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Says of damage that is met while a file is read which file it is in."""
    try:
        yield
    except DAMAGED as error:
        raise _unreadable(name, error) from None


def check_unpacked(name: str, head: bytes) -> None:
    """Raises an error where a file that begins so would have to be unpacked or converted first.

    >>> check_unpacked("made.xz", b"\\xfd7zXZ\\x00\\x00")
    Traceback (most recent call last):
    ...
    hyperspan.errors.CorpusError: made.xz: is packed with xz, but gzip and zip alone are unpacked here; unpack it first
    """
    if begins_as_office(head, name):
        raise CorpusError(f"{name}: is {OFFICE}")
    signature = signature_of(head)
    if signature is None or not signature.packer:
        return
    if signature.packer == "zip":
        raise CorpusError(
            f"{name}: is a zip archive that is damaged, inside another archive, or from a stream; unpack it first, and give the "
            "files in it"
        )
    raise CorpusError(
        f"{name}: is packed with {signature.packer}, but gzip and zip alone are unpacked here; unpack it first"
    )


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive; one that is cut off is not, as its directory stands at its end."""
    return path.is_file() and zipfile.is_zipfile(path)


def is_office_document(path: Path) -> bool:
    """Whether a file is the archive of an office document or an e-book, also of one that is damaged, and not one of texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not _OFFICE.isdisjoint(archive.namelist())
    except NO_ZIP:
        with suppress(OSError), path.open("rb") as file:
            return begins_as_office(file.read(HEAD), path.name)
        return False


def members_of(path: Path) -> list[str]:
    """The names of the files in a zip archive."""
    try:
        return _archive(path).namelist()
    except NO_ZIP as error:
        raise _unreadable(str(path), error) from None


def has_member(path: Path, member: str) -> bool:
    """Whether a zip archive has a file of this name."""
    try:
        return member in _archive(path).NameToInfo
    except NO_ZIP:
        return False


def open_member(path: Path, member: str) -> IO[bytes]:
    """A file of a zip archive, to read."""
    try:
        return _archive(path).open(member)
    except (*NO_ZIP, KeyError) as error:
        raise _unreadable(f"{path}/{member}", error) from None


def _archive(path: Path) -> zipfile.ZipFile:
    """The archive, which stays open for its next file: its directory is read once, not once for each."""
    about = path.stat()
    # A process that was forked must not share the place in the file at which its parent reads.
    return _opened(path.absolute(), about.st_mtime_ns, about.st_size, os.getpid())


@lru_cache(maxsize=1)
def _opened(path: Path, *_: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _unreadable(name: str, error: BaseException) -> CorpusError:
    reason = ascii(" ".join(str(error).split()))[1:-1] or type(error).__name__
    reason = reason if len(reason) <= 80 else f"{reason[:60]} …"
    return CorpusError(f"{name}: cannot be read ({reason}); check that it is complete and readable")
