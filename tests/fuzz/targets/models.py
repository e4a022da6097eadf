"""Model folders: configuration, vocabulary and weights of a small model, and of those that are bundled."""

from __future__ import annotations

import functools
import json
import random
import struct
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from hyperspan.errors import CardWarning, HyperspanError
from hyperspan.runtime.cards import CARD
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.runtime.loading import load
from tests.fuzz.mutate import NUMBERS, change_value, encode, mutate, mutate_json
from tests.fuzz.samples import TEXTS, TOKENS
from tests.fuzz.target import Input, Target, Workplace, check_message
from tests.fuzz.targets.configurations import TOML

FILES = ("config.toml", "vocabulary.json", "words.txt", "model.safetensors", CARD)
ODD_FLOATS = tuple(struct.pack("<f", value) for value in (float("nan"), float("inf"), -float("inf"), 3e38, -1e-40))


@functools.cache
def original(base: str) -> dict[str, bytes]:
    """The files of a model; those of the small one are made here, as they are in every run."""
    if base != "tiny":
        return {name: (PRETRAINED / base / name).read_bytes() for name in FILES}
    with tempfile.TemporaryDirectory() as folder:
        made = Workplace(Path(folder), Path(folder)).tiny_model()
        return {name: (made / name).read_bytes() for name in FILES}


def mutated_tensors(chance: random.Random, data: bytes) -> bytes:
    """Weights with odd numbers among them, or with a header that says something else of them."""
    (size,) = struct.unpack("<Q", data[:8])
    header, numbers = data[8 : 8 + size], data[8 + size :]
    kind = chance.random()
    if kind < 0.3:
        place = chance.randrange(len(numbers) // 4) * 4
        return data[: 8 + size] + numbers[:place] + chance.choice(ODD_FLOATS) + numbers[place + 4 :]
    if kind < 0.7:
        changed = encode(json.dumps(change_value(chance, json.loads(header))))
        return struct.pack("<Q", len(changed)) + changed + numbers
    if kind < 0.8:
        return chance.randbytes(8) + data[8:]
    if kind < 0.9:
        return data[: chance.randrange(len(data))]
    return data[:8] + mutate(chance, header, TOKENS["json"]) + numbers


def with_another_value(chance: random.Random, card: bytes) -> bytes:
    """A card with a number in place of one of its values."""
    lines = card.split(b"\n")
    place = chance.choice([index for index, line in enumerate(lines) if b" = " in line])
    number = chance.choice((*NUMBERS, "nan", "inf", "0x" + "F" * 6_000)).encode()
    return b"\n".join([*lines[:place], lines[place].split(b" = ")[0] + b" = " + number, *lines[place + 1 :]])


class ModelFolders(Target):
    """A folder with one file changed is refused, or annotates a text."""

    def __init__(self, base: str, inputs: int):
        self.base, self.inputs, self.name = base, inputs, f"model-{base}"

    def seeds(self) -> Sequence[Input]:
        return [{name: original(self.base)[name]} for name in FILES]

    def mutated(self, chance: random.Random) -> Input:
        name = chance.choice(FILES)
        data = original(self.base)[name]
        if name == CARD and chance.random() < 0.5:
            return {name: with_another_value(chance, data)}
        if name in ("config.toml", CARD):
            return {name: mutate(chance, data, TOML)}
        if name == "model.safetensors":
            return {name: mutated_tensors(chance, data)}
        if name == "words.txt":
            return {name: mutate(chance, data, TOKENS["json"])}
        return {name: mutate_json(chance, data) if chance.random() < 0.7 else mutate(chance, data, TOKENS["json"])}

    def run(self, given: Input, place: Workplace) -> None:
        place.write(given)
        base = place.tiny_model() if self.base == "tiny" else PRETRAINED / self.base
        for name in FILES:
            if name not in given:
                (place.folder / name).symlink_to(base / name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CardWarning)
                annotator = load(place.folder)
            annotator(TEXTS[0])
            annotator.domain_fit(TEXTS[0] * 10)
        except HyperspanError as error:
            check_message(error)
