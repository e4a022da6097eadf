"""What is no plain text, told by its first bytes, and what to do about it: nothing of it is ever annotated as prose."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

HEAD = 65_536
"""So many bytes are looked at."""
GZIP = b"\x1f\x8b"
_CONVERT = "save its text as UTF-8 first, for example with"
OFFICE = f"an office document; {_CONVERT} pandoc -t plain"
_HTML = f"HTML or XML; {_CONVERT} pandoc -t plain"
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", f"a PDF; {_CONVERT} pdftotext"),
    (b"PK\x03\x04", f"a zip archive or an office document; unpack it, or {_CONVERT} pandoc -t plain"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", f"an office document; {_CONVERT} libreoffice --convert-to txt"),
    (b"{\\rtf", f"RTF; {_CONVERT} pandoc -t plain"),
    (b"\x89PNG", f"an image; {_CONVERT} tesseract"),
    (b"\xff\xd8\xff", f"an image; {_CONVERT} tesseract"),
    (b"GIF8", f"an image; {_CONVERT} tesseract"),
    (b"II*\0", f"an image; {_CONVERT} tesseract"),
    (b"MM\0*", f"an image; {_CONVERT} tesseract"),
    (b"BZh", "packed with bzip2; unpack it with bunzip2"),
    (b"\xfd7zXZ\0", "packed with xz; unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it with unzstd"),
    (GZIP, "packed twice with gzip; unpack it with gunzip"),
    (b"PAR1", "Parquet; annotate it as a bulk job, whose --output ends in /"),
    (b"\xff\xfe", "UTF-16 text; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"),
)
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*(<\?xml|<!doctype|<html)\b", re.IGNORECASE | re.DOTALL)
_OFFICE = {"[Content_Types].xml", "mimetype"}
"""Members that the archives of office documents and e-books have."""


def not_text(head: bytes, name: str = "") -> str | None:
    """What a file with this beginning, or this name, is and what to do about it; None if it may be text.

    >>> not_text(b"%PDF-1.7")
    'a PDF; save its text as UTF-8 first, for example with pdftotext'
    >>> not_text(b"<!DOCTYPE html><p>Ada")
    'HTML or XML; save its text as UTF-8 first, for example with pandoc -t plain'
    >>> not_text(b"BZh, she said.")
    """
    for signature, what in _SIGNATURES:
        if head.startswith(signature) and (signature != b"BZh" or head[4:10] == b"1AY&SY"):
            return what
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return f"an image; {_CONVERT} tesseract"
    if _MARKUP.match(head) or name.lower().removesuffix(".gz").endswith((".html", ".htm", ".xhtml")):
        return _HTML
    if b"\0" in head:
        return "binary (it has NUL bytes); give a file of text in UTF-8"
    return None


def is_office_document(path: Path) -> bool:
    """Whether a file is the archive of an office document or an e-book, and not one of texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not _OFFICE.isdisjoint(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
