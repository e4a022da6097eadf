"""Read corpora from files, gzip and zip archives, folders and standard input, line by line with line numbers; and what
is wrong in them, or cannot be written: it is an error unless the user says what to leave out, which is counted.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NoReturn, TypeVar

from attrs import evolve

from hyperspan.corpora.file_types import (
    GZIP,
    HEAD_BYTES,
    check_unpacked,
    has_member,
    is_archive,
    members_of,
    open_member,
    unpacking,
)
from hyperspan.errors import CorpusError, InputError, LossError, SpanError
from hyperspan.types import Document, Sentence

T = TypeVar("T")
OnError = Literal["raise", "skip"]
Lossy = Literal["outermost", "innermost"]
"""Which mentions stay where a format cannot hold all."""
LEAVE_OUT = "correct the {} or leave it out, as hyperspan convert --on-error skip does"
"""What to do about a record that is wrong by itself."""
MOST_SHOWN = 400
"""How long the description of a wrong record may be; of a longer one, the beginning and the end are shown."""
LONGEST_LINE = 128 * 2**20
"""The maximum bytes of a line or a JSON record. A small archive can unpack to any size, and one must fit in memory."""
LARGEST_TEXT, LONGEST_LINE_OF_TEXT = 512 * 2**20, 16 * 2**20
"""The maximum bytes of a file that is one text, such as brat's, and of a line in it: prose has none longer."""


class WrongRecordError(Exception):
    """A part of a corpus is not what its format requires; the message is the beginning of a sentence."""

    def __init__(self, what: str, line: int | None = None):
        super().__init__(what)
        self.line = line
        """Where it is, if not where the record begins."""


@dataclass
class Problems:
    """Errors in a corpus, and what was done about them.

    With "raise" the first error stops the reading; with "skip" the record is left out and counted here.
    """

    on_error: OnError = "raise"
    skipped: list[str] = field(default_factory=list)
    """Place and reason of every record that was left out."""
    notes: dict[str, int] = field(default_factory=dict)
    """Decisions of readers and writers with their counts, e.g. "discontinuous mention read as one span"."""

    def wrong(self, place: str, what: str) -> None:
        """Report a record that cannot be read. Returns only if it is to be skipped."""
        if self.on_error == "raise":
            raise CorpusError(f"{place}: {what}")
        self.skipped.append(f"{place}: {what}")

    def tried(self, source: Source, line: int | str, build: Callable[..., T], *given: Any, remedy: str = "") -> list[T]:
        """What `build` makes of a record, in a list; an empty list if the record is wrong, which is reported."""
        try:
            return [build(*given)]
        except SpanError as error:
            what, at = str(error), line
        except WrongRecordError as error:
            what, at = str(error), error.line or line
        if remedy:
            shown = what if len(what) <= MOST_SHOWN else f"{what[:200]} … {what[-100:]}"
            what = f"{shown}; {remedy}"
        self.wrong(source.at(at), what)
        return []

    def skip_file(self, error: InputError) -> None:
        """Report a file that cannot be read. Returns only if it is to be skipped like a record."""
        if self.on_error == "raise":
            raise error
        self.skipped.append(str(error))

    def note(self, what: str, times: int = 1) -> None:
        """Count a decision that is not an error."""
        self.notes[what] = self.notes.get(what, 0) + times


@dataclass
class Losses:
    """The mentions that a format cannot hold. They are an error unless the user chose which to drop."""

    lossy: Lossy | None = None
    written: int = 0
    """The number of mentions that are written; those that are lost do not count."""
    lost: dict[str, int] = field(default_factory=dict)
    """The number of lost mentions by reason, e.g. "overlapping another"."""
    marking_lost: int = 0
    """The number of documents whose marks of partial annotation were lost."""

    def lose(self, reason: str, mentions: int = 1) -> None:
        """Count mentions, which counted as written, as lost."""
        if mentions:
            self.lost[reason] = self.lost.get(reason, 0) + mentions
            self.written -= mentions

    def sentences_of(self, document: Document) -> Sequence[Sentence]:
        """The sentences of a document, for formats that write nothing else; mentions in none of them are lost."""
        within = sum(len(sentence.mentions) for sentence in document.sentences)
        self.lose("outside every sentence", max(0, len(document.mentions) - within))
        return document.sentences

    def unmarked(self, document: Document, format_name: str, reason: str = "") -> Document:
        """The document without marks of partial annotation; an error with the reason unless losses are allowed."""
        if not any(part.is_partial for part in (document, *document.sentences)):
            return document
        if self.lossy is None:
            raise LossError(
                f"{format_name} cannot say that annotation is partial, as in document {document.id!r}{reason and f' ({reason})'}, so nothing was written; "
                f"choose jsonl, which can, or write all that is not listed as absent with --lossy outermost"
            )
        self.marking_lost += 1
        sentences = [evolve(sentence, annotated=None, forbidden=()) for sentence in document.sentences]
        return evolve(document, sentences=sentences, annotated=None, forbidden=())

    def check(self, format_name: str) -> None:
        """Raise an error if something was lost that should not be."""
        total = sum(self.lost.values())
        if total and self.lossy is None:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.lost.items())
            raise LossError(
                f"{format_name} cannot hold {total} of {self.written + total} mentions ({reasons}), so nothing was written; "
                "choose a format that can (jsonl, brat), or which to keep with --lossy outermost or --lossy innermost "
                "(of annotate and convert)"
            )


@dataclass
class Source:
    """One file, one member of a zip archive, or standard input."""

    name: str
    """The name that users know; every message about its content begins with it."""
    path: Path | None = None
    """Its file, if it has one."""
    member: str | None = None
    """Its name inside a zip archive."""
    stream: BinaryIO | _Reread | None = None
    """An open stream instead of a file: it can be read once, and `head` does not consume it."""
    lenient: Problems | None = None
    """If given and set to skip, a line that is not UTF-8 is noted there and does not stop the reading."""

    @property
    def file_name(self) -> str:
        """The name of its file, or of the archive member with its folders."""
        return self.member or (self.path.name if self.path else "")

    def beside(self, stem: str, endings: Iterable[str]) -> Source | None:
        """The first existing file or archive member in the same folder with this stem and one of the endings."""
        for name in (stem + ending for ending in endings):
            if self.path is not None and self.member is not None:
                if has_member(self.path, name):
                    return Source(f"{self.path}/{name}", self.path, name)
            elif self.path is not None and (file := self.path.with_name(name)).is_file():
                return Source(str(file), file)
        return None

    def head(self) -> bytes:
        """The first bytes, decompressed, without consuming them."""
        if self.stream is not None and not isinstance(self.stream, _Reread):
            self.stream = _Reread(self.stream)
        if isinstance(self.stream, _Reread):
            self.stream.rewind(keeps=True)
        try:
            with self.open() as stream:
                return stream.read(HEAD_BYTES)
        finally:
            if isinstance(self.stream, _Reread):
                self.stream.rewind(keeps=False)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open its bytes, decompressed if gzipped. Damaged data raise a CorpusError during reading."""
        with ExitStack() as opened, unpacking(self.name):
            if self.stream is not None:
                raw: Any = self.stream
            elif self.member is not None and self.path is not None:
                raw = io.BufferedReader(opened.enter_context(open_member(self.path, self.member)))  # type: ignore[arg-type]
            else:
                raw = opened.enter_context((self.path or Path(self.name)).open("rb"))
            buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw, HEAD_BYTES)
            if buffered.peek(2)[:2] == GZIP:
                buffered = io.BufferedReader(opened.enter_context(gzip.GzipFile(fileobj=buffered)))  # type: ignore[arg-type]
            check_unpacked(self.name, buffered.peek(512))
            yield buffered

    def raw_lines(self, stream: IO[bytes], before: int = 0) -> Iterator[bytes]:
        """The lines of the open source, with line ends; `before` lines were already read."""
        number = before
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                self.too_long(number, "a line")
            yield line

    def too_long(self, line: int, what: str, limit: int | None = None) -> NoReturn:
        """Raise an error: something exceeds its memory limit."""
        size = (limit or LONGEST_LINE) // 2**20
        raise CorpusError(
            f"{self.at(line)}: {what} has more than {size} MiB; cut it into several, or check that the format is the right one"
        )

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield line numbers from 1, and lines of UTF-8 text without their ends.

        Only "\\n" and "\\r\\n" end lines: other characters that Unicode calls line breaks are text. A byte order mark
        is dropped.
        """
        with self.open() as stream:
            for number, raw in enumerate(self.raw_lines(stream), start=1):
                line = raw.removesuffix(b"\n").removesuffix(b"\r")
                yield number, self._decoded(number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)

    def _decoded(self, number: int, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            if self.lenient is None or self.lenient.on_error == "raise":
                message = f"is not UTF-8 text ({error.reason}); convert the file to UTF-8"
                raise CorpusError(f"{self.at(number)}: {message}") from None
            self.lenient.note("line that is not UTF-8 text read with replacement characters")
            return line.decode("utf-8", errors="replace")

    def text(self) -> str:
        """The whole source as UTF-8 text, with every character unchanged."""
        with self.open() as stream:
            raw = self.text_in(stream)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{self.name} is not UTF-8 text ({error.reason}); convert the file to UTF-8") from None

    def text_in(self, stream: IO[bytes], head: bytes = b"") -> bytes:
        """All bytes of the open source, of which `head` was already read, within the limits of a text and its lines."""
        chunks: list[bytes] = []
        length = 0  # of the current line
        for chunk in self._chunks(stream, head):
            first = chunk.find(b"\n")
            length += first if first >= 0 else len(chunk)
            if length > LONGEST_LINE_OF_TEXT:
                line = 1 + sum(earlier.count(b"\n") for earlier in chunks)
                self.too_long(line, "a line", LONGEST_LINE_OF_TEXT)
            if first >= 0:
                length = len(chunk) - 1 - chunk.rfind(b"\n")
            chunks.append(chunk)
        return b"".join(chunks)

    def content(self) -> bytes:
        """All of its bytes."""
        with self.open() as stream:
            return self.whole(stream)

    def whole(self, stream: IO[bytes], head: bytes = b"") -> bytes:
        """All bytes of the open source, of which `head` was already read, within the limits of a text."""
        return b"".join(self._chunks(stream, head))

    def _chunks(self, stream: IO[bytes], head: bytes = b"") -> Iterator[bytes]:
        """The bytes of the open source in chunks no longer than the maximum line of text."""
        size = 0
        for chunk in chain([head], iter(lambda: stream.read(LONGEST_LINE_OF_TEXT), b"")):
            size += len(chunk)
            if size > LARGEST_TEXT:
                raise CorpusError(
                    f"{self.name} has more than {LARGEST_TEXT // 2**20} MiB, but must fit into memory; cut it into several files"
                )
            yield chunk

    def at(self, line: int | str) -> str:
        """The name with a line number or another position."""
        return f"{self.name}:{line}"


class _Reread(io.RawIOBase):
    """A stream that can be read again from the beginning, as far as it was looked at."""

    def __init__(self, stream: BinaryIO):
        super().__init__()
        self.stream, self.seen, self.position, self.keeps = stream, bytearray(), 0, True

    def rewind(self, *, keeps: bool) -> None:
        """Start again; `keeps` says whether what is read now can be read again."""
        self.position, self.keeps = 0, keeps

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.seen[self.position : self.position + len(buffer)]
        if not chunk:
            chunk = self.stream.read(len(buffer)) or b""
            if self.keeps:
                self.seen += chunk
        self.position += len(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Do nothing: standard input is not ours to close."""


def sources_in(given: str | Path, suffixes: tuple[str, ...] = ()) -> list[Source]:
    """The sources behind a name: "-" is standard input; a folder gives its files (with one of the suffixes), sorted."""
    if str(given) == "-":
        return [Source("standard input", stream=sys.stdin.buffer)]
    path = Path(given)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        kept = [file for file in files if not suffixes or file.name.removesuffix(".gz").endswith(suffixes)]
        if not kept:
            wanted = f" that end in {' or '.join(suffixes)}" if suffixes else ""
            raise InputError(f"{path} holds no files{wanted}; name a folder that does, or the files themselves")
        return [Source(str(file), path=file) for file in kept]
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name, or use - for standard input")
    if is_archive(path):
        names = sorted(name for name in members_of(path) if not name.endswith("/") and "__MACOSX" not in name)
        names = [name for name in names if not suffixes or name.removesuffix(".gz").endswith(suffixes)]
        if not names:
            raise InputError(f"{path} holds no files to read; name an archive that does")
        return [Source(f"{path}/{name}", path=path, member=name) for name in names]
    return [Source(str(path), path=path)]
