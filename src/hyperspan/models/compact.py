"""A smaller copy of a model, to share it: fewer words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from hyperspan.config import CorpusConfig
from hyperspan.models.base import Model
from hyperspan.models.weights import fixed_names
from hyperspan.vocabulary import Vocabulary


def compact(model: Model, pretrained_words: int | None = None) -> Model:
    """The same model with the first `pretrained_words` (None: all) of the words that only its pretrained vectors know.

    Files of vectors begin with the most frequent words. The words of the training data all stay. Paths of
    files in the configuration are shortened to their names.
    """
    old = model.vocabulary
    kept = old.words if pretrained_words is None else old.words[: old.trained + pretrained_words]
    clusters = old.clusters if pretrained_words is None else _clusters_of(old, kept)
    vocabulary = replace(old, words=kept, clusters=clusters)
    config = model.config
    config = replace(
        config,
        data=replace(config.data, train=_corpora(config.data.train), dev=_corpora(config.data.dev)),
        words=replace(
            config.words,
            vectors=_file(config.words.vectors),
            clusters=_file(config.words.clusters),
        ),
        transformer=replace(config.transformer, name=_encoder(config.transformer.name)),
        training=replace(config.training, start=_file(config.training.start.rstrip("/"))),
        distillation=replace(
            config.distillation,
            teacher=_names(config.distillation.teacher),
            text=_file(config.distillation.text.rstrip("/")),
        ),
    )
    small = type(model)(config, vocabulary)
    tensors = model.state_dict()
    for name in fixed_names(model):
        tensors[name] = tensors[name][: len(kept) - old.trained]
    with torch.no_grad():
        small.load_state_dict(tensors)
    return small.to(model.device).eval()


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _corpora(given: str | tuple[CorpusConfig, ...]) -> str | tuple[CorpusConfig, ...]:
    if isinstance(given, str):
        return _file(given)
    return tuple(replace(corpus, path=_file(corpus.path)) for corpus in given)


def _names(folders: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if isinstance(folders, str):
        return _file(folders.rstrip("/"))
    return tuple(_file(folder.rstrip("/")) for folder in folders)


def _encoder(name: str) -> str:
    """Of a folder its last part; names on the hub have two."""
    return name if name.count("/") == 1 and not name.startswith(("/", ".")) else _file(name.rstrip("/"))


def _clusters_of(vocabulary: Vocabulary, words: Sequence[str]) -> dict[str, str]:
    """The clusters of words that are kept; all prefixes stay, so that they keep their ids."""
    known = set(words)
    kept = {word: bits for word, bits in vocabulary.clusters.items() if word in known or word.lower() in known}
    seen = set(kept.values())
    for word, bits in vocabulary.clusters.items():
        if bits not in seen:
            kept[word] = bits
            seen.add(bits)
    return kept
