"""The inputs of a bulk job: files of JSON Lines, Parquet, CSV or text, and folders of them, local or behind a URL.

A URL is anything that pyarrow can open: s3://, gs://, hdfs://, fsspec+NAME://.
"""

from __future__ import annotations

import functools
import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, cast, get_args
from urllib.parse import quote, unquote, urlsplit

from hyperspan.corpora.file_types import GZIP, HEAD_BYTES, why_not_text
from hyperspan.corpora.tables import TABLES
from hyperspan.errors import InputError, require
from hyperspan.files import check_name, is_url

BLOCK = 1 << 20
"""The number of bytes requested at a time."""
Kind = Literal["jsonl", "parquet", "csv", "tsv", "text", "lines"]
"""A document is a line of JSON, a row of Parquet, CSV or TSV, a file, or a line of text."""
KINDS: tuple[Kind, ...] = get_args(Kind)
SUFFIXES: dict[str, Kind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
}


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read."""

    name: str
    """Its absolute path or its URL."""
    kind: Kind
    bytes: int
    """Its size on disk, compressed if it is."""
    modified: int = 0
    """Its modification time in nanoseconds, if known."""
    id: str = ""
    """The id of the document, if the whole file is one."""


def find_inputs(given: Sequence[str], kind: Kind | None = None, output: str = "") -> tuple[list[Input], int]:
    """The files behind names of files and folders, each once, in a fixed order; and how many in folders were left out.

    Left out of folders: files with an unknown suffix or a name that begins with a dot or an underscore; tables (CSV,
    TSV) unless requested; and, uncounted, the folder of the output.
    """
    found: dict[str, Input] = {}
    own = f"{_itself(output)}/" if output else ""
    left_out = 0
    for name in given:
        if name == "-":
            raise InputError(
                "a bulk job reads its inputs again when it is resumed, which standard input cannot be; name files or folders"
            )
        place = absolute(name)
        for file, stamp, inside in _files(place):
            known = None if _is_hidden(inside) else _kind(file, kind, bool(inside))
            itself = _itself(file)
            itself = file if itself == file else itself  # so that the two of most files are one string
            is_output = bool(own) and f"{itself}/".startswith(own)
            if inside and (known is None or is_output):
                left_out += not is_output
            elif known is None:
                raise _unknown(file)
            else:
                called = _id(inside or PurePosixPath(_plain(file)).name) if known == "text" else ""
                found.setdefault(itself, Input(file, known, *stamp, called))
    if not found:
        raise InputError(
            f"{', '.join(given)} holds no files that end in {', '.join(SUFFIXES)}; name a folder that does, or the files"
        )
    if any(file.kind == "parquet" for file in found.values()):
        require("parquet", "reading Parquet")
    return list(found.values()), left_out


def _unknown(file: str) -> InputError:
    """The error for a named file with an unknown suffix."""
    with opened(file) as stream:
        head = stream.read(HEAD_BYTES)
    if not head.startswith(GZIP) and (what := why_not_text(head, file)) is not None:
        return InputError(f"{file} is no text but {what}")
    return InputError(f"the name {file} does not say what it holds; name it with --from, one of {', '.join(KINDS)}")


def kind_of(name: str) -> Kind | None:
    """The kind of a file by its suffix; Parquet is compressed internally, the others may be gzipped.

    >>> kind_of("a/b.jsonl.gz"), kind_of("s3://bucket/part.parquet?region=x"), kind_of("notes.pdf")
    ('jsonl', 'parquet', None)
    """
    return SUFFIXES.get(PurePosixPath(_plain(name).removesuffix(".gz")).suffix.lower())


def _kind(name: str, asked: Kind | None, in_folder: bool) -> Kind | None:
    """The kind to read a file as; None for a file in a folder whose suffix says otherwise."""
    said = kind_of(name)
    if in_folder and asked is None and said in TABLES:
        return None
    if asked is None or not in_folder or said in (None, asked) or (said, asked) == ("text", "lines"):
        return asked or said
    return None


def _plain(name: str) -> str:
    """The name without the query of a URL."""
    return name.partition("?")[0] if is_url(name) else name


def _files(place: str) -> Iterator[tuple[str, Stamp, str]]:
    """Every file behind a name: its name, its stamp, and its path inside the folder if the name is a folder."""
    if is_url(place):
        with readable(place):
            yield from _remote_files(place)
        return
    try:
        about = os.stat(place)  # noqa: PTH116
        if stat.S_ISDIR(about.st_mode):
            yield from _local_files(place, "", {os.path.realpath(place)})
        elif stat.S_ISREG(about.st_mode):
            yield place, stamp_from(about), ""
        else:
            raise InputError(
                f"a bulk job reads its inputs again when it is resumed, which {place}, no plain file, cannot be; "
                "name files or folders"
            )
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise InputError(f"{error.filename or place} {what}; check the name and your rights to it") from None


def _local_files(folder: str, inside: str, seen: set[str]) -> Iterator[tuple[str, Stamp, str]]:
    """All files of a folder and those below, by name, following links; `seen` are the folders that were entered."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 (a path for each of a million files takes a gigabyte)
        path, below_it = os.path.join(folder, name), f"{inside}{name}"  # noqa: PTH118
        about = os.stat(path)  # noqa: PTH116
        if stat.S_ISREG(about.st_mode):
            yield path, stamp_from(about), below_it
        elif stat.S_ISDIR(about.st_mode) and (itself := os.path.realpath(path)) not in seen:
            seen.add(itself)
            yield from _local_files(path, f"{below_it}/", seen)


def _remote_files(url: str) -> Iterator[tuple[str, Stamp, str]]:
    filesystem, path = remote(url)
    from pyarrow.fs import FileSelector

    info = filesystem.get_file_info(path)
    if info.is_file:
        yield url, stamp_from_url(info), ""
        return
    listed = filesystem.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    for file in sorted((file for file in listed if file.is_file), key=lambda file: file.path):
        inside = file.path.removeprefix(path.rstrip("/")).lstrip("/")
        yield below(url, file.path, path), stamp_from_url(file), inside


def _is_hidden(inside: str) -> bool:
    return any(part.startswith((".", "_")) for part in PurePosixPath(inside).parts)


def _itself(name: str) -> str:
    """A key that is equal for two names of the same file."""
    return name if is_url(name) else os.path.realpath(name)


def _id(name: str) -> str:
    """The name of a file without its suffixes, as text whatever its bytes.

    >>> _id("notes/ada.txt.gz")
    'notes/ada'
    """
    stem = name.removesuffix(".gz")
    return os.fsencode(stem.removesuffix(PurePosixPath(stem).suffix) or stem).decode("utf-8", errors="replace")


# -- names and URLs ----------------------------------------------------------------------------------------------------


def absolute(name: str) -> str:
    """The name in a form that is valid in every process, on any machine.

    >>> absolute("file:///texts/a%20b.txt"), absolute("s3://bucket/texts/")
    ('/texts/a b.txt', 's3://bucket/texts')
    """
    check_name(name)
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    if is_url(name):
        scheme, _, rest = name.partition("://")
        return f"{scheme}://{rest.rstrip('/')}"
    return os.path.abspath(name)  # noqa: PTH100 (which also takes .. out)


def remote(url: str) -> tuple[Any, str]:
    """The filesystem of a URL, and the path in it."""
    parts = urlsplit(url)
    filesystem, root = _filesystem(parts.scheme, parts.netloc, parts.query)
    return filesystem, root.rstrip("/") + unquote(parts.path)


@functools.lru_cache(maxsize=64)
def _filesystem(scheme: str, host: str, query: str) -> tuple[Any, str]:
    """One filesystem per host and process: some query the network for credentials."""
    url = f"{scheme}://{host}/" + (f"?{query}" if query else "")
    require("parquet", f"reading and writing {scheme}://")
    from pyarrow.fs import FileSystem

    try:
        return FileSystem.from_uri(url)
    except (OSError, ValueError, ImportError, NotImplementedError) as error:
        raise InputError(f"{url} cannot be opened ({first_line(error)}); check the URL and your rights to it") from None


def below(url: str, path: str, base: str) -> str:
    """The URL of a path below the path `base` of a URL.

    >>> below("s3://bucket/texts?region=x", "bucket/texts/a b.txt", "bucket/texts")
    's3://bucket/texts/a%20b.txt?region=x'
    """
    parts = urlsplit(url)
    rest = quote(path.removeprefix(base.rstrip("/")).lstrip("/"))
    after = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/{rest}{after}"


Stamp = tuple[int, int]
"""Size in bytes and modification time in nanoseconds, which identify a version of a file."""


def stamp_from(about: os.stat_result) -> Stamp:
    return about.st_size, about.st_mtime_ns


def stamp_from_url(about: Any) -> Stamp:
    return about.size, about.mtime_ns or 0


def stamp_of(name: str) -> Stamp:
    """The stamp of a file, which must exist."""
    with readable(name):
        if not is_url(name):
            return stamp_from(Path(name).stat())
        filesystem, path = remote(name)
        found = filesystem.get_file_info(path)
        if not found.is_file:
            raise FileNotFoundError(2, "No such file", name)
        return stamp_from_url(found)


@contextmanager
def opened(name: str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, seekable."""
    with readable(name):
        if is_url(name):
            filesystem, path = remote(name)
            with filesystem.open_input_file(path) as native, io.BufferedReader(native, BLOCK) as stream:
                yield cast(IO[bytes], stream)
        else:
            with Path(name).open("rb", buffering=BLOCK) as stream:
                yield stream


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn errors inside this context into "this file cannot be read"."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise InputError(f"{name} cannot be read ({first_line(error)}); check that it is there and complete") from None


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return said.partition("\n")[0].removesuffix(".")
