"""Streams of texts in which some may fail: windows of texts, and one result for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.types import Document

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Failure:
    """A text that cannot be annotated, with its exception."""

    given: str | Document
    error: BaseException


def attempt(given: str | Document, function: Callable[[], _Result]) -> _Result | Failure:
    """Return the result of a function or its failure; exceptions that end the program are raised."""
    try:
        return function()
    except EXIT_EXCEPTIONS:
        raise
    except BaseException as error:  # native code raises more than Exception
        return Failure(given, error)


def windows(items: Iterable[_Item], words_in: Callable[[_Item], int], words: int) -> Iterator[list[_Item]]:
    """Group items into windows of about `words` words.

    >>> list(windows(["a b", "", "c", "d"], lambda text: len(text.split()), words=4))
    [['a b', ''], ['c', 'd']]
    """
    window: list[_Item] = []
    held = 0
    for item in items:
        window.append(item)
        held += words_in(item) + 1  # so that items without words fill a window too
        if held >= words:
            yield window
            window, held = [], 0
    if window:
        yield window
