"""Open text files, compressed or not, and write files atomically.

Output goes to a temporary file next to the target, which is renamed into place at the end.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from hyperspan.errors import InputError, OutputExistsError

MAX_BUFFERED_BYTES = 16 * 2**20
"""A buffered stream keeps up to this many bytes in memory, and larger content on disk."""

TEXT_SUFFIXES = (".txt", ".txt.gz", ".txt.xz")
"""The suffixes of unlabelled text files."""
TEXT_ERRORS = (EOFError, UnicodeError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
"""The exceptions of reading such a file if it is damaged or not UTF-8."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(name: str) -> bool:
    """Whether a name is a URL of a remote file.

    >>> is_url("s3://bucket/texts"), is_url("./odd://name.jsonl"), is_url("file:///texts")
    (True, False, False)
    """
    return _SCHEME.match(name) is not None and not name.startswith("file://")


def open_text(path: Path) -> IO[str]:
    """Open a UTF-8 text file for reading; names in .gz or .xz are decompressed."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    return cast(IO[str], openers.get(path.suffix, open)(path, "rt", encoding="utf-8-sig"))


def check_name(name: str) -> None:
    """Raise an error for a name that no file can have."""
    if "\0" in name:
        raise InputError(f"{name!r:.80} has the character NUL, which no name of a file has; leave it out")


def check_regular(path: Path) -> None:
    """Raise an OSError for folders, pipes and devices, which may never end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Read the bytes of a regular file; see :func:`check_regular`."""
    check_regular(path)
    return path.read_bytes()


@dataclass
class Target:
    """An output: a file, a folder, or standard output ("-"). Files and new folders appear only once complete."""

    name: str
    force: bool = False
    buffered: bool = False
    """Whether standard output and pipes are also written all or nothing, so an error leaves no partial output."""

    @property
    def path(self) -> Path:
        """The path of the file or folder. Raises for standard output."""
        if self.name == "-":
            raise InputError("this format writes several files; name a folder instead of - for standard output")
        check_name(self.name)
        return Path(self.name)

    def check(self) -> None:
        """Raise now the errors that writing a file would raise later."""
        if self.name != "-":
            _check_free(self.path, self.force)

    @contextmanager
    def open_binary(self) -> Iterator[IO[bytes]]:
        """Open a byte stream, compressed with gzip if the name ends in .gz."""
        if self.name == "-":
            with self._buffer(sys.stdout.buffer) as stream:
                yield stream
            sys.stdout.buffer.flush()
            return
        path = self.path.resolve() if self.path.is_symlink() else self.path  # a link stays a link
        _check_free(path, self.force)
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced by a rename
            with path.open("wb") as raw, self._buffer(raw) as stream:
                yield stream
            return
        temporary, file = _new_beside(path)
        try:
            with file as raw:
                if path.suffix == ".gz":
                    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                        yield cast(IO[bytes], packed)
                else:
                    yield raw
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    @contextmanager
    def _buffer(self, stream: IO[bytes]) -> Iterator[IO[bytes]]:
        """Yield the stream or, if `buffered`, a buffer that is copied to it at the end."""
        if not self.buffered:
            yield stream
            return
        with tempfile.SpooledTemporaryFile(MAX_BUFFERED_BYTES) as buffer:
            yield cast(IO[bytes], buffer)
            buffer.seek(0)
            shutil.copyfileobj(buffer, stream)

    @contextmanager
    def open(self) -> Iterator[IO[str]]:
        """Open a UTF-8 text stream; lines end in "\\n"."""
        with self.open_binary() as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=False)
            try:
                yield text
                text.flush()
            except UnicodeEncodeError as error:
                character = error.object[error.start]
                raise InputError(
                    f"UTF-8 cannot hold the character {character!r}; remove lone surrogates before you write {self.name}"
                ) from None
            finally:
                with suppress(UnicodeEncodeError):  # what is left in the buffer is not to be written either
                    text.detach()

    @contextmanager
    def open_folder(self) -> Iterator[Path]:
        """Open a temporary folder to write files into; at the end it is renamed to the target.

        If the target folder exists, the files are moved there one by one.
        """
        path = self.path
        if path.exists() and not self.force and (not path.is_dir() or any(path.iterdir())):
            raise OutputExistsError(f"{path} exists and is not empty; choose another name or overwrite with --force")
        if not path.parent.is_dir():
            raise InputError(f"{path.parent} is not a directory; create it first to write {path.name} there")
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary:
            folder = Path(temporary) / "new"
            folder.mkdir()
            yield folder
            if not path.exists():
                folder.replace(path)
                return
            new = {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
            suffixes = {file.suffix for file in new}
            old = [file for file in path.rglob("*") if file.suffix in suffixes and file.relative_to(path) not in new]
            if old:  # readers would take them for part of the new output
                raise OutputExistsError(
                    f"{path} contains {len(old)} other files such as {old[0].name}; empty it or choose another name"
                )
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    place = path / file.relative_to(folder)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    file.replace(place)


def _new_beside(path: Path) -> tuple[Path, IO[bytes]]:
    """A new file in the same folder, with the permissions of any other new file, open for writing."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        return temporary, temporary.open("xb")
    except OSError as error:  # which names the temporary file
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _check_free(path: Path, force: bool) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a directory; name a file to write")
    if path.is_file() and not force:
        raise OutputExistsError(f"{path} exists; choose another name or overwrite it with --force")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a directory; create it first to write {path.name} there")


def lock(descriptor: int, sentence: str, seconds: float = 0.0) -> None:
    """Lock an open file until all processes that have inherited its descriptor have closed it.

    If another process holds it for so many seconds more, raise an error with the sentence. Does nothing where files
    cannot be locked.
    """
    try:
        import fcntl
    except ImportError:  # unavailable on this system
        return
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise OutputExistsError(sentence) from None
            time.sleep(0.02)
        except OSError:  # a filesystem without locks
            return
        else:
            return


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk, so that a new one survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
