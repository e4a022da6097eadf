"""Between symbols and ids, and from sentences to batches without padding.

The words of a batch are rows in the order that :class:`torch.nn.utils.rnn.PackedSequence` uses: all first words, longest
sentence first, then all second words, and so on. Nothing is computed for padding, because there is none.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from hyperspan.config import Config
from hyperspan.errors import InputError, LabelError
from hyperspan.files import Target
from hyperspan.structures.gpu import to_device
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.encoders.subwords import Subwords

T = TypeVar("T")
UNKNOWN = 0
"""The id of every symbol that was not seen in training."""
LONGEST_SPELLING = 48
"""Of a longer word, such as a sequence of bases, the letters in the middle are not spelled out."""
AT_ONCE = 40_000
"""Sentences × words × widths that are computed at once in use; a longer sentence goes alone."""
WORDS_AT_ONCE = 20_000
"""Sentences × words that are, where sentences are so short that this is less."""
REMEMBERED_TOKENS = 200_000
"""So many different tokens are kept analysed; a stream of new ones must not fill the memory."""
CLUSTER_PREFIXES = (4, 6, 10, 32)
"""How many bits of a Brown cluster make a coarser one."""


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
    """Words that stand inside mentions; handcrafted encoders alone know them, and attributes by their names."""
    attributes: list[str] = field(default_factory=list)
    span_attributes: list[str] = field(default_factory=list)
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
            characters.update(letter for token in sentence.tokens for letter in token)
            tags.update(sentence.tags)
            labels.update(mention.label for mention in sentence.mentions)
        known = set(pretrained)
        kept = [word for word, count in words.most_common() if count >= config.words.min_count or word in known]
        seen = set(kept)
        return cls(
            words=kept + [word for word in pretrained if word not in seen],
            trained=len(kept),
            characters=[letter for letter, _ in characters.most_common()],
            tags=[tag for tag, _ in tags.most_common()] if config.words.tags else [],
            labels=sorted(labels),
            clusters=clusters or {},
            lowercase=config.words.lowercase,
        )

    @property
    def cluster_prefixes(self) -> int:
        """How many prefixes of clusters there are."""
        return len(self._prefixes)

    def word_id(self, token: str) -> int:
        """The id of a token, as it stands or in small letters."""
        found = None if self.lowercase else self._words.get(token)
        return found if found is not None else self._words.get(token.lower(), UNKNOWN)

    def tag_ids(self, tags: Sequence[str]) -> list[int]:
        return [self._tags.get(tag, UNKNOWN) for tag in tags]

    def cluster_ids(self, token: str) -> list[int]:
        """The ids of the prefixes of a token's cluster."""
        bits = self.clusters.get(token) or self.clusters.get(token.lower(), "")
        return [self._prefixes.get(bits[:size], UNKNOWN) for size in CLUSTER_PREFIXES]

    def spelling(self, token: str) -> np.ndarray:
        """The ids of a token's letters, counted from 2: 0 is padding and 1 unknown."""
        half = LONGEST_SPELLING // 2
        letters = token if len(token) <= LONGEST_SPELLING else token[:half] + token[-half:]
        return np.array([self._characters.get(letter, UNKNOWN) + 1 for letter in letters or " "], dtype=np.int64)

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


_LISTS = ("words", "characters", "tags", "labels", "function_words", "attributes", "span_attributes")
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


@dataclass(frozen=True)
class Pieces:
    """Sentences as a pretrained encoder reads them: W windows of up to L pieces of words; P pieces speak for the N words."""

    words: int
    """N"""
    ids: Tensor
    """(W, L), with padding at the end of windows."""
    counts: Tensor
    """(W,): how many pieces a window has."""
    place: Tensor
    """(P,): where the pieces of each row stand, as window * L + position; the first one alone if no others are looked at."""
    owner: Tensor
    """(P,): the row that each is of."""


@dataclass(frozen=True)
class Batch:
    """Sentences as ids, one row a word, in packed order; N words, U different spellings."""

    lengths: list[int]
    batch_sizes: Tensor
    """(n,) on the CPU: how many sentences have a first, second, … word."""
    row_of: Tensor
    """(B * n,): the row of each word, by sentence * n + position; 0 in padding."""
    sentence: Tensor
    """(N,): the sentence of each row."""
    before: Tensor
    """(N - B',): for each row but the first words of the B' sentences that have any, the row of the word before."""
    words: Tensor
    """(N,)"""
    tags: Tensor
    """(N,)"""
    clusters: Tensor
    """(N, prefixes), or (N, 0) where there are none."""
    spelling: Tensor
    """(N,): which of the spellings a word has."""
    letters: Tensor
    """(U, longest): the spellings, longest first, 0 in padding; (0, 0) where letters are not looked at."""
    letter_counts: Tensor
    """(U,) on the CPU."""
    attributes: Tensor | None = None
    """(N, templates): the attributes of words, for handcrafted encoders."""
    span_attributes: Tensor | None = None
    """(rows, templates): the attributes of spans, in the order of their layout."""
    pieces: Pieces | None = None
    """The words in pieces, for a pretrained encoder."""

    @property
    def longest(self) -> int:
        """n: the number of words of the longest sentence."""
        return len(self.batch_sizes)


def collate(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    letters: bool,
    device: torch.device | str = "cpu",
    subwords: Subwords | None = None,
) -> Batch:
    """A batch of the given sentences, in their order; with `subwords`, also cut into pieces."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    longest = int(lengths.max(initial=0))
    rank = np.empty(len(lengths), dtype=np.int64)
    rank[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    batch_sizes = (lengths[None, :] > np.arange(longest)[:, None]).sum(1)  # (n,)
    first = np.cumsum(batch_sizes) - batch_sizes  # (n,): the row of the longest sentence's word at each position
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    row = first[position] + rank[sentence]
    row_of = np.zeros(len(lengths) * longest, dtype=np.int64)
    row_of[sentence * longest + position] = row

    place, lexicon = vocabulary.look_up([token for given in sentences for token in given.tokens])
    tags = [tag for given in sentences for tag in given.tags or ("",) * len(given)] if vocabulary.tags else []
    order, spelled, counts = _spell(lexicon.spellings if letters else [])

    def rows(values: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        array = np.zeros((len(row), *shape), dtype=np.int64)
        if len(values):
            array[row] = values
        return array

    arrays = {
        "row_of": row_of,
        "sentence": rows(sentence),
        "before": np.arange(batch_sizes[:1].sum(), len(row)) - np.repeat(batch_sizes[:-1], batch_sizes[1:]),
        "words": rows(lexicon.words[place]),
        "tags": rows(vocabulary.tag_ids(tags)),
        "clusters": rows(lexicon.clusters[place], lexicon.clusters.shape[1:]),
        "spelling": rows(order[place] if letters else []),
        "letters": spelled,
    }
    pieces = _in_pieces(sentences, subwords, rows) if subwords is not None else {}
    tensors = to_device([*arrays.values(), *pieces.values()], device)
    return Batch(
        lengths=lengths.tolist(),
        batch_sizes=torch.from_numpy(batch_sizes),
        letter_counts=torch.from_numpy(counts),
        pieces=Pieces(len(row), **dict(zip(pieces, tensors[len(arrays) :], strict=True))) if pieces else None,
        **dict(zip(arrays, tensors[: len(arrays)], strict=True)),
    )


def _in_pieces(
    sentences: Sequence[Sentence], subwords: Subwords, rows: Callable[[Any], np.ndarray]
) -> dict[str, np.ndarray]:
    """The sentences in windows, and the pieces of each row; `rows` puts what is known of words into the order of rows."""
    cut = subwords.cut(sentences)
    first, sizes = rows(cut.first), rows(cut.sizes)
    if subwords.pooling == "first":
        sizes = np.ones_like(sizes)
    owner = np.repeat(np.arange(len(first)), sizes)
    within = np.arange(len(owner)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return {"ids": cut.ids, "counts": cut.counts, "place": first[owner] + within, "owner": owner}


def _spell(spellings: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each spelling stands when the longest come first, all of them in that order (padded with 0), and their lengths."""
    counts = np.array([len(spelling) for spelling in spellings], dtype=np.int64)
    longest_first = np.argsort(-counts, kind="stable")
    place = np.empty_like(longest_first)
    place[longest_first] = np.arange(len(counts))
    padded = np.zeros((len(counts), counts.max(initial=0)), dtype=np.int64)
    counts = counts[longest_first]
    if len(counts):
        padded[np.arange(padded.shape[1]) < counts[:, None]] = np.concatenate(
            [spellings[i] for i in longest_first.tolist()]
        )
    return place, padded, counts


def batches_of(lengths: Sequence[int], batch_size: int, seed: int) -> Iterator[list[int]]:
    """Every index once, in batches of sentences of similar length, in an order that the seed decides.

    >>> [sorted(batch) for batch in batches_of([1, 9, 2, 8], 2, seed=0)]
    [[0, 2], [1, 3]]
    """
    chance = random.Random(seed)
    noise = [length * chance.uniform(0.9, 1.1) + chance.random() for length in lengths]
    order = sorted(range(len(lengths)), key=noise.__getitem__)
    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    chance.shuffle(batches)
    yield from batches


def in_parts(items: list[T], most: int) -> list[list[T]]:
    """The items in their order, in as few parts as hold at most so many each, and about as many each.

    >>> in_parts([1, 2, 3, 4, 5], 4), in_parts([], 4)
    ([[1, 2, 3], [4, 5]], [])
    """
    count = -(-len(items) // max(most, 1))
    size = -(-len(items) // max(count, 1))
    return [items[first : first + size] for first in range(0, len(items), max(size, 1))]


def by_length(lengths: Sequence[int], max_width: int | None = None, limit: int = AT_ONCE) -> Iterator[list[int]]:
    """The indices of sentences of similar length, longest first; padded to the longest, a batch has at most `limit` entries.

    Sentences without words are in none.

    >>> list(by_length([2, 9, 0, 3, 8], limit=100))
    [[1], [4], [3, 0]]
    """
    order = sorted((index for index, length in enumerate(lengths) if length), key=lambda index: -lengths[index])
    first = 0
    while first < len(order):
        length = lengths[order[first]]
        size = max(min(limit // (length * min(max_width or length, length)), WORDS_AT_ONCE // length), 1)
        yield order[first : first + size]
        first += size
