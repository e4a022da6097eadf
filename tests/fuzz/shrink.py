"""Smaller inputs that fail in the same way."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.mutate import encode, places
from tests.fuzz.target import Input


def shrink(given: Input, still_fails: Callable[[Input], bool], *, tries: int = 2_000, seconds: float = 30.0) -> Input:
    """The input with as much left out as the failure allows: values of JSON, then ever smaller stretches of bytes.

    >>> shrink({"text": b"some bytes! more"}, lambda parts: b"!" in parts["text"])
    {'text': b'!'}
    >>> found = {"a.json": b'[1, {"a": "x!", "b": [2, 3]}]'}
    >>> shrink(found, lambda parts: "!" in json.loads(parts["a.json"])[0].get("a", ""))
    {'a.json': b'[{"a":"!"}]'}
    """
    until = time.monotonic() + seconds
    best = dict(given)

    def fails(name: str, data: bytes) -> bool:
        nonlocal tries
        tries -= 1
        if tries < 0 or time.monotonic() > until:
            raise TimeoutError
        try:
            return still_fails(best | {name: data})
        except (ValueError, LookupError, AttributeError):  # of a condition that expects more of its input
            return False

    try:
        smaller = True
        while smaller:
            smaller = False
            for name in sorted(best, key=lambda name: len(best[name])):
                for candidates in (_without_values, _without_bytes):
                    for data in candidates(best[name], lambda data, name=name: fails(name, data)):
                        best[name], smaller = data, True
    except TimeoutError:
        pass
    return best


def _without_bytes(data: bytes, fails: Callable[[bytes], bool]) -> Iterator[bytes]:
    """Ever shorter data that fails, without stretches that begin with half of it and end with single bytes."""
    size = len(data)
    while size:
        start = 0
        while start < len(data):
            shorter = data[:start] + data[start + size :]
            if fails(shorter):
                data = shorter
                yield data
            else:
                start += size
        size //= 2


def _without_values(data: bytes, fails: Callable[[bytes], bool]) -> Iterator[bytes]:
    """The same for JSON, and lines of it: without one value after the other."""
    lines = data.split(b"\n")
    for index, line in enumerate(lines):
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        count = 0
        while count < len(found := places(value)):
            container, key = found[count]
            kept = dict(container) if isinstance(container, dict) else list(container)
            del container[key]
            shorter = b"\n".join([*lines[:index], _written(value), *lines[index + 1 :]])
            if len(shorter) < len(data) and fails(shorter):
                data = shorter
                lines[index] = _written(value)
                yield data
            else:
                container.clear()
                container.update(kept) if isinstance(container, dict) else container.extend(kept)
                count += 1


def _written(value: Any) -> bytes:
    return encode(json.dumps(value, separators=(",", ":")))
