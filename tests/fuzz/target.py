"""What is fuzzed: a target has samples, a way to mutate them, and a way to use one that must not fail."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from hyperspan.errors import HyperspanError
from tests.fuzz.mutate import mutate, mutate_json

Input = Mapping[str, bytes]
"""The parts of an input by name: files, a text, arguments, a request."""


class FoundError(Exception):
    """Something that must not happen and raises nothing by itself, such as half a file or an answer 500."""


@dataclass(frozen=True)
class Workplace:
    """Where an input is used."""

    folder: Path
    """Empty before, and removed after."""
    shared: Path
    """What all inputs of a run may read, such as a small model."""

    def write(self, parts: Input) -> None:
        for name, data in parts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def tiny_model(self) -> Path:
        """The folder of a model that was trained in a second; made by who needs it first."""
        ready = self.shared / "tiny"
        if not ready.exists():
            from hyperspan.nn import save_model
            from hyperspan.runtime.cards import Figures, ModelCard
            from hyperspan.text.profile import TextProfile
            from tests.support.models import small_model

            made = self.shared / f"tiny-{os.getpid()}"
            save_model(small_model(), made)
            (made / "README.md").write_text("# A small model\n", encoding="utf-8")
            profile = TextProfile.of(["Anna met Tom at the harbour ."] * 50).to_table()
            card = ModelCard("small", "Finds people.", labels={"person": "people"}, figures=Figures("Zoo", 80.5))
            replace(card, profile=profile).write(made)
            try:
                made.rename(ready)
            except OSError:  # another worker was faster
                shutil.rmtree(made)
        return ready


class Target(Protocol):
    """One kind of input."""

    name: str
    inputs: int
    """How many of the inputs of a full run are its own."""

    def prepare(self, place: Workplace) -> None:
        """Makes what is made once, such as a server; its time does not count. Called before every input."""

    def seeds(self) -> Sequence[Input]:
        """Valid samples."""
        ...

    def mutated(self, chance: random.Random) -> Input:
        """A sample with something changed; the generator alone decides which."""
        ...

    def run(self, given: Input, place: Workplace) -> None:
        """Uses the input. Whatever this raises is a failure; what hyperspan refuses with a sentence is none."""
        ...


def mutated_part(
    chance: random.Random, seed: Input, tokens: Sequence[bytes], others: Sequence[bytes] = (), *, as_json: float = 0.0
) -> dict[str, bytes]:
    """The sample with one of its parts changed: as JSON with this probability, as bytes otherwise."""
    parts = dict(seed)
    name = chance.choice(sorted(parts))
    if chance.random() < as_json:
        parts[name] = mutate_json(chance, parts[name])
    else:
        parts[name] = mutate(chance, parts[name], tokens, others)
    return parts


def check_message(error: HyperspanError) -> None:
    """A refusal is one sentence."""
    message = str(error)
    if not message.strip() or "\n" in message:
        raise FoundError(f"{type(error).__name__} is not one sentence") from error
