"""Texts of any characters: sentences, tokens, mentions."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperspan.errors import HyperspanError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load
from hyperspan.text import Tokenizer, split_text
from tests.fuzz.mutate import decode, encode, mutate, odd_text
from tests.fuzz.samples import TEXTS
from tests.fuzz.target import FoundError, Input, Target, Workplace, check_message


def odd(chance: random.Random, longest: int) -> Input:
    if chance.random() < 0.3:
        return {"text": mutate(chance, encode(chance.choice(TEXTS)), tuple(map(encode, TEXTS)))}
    return {"text": encode(odd_text(chance, TEXTS, longest))}


class Splitting(Target):
    """Any text is cut into sentences and tokens, and every character that is no white space is in exactly one token."""

    inputs = 14_000

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer, self.name = tokenizer, f"text-{tokenizer.name}"

    def seeds(self) -> Sequence[Input]:
        return [{"text": encode(text)} for text in TEXTS]

    def mutated(self, chance: random.Random) -> Input:
        return odd(chance, 2_000 if chance.random() < 0.99 else 50_000)

    def run(self, given: Input, place: Workplace) -> None:
        text = decode(given["text"])
        end = covered = 0
        for sentence in split_text(text, self.tokenizer):
            for start, last in sentence.offsets:
                if not end <= start < last <= len(text):
                    raise FoundError("a token is not after the one before it")
                end = last
                covered += sum(not sign.isspace() for sign in text[start:last])
        if covered != sum(not sign.isspace() for sign in text):
            raise FoundError("characters are lost: they are in no token")


@functools.cache
def annotator_at(folder: Path) -> Annotator:
    return load(folder)


class Annotation(Target):
    """Any text is annotated; mentions are where they say; a sentence may be too long, and the error says so."""

    name, inputs = "annotator", 6_000

    def prepare(self, place: Workplace) -> None:
        annotator_at(place.tiny_model())

    def seeds(self) -> Sequence[Input]:
        return [{"text": encode(text)} for text in TEXTS]

    def mutated(self, chance: random.Random) -> Input:
        return odd(chance, 300)

    def run(self, given: Input, place: Workplace) -> None:
        text, annotator = decode(given["text"]), annotator_at(place.tiny_model())
        options: dict[str, Any] = ({}, {"threshold": 0.01, "candidates": 0.005}, {"top_k": 3})[len(text) % 3]
        try:
            document = annotator(text, **options)
        except HyperspanError as error:
            check_message(error)
            return
        if document.text != text:
            raise FoundError("the text has changed")
        for mention in document.mentions:
            if text[mention.start : mention.end] != mention.text or not 0 <= (mention.probability or 0) <= 1.000001:
                raise FoundError("a mention is not where it says it is, or not as probable")
