"""A target with mistakes, for the tests of what finds them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence

from tests.fuzz.target import FoundError, Input, Target, Workplace


class Planted(Target):
    """Fails in several ways, by what is in the input."""

    name, inputs = "planted", 100

    def seeds(self) -> Sequence[Input]:
        return [{"text": b"nothing special", "other": b"more"}]

    def mutated(self, chance: random.Random) -> Input:
        words = (b"RAISE", b"HANG", b"EAT", b"DIE", b"FIND", b"fine", b"fine")
        return {"text": chance.randbytes(2) + chance.choice(words) + chance.randbytes(1), "other": b"more"}

    def run(self, given: Input, place: Workplace) -> None:
        text = given["text"]
        if b"RAISE" in text:
            raise ValueError("a mistake")
        if b"HANG" in text:
            time.sleep(60)
        if b"EAT" in text:
            bytearray(4_000_000_000)
        if b"DIE" in text:
            os.abort()
        if b"FIND" in text:
            (place.folder / "half").write_bytes(text)
            raise FoundError(f"left {len(text)} bytes")
