"""A small model with labels that mark names: `person-name` and `place-name`."""

from __future__ import annotations

import functools

from hyperspan.config import Config
from hyperspan.nn import Recognizer, new_model
from hyperspan.types import Mention, Sentence
from tests.support.models import learn

NAMES = {"person-name": "person", "place-name": "place"}


def _sentence(text: str, *mentions: tuple[int, int, str]) -> Sentence:
    return Sentence(text.split(), [Mention(*mention) for mention in mentions])


def _name(at: int, kind: str) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    return (at, at + 1, kind), (at, at + 1, f"{kind}-name")


TRAINING = [
    _sentence("the keeper of the zoo fed Ada .", (0, 5, "person"), (3, 5, "place"), *_name(6, "person")),
    _sentence("Ada left the zoo of Oz .", *_name(0, "person"), (2, 6, "place"), *_name(5, "place")),
    _sentence("nobody slept .", (0, 1, "person")),
    _sentence("She saw everyone 's zoo .", (0, 1, "person"), (2, 4, "person"), (2, 5, "place")),
    _sentence("the keeper of Oz saw the zoo .", (0, 4, "person"), *_name(3, "place"), (5, 7, "place")),
]
TEXT = "Ada left the zoo of Oz. She saw everyone's zoo."
DEFAULT = {
    *(("Ada", "person"), ("the zoo of Oz", "place"), ("Oz", "place"), ("She", "person")),
    *(("everyone's", "person"), ("everyone's zoo", "place")),
}
PRONOUNS = {("She", "person"), ("everyone's", "person")}
FOUND_NAMES = {("Ada", "person"), ("Oz", "place")}


@functools.cache
def named_model() -> Recognizer:
    """A model that has learnt the sentences above."""
    small = ["words.dimension=20", "encoder.hidden=12", "encoder.span_hidden=12", "encoder.input_dropout=0"]
    config = Config.from_mapping({"model": {"names": NAMES}}).override([*small, "training.softmax_margin=false"])
    model = learn(new_model(config, TRAINING), TRAINING, 60)
    assert isinstance(model, Recognizer)
    return model
