"""What a file is, by its first bytes or its name, and how packed ones are opened: gzip and zip alone are read, and what
is no plain text is not annotated.
"""

from __future__ import annotations

import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from hyperspan.errors import CorpusError

HEAD_BYTES = 65_536
"""How many bytes of a file are inspected."""
GZIP = b"\x1f\x8b"
_CONVERT = "save its text as UTF-8 first, for example with"
_PANDOC = f"{_CONVERT} pandoc -t plain"
_IMAGE = f"an image; {_CONVERT} tesseract"
_UTF_16 = "UTF-16 text; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"
OFFICE = f"an office document; {_PANDOC}"
_MEMBERS = r"\[Content_Types\]\.xml|mimetype|_rels/|docProps/|word/|xl/|ppt/|META-INF/"
"""The first member of an office document or e-book, which is a zip archive, has a name that begins like this."""


class Signature(NamedTuple):
    """How files of one type begin."""

    pattern: bytes
    """A regular expression that matches the first bytes."""
    description: str
    """What such a file is, and how to convert it."""
    compression: str = ""
    """The compression format; empty for an uncompressed file."""


SIGNATURES = (
    Signature(rb"PK\x03\x04(?s:.{26})(?:" + _MEMBERS.encode() + rb")", OFFICE),
    Signature(rb"PK\x03\x04", f"a zip archive or an office document; unpack it, or {_PANDOC}", "zip"),
    Signature(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", f"an office document; {_CONVERT} libreoffice --convert-to txt"),
    Signature(rb"(?:\xef\xbb\xbf)?\s*+\{\\rtf", f"RTF; {_PANDOC}"),
    Signature(rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF(?s:.{4})WEBP", _IMAGE),
    Signature(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", "packed with bzip2; unpack it with bunzip2", "bzip2"),
    Signature(rb"\xfd7zXZ\0", "packed with xz; unpack it with unxz", "xz"),
    Signature(rb"\x28\xb5\x2f\xfd", "packed with zstd; unpack it with unzstd", "Zstandard"),
    Signature(rb"7z\xbc\xaf\x27\x1c", "packed with 7-Zip; unpack it with 7z x", "7-Zip"),
    Signature(rb"Rar!\x1a\x07", "packed with RAR; unpack it with unrar x", "RAR"),
    Signature(rb"\x1f\x8b", "packed twice with gzip; unpack it with gunzip", "gzip twice"),
    Signature(rb"(?s:.{257})ustar", "packed with tar; unpack it with tar -xf", "tar"),
    Signature(rb"(?:\xef\xbb\xbf)?\s*+%PDF-|(?s:.{0,1015})%PDF-\d\.\d\s*[\r\n]", f"a PDF; {_CONVERT} pdftotext"),
    Signature(rb"PAR1", "Parquet; annotate it with hyperspan bulk"),
    Signature(rb"\xff\xfe|\xfe\xff", _UTF_16),
)
"""The first one that matches applies."""
_TAGS = (
    "a|abbr|address|article|aside|b|blockquote|body|br|center|cite|code|dd|div|dl|dt|em|figure|font|footer|form|h[1-6]|head|header|"
    "hr|html|i|iframe|img|input|li|link|main|meta|nav|ol|p|pre|script|section|small|span|strong|style|sub|sup|svg|table|tbody|td|th|"
    "thead|title|tr|u|ul"
)
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?>(?:<!--(?>.*?-->)\s*+)*)"
    rb"(?:<\?xml\b|<!doctype\b|<html\b|</?(?:" + _TAGS.encode() + rb")(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>)",
    re.IGNORECASE | re.DOTALL,
)
"""Markup, after comments. A tag has no attributes or one with a value, so that `<p < 0.05` is text."""
_NAMES = {
    (".html", ".htm", ".xhtml"): f"HTML or XML; {_PANDOC}",
    (".pdf",): "a PDF by its name; rename it to .txt if it is plain text",
    (".rtf",): "RTF by its name; rename it to .txt if it is plain text",
    (".doc", ".docx", ".odt", ".ods", ".odp", ".ppt", ".pptx", ".xls", ".xlsx", ".epub"): (
        "an office document by its name; rename it to .txt if it is plain text"
    ),
}
DOCUMENT_SUFFIXES = tuple(suffix for suffixes in _NAMES for suffix in suffixes)
"""Suffixes of documents that are not plain text."""


def signature_of(head: bytes) -> Signature | None:
    """Return the first signature that matches the first bytes of a file, or None."""
    return next((signature for signature in SIGNATURES if re.match(signature.pattern, head)), None)


def looks_like_office(head: bytes, name: str) -> bool:
    """Whether a file is an office document by its signature, or a zip archive with the name of one."""
    signature = signature_of(head)
    if signature is None or signature.compression != "zip":
        return signature is not None and signature.description == OFFICE
    return name.lower().endswith(DOCUMENT_SUFFIXES)


def why_not_text(head: bytes, name: str = "") -> str | None:
    """Describe a file with these first bytes or this name and how to convert it; None if it may be text.

    >>> why_not_text(b"%PDF-1.7")
    'a PDF; save its text as UTF-8 first, for example with pdftotext'
    >>> why_not_text(b"<p>Ada left the <b>zoo</b>.</p>")
    'HTML or XML; save its text as UTF-8 first, for example with pandoc -t plain'
    >>> why_not_text(b"<5 mg, BZh, she said.")
    >>> why_not_text(b"Ada left.", "letter.docx")
    'an office document by its name; rename it to .txt if it is plain text'
    """
    if (signature := signature_of(head)) is not None:
        return signature.description
    if _MARKUP.match(head):
        return f"HTML or XML; {_PANDOC}"
    if b"\0" in head:
        return "binary (it has NUL bytes); give a file of text in UTF-8"
    plain = name.lower().removesuffix(".gz")
    return next((what for suffixes, what in _NAMES.items() if plain.endswith(suffixes)), None)


# -- packed files -----------------------------------------------------------------------------------------------------

READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""The exceptions of the standard library for truncated or damaged files."""
ZIP_ERRORS = (*READ_ERRORS, RuntimeError, ValueError, struct.error, OverflowError)
"""Its exceptions for zip archives that are damaged, encrypted, or compressed by an unknown method."""


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Turn the errors of damaged files into a :class:`CorpusError` that names the file."""
    try:
        yield
    except READ_ERRORS as error:
        raise _unreadable(name, error) from None


def check_unpacked(name: str, head: bytes) -> None:
    """Raise an error if a file with these first bytes must be unpacked or converted first.

    >>> check_unpacked("made.xz", b"\\xfd7zXZ\\x00\\x00")
    Traceback (most recent call last):
    ...
    hyperspan.errors.CorpusError: made.xz: is packed with xz, but only gzip and zip can be read; unpack it first
    """
    if looks_like_office(head, name):
        raise CorpusError(f"{name}: is {OFFICE}")
    signature = signature_of(head)
    if signature is None or not signature.compression:
        return
    if signature.compression == "zip":
        raise CorpusError(
            f"{name}: is a zip archive that is damaged, inside another archive, or from a stream; unpack it first and give the "
            "files in it"
        )
    raise CorpusError(
        f"{name}: is packed with {signature.compression}, but only gzip and zip can be read; unpack it first"
    )


def is_archive(path: Path) -> bool:
    """Whether a file is a complete zip archive; a truncated one has lost its directory."""
    return path.is_file() and zipfile.is_zipfile(path)


def is_office_document(path: Path) -> bool:
    """Whether a file is an office document or an e-book, even a damaged one, rather than an archive of texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not {"[Content_Types].xml", "mimetype"}.isdisjoint(archive.namelist())
    except ZIP_ERRORS:
        with suppress(OSError), path.open("rb") as file:
            return looks_like_office(file.read(HEAD_BYTES), path.name)
        return False


def members_of(path: Path) -> list[str]:
    """Return the names of the files in a zip archive."""
    try:
        return _archive(path).namelist()
    except ZIP_ERRORS as error:
        raise _unreadable(str(path), error) from None


def has_member(path: Path, member: str) -> bool:
    """Whether a zip archive contains a file of this name."""
    try:
        return member in _archive(path).NameToInfo
    except ZIP_ERRORS:
        return False


def open_member(path: Path, member: str) -> IO[bytes]:
    """Open a file of a zip archive for reading."""
    try:
        return _archive(path).open(member)
    except (*ZIP_ERRORS, KeyError) as error:
        raise _unreadable(f"{path}/{member}", error) from None


def _archive(path: Path) -> zipfile.ZipFile:
    """Return the open archive; it stays open, so that its directory is read once, not once per member."""
    about = path.stat()
    # The process id is part of the key: a forked process must not share its parent's position in the file.
    return _opened(path.absolute(), about.st_mtime_ns, about.st_size, os.getpid())


@lru_cache(maxsize=1)
def _opened(path: Path, *_: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _unreadable(name: str, error: BaseException) -> CorpusError:
    reason = ascii(" ".join(str(error).split()))[1:-1] or type(error).__name__
    reason = reason if len(reason) <= 80 else f"{reason[:60]} …"
    return CorpusError(f"{name}: cannot be read ({reason}); check that it is complete and readable")
