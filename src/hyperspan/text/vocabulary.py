"""The vocabulary of a model: words, characters, tags and labels with their ids."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import Target, read_regular
from hyperspan.text.words import UNKNOWN, Words
from hyperspan.types import Sentence

_T = TypeVar("_T")


@dataclass
class Vocabulary:
    """The symbols of a model. Symbol i of a list has id i + 1; id 0 is :data:`UNKNOWN`."""

    words: Sequence[str]
    """The words of the training data, then those that only pretrained vectors contain; stored as :class:`Words`."""
    trained: int
    """How many of the words occur in the training data."""
    characters: list[str]
    tags: list[str]
    labels: list[str]
    clusters: dict[str, str] = field(default_factory=dict)
    """The bit strings of the Brown clusters of words; like the features below, only for handcrafted encoders."""
    lowercase: bool = True
    function_words: list[str] = field(default_factory=list)
    """Words inside mentions."""
    features: list[str] = field(default_factory=list)
    span_features: list[str] = field(default_factory=list)
    transformer: dict[str, Any] = field(default_factory=dict)
    """The description of the pretrained encoder, if any, from :mod:`hyperspan.nn.hub`."""

    def __post_init__(self) -> None:
        self._words = self.words = self.words if isinstance(self.words, Words) else Words.of(self.words)
        self._character_ids = _character_ids(self.characters)
        self._tags = _ids(self.tags)
        self._labels = {label: index for index, label in enumerate(self.labels)}

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sentence],
        config: Config,
        pretrained: Iterable[str] = (),
        clusters: dict[str, str] | None = None,
    ) -> Vocabulary:
        """Collect the symbols of training sentences, most frequent first, and the words of pretrained vectors.

        Lone surrogates are left out, as UTF-8 cannot encode them; they are unknown characters.

        >>> list(Vocabulary.of([Sentence(["The", "the", "zoo"])], Config(), ["the", "lion"]).words)
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
            words=kept + [word for word in dict.fromkeys(pretrained) if word not in seen],
            trained=len(kept),
            characters=[character for character, _ in characters.most_common() if not _is_surrogate(character)],
            tags=[tag for tag, _ in tags.most_common()] if config.words.tag_dimension else [],
            labels=sorted(labels),
            clusters=clusters or {},
            lowercase=config.words.lowercase,
        )

    def tag_ids(self, tags: Sequence[str]) -> list[int]:
        return [self._tags.get(tag, UNKNOWN) for tag in tags]

    def look_up(self, tokens: Sequence[str]) -> tuple[np.ndarray, Lexicon]:
        """Return the index of each token among the distinct tokens, and the lexicon of these.

        Character ids start at 2: 0 is padding and 1 is unknown.
        """
        found = self._words.look_up(tokens, self.lowercase, self._character_ids)
        return found.place, Lexicon(
            words=found.words,
            first=found.first,
            characters=found.characters,
            counts=found.counts,
        )

    def save(self, folder: Path) -> None:
        """Write vocabulary.json and words.txt to a folder."""
        content = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "words"}
        with Target(str(folder / "vocabulary.json"), force=True).open() as file:
            json.dump(content, file, ensure_ascii=False)
        with Target(str(folder / "words.txt"), force=True).open_binary() as file:
            file.write(self._words.data)

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read the vocabulary of a folder, which is untrusted and checked."""
        path = folder / "vocabulary.json"
        content = _read(path, _content)
        words = _read(folder / "words.txt", Words)
        if content["trained"] > len(words):
            raise _refusal(path, f"trained is {content['trained']}, but words.txt has {len(words):,} words")
        return cls(words=words, **content)


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _read(path: Path, parse: Callable[[bytes], _T]) -> _T:
    try:
        return parse(read_regular(path))
    except FileNotFoundError:
        raise InputError(f"{path} is not there; is {path.parent} a folder that hyperspan train wrote?") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); it must be a file that hyperspan train wrote and that you may read"
        ) from None
    except RecursionError:
        raise InputError(f"{path} is not a vocabulary: it is nested too deeply; train the model again") from None
    except ValueError as error:
        raise _refusal(path, str(error).partition("\n")[0][:200]) from None


def _refusal(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is not a vocabulary that hyperspan wrote ({reason}); train the model again")


def _content(data: bytes) -> dict[str, Any]:
    """Parse a vocabulary.json; raise a ValueError if it is invalid."""
    content = json.loads(data.decode())
    json.dumps(content, ensure_ascii=False).encode()  # fails for lone surrogates
    _check_vocabulary(content)
    return content


_LISTS = ("characters", "tags", "labels", "function_words", "features", "span_features")
_KINDS = {**dict.fromkeys(_LISTS, list), "trained": int, "clusters": dict, "lowercase": bool, "transformer": dict}
_MOST_LABELS = 10_000


def _check_vocabulary(content: Any) -> None:
    """Raise a ValueError if the content of a vocabulary.json is invalid."""
    if not isinstance(content, dict):
        raise ValueError(f"it is {type(content).__name__}, not an object")
    for name, kind in _KINDS.items():
        if name in ("trained", "characters", "tags", "labels") and name not in content:
            raise ValueError(f"the key {name!r} is missing")
        if name in content and type(content[name]) is not kind:
            raise ValueError(f"{name} is {content[name]!r:.50}, but must be of the type {kind.__name__}")
    if unknown := content.keys() - _KINDS.keys():
        raise ValueError(f"the key {min(unknown)[:50]!r} is unknown")
    for name in _LISTS:
        if not set(map(type, content.get(name, ()))) <= {str}:
            raise ValueError(f"{name} must be strings alone")
    check_labels(content["labels"])
    if content["trained"] < 0:
        raise ValueError(f"trained is {content['trained']}, but must be a number of words")
    for word, bits in content.get("clusters", {}).items():
        if not isinstance(bits, str) or bits.strip("01"):
            raise ValueError(f"the cluster of {word[:50]!r} is {bits!r:.50}, but must be a string of 0 and 1")


def check_labels(labels: Sequence[str]) -> None:
    """Raise a ValueError if the labels of a model are invalid.

    >>> check_labels(["person", "a\\nb"])
    Traceback (most recent call last):
    ...
    ValueError: the label 'a\\nb' is empty or has control characters
    """
    if not 0 < len(set(labels)) == len(labels) <= _MOST_LABELS:
        raise ValueError(f"labels must be 1 to {_MOST_LABELS:,} different ones, but are {len(labels):,}")
    for label in labels:
        if _is_unprintable(label):
            raise ValueError(f"the label {label[:50]!r} is empty or has control characters")


def check_names(names: Mapping[str, str], labels: Sequence[str]) -> None:
    """Raise a ValueError if `model.names` does not fit the labels of a model.

    >>> check_names({"person-name": "person"}, ["person", "person-name"])
    >>> check_names({"name": "person"}, ["person", "person-name"])
    Traceback (most recent call last):
    ...
    ValueError: model.names has the key 'name', but the labels are person, person-name
    """
    for label, kind in names.items():
        if label not in labels:
            raise ValueError(f"model.names has the key {label[:50]!r}, but the labels are {', '.join(labels)}")
        if _is_unprintable(kind):
            raise ValueError(f"model.names.{label} is {kind[:50]!r}, which is empty or has control characters")
    if repeated := sorted(kind for kind, times in Counter(names.values()).items() if times > 1):
        raise ValueError(f"model.names has several labels for names of {repeated[0]!r}, but a type has one")
    if names and len(names) == len(labels):
        raise ValueError("model.names has all labels, which leaves no label to show without it")


def check_names_of(folder: Path, config: Config, vocabulary: Vocabulary) -> None:
    """Raise an InputError if `model.names` does not fit the labels of the model in a folder."""
    try:
        check_names(config.model.names, vocabulary.labels)
    except ValueError as error:
        raise InputError(f"{folder / 'config.toml'} does not fit the model: {error}; correct or empty it") from None


def _is_unprintable(label: str) -> bool:
    return not label.strip() or any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in label)


def _ids(symbols: Sequence[str]) -> dict[str, int]:
    return {symbol: index + 1 for index, symbol in enumerate(symbols)}


def _character_ids(characters: Sequence[str]) -> np.ndarray:
    """Return the character ids by code point, from 2; 1 is unknown. Strings of several characters are ignored."""
    known = {ord(character): index + 2 for index, character in enumerate(characters) if len(character) == 1}
    ids = np.ones(max(known, default=-1) + 1, np.int32)
    ids[list(known)] = list(known.values())
    return ids


@dataclass(frozen=True)
class Lexicon:
    """The ids and characters of the U distinct tokens of a batch, in order of first occurrence."""

    words: np.ndarray
    """(U,): ids."""
    first: np.ndarray
    """(U,): the index in the batch of the first occurrence of each."""
    characters: np.ndarray
    """The character ids of all tokens, concatenated."""
    counts: np.ndarray
    """(U,): the number of characters of each."""

    def spellings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sort the spellings, longest first: the place of each token (U,), the characters (U, longest), padded with 0,
        and the lengths (U,)."""
        longest_first = np.argsort(-self.counts, kind="stable")
        place = np.empty_like(longest_first)
        place[longest_first] = np.arange(len(place))
        counts = self.counts[longest_first]
        padded = np.zeros((len(counts), counts[0] if len(counts) else 0), dtype=np.int64)
        within = np.arange(len(self.characters)) - np.repeat(self.counts.cumsum() - self.counts, self.counts)
        padded[np.repeat(place, self.counts), within] = self.characters
        return place, padded, counts
