"""A format read from bytes and written to them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hyperspan.corpora import FORMATS, Problems, Source
from hyperspan.corpora.formats import held
from hyperspan.corpora.source import Losses, OnError
from hyperspan.files import Target
from hyperspan.types import Document, Mention


def read(
    name: str, data: bytes | str, problems: Problems | None = None, *, place: str = "made", **options: Any
) -> list[Document]:
    """The documents of a format; messages name the place."""
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    return list(FORMATS[name].read(Source(place, stream=stream), problems or Problems(), **options))


def read_noting(name: str, data: bytes, on_error: OnError = "raise", **options: Any) -> tuple[list[Document], Problems]:
    """The documents, and what was noted and left out."""
    problems = Problems(on_error)
    return read(name, data, problems, **options), problems


def written(name: str, documents: Iterable[Document], losses: Losses | None = None, **options: Any) -> bytes:
    """What the file of some documents holds."""
    write = FORMATS[name].write
    assert write is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        try:
            losses, problems = losses or Losses(), options.pop("problems", None) or Problems()
            write(
                held(documents, name, FORMATS[name], losses, problems), Target(str(path)), losses, problems, **options
            )
        except Exception:
            assert not path.exists(), "a refused corpus leaves nothing"
            raise
        return path.read_bytes()


def everything(document: Document) -> Any:
    """All of a document, with what comparisons leave out."""

    def every(mention: Mention) -> Any:
        return (
            mention.span,
            mention.label,
            mention.fragments,
            mention.text,
            mention.probability,
            mention.head,
            mention.id,
        )

    return (
        document.id,
        document.text,
        [every(mention) for mention in sorted(document.mentions)],
        [
            (
                s.tokens,
                s.tags,
                s.offsets,
                [every(m) for m in sorted(s.mentions)],
                sorted(map(every, s.duplicates), key=repr),
            )
            for s in document.sentences
        ],
        dict(document.metadata),
    )
