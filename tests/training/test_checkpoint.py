"""What may change between a run and its resumption, and what a checkpoint may say."""

from __future__ import annotations

from attrs import evolve

from hyperspan import Mention, Sentence
from hyperspan.training.checkpoint import fingerprint

WORDS = ("rod", "and", "cone", "cells", "divide")
PARTS = [((0, 1), (3, 4)), ((0, 1), (2, 4)), ((0, 2), (3, 4))]


def test_parts_of_mentions_change_the_fingerprint() -> None:
    """Of annotated mentions and of forbidden ones."""
    spans = [Mention(0, 4, "CL"), *(Mention(0, 4, "CL", fragments=parts) for parts in PARTS)]
    given = [Sentence(WORDS, [one]) for one in spans]
    given += [evolve(given[0], mentions=(), forbidden=[one]) for one in spans]
    assert len({fingerprint([one]) for one in given}) == len(given)
    both = [Sentence(WORDS, order) for order in (spans, spans[::-1])]
    assert fingerprint(both[:1]) == fingerprint(both[1:]), "sets have no order"
