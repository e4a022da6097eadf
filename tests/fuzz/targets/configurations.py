"""Configurations: TOML files, and values set on the command line."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hyperspan.config import Config
from hyperspan.errors import HyperspanError
from hyperspan.nn.validation import validate
from tests.fuzz.mutate import DEEP, NUMBERS, decode, encode
from tests.fuzz.target import FoundError, Input, Target, Workplace, check_message, mutated_part

HANDMADE = """# a comment
[data]
train = "a.data"
[model]
max_width = 6
[words]
dimension = 10
lowercase = false
[training]
learning_rate = 0.01
schedule = "cosine"
[fofe]
layers = 2
sizes = [1, {big = 2.5, "to come" = 2026-11-16}]
"""
KEYS = (*(f"{section}.{key}" for section, values in Config().tables().items() for key in values), "fofe.layers")
TOML: tuple[bytes, ...] = (
    *b'[ ] [[ = " """ \'\'\' # . { } , true inf nan -inf 1979-05-27T07:32:00Z 0x10 1_0 "n" \\u0000 [a.b]'.split(),
    *(b"\n", b"\r", b"[model]\n", b"[training]\n", b"kind = "),
    *(
        b"= " + b"[" * DEEP,
        b"\n[data]\ntrain = " + b"[" * DEEP,
        b"\n" + b"a." * DEEP,
        b"\nx = " + b"{a=" * DEEP,
        *(number.encode() for number in NUMBERS),
    ),
    *(key.encode() for key in KEYS),
)


def check_round_trip(config: Config) -> None:
    """What was read can be written and read again."""
    import tomllib

    if Config.from_mapping(tomllib.loads(config.to_toml())) != config:
        raise FoundError("a configuration is not the same after it was written and read")
    validate(config)


class Configurations(Target):
    """A TOML file."""

    name, inputs = "config", 6_000

    def seeds(self) -> Sequence[Input]:
        return [{"config.toml": Config().to_toml().encode()}, {"config.toml": HANDMADE.encode()}]

    def mutated(self, chance: random.Random) -> Input:
        return mutated_part(chance, chance.choice(self.seeds()), TOML)

    def run(self, given: Input, place: Workplace) -> None:
        place.write(given)
        try:
            check_round_trip(Config.read(place.folder / "config.toml"))
        except HyperspanError as error:
            check_message(error)


class Overrides(Target):
    """What follows --set."""

    name, inputs = "config-set", 6_000

    def seeds(self) -> Sequence[Input]:
        tables = Config().tables()
        values = {key: tables.get(key.split(".")[0], {}).get(key.split(".")[1], 2) for key in KEYS}
        return [{"set": f"{key}={value}".encode()} for key, value in values.items()]

    def mutated(self, chance: random.Random) -> Input:
        seed = chance.choice(self.seeds())
        if chance.random() < 0.3:
            key, value = (
                seed["set"].split(b"=")[0],
                chance.choice((*NUMBERS, "true", "[1]", "{a=1}", '""', "n", " ", "é")),
            )
            return {"set": key + b"=" + encode(value)}
        return mutated_part(chance, seed, TOML)

    def run(self, given: Input, place: Workplace) -> None:
        try:
            check_round_trip(Config().override([decode(given["set"])]))
        except HyperspanError as error:
            check_message(error)
