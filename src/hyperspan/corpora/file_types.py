"""Detect files that are not plain text by their first bytes or their name, so that they are not annotated."""

from __future__ import annotations

import re
from typing import NamedTuple

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
