"""The inputs of a bulk job: files of JSON Lines, Parquet, CSV or text, and folders of them, local or behind a URL."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from hyperspan.bulk.places import Stamp, absolute, below, opened, readable, remote, stamp_from, stamp_from_url
from hyperspan.corpora.file_types import GZIP, HEAD_BYTES, why_not_text
from hyperspan.corpora.tables import TABLES
from hyperspan.errors import InputError, require
from hyperspan.files import is_url

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


@dataclass(frozen=True)
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
        require("pyarrow", "reading Parquet", "parquet")
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
    path = Path(place)
    try:
        if path.is_dir():
            for file in sorted(_below(path)):
                inside, about = file.relative_to(path), file.stat()
                if stat.S_ISREG(about.st_mode):
                    yield str(file), stamp_from(about), str(inside)
        elif stat.S_ISREG((about := path.stat()).st_mode):
            yield str(path), stamp_from(about), ""
        else:
            raise InputError(
                f"a bulk job reads its inputs again when it is resumed, which {place}, no plain file, cannot be; name files or folders"
            )
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise InputError(f"{error.filename or place} {what}; check the name and your rights to it") from None


def _below(folder: Path) -> Iterator[Path]:
    """All files in a folder and below, following links; an unreadable folder is an error."""

    def fail(error: OSError) -> None:
        raise error

    seen: set[str] = set()
    for name, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        folders.sort()
        seen.add(os.path.realpath(name))
        folders[:] = [inner for inner in folders if os.path.realpath(Path(name) / inner) not in seen]
        yield from (Path(name) / file for file in files)


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
