"""The symbols that a model knows, and their ids."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError, LabelError
from hyperspan.files import Target
from hyperspan.types import Sentence

UNKNOWN = 0
"""The id of every symbol that was not seen in training."""
LONGEST_SPELLING = 48
"""Of a longer word, such as a DNA sequence, only the first and last characters are read."""
REMEMBERED_TOKENS = 200_000
"""The cache of looked-up tokens is emptied at this size, so that an endless stream does not fill the memory."""
CLUSTER_PREFIXES = (4, 6, 10, 32)
"""Lengths in bits of the prefixes of a Brown cluster."""


@dataclass
class Vocabulary:
    """The symbols that a model knows. Symbol i of a list has id i + 1; id 0 is :data:`UNKNOWN`."""

    words: list[str]
    """The words of the training data, then those that only the pretrained vectors know."""
    trained: int
    """How many of the words are of the training data."""
    characters: list[str]
    tags: list[str]
    labels: list[str]
    clusters: dict[str, str] = field(default_factory=dict)
    """The bits of the Brown clusters of words."""
    lowercase: bool = True
    function_words: list[str] = field(default_factory=list)
    """Words inside mentions; handcrafted encoders alone have them, and features by their names."""
    features: list[str] = field(default_factory=list)
    span_features: list[str] = field(default_factory=list)
    transformer: dict[str, Any] = field(default_factory=dict)
    """The description of a pretrained encoder, where there is one: :mod:`hyperspan.encoders.hub` makes it."""

    def __post_init__(self) -> None:
        self._words = _ids(self.words)
        self._characters = _ids(self.characters)
        self._tags = _ids(self.tags)
        self._labels = {label: index for index, label in enumerate(self.labels)}
        self._prefixes = _ids(sorted({bits[:size] for bits in self.clusters.values() for size in CLUSTER_PREFIXES}))
        self._known: dict[str, tuple[int, list[int], np.ndarray]] = {}

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sentence],
        config: Config,
        pretrained: Iterable[str] = (),
        clusters: dict[str, str] | None = None,
    ) -> Vocabulary:
        """The symbols of training sentences, most frequent first, and the words that come with vectors.

        >>> Vocabulary.of([Sentence(["The", "the", "zoo"])], Config(), ["the", "lion"]).words
        ['the', 'zoo', 'lion']
        """
        words, characters, tags, labels = Counter[str](), Counter[str](), Counter[str](), set[str]()
        for sentence in sentences:
            words.update(token.lower() if config.words.lowercase else token for token in sentence.tokens)
            characters.update(character for token in sentence.tokens for character in token)
            tags.update(sentence.tags)
            labels.update(mention.label for mention in sentence.mentions)
        known = set(pretrained)
        kept = [word for word, count in words.most_common() if count >= config.words.min_count or word in known]
        seen = set(kept)
        return cls(
            words=kept + [word for word in pretrained if word not in seen],
            trained=len(kept),
            characters=[character for character, _ in characters.most_common()],
            tags=[tag for tag, _ in tags.most_common()] if config.words.tag_dimension else [],
            labels=sorted(labels),
            clusters=clusters or {},
            lowercase=config.words.lowercase,
        )

    @property
    def cluster_prefixes(self) -> int:
        """How many prefixes of clusters there are."""
        return len(self._prefixes)

    def word_id(self, token: str) -> int:
        """The id of a token, as it is or in lower case."""
        found = None if self.lowercase else self._words.get(token)
        return found if found is not None else self._words.get(token.lower(), UNKNOWN)

    def tag_ids(self, tags: Sequence[str]) -> list[int]:
        return [self._tags.get(tag, UNKNOWN) for tag in tags]

    def cluster_ids(self, token: str) -> list[int]:
        """The ids of the prefixes of a token's cluster."""
        bits = self.clusters.get(token) or self.clusters.get(token.lower(), "")
        return [self._prefixes.get(bits[:size], UNKNOWN) for size in CLUSTER_PREFIXES]

    def spelling(self, token: str) -> np.ndarray:
        """The ids of a token's characters, counted from 2: 0 is padding and 1 unknown."""
        half = LONGEST_SPELLING // 2
        characters = token if len(token) <= LONGEST_SPELLING else token[:half] + token[-half:]
        return np.array(
            [self._characters.get(character, UNKNOWN) + 1 for character in characters or " "], dtype=np.int64
        )

    def look_up(self, tokens: Sequence[str]) -> tuple[np.ndarray, Lexicon]:
        """For each token its place among the different ones, and what is known of those. Tokens are analysed only once."""
        if len(self._known) > REMEMBERED_TOKENS:
            self._known.clear()
        # In the order of the batch, not of what was seen before: sums over them are then the same in every run.
        places: dict[str, int] = {}
        place = np.array([places.setdefault(token, len(places)) for token in tokens], dtype=np.int64)
        known = [self._known.get(token) or self._analyse(token) for token in places]
        return place, Lexicon(
            words=np.array([word for word, _, _ in known], dtype=np.int64),
            clusters=np.array([clusters for _, clusters, _ in known], dtype=np.int64).reshape(
                len(known), len(CLUSTER_PREFIXES) if self.clusters else 0
            ),
            spellings=[spelling for _, _, spelling in known],
        )

    def _analyse(self, token: str) -> tuple[int, list[int], np.ndarray]:
        """What is known of a token, which is remembered."""
        clusters = self.cluster_ids(token) if self.clusters else []
        known = self._known[token] = (self.word_id(token), clusters, self.spelling(token))
        return known

    def gold(self, sentence: Sentence) -> set[tuple[int, int, int]]:
        """A sentence's mentions as a structure takes them: (start, end, index of the label). Discontinuous ones are left out."""
        whole = (mention for mention in sentence.mentions if not mention.fragments)
        try:
            return {(mention.start, mention.end, self._labels[mention.label]) for mention in whole}
        except KeyError as error:
            raise LabelError(f"the label {error} is not among those trained: {', '.join(self.labels)}") from None

    def save(self, path: Path) -> None:
        content = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        with Target(str(path), force=True).open() as file:
            json.dump(content, file, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """The vocabulary in a file, which may come from anywhere: everything about it is checked."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            json.dumps(content, ensure_ascii=False).encode()  # which half of a surrogate pair cannot be
            _check_vocabulary(content)
        except FileNotFoundError:
            raise InputError(f"{path} is not there; is {path.parent} a folder that hyperspan train wrote?") from None
        except OSError as error:
            raise InputError(
                f"{path} cannot be read ({error.strerror}); it must be a file that hyperspan train wrote and that you may read"
            ) from None
        except RecursionError:
            raise InputError(f"{path} is not a vocabulary: it is nested too deeply; train the model again") from None
        except ValueError as error:
            reason = str(error).partition("\n")[0][:200]
            raise InputError(
                f"{path} is not a vocabulary that hyperspan wrote ({reason}); train the model again"
            ) from None
        return cls(**content)


_LISTS = ("words", "characters", "tags", "labels", "function_words", "features", "span_features")
_KINDS = {**dict.fromkeys(_LISTS, list), "trained": int, "clusters": dict, "lowercase": bool, "transformer": dict}
_MOST_LABELS = 10_000


def _check_vocabulary(content: Any) -> None:
    """ValueError says what is wrong with the content of a vocabulary.json."""
    if not isinstance(content, dict):
        raise ValueError(f"it is {type(content).__name__}, not an object")
    for name, kind in _KINDS.items():
        if name in ("words", "trained", "characters", "tags", "labels") and name not in content:
            raise ValueError(f"the key {name!r} is missing")
        if name in content and type(content[name]) is not kind:
            raise ValueError(f"{name} is {content[name]!r:.50}, but must be of the type {kind.__name__}")
    if unknown := content.keys() - _KINDS.keys():
        raise ValueError(f"the key {min(unknown)[:50]!r} is unknown")
    for name in _LISTS:
        if not set(map(type, content.get(name, ()))) <= {str}:
            raise ValueError(f"{name} must be strings alone")
    check_labels(content["labels"])
    if not 0 <= content["trained"] <= len(content["words"]):
        raise ValueError(f"trained is {content['trained']}, but there are {len(content['words']):,} words")
    for word, bits in content.get("clusters", {}).items():
        if not isinstance(bits, str) or bits.strip("01"):
            raise ValueError(f"the cluster of {word[:50]!r} is {bits!r:.50}, but must be a string of 0 and 1")


def check_labels(labels: Sequence[str]) -> None:
    """ValueError says what is wrong with the labels of a model.

    >>> check_labels(["person", "a\\nb"])
    Traceback (most recent call last):
    ...
    ValueError: the label 'a\\nb' is empty or has control characters
    """
    if not 0 < len(set(labels)) == len(labels) <= _MOST_LABELS:
        raise ValueError(f"labels must be 1 to {_MOST_LABELS:,} different ones, but are {len(labels):,}")
    for label in labels:
        if not label.strip() or any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in label):
            raise ValueError(f"the label {label[:50]!r} is empty or has control characters")


def _ids(symbols: Sequence[str]) -> dict[str, int]:
    return {symbol: index + 1 for index, symbol in enumerate(symbols)}


@dataclass(frozen=True)
class Lexicon:
    """What is known of the different tokens of a batch."""

    words: np.ndarray
    clusters: np.ndarray
    """(tokens, prefixes), or (tokens, 0) where there are no clusters."""
    spellings: list[np.ndarray]
