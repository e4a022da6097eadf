"""Offsets in Unicode code points, and in UTF-16 code units, in which an emoji counts as two."""

from __future__ import annotations

from bisect import bisect_left

from hyperspan.errors import SpanError


class Offsets:
    """Convert between code points, which hyperspan counts, and another unit, that of a client or a file.

    >>> offsets = Offsets("🦁 roars", "utf16")
    >>> offsets.given(2), offsets.read(3, "start")  # the space behind the lion, and the r
    (3, 2)
    """

    def __init__(self, text: str, unit: str):
        self.length = len(text)
        wide = unit == "utf16" and not text.isascii()
        self._wide = [place for place, sign in enumerate(text) if sign > "\uffff"] if wide else []
        self._ends = [place + index + 2 for index, place in enumerate(self._wide)]  # in units, after each of them

    @property
    def differ(self) -> bool:
        """Whether offsets in both units differ in this text."""
        return bool(self._wide)

    def given(self, place: int) -> int:
        """Convert an offset from code points to the other unit."""
        return place + bisect_left(self._wide, place) if self._wide else place

    def read(self, place: int, name: str) -> int:
        """Convert an offset from the other unit to code points."""
        before = bisect_left(self._ends, place + 1)  # characters of two units that end here or earlier
        if before < len(self._wide) and self._ends[before] - 1 == place:
            raise SpanError(
                f"the {name} {place} is inside a character that takes two UTF-16 units; choose one of its ends"
            )
        return place - before
