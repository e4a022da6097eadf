"""Names of files, here or elsewhere: a path, or any URL that pyarrow can open (s3://, gs://, hdfs://,
fsspec+NAME://)."""

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
"""How many bytes are asked for at a time."""


def absolute(name: str) -> str:
    """The name as every process understands it, wherever it runs.

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
    """One a host and process: some ask the network who they are."""
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
    """The URL of a path that is below the path `base` of a URL.

    >>> below("s3://bucket/texts?region=x", "bucket/texts/a b.txt", "bucket/texts")
    's3://bucket/texts/a%20b.txt?region=x'
    """
    parts = urlsplit(url)
    rest = quote(path.removeprefix(base.rstrip("/")).lstrip("/"))
    after = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/{rest}{after}"


Stamp = tuple[int, int]
"""The bytes of a file, and when it was written last, in nanoseconds: another file has another."""


def stamp_from(about: os.stat_result) -> Stamp:
    return about.st_size, about.st_mtime_ns


def stamp_from_url(about: Any) -> Stamp:
    return about.size, about.mtime_ns or 0


def stamp_of(name: str) -> Stamp:
    """That of a file, which must be there."""
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
    """The bytes of a file as they are, from where one likes."""
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
    """What goes wrong in here is that this file cannot be read."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise InputError(f"{name} cannot be read ({_first_line(error)}); check that it is there and complete") from None


def _first_line(error: BaseException) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return said.partition("\n")[0].removesuffix(".")
