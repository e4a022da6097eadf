"""Read JSON value by value: arrays, whose text is held in memory, JSON Lines, and objects over several lines."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from hyperspan.corpora.source import LEAVE_OUT, LONGEST_LINE, Problems, Source

CHUNK = 1 << 18
"""How many bytes of a file are read to see whether it is an array."""
BLANK = " \t\r\n"
_BLANKS = re.compile(f"[{BLANK}]*")
NEARLY_ALL = 16
"""An error this close to the end of a text may only mean that the rest is missing."""


class _NoJsonError(Exception):
    """The text at a position is not JSON."""

    def __init__(self, reason: str, position: int, may_go_on: bool = False):
        super().__init__(reason)
        self.position = position
        self.may_go_on = may_go_on
        """Whether it could become JSON if more characters followed."""


def json_values(source: Source, problems: Problems) -> Iterator[tuple[int | str, Any]]:
    """Yield line and content of the values of an array, or of consecutive objects, one at a time.

    An error in an array stops reading; after an error in an object, reading continues at the next object.

    >>> import io
    >>> source = Source("made.json", stream=io.BytesIO(b'[{"a": 1},\\n {"a": 2}]'))
    >>> list(json_values(source, Problems()))
    [('1 (record 1)', {'a': 1}), ('2 (record 2)', {'a': 2})]
    """
    decoder = json.JSONDecoder(parse_constant=lambda name: problems.note(f"{name} read as null"))
    with source.open() as stream:
        line, first = 1, stream.readline(CHUNK).removeprefix(codecs.BOM_UTF8)
        while first and not first.strip():
            line += first.count(b"\n")
            first = stream.readline(CHUNK)
        if first.lstrip().startswith(b"["):
            yield from _Array(source, source.whole(stream, first), problems, decoder, line).values()
        else:
            first += b"" if first.endswith(b"\n") else stream.readline(LONGEST_LINE)
            if len(first) > LONGEST_LINE:
                source.too_long(line, "a line")
            yield from _objects(source, enumerate(chain([first], source.raw_lines(stream)), line), problems, decoder)


def value_of_line(line: str) -> Any:
    """Decode the one JSON value on a line; raise ValueError with the reason if there is none.

    NaN and infinities are read as null.

    >>> value_of_line('{"a": NaN}')
    {'a': None}
    """
    content = line.strip(BLANK)
    try:
        value, end = _decoded(_LENIENT, content, 0)
    except _NoJsonError as error:
        raise ValueError(str(error)) from None
    if end < len(content):
        raise ValueError(f"a record is followed by {content[end : end + 20]!r} on its line")
    return value


_LENIENT = json.JSONDecoder(parse_constant=lambda name: None)


class _Array:
    """The text of an array, with the place of the value that is read next."""

    def __init__(self, source: Source, content: bytes, problems: Problems, decoder: json.JSONDecoder, line: int):
        self.source, self.problems, self.decoder = source, problems, decoder
        self.undecodable = ""  # why the bytes after the text cannot be decoded
        try:
            self.text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            self.text, self.undecodable = content[: error.start].decode("utf-8"), error.reason
        self.position = self.number = 0
        self.line, self.counted = line, 0  # `line` is the line of the character at `counted`

    def values(self) -> Iterator[tuple[int | str, Any]]:
        try:
            self._next_character()
            self.position += 1  # the opening bracket
            yield from self._elements()
            if self._next_character():
                raise _NoJsonError(f"{self._here()!r} follows the end of the array", self.position)
        except _NoJsonError as error:
            self.position = error.position
            remedy = "correct it there, otherwise the rest of the array cannot be read"
            if self.undecodable and len(self.text) - self.position <= NEARLY_ALL:
                remedy = f"the bytes there are not UTF-8 text ({self.undecodable}), so convert the file to UTF-8"
            self.problems.wrong(self.source.at(self._place()), f"{error}; {remedy}")

    def _elements(self) -> Iterator[tuple[int | str, Any]]:
        separator = self._next_character()
        if separator == "]":
            self.position += 1
        while separator != "]":
            self.number += 1
            self._next_character()
            place = self._place()
            value, self.position = _decoded(self.decoder, self.text, self.position)
            yield place, value
            separator = self._next_character()
            if separator not in {",", "]"}:
                found = repr(self._here()) if separator else "the end"
                raise _NoJsonError(
                    f"{found} follows a record of the array, but a comma or ] is expected", self.position
                )
            self.position += 1

    def _next_character(self) -> str:
        """Move to the first non-blank character and return it, or "" at the end of the file."""
        self.position = _BLANKS.match(self.text, self.position).end()  # type: ignore[union-attr]
        return self.text[self.position : self.position + 1]

    def _place(self) -> int | str:
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = max(self.counted, self.position)
        return f"{self.line} (record {self.number})" if self.number else self.line

    def _here(self) -> str:
        return self.text[self.position : self.position + 20]


def _objects(
    source: Source, lines: Iterable[tuple[int, bytes]], problems: Problems, decoder: json.JSONDecoder
) -> Iterator[tuple[int | str, Any]]:
    """Objects on one line each, or over several lines of which only the first and last begin with a brace."""
    start, held, size = 0, list[str](), 0
    complained = False  # only the first of several lines outside objects is reported
    for number, raw in lines:
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.wrong(source.at(number), f"is not UTF-8 text ({error.reason}); convert the file to UTF-8")
            continue
        if held and line.startswith("{"):
            yield from _values_of(source, start, held, problems, decoder)
            held = []
        if held:
            held.append(line)
            size += len(line)
            if size > LONGEST_LINE:
                source.too_long(start, "a record")
            if line.startswith("}"):
                yield from _values_of(source, start, held, problems, decoder)
                held = []
        elif (content := line.strip(BLANK)).startswith("{"):
            complained = False
            try:
                value, end = _decoded(decoder, content, 0)
            except _NoJsonError as error:
                if error.may_go_on:
                    start, held, size = number, [line], len(line)
                else:
                    _no_json(problems, source.at(number), error)
                continue
            if end == len(content):
                yield number, value
            else:
                yield from _values_of(source, number, [content], problems, decoder)
        elif content and not complained:
            complained = True
            problems.wrong(
                source.at(number),
                f"the line begins with {content[:20]!r}, but a record is a JSON object and begins with a brace; "
                "check that the format is the right one",
            )
    yield from _values_of(source, start, held, problems, decoder)


def _values_of(
    source: Source, line: int, held: list[str], problems: Problems, decoder: json.JSONDecoder
) -> Iterator[tuple[int | str, Any]]:
    """The values, usually one, in the buffered lines."""
    text, position, counted = "".join(held).rstrip(BLANK), 0, 0
    while position < len(text):
        while text[position] in BLANK:
            position += 1
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, position = _decoded(decoder, text, position)
        except _NoJsonError as error:
            _no_json(problems, source.at(line + text.count("\n", counted, error.position)), error)
            return
        yield line, value


def _no_json(problems: Problems, place: str, error: _NoJsonError) -> None:
    problems.wrong(place, f"{error}; {LEAVE_OUT.format('record')}")


def _decoded(decoder: json.JSONDecoder, text: str, position: int) -> tuple[Any, int]:
    """Value and end of the JSON at the position."""
    try:
        value, end = decoder.raw_decode(text, position)
        if text.find("\\ud", position, end) >= 0 or text.find("\\uD", position, end) >= 0:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos >= len(text)
        what = "it is cut off" if cut else f"{error.msg.lower()} at {text[error.pos : error.pos + 20]!r}"
        raise _NoJsonError(
            f"a record is no JSON: {what}", error.pos, cut or error.pos + NEARLY_ALL >= len(text)
        ) from None
    except RecursionError:
        raise _NoJsonError("a record is nested too deeply", position) from None
    except UnicodeEncodeError:
        raise _NoJsonError("a record holds half of a surrogate pair, which is no character", position) from None
    except ValueError:  # Python refuses to convert it
        raise _NoJsonError("a record holds a number of thousands of digits", position) from None
    return value, end
