"""A model made small enough to send to others: fewer words, half the bytes a number."""

from __future__ import annotations

from dataclasses import replace

import torch

from hyperspan.batching import Vocabulary
from hyperspan.config import Data
from hyperspan.models.recognizer import Recognizer


def compact(model: Recognizer, pretrained_words: int | None = None) -> Recognizer:
    """The same model with the first so many (None: all) of the words that it knows from pretrained vectors alone.

    Files of vectors begin with the most frequent words. The words of the training data all stay. What the configuration said
    about files of the machine it was trained on is shortened to their names.
    """
    old = model.vocabulary
    kept = old.words if pretrained_words is None else old.words[: old.trained + pretrained_words]
    vocabulary = Vocabulary(
        kept, old.trained, old.characters, old.tags, old.labels, _clusters_of(old, kept), old.lowercase
    )
    config = model.config
    config = replace(
        config,
        data=Data(*(path.rpartition("/")[2] for path in (config.data.train, config.data.dev))),
        words=replace(
            config.words,
            vectors=config.words.vectors.rpartition("/")[2],
            clusters=config.words.clusters.rpartition("/")[2],
        ),
    )
    small = type(model)(config, vocabulary)
    tensors = model.state_dict()
    fixed = tensors["words.words.fixed"]
    with torch.no_grad():
        small.load_state_dict({**tensors, "words.words.fixed": fixed[: len(kept) - old.trained]})
    return small.to(model.device).eval()


def _clusters_of(vocabulary: Vocabulary, words: list[str]) -> dict[str, str]:
    """The clusters of words that are kept; all prefixes stay, so that they keep their ids."""
    known = set(words)
    kept = {word: bits for word, bits in vocabulary.clusters.items() if word.lower() in known}
    seen = set(kept.values())
    for word, bits in vocabulary.clusters.items():
        if bits not in seen:
            kept[word] = bits
            seen.add(bits)
    return kept
