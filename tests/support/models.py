"""Small corpora, and models that learn them in a moment."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from attrs import evolve

from hyperspan.config import Config
from hyperspan.nn import Model, Recognizer, new_model, save_model
from hyperspan.structures import Distribution
from hyperspan.training.data import read_sentences
from hyperspan.training.loss import ExpectedRates, TrainingLoss
from hyperspan.types import Mention, Sentence

HARBOUR = "src/hyperspan/corpora/examples/harbour.data"
"""Invented sentences with overlapping mentions."""


def sentence(text: str, *mentions: tuple[int, int, str]) -> Sentence:
    return Sentence(text.split(), [Mention(*mention) for mention in mentions])


TRAINING = [
    sentence("the keeper of the zoo fed Ada .", (0, 5, "person"), (3, 5, "place"), (6, 7, "person")),
    sentence("Ada left the zoo of Oz .", (0, 1, "person"), (2, 6, "place"), (5, 6, "place"), (2, 4, "place")),
    sentence("nobody slept ."),
    sentence("the keeper of Oz saw the zoo .", (0, 4, "person"), (3, 4, "place"), (5, 7, "place")),
]
TEXT = "Ada left the zoo of Oz.  The keeper of the zoo saw Ada!\n\nNobody slept."


def loss_of(model: Model, sentences: Sequence[Sentence], rates: ExpectedRates | None = None) -> torch.Tensor:
    """(B,): the training loss of each sentence."""
    loss = TrainingLoss(model, rates=rates)
    return loss(loss.collate(sentences)).values


def learn(model: Model, sentences: Sequence[Sentence], steps: int, rate: float = 0.02) -> Model:
    """The model after so many steps on all sentences."""
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, sentences).mean().backward()
        optimizer.step()
    return model.eval()


@functools.cache
def small_model(max_width: int | Literal["n"] = "n") -> Recognizer:
    """A real model that has learnt TRAINING, in a second or two."""
    config = Config()
    config = replace(
        config,
        words=replace(config.words, dimension=20, tag_dimension=0),
        encoder=replace(config.encoder, hidden=12, span_hidden=12, input_dropout=0.0),
        model=replace(config.model, max_width=max_width),
        training=replace(config.training, softmax_margin=False),
    )
    model = learn(new_model(config, TRAINING), TRAINING, 40)
    assert isinstance(model, Recognizer)
    return model


def saved(model: Model, folder: Path) -> Path:
    """The folder into which a model is saved."""
    save_model(model, folder)
    return folder


def watched_model(watch: Callable[[Sequence[Sentence]], object]) -> Recognizer:
    """The small model, which calls a function with the sentences of each batch before it computes them."""
    model = copy.copy(small_model())

    def distribution(sentences: Sequence[Sentence]) -> Distribution:
        watch(sentences)
        return small_model().distribution(sentences)

    model.distribution = model.quick_distribution = distribution
    return model


SMALL = (
    "words.dimension=12 words.tag_dimension=32 encoder.hidden=16 encoder.span_hidden=16 "
    "encoder.input_dropout=0 words.word_dropout=0 training.learning_rate=0.03 training.batch_size=4 "
    "training.epochs=60 training.patience=12 training.schedule=cosine"
).split()
HANDCRAFTED = ["encoder.kind=handcrafted", "handcrafted.min_count=1", "training.learning_rate=0.05"]
OWN = {
    "fofe": ["fofe.hidden=48"],
    "katiyar-cardie": ["encoder.hidden=32", "katiyar-cardie.label_hidden=48"],
}
"""What a kind needs to learn so few sentences."""


def corpus() -> list[Sentence]:
    """The invented sentences of examples/, with crossing mentions, two types on a span, and part-of-speech tags."""
    sentences = read_sentences("src/hyperspan/corpora/examples/harbour.data")
    crossing = [Mention(0, 3, "PER"), Mention(2, 4, "GPE"), Mention(2, 4, "LOC")]
    return [
        evolve(s, tags=["UP" if token.istitle() else "LOW" for token in s.tokens])
        for s in (*sentences, Sentence(["Old", "Mother", "Lindau", "Sound"], crossing))
    ]
