"""What rows learn from where these are not simply the sentences of their corpora."""

from __future__ import annotations

import random
from collections import Counter

from attrs import evolve

from experiments.rows import Sentences
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.types import NOTHING_ANNOTATED, AnnotationScope, Sentence

Sets = tuple[Sentences, Sentences]
"""Train and dev."""

# -- mentions wider than c ------------------------------------------------------------------------------------------


def narrow_train(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """Without the training sentences that have a mention wider than c."""
    return _narrow(train, _limit(config)), dev


def narrow(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """Without the sentences that have a mention wider than c, also of dev."""
    return _narrow(train, _limit(config)), _narrow(dev, _limit(config))


def cut(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """Wide mentions of train end after c words."""
    return [_cut(sentence, _limit(config)) for sentence in train], dev


def _limit(config: Config) -> int:
    c = config.model.max_width
    if not isinstance(c, int):
        raise InputError(f"model.max_width is {c}, but the row is about mentions wider than a limit; give a number")
    return c


def _narrow(sentences: Sentences, c: int) -> Sentences:
    return [s for s in sentences if all(mention.end - mention.start <= c for mention in s.mentions)]


def _cut(sentence: Sentence, c: int) -> Sentence:
    cut = {evolve(mention, end=min(mention.end, mention.start + c)) for mention in sentence.mentions}
    return sentence.with_mentions(cut)


# -- parts of a corpus ----------------------------------------------------------------------------------------------


def first(size: int, train: Sentences, dev: Sentences, config: Config) -> Sets:
    """The first training sentences in an order that the seed draws, without part-of-speech tags.

    Larger parts of a seed contain its smaller ones.
    """
    order = list(range(len(train)))
    random.Random(config.training.seed).shuffle(order)
    return _without_tags([train[index] for index in order[:size]]), _without_tags(dev)


def _without_tags(sentences: Sentences) -> Sentences:
    return [Sentence(sentence.tokens, sentence.mentions) for sentence in sentences]


# -- partial annotation ---------------------------------------------------------------------------------------------


def kept_half(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """A random half of the mentions; the others are taken as absent."""
    return _kept(train, 0.5, config), dev


def kept_fifth(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """A random fifth of the mentions; the others are taken as absent."""
    return _kept(train, 0.2, config), dev


def sure_half(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """A random half of the mentions; the others are unknown."""
    return _unknown(_kept(train, 0.5, config)), dev


def sure_fifth(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """A random fifth of the mentions; the others are unknown."""
    return _unknown(_kept(train, 0.2, config)), dev


def halves(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """Half of the sentences annotate every second type, the other half the other types."""
    return _halves(train, config, absent=False), dev


def halves_absent(train: Sentences, dev: Sentences, config: Config) -> Sets:
    """The same, with the other types taken as absent."""
    return _halves(train, config, absent=True), dev


def _kept(sentences: Sentences, share: float, config: Config) -> Sentences:
    """Each mention with this probability, which the seed draws."""
    draw = random.Random(config.training.seed)
    return [
        sentence.with_mentions([mention for mention in sorted(sentence.mentions) if draw.random() < share])
        for sentence in sentences
    ]


def _unknown(sentences: Sentences) -> Sentences:
    return [evolve(sentence, annotated=NOTHING_ANNOTATED) for sentence in sentences]


def _halves(sentences: Sentences, config: Config, *, absent: bool) -> Sentences:
    """The labels take turns by frequency; the seed draws the half of each sentence."""
    draw = random.Random(config.training.seed)
    counts = Counter(mention.label for sentence in sentences for mention in sentence.mentions)
    labels = [label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    parts = [frozenset(labels[0::2]), frozenset(labels[1::2])]

    def of_types(sentence: Sentence, types: frozenset[str]) -> Sentence:
        some = sentence.with_mentions([mention for mention in sentence.mentions if mention.label in types])
        return some if absent else evolve(some, annotated=AnnotationScope(types))

    return [of_types(sentence, draw.choice(parts)) for sentence in sentences]
