"""The folder that a bulk job writes, local or behind a URL: every file in it is complete or absent."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from hyperspan.bulk.inputs import BLOCK, absolute, remote
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.files import Target, is_url, lock, sync_folder

LOCK = ".lock"
PATIENCE = 5.0
"""The seconds to wait for a lock: workers of a run that was killed may need a moment to end."""


class Folder:
    """A folder of files, on this machine or on a mounted filesystem."""

    inherited: tuple[int, ...] = ()
    """Descriptors that worker processes must hold, so that the folder is locked as long as one of them lives."""

    def __init__(self, name: str):
        self.name = name

    @property
    def path(self) -> Path:
        return Path(self.name)

    def sizes(self, below: str = "") -> dict[str, int]:
        """The names and sizes in bytes of all files in the folder, or in a subfolder."""
        sizes: dict[str, int] = {}
        with suppress(FileNotFoundError, NotADirectoryError):
            for entry in os.scandir(self.path / below):
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        sizes[entry.name] = entry.stat().st_size
        return sizes

    def names(self) -> set[str]:
        """The names of the files and folders in the folder, but for a lock and unfinished files."""
        return {file.name for file in self.path.iterdir() if file.name != LOCK and not _is_beside(file.name)}

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None if it does not exist."""
        with suppress(FileNotFoundError):
            return (self.path / name).read_bytes()

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file with their ends, one by one; none if it does not exist."""
        with suppress(FileNotFoundError), (self.path / name).open("rb") as stream:
            yield from stream

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A stream to a new file, which gets its name when it is complete and replaces an existing file."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        with Target(str(path), force=True).open_binary() as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(path.parent)

    def discard(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def remove_empty(self, below: str) -> None:
        """Remove a subfolder, unless there is something in it."""
        with suppress(OSError):
            (self.path / below).rmdir()

    def remove(self, below: str, names: list[str]) -> None:
        """Remove files, and their subfolder if it is then empty."""
        for name in names:
            self.discard(f"{below}/{name}".lstrip("/"))
        if below:
            self.remove_empty(below)

    def sweep(self, *folders: str) -> None:
        """Remove leftovers of killed writers."""
        for below in ("", *folders):
            self.remove(below, [name for name in self.sizes(below) if _is_beside(name)])

    @contextmanager
    def created(self) -> Iterator[None]:
        """Create the folder, and lock it against other runs on this machine. A new one that stays empty is removed."""
        if self.path.exists() and not self.path.is_dir():
            raise OutputExistsError(f"{self.path} exists and is no folder; choose another name")
        if not self.path.parent.is_dir():
            raise InputError(f"{self.path.parent} is not a directory; create it first to write {self.path.name} there")
        is_new = not self.path.exists()
        self.path.mkdir(exist_ok=True)
        try:
            with _locked(self.path / LOCK) as descriptor:
                self.inherited = (descriptor,)
                yield
        finally:
            self.inherited = ()
            if is_new:
                self.remove_empty("")


class RemoteFolder(Folder):
    """A folder behind a URL, where concurrent runs cannot be detected."""

    def __init__(self, name: str):
        super().__init__(name)
        self.filesystem, self.root = remote(name)

    def sizes(self, below: str = "") -> dict[str, int]:
        return {info.base_name: info.size for info in self._listed(below) if info.is_file}

    def names(self) -> set[str]:
        return {info.base_name for info in self._listed() if not _is_beside(info.base_name)}

    def read(self, name: str) -> bytes | None:
        path = self._path(name)
        if not self.filesystem.get_file_info(path).is_file:
            return None
        with self.filesystem.open_input_file(path) as stream:
            return stream.read()

    def lines(self, name: str) -> Iterator[bytes]:
        path = self._path(name)
        if self.filesystem.get_file_info(path).is_file:
            with self.filesystem.open_input_file(path) as native, io.BufferedReader(native, BLOCK) as stream:
                yield from stream

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        below, _, last = name.rpartition("/")
        self.filesystem.create_dir(self._path(below), recursive=True)
        beside = self._path(f"{below}/.{last}.{uuid.uuid4().hex}")
        try:
            with self.filesystem.open_output_stream(beside) as stream:
                yield cast(IO[bytes], stream)
            self.filesystem.move(beside, self._path(name))
        except BaseException:
            with suppress(OSError):
                self.filesystem.delete_file(beside)
            raise

    def discard(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self._path(name))

    def remove_empty(self, below: str) -> None:
        if not self._listed(below):
            with suppress(OSError):
                self.filesystem.delete_dir(self._path(below))

    @contextmanager
    def created(self) -> Iterator[None]:
        self.filesystem.create_dir(self.root, recursive=True)
        yield

    def _listed(self, below: str = "") -> list[Any]:
        from pyarrow.fs import FileSelector

        return self.filesystem.get_file_info(FileSelector(self._path(below), allow_not_found=True))

    def _path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name.strip('/')}".rstrip("/")


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Hold a lock, and remove its file at the end. The lock of a killed process is free."""
    sentence = f"another run is writing to {path.parent}; wait until it has ended, or choose another folder"
    while True:
        with path.open("a+") as file:
            lock(file.fileno(), sentence, PATIENCE)
            if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue  # another run has just removed this file, and a third may have made a new one
            try:
                yield file.fileno()
            finally:
                path.unlink(missing_ok=True)
            return


def folder_at(name: str) -> Folder:
    """The folder of a name; the same in every process."""
    place = absolute(name)
    return RemoteFolder(place) if is_url(place) else Folder(place)


def _is_beside(name: str) -> bool:
    """Whether it is the name of an unfinished file, as :class:`Target` and `RemoteFolder` name them."""
    return name.startswith((".part-", ".manifest", ".plan.jsonl."))
