"""An output of ``hyperspan annotate`` is what its name says: a file, a folder, or the folder of a bulk job."""

from __future__ import annotations

from pathlib import Path

from hyperspan.bulk.places import is_url
from hyperspan.cli.inputs import CORPORA, TEXTS
from hyperspan.errors import InputError

FOLDERS = ("brat",)
"""The formats that are folders of files."""
FILES = (".html", ".htm", *TEXTS, *CORPORA, ".parquet", ".csv", ".gz")
"""How names of files end."""


def is_folder(output: str) -> bool:
    """Whether a name is that of a folder: it ends in /, or there is one."""
    return output != "-" and (output.endswith("/") or is_url(output) or Path(output).is_dir())


def is_bulk(output: str, format_name: str | None, engine: object) -> bool:
    """Whether a folder of shards is asked for.

    >>> is_bulk("found/", None, None), is_bulk("found/", "brat", None), is_bulk("found.jsonl", None, None)
    (True, False, False)
    """
    return bool(engine) or format_name == "parquet" or (format_name in (None, "jsonl") and is_folder(output))


def check_output(output: str, format_name: str | None, bulk: bool) -> None:
    """Raises an error for an output whose name says something else than what would be written there.

    >>> check_output("all.html", None, bulk=True)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: all.html is the name of a file, but a bulk job writes a folder of shards; let it end in /
    """
    named_as_file = not is_folder(output) and output.endswith(FILES)
    if named_as_file and (bulk or output.endswith(".parquet")):
        raise InputError(f"{output} is the name of a file, but a bulk job writes a folder of shards; let it end in /")
    if bulk or output == "-":
        return
    if named_as_file and (format_name in FOLDERS or output.endswith(".ann")):
        raise InputError(
            f"{output} is the name of a file, but brat is a folder of .txt and .ann files; let it end in /"
        )
    if is_folder(output) and format_name not in FOLDERS:
        raise InputError(f"{output} is a folder, but {format_name} is written to one file; name a file on this machine")
