"""An output of ``hyperspan annotate`` is what its name says: a file, a folder, or the folder of a bulk job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from hyperspan.bulk.places import is_url
from hyperspan.cli.inputs import CORPORA, TEXTS, exists
from hyperspan.contents import DOCUMENTS
from hyperspan.corpora.registry import WRITERS
from hyperspan.errors import InputError

FOLDERS = ("brat",)
"""The formats that are folders of files."""
FILES = (*DOCUMENTS, *TEXTS, *CORPORA, ".parquet", ".csv", ".ndjson", ".gz")
"""How names of files end."""
_JSON = (".json", ".jsonl", ".jsonlines", ".ndjson")
_WORDS = (".conll", ".data", ".tsv", ".iob", ".iob2", ".bio", ".txt")
SUFFIXES: dict[str, tuple[str, ...]] = {
    "terminal": TEXTS,
    "html": (".html", ".htm", ".xhtml"),
    "parquet": (".parquet",),
    **dict.fromkeys(WRITERS, _JSON),
    **dict.fromkeys(("four-lines", "conll2003", "columns"), _WORDS),
    "docbin": (".spacy",),
    "brat": (),
}
"""By format: those of :data:`FILES` that a name may end in. Formats with lines of words, or of JSON, share theirs."""


def is_folder(output: str) -> bool:
    """Whether a name is that of a folder: it ends in /, or there is one."""
    return output != "-" and (output.endswith("/") or is_url(output) or Path(output).is_dir())


def is_bulk(output: str, format_name: str | None, engine: object) -> bool:
    """Whether a folder of shards is asked for.

    >>> is_bulk("found/", None, None), is_bulk("found/", "brat", None), is_bulk("found.jsonl", None, None)
    (True, False, False)
    """
    return bool(engine) or format_name == "parquet" or (format_name in (None, "jsonl") and is_folder(output))


def check_output(output: str, format_name: str | None, bulk: bool, given: Sequence[str] = ()) -> None:
    """Raises an error for an output that is an input, or whose name says something else than what would be written there.

    >>> check_output("all.html", None, bulk=True)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: all.html is the name of a file, but a bulk job writes a folder of shards; let it end in /
    >>> check_output("all.html", "jsonl", bulk=False)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: all.html ends in .html, but jsonl would be written there; let it end in .jsonl, or leave out --format
    """
    if output == "-":
        return
    named_as_file = not is_folder(output) and output.endswith(FILES)
    if named_as_file and (bulk or output.endswith(".parquet")):
        raise InputError(f"{output} is the name of a file, but a bulk job writes a folder of shards; let it end in /")
    if not bulk and named_as_file and (format_name in FOLDERS or output.endswith(".ann")):
        raise InputError(
            f"{output} is the name of a file, but brat is a folder of .txt and .ann files; let it end in /"
        )
    if not bulk and is_folder(output) and format_name not in FOLDERS:
        raise InputError(f"{output} is a folder, but {format_name} is written to one file; name a file on this machine")
    _check_no_input(output, format_name, given)
    if format_name is not None or bulk:
        _check_suffix(output, format_name or "jsonl")


def _check_suffix(output: str, format_name: str) -> None:
    """Raises an error where a name ends as those of files in other formats do."""
    suffix = PurePosixPath(output.lower().rstrip("/").removesuffix(".gz")).suffix
    if suffix not in FILES or suffix in SUFFIXES.get(format_name, FILES):
        return
    if is_folder(output):
        raise InputError(
            f"{output} ends in {suffix}, but a folder with {format_name} would be written; name a folder without {suffix}"
        )
    own = f".{format_name}" if f".{format_name}" in SUFFIXES[format_name] else SUFFIXES[format_name][0]
    raise InputError(
        f"{output} ends in {suffix}, but {format_name} would be written there; let it end in {own}, or leave out --format"
    )


def _check_no_input(output: str, format_name: str | None, given: Sequence[str]) -> None:
    """Raises an error where an input would be overwritten, with --force too."""
    if is_url(output):
        return
    target = os.path.realpath(output)
    for name in given:
        if name == "-" or not exists(name):
            continue
        source = os.path.realpath(name)
        in_folder = str(Path(source).parent) == target and format_name in FOLDERS
        among_texts = Path(target).is_file() and target.startswith(f"{source}{os.sep}") and target.endswith(TEXTS)
        if source == target or in_folder or among_texts:
            raise InputError(f"{output} is also read, as {name}, and is not overwritten; name another --output")
