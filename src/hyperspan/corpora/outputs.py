"""Choose the format of an output from its name: a file, a folder, or the folder of a bulk job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from hyperspan.corpora.file_types import DOCUMENT_SUFFIXES
from hyperspan.corpora.formats import FORMATS, WRITERS, format_for, writable_formats
from hyperspan.corpora.inputs import CORPORA, TEXTS, exists
from hyperspan.errors import InputError
from hyperspan.files import check_name, is_url

OUTPUTS = ("terminal", "html", *WRITERS)
"""The outputs available without plug-ins: sentences with bars, an HTML page, or a corpus."""
FOLDERS = ("brat",)
"""Formats that are folders of files."""
FILES = (*DOCUMENT_SUFFIXES, *TEXTS, *CORPORA, ".parquet", ".csv", ".ndjson", ".gz")
"""Suffixes of files."""
_OTHERS = {
    "terminal": TEXTS,
    "html": (".html", ".htm", ".xhtml"),
    "parquet": (".parquet",),
    "csv": (".csv",),
    "tsv": (".tsv",),
}
"""Suffixes of outputs that cannot be read back as a corpus."""
_FAMILIES = (
    (".json", ".jsonl", ".jsonlines", ".ndjson"),
    (".conll", ".data", ".tsv", ".iob", ".iob2", ".bio", ".txt"),
)
"""Formats that share suffixes, because they are lines of JSON or of words."""


def suffixes_of(format_name: str) -> tuple[str, ...]:
    """The suffixes of a format, the usual one first; empty if the format is a folder.

    >>> suffixes_of("doccano"), suffixes_of("docbin"), suffixes_of("brat")
    (('.jsonl', '.json', '.jsonlines', '.ndjson'), ('.spacy',), ())
    """
    if format_name in FOLDERS:
        return ()
    if format_name in _OTHERS:
        return _OTHERS[format_name]
    own = FORMATS[format_name].suffixes
    shared = (suffix for family in _FAMILIES if not set(own).isdisjoint(family) for suffix in family)
    return tuple(dict.fromkeys((*own, *shared)))


def needs_sentences(format_name: str) -> bool:
    """Whether an output needs sentences and tokens, rather than only text and mentions.

    >>> needs_sentences("terminal"), needs_sentences("html"), needs_sentences("brat"), needs_sentences("columns")
    (True, False, False, True)
    """
    return format_name == "terminal" or (format_name != "html" and FORMATS[format_name].needs_sentences)


def is_folder(output: str) -> bool:
    """Whether a name denotes a folder: it ends in / or the folder exists."""
    return output != "-" and (output.endswith("/") or is_url(output) or Path(output).is_dir())


def choose_output(output: str, format_name: str | None = None, inputs: Sequence[str] = ()) -> str:
    """The format of an output: the given one, or the one its name implies.

    An output that is also an input, or that has a misleading name, is an error.

    >>> choose_output("-"), choose_output("found.html"), choose_output("found/", "brat")
    ('terminal', 'html', 'brat')
    >>> choose_output("found.jsonl.gz")
    'jsonl'
    >>> choose_output("all.html", "jsonl")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: all.html ends in .html, but jsonl would be written there; ...
    """
    if format_name == "parquet" or output.endswith(".parquet"):
        raise InputError(
            "Parquet is written by hyperspan bulk, into a folder of shards; choose another --format, or use that"
        )
    if format_name not in (None, *OUTPUTS) and format_name not in (formats := writable_formats()):
        known = ", ".join(dict.fromkeys((*OUTPUTS, *formats)))
        raise InputError(f"there is no format {format_name!r} to write; choose one of {known}")
    if output == "-":
        if format_name in FOLDERS:
            raise InputError(
                f"{format_name} is a folder of files, which standard output cannot be; name one with --output"
            )
        return format_name or "terminal"
    _check_kind(output, format_name)
    check_not_read(output, inputs, format_name)
    if format_name is not None:
        _check_suffix(output, format_name)
    return format_name or _format_of_name(output)


def check_bulk_output(output: str, format_name: str = "jsonl", inputs: Sequence[str] = ()) -> None:
    """Raise an error if a folder of shards would have the name of a file.

    >>> check_bulk_output("all.html")
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: all.html is the name of a file, but a bulk job writes a folder of shards; name a folder
    """
    if output == "-":
        raise InputError(
            "a bulk job writes a folder of shards, which standard output cannot be; name one with --output"
        )
    check_name(output)
    if not is_folder(output) and output.endswith(FILES):
        raise InputError(f"{output} is the name of a file, but a bulk job writes a folder of shards; name a folder")
    check_not_read(output, inputs)
    _check_suffix(output, format_name)


def _check_kind(output: str, format_name: str | None) -> None:
    """Raise an error for a file where a folder would be written, and vice versa."""
    if is_folder(output) and format_name not in FOLDERS:
        if format_name in (None, "jsonl"):
            raise InputError(
                f"{output} is a folder; annotate many files into one with --format brat, or with: "
                f"hyperspan bulk INPUT… --output {output}"
            )
        raise InputError(f"{output} is a folder, but {format_name} is written to one file; name a file on this machine")
    check_folder_name(output, format_name)


def check_folder_name(output: str, format_name: str | None) -> None:
    """Raise an error if a format that is a folder of files would be written under the name of a file.

    >>> check_folder_name("found.jsonl", "brat")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: found.jsonl is the name of a file, but brat is a folder of .txt and .ann files; ...
    """
    named_as_file = not is_folder(output) and output.endswith(FILES)
    if named_as_file and (format_name in FOLDERS or output.endswith(".ann")):
        raise InputError(
            f"{output} is the name of a file, but brat is a folder of .txt and .ann files; let it end in /"
        )


def _format_of_name(output: str) -> str:
    plain = output.removesuffix(".gz")
    if plain.endswith((".html", ".htm")):
        return "html"
    if plain.endswith(".tsv"):  # mentions are written as a table; corpora with this suffix are columns
        return "tsv"
    if plain.endswith(TEXTS):
        return "terminal"
    return format_for(
        output,
        f" (.html for a page), or name its format with --format; for a folder: --format brat, or hyperspan bulk INPUT… --output {output}",
    )


def _check_suffix(output: str, format_name: str) -> None:
    """Raise an error if a name has the suffix of another format."""
    plain, allowed = output.lower().rstrip("/").removesuffix(".gz"), suffixes_of(format_name)
    suffix = PurePosixPath(plain).suffix
    if suffix not in FILES or plain.endswith(allowed):
        return
    if is_folder(output):
        raise InputError(
            f"{output} ends in {suffix}, but a folder with {format_name} would be written; name a folder without {suffix}"
        )
    advice = f"let it end in {allowed[0]}" if allowed else f"let it not end in {suffix}"
    raise InputError(
        f"{output} ends in {suffix}, but {format_name} would be written there; {advice}, or leave out --format"
    )


def check_not_read(output: str, inputs: Sequence[str], format_name: str | None = None) -> None:
    """Raise an error if an input would be overwritten, even with --force."""
    if is_url(output):
        return
    target = os.path.realpath(output)
    for name in inputs:
        if name == "-" or not exists(name):
            continue
        source = os.path.realpath(name)
        in_folder = str(Path(source).parent) == target and format_name in FOLDERS
        among_texts = Path(target).is_file() and target.startswith(f"{source}{os.sep}") and target.endswith(TEXTS)
        if source == target or in_folder or among_texts:
            raise InputError(f"{output} is also read, as {name}, and is not overwritten; name another --output")
