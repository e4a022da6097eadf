"""File names, local or remote: a path, or any URL that pyarrow can open (s3://, gs://, hdfs://, fsspec+NAME://)."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote, unquote, urlsplit

from hyperspan.errors import InputError, require
from hyperspan.files import is_url

BLOCK = 1 << 20
"""The number of bytes requested at a time."""


def absolute(name: str) -> str:
    """The name in a form that is valid in every process, on any machine.

    >>> absolute("file:///texts/a%20b.txt"), absolute("s3://bucket/texts/")
    ('/texts/a b.txt', 's3://bucket/texts')
    """
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
    require("pyarrow", f"reading and writing {scheme}://", "parquet")
    from pyarrow.fs import FileSystem

    try:
        return FileSystem.from_uri(url)
    except (OSError, ValueError, ImportError, NotImplementedError) as error:
        raise InputError(
            f"{url} cannot be opened ({_first_line(error)}); check the URL and your rights to it"
        ) from None


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
        raise InputError(f"{name} cannot be read ({_first_line(error)}); check that it is there and complete") from None


def _first_line(error: BaseException) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return said.partition("\n")[0].removesuffix(".")
