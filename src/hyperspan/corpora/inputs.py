"""Read documents to annotate from texts, files, folders, tables, corpora or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from hyperspan.corpora.file_types import DOCUMENT_SUFFIXES, OFFICE, is_office_document, why_not_text
from hyperspan.corpora.formats import FORMATS, READERS, detect, read_corpus, readable_formats
from hyperspan.corpora.jsonl import looks_like_jsonl, looks_like_texts, read_jsonl, read_texts
from hyperspan.corpora.mention_tables import looks_like_table
from hyperspan.corpora.source import Problems, Source, sources_in
from hyperspan.corpora.tables import TABLES, Columns, read_table
from hyperspan.errors import InputError
from hyperspan.types import Document

TEXTS = (".txt", ".text", ".md")
CORPORA = tuple(
    dict.fromkeys(suffix for name in READERS for suffix in FORMATS.built_in[name].suffixes if suffix not in TEXTS)
)
"""Suffixes of corpora in the built-in formats."""
_OTHER = (".csv", ".gz", ".zip", ".parquet", *DOCUMENT_SUFFIXES)


def read_inputs(
    given: Sequence[str],
    format_name: str | None = None,
    columns: Columns | None = None,
    problems: Problems | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[str | Document]:
    """Yield texts and documents, in order.

    An argument that names a file or folder is read; "-" is standard input; anything else is a text. Arguments are
    checked immediately, before anything is read to its end. `columns` are those of a table; `format_name` and `options`
    are as for :func:`hyperspan.corpora.read_corpus`.

    >>> list(read_inputs(["Ada left the zoo."]))
    ['Ada left the zoo.']
    """
    problems = problems if problems is not None else Problems()
    if not given and sys.stdin.isatty():
        raise InputError("there is nothing to annotate; give a text or a file, or pipe text into standard input")
    for name in given if len(given) > 1 else ():
        if name != "-" and not exists(name):
            raise InputError(
                f"{name[:100]} does not exist; several arguments must be files, folders or -, and a text is put in quotes"
            )
    read = [_documents(name, format_name, columns, problems, options or {}) for name in given or ["-"]]
    return (document for one in read for document in one)


def exists(name: str) -> bool:
    """Whether a file or folder of this name exists; the name may be any text."""
    with suppress(OSError, ValueError):  # too long or invalid as a name
        return name != "" and Path(name).exists()
    return False


def _documents(
    name: str, format_name: str | None, columns: Columns | None, problems: Problems, options: Mapping[str, Any]
) -> Iterator[str | Document]:
    if name != "-" and not exists(name):
        if format_name is not None or _looks_like_a_path(name):
            raise InputError(f"{name} does not exist; check the name, or add a space to annotate it as a text")
        _refuse_options(options)
        return iter([name])
    if format_name is not None and format_name not in TABLES:
        _refuse_columns(columns, name)
        return read_corpus(name, format_name, problems, **options)
    if name != "-" and Path(name).is_file() and is_office_document(Path(name)):
        problems.skip_file(InputError(f"{name} is no text but {OFFICE}"))
        return iter(())
    in_folder = name != "-" and Path(name).is_dir()
    sources = sources_in(name, TEXTS if in_folder else ())
    if len(sources) == 1 and not in_folder:
        kind = _table_kind(sources[0], format_name, columns)
        if kind is not None:
            if format_name is None and columns is None and _holds_mentions(sources[0]):
                return read_corpus(name, "table", problems, **options)
            _refuse_options(options)
            return read_table(sources[0], kind, columns or Columns(), problems)
    _refuse_columns(columns, name)
    return _corpus_or_texts(name, sources, in_folder, problems, options)


def _looks_like_a_path(name: str) -> bool:
    """Whether a name without a file is more likely a mistyped path than a text.

    >>> [_looks_like_a_path(name) for name in ("notes/", "data/train", "a.pdf")]
    [True, True, True]
    >>> [_looks_like_a_path(name) for name in ("and/or", "km/h", "Ada left.", "IL-2")]
    [False, False, False, False]
    """
    if not name or any(character.isspace() for character in name):
        return False
    parts = [part for part in name.split("/") if part]
    in_folder = len(parts) > 1 and (len(parts) > 2 or Path(parts[0]).is_dir() or min(map(len, parts)) > 3)
    return name.endswith(("/", *TEXTS, *CORPORA, *_OTHER)) or name.startswith(("/", "./", "../", "~/")) or in_folder


def _corpus_or_texts(
    name: str, sources: list[Source], in_folder: bool, problems: Problems, options: Mapping[str, Any]
) -> Iterator[str | Document]:
    raw = sources[0].head() if len(sources) == 1 else b""
    head = raw.decode("utf-8", errors="replace")
    if (read := _reader_of_mentions(head)) is not None:
        return read(sources[0], problems, **options)
    if looks_like_texts(head) or looks_like_jsonl(head):
        _refuse_options(options)
        sources[0].lenient = problems
        return (read_texts if looks_like_texts(head) else read_jsonl)(sources[0], problems)
    if name != "-" and not in_folder and _named_as_corpus(name.removesuffix(".gz")):
        return read_corpus(name, None, problems, **options)
    if (what := why_not_text(raw, sources[0].name if len(sources) == 1 else "")) is not None:
        problems.skip_file(InputError(f"{sources[0].name} is no text but {what}"))
        return iter(())
    _refuse_options(options)
    return _texts(sources, problems)


def _reader_of_mentions(head: str) -> Callable[..., Iterator[Document]] | None:
    """The reader of texts in JSON that have mentions in a format of other tools; None for other texts."""
    if not looks_like_texts(head):
        return None
    formats = (entry for entry in FORMATS.built_in.values() if entry.reads and entry.looks_like(head))
    return next((entry.read for entry in formats), None)


def _named_as_corpus(name: str) -> bool:
    return name.endswith(CORPORA) or (
        not name.endswith(TEXTS) and any(name.endswith(entry.suffixes) for entry in readable_formats().values())
    )


def _table_kind(source: Source, format_name: str | None, columns: Columns | None) -> str | None:
    """The kind of table ("csv", "tsv") to read a source as, or None. A .tsv file may also be a corpus."""
    kind = format_name or PurePath(source.name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    if (
        kind == "tsv"
        and format_name is None
        and columns is None
        and Columns.text not in _first_line(source).split("\t")
    ):
        with suppress(InputError):
            detect(source)
            return None
    if kind in TABLES:
        return kind
    return "csv" if columns is not None and source.stream is not None else None


def _holds_mentions(source: Source) -> bool:
    """Whether a table has mentions beside its texts, so that a text may have several rows."""
    return looks_like_table(source.head().decode("utf-8", errors="replace"))


def _first_line(source: Source) -> str:
    return source.head().decode("utf-8", errors="replace").partition("\n")[0].removeprefix("\ufeff").rstrip("\r")


def _refuse_columns(columns: Columns | None, name: str) -> None:
    if columns is not None:
        raise InputError(
            f"--column and --id-column are for tables (CSV, TSV), and {name} is none; leave them out, say --from csv, "
            "or use hyperspan bulk for the keys of JSON Lines"
        )


def _refuse_options(options: Mapping[str, Any]) -> None:
    if name := next(iter(options), None):
        raise InputError(
            f"--option {name} is for formats of corpora that have options, and texts, tables and JSON Lines have none; "
            "leave it out"
        )


def _texts(sources: list[Source], problems: Problems) -> Iterator[Document]:
    for source in sources:
        try:
            document = _text_of(source)
        except InputError as error:
            problems.skip_file(error)
        else:
            yield document


def _text_of(source: Source) -> Document:
    """A file's text as one document, without a byte order mark."""
    stem = source.file_name.removesuffix(".gz").rpartition(".")[0] or source.file_name
    if (
        source.stream is None and (what := why_not_text(source.head(), source.name)) is not None
    ):  # a stream was checked before
        raise InputError(f"{source.name} is no text but {what}")
    return Document(source.text().removeprefix("\ufeff"), id=stem)
