"""Mutators: bytes, tokens of a format, values in JSON, and Unicode. All of them draw from a given generator alone."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

LARGEST = 200_000
"""No mutation of bytes makes an input longer than this, if it is not already."""
NUMBERS = (
    *("0", "-1", "1", "2", "255", "65536", "2147483648", "-9223372036854775809", "1e999", "-0.0", "1e-320", "NaN"),
    *("Infinity", "9" * 30, "9" * 5_000, "0x7f", "1_000", "٣", "²"),
)
SIGNS = (
    *("\x00", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2009", "\u2028", "\u2029", "\u202e", "\u202f", "\u3000"),
    *("\ufeff", "\ufffd", "\ufffe", "\ud800", "\udfff", "\u200b", "\u200d", "\u0301", "\u0345", "\u1160", "\ufdfa"),
    *("İ", "ß", "ǅ", "ﬁ", "😀", "👩‍🚀", "🇫🇷", "𐀀", "\U000e0001", "\U0010ffff", "“", "”", "«", "»", "‘", "’", "…"),
)
RUNS = (
    *("“ « ' ?\" aa. a+ a-- 1.a ...a ( [ { < a@ a. 1, \u0301 a\u0301 \u200d n't http:// [a]( (+) !? - _ é".split(" ")),
    *("A. ", ". ", "\n", "\r\n", "\t", " ", "\xa0."),
)
ATOMS = (
    *"A B I a s Dr Fig al No Ada Oz zoo the IL-2 n't 1 12 0.05 é İ".split(),
    *". . , ; : ? ! \" ' “ ” ’ ( ) [ ] < > - – / + @ *".split(),
    *(" ", " ", " ", " ", "\xa0", "\u2009", "\u202f", "\u2028", "\u3000", "\t", "\n", "\r\n", "\n\n"),
    *("\u0301", "\u200d", "😀"),
)
"""What texts are put together from, so that rare neighbours meet."""
DEEP = 3_000
"""How many levels nested values have; Python's parsers give up at about a thousand."""


def encode(text: str) -> bytes:
    """UTF-8 that also holds halves of surrogate pairs."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Text of any bytes: UTF-8 with halves of surrogate pairs, and such halves for bytes that are no UTF-8."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


# -- bytes -------------------------------------------------------------------------------------------------------------


def _place(chance: random.Random, data: bytes) -> tuple[int, int]:
    """A stretch of the data, mostly short."""
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + int(chance.expovariate(1 / 8)) + 1)


def flip(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwrite(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data)
    return data[:start] + chance.randbytes(end - start) + data[end:]


def delete(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data)
    return data[:start] + data[end:]


def insert(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + chance.choice(tokens) + data[start:]


def replace(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data)
    return data[:start] + chance.choice(tokens) + data[end:]


def insert_sign(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + encode(chance.choice(SIGNS)) + data[start:]


def change_number(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    places = [index for index, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return insert_sign(chance, data, tokens)
    start = chance.choice(places)
    return data[:start] + chance.choice(NUMBERS).encode() + data[start + 1 :]


def truncate(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def repeat(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    start, end = _place(chance, data)
    times = chance.choice((2, 3, 10, 100, 1_000))
    return data[:start] + data[start:end] * times + data[end:]


def move_line(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(chance.randrange(len(lines)))
    lines.insert(chance.randrange(len(lines) + 1), line)
    if chance.random() < 0.5:
        lines.insert(chance.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


BYTES: tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...] = (
    *(flip, overwrite, delete, insert, insert, replace, insert_sign, change_number, truncate, repeat, move_line),
)


def mutate(chance: random.Random, data: bytes, tokens: Sequence[bytes] = (b"",), others: Sequence[bytes] = ()) -> bytes:
    """The data after one to five mutations; sometimes spliced with another sample."""
    if others and chance.random() < 0.1:
        other = chance.choice(others)
        data = data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]
    for _ in range(min(5, 1 + int(chance.expovariate(1.0)))):
        data = chance.choice(BYTES)(chance, data, tokens)[: max(LARGEST, len(data))]
    return data


# -- JSON --------------------------------------------------------------------------------------------------------------


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**64, -(2**63), 10**40, 0.5, -1e308, float("nan"), float("inf")),
    *("", "a", " ", "0", "\x00", "\ud800", "\udc00\ud800", "\xa0.", "x" * 500, "x " * 998, "\n", "B-", "nan"),
    *([], {}, [[]], [None], {"": 1}, [1.5, 2.5], ["a", 1], [True, False, "PER"], list(range(50)), [0] * 2_000),
    *([0, 0], [5, 2], [-1, 3], [0, 10**9], [[0, 1, "A"]], {"start": 0, "end": 10**9, "label": ""}),
    {"a": {"a": {"a": []}}},
)
"""Values that no field expects."""


def _odd_value(chance: random.Random) -> Any:
    if chance.random() < 0.15:
        return odd_text(chance, ATOMS, 300)
    return copy.deepcopy(chance.choice(ODD))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with each of its keys or indices."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 1_000:
        here = waiting.pop()
        keys: Any = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            found.append((here, key))
            waiting.append(here[key])
    return found


def change_value(chance: random.Random, value: Any) -> Any:
    """A JSON value in which something was replaced, deleted, doubled or renamed."""
    found = places(value)
    if not found or chance.random() < 0.02:
        return _odd_value(chance)
    container, key = chance.choice(found)
    action = chance.random()
    if action < 0.55:
        container[key] = _odd_value(chance)
    elif action < 0.7:
        del container[key]
    elif action < 0.85:
        other, another = chance.choice(found)
        if another in other if isinstance(other, dict) else another < len(other):
            container[key] = json.loads(json.dumps(other[another]))
    elif isinstance(container, dict):
        container[chance.choice((*container, "", "\ud800", "text", "id"))] = container.pop(key)
    else:
        container.insert(key, container[key])
    return value


def mutate_json(chance: random.Random, data: bytes) -> bytes:
    """JSON, or lines of it, with changed values; as it is where it is no JSON."""
    whole = data.strip()
    lines = [whole] if whole[:1] == b"[" or b"\n" not in whole else data.split(b"\n")
    chosen = chance.randrange(len(lines))
    try:
        value = json.loads(lines[chosen])
        for _ in range(min(4, 1 + int(chance.expovariate(1.0)))):
            value = change_value(chance, value)
    except (ValueError, RecursionError):
        return data
    written = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.03:
        start = chance.choice([index for index, sign in enumerate(written) if sign in "[{,:"] or [0])
        written = written[:start] + chance.choice("[{") * DEEP + written[start:]
    lines[chosen] = encode(written)
    return b"\n".join(lines)


# -- text --------------------------------------------------------------------------------------------------------------


def odd_text(chance: random.Random, samples: Sequence[str], longest: int = 2_000) -> str:
    """Atoms in any order; or prose, signs, runs and characters of any kind, one after the other."""
    if chance.random() < 0.4:
        return "".join(chance.choices(ATOMS, k=chance.randrange(1, 40)))
    parts: list[str] = []
    for _ in range(chance.randrange(1, 8)):
        kind = chance.random()
        if kind < 0.35:
            sample = chance.choice(samples)
            parts.append(sample[chance.randrange(len(sample)) :][: chance.randrange(1, 200)])
        elif kind < 0.6:
            parts.append("".join(chance.choices(SIGNS, k=chance.randrange(1, 5))))
        elif kind < 0.75:
            parts.append(chance.choice(RUNS) * chance.randrange(1, chance.choice((5, 50, longest))))
        elif kind < 0.9:
            parts.append("".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(1, 20))))
        else:
            parts.append("".join(chr(chance.randrange(32, 127)) for _ in range(chance.randrange(1, 60))))
    return chance.choice(("", " ", "\n")).join(parts)


# -- files -------------------------------------------------------------------------------------------------------------


def mutate_file(chance: random.Random, name: str, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """A file changed as its name suggests: text, JSON, or bytes."""
    if name.endswith(".txt") and chance.random() < 0.6:
        return encode(odd_text(chance, [decode(data)]))
    if name.endswith((".json", ".jsonl")) and chance.random() < 0.6:
        return mutate_json(chance, data)
    return mutate(chance, data, tokens)
