"""Handcrafted features of words and spans (Lu & Roth 2015): templates declared as data, computed without a loop over
words.

Every symbol (a word, a tag, a word type, a prefix of a Brown cluster) is a 64-bit hash of its text. A template mixes
the symbols of a few places into the hash of a feature. The features of a model are chosen once, by counting them in the
training data; later they are looked up by bisection. With a million features, the chance of any hash collision is about
1 in 37 million.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby

import numpy as np

from hyperspan.types import Sentence

REACH = 5
"""The largest distance, in words, that a template reads."""
WIDE = 10
"""Spans of more than this many words share one width feature."""
BEYOND = "·"
"""The symbol before the first and after the last word of a sentence."""


@dataclass(frozen=True)
class Template:
    """Features of a word: the symbols of one layer at some offsets from it, together."""

    layer: str
    offsets: tuple[int, ...]
    ordered: bool = True
    """Whether the position matters; in a bag of words it does not."""

    @property
    def name(self) -> str:
        places = ",".join(f"{offset:+d}" if offset else "0" for offset in self.offsets)
        return f"{self.layer}[{places if self.ordered else 'near'}]"


def n_grams(layer: str, longest: int) -> list[Template]:
    """Every n-gram, up to the longest, that contains the word, keyed by n and the position of the word in it.

    >>> [template.name for template in n_grams("word", 2)]
    ['word[0]', 'word[-1,0]', 'word[0,+1]']
    """
    sizes = range(1, longest + 1)
    return [Template(layer, tuple(range(first, first + n))) for n in sizes for first in range(1 - n, 1)]


def window(layer: str, reach: int) -> list[Template]:
    """The symbols of a layer at each position of a window, one by one."""
    return [Template(layer, (offset,)) for offset in range(-reach, reach + 1)]


FLAGS: dict[str, Callable[[str], bool]] = {
    "alphanumeric": str.isalnum,
    "digits": str.isdigit,
    "lower": lambda word: word.isalpha() and word.islower(),
    "upper": lambda word: word.isalpha() and word.isupper(),
    "initial capital": lambda word: word[:1].isupper() and not word.isupper(),
    "lonely initial": lambda word: word.isupper() and word.endswith("."),
    "punctuation": lambda word: bool(word) and set(word) <= set(".,!?:;\"'()-"),
    "roman": lambda word: bool(word) and set(word) <= set("IVX"),
    "single character": lambda word: len(word) == 1,
    "address": lambda word: word.startswith(("http:", "https:", "www.")),
    "digit inside": lambda word: any(sign in string.digits for sign in word),
    "dot inside": lambda word: "." in word,
}
"""Predicates on a word's characters."""

TEMPLATES: dict[str, list[Template]] = {
    "words": n_grams("word", 4),
    "near": window("word", 3),
    "lower": n_grams("lower", 2),
    "shapes": [*n_grams("shape", 3), *window("outline", 2)],
    "tags": n_grams("tag", 4),
    "bag": [Template("word", (offset,), ordered=False) for offset in range(-REACH, REACH + 1)],
    "types": n_grams("type", 4),
    "flags": [Template(f"is {flag}", (0,)) for flag in FLAGS],
    "clusters": [template for size in (4, 6, 10, 32) for template in window(f"cluster{size}", 1)],
    "cluster_pairs": [Template(f"cluster{size}", pair) for size in (6, 10) for pair in ((-1, 0), (0, 1))],
    "affixes": [Template(f"{end}{size}", (0,)) for end in ("prefix", "suffix") for size in (1, 2, 3, 4)],
    "near_affixes": [Template(f"suffix{size}", (offset,)) for size in (3, 4) for offset in (-2, -1, 1, 2)],
}
"""The features of words, by the group names used in a configuration."""

SEQUENCES = {"text": "word", "tags": "tag", "types": "type", "outlines": "outline", "cluster_path": "cluster6"}
"""Span features: a layer at all words of a span."""
PAIRS = {
    "ends": ("word", 0),
    "tag_ends": ("tag", 0),
    "cluster_ends": ("cluster10", 0),
    "context": ("word", 1),
    "tag_context": ("tag", 1),
    "cluster_context": ("cluster10", 1),
}
"""Span features: a layer at the first and last word, or at some distance outside."""
OF_TAGS = {name for name, (layer, _) in PAIRS.items() if layer == "tag"} | {"tags"}
SPAN_TEMPLATES = (*SEQUENCES, *PAIRS, "width")
"""The features of spans, by their names in a configuration; the width is the number of words."""


@lru_cache(maxsize=1_000_000)
def symbol(text: str) -> int:
    """A 64-bit hash of a text, the same on every machine, never 0.

    >>> symbol("zoo")
    986131522095167269
    """
    hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed, "little", signed=True) | 1


def word_type(word: str, function_words: frozenset[str]) -> str:
    """Quote, function word, punctuation, capitalised, lower case, or other."""
    if word in ("'", '"', "``", "''", "`"):
        return "quote"
    if word in function_words:
        return "function"
    if word and all(sign in string.punctuation for sign in word):
        return "punctuation"
    if word[:1].isupper():
        return "capitalised"
    return "lower" if word.islower() else "other"


def shape(word: str) -> str:
    """Map upper-case letters, lower-case letters and digits to X, x and 9; keep other characters.

    >>> shape("NF-kappaB2"), outline("NF-kappaB2")
    ('XX-xxxxxX9', 'X-xX9')
    """
    return "".join("X" if s.isupper() else "x" if s.islower() else "9" if s.isdigit() else s for s in word)


def outline(word: str) -> str:
    """A word's shape with repeated characters collapsed."""
    return "".join(sign for sign, _ in groupby(shape(word)))


def function_words_of(sentences: Sequence[Sentence], least: int = 3) -> frozenset[str]:
    """Lower-case alphabetic words that occur at least `least` times inside mentions, but not as their first or last
    word."""
    counts: dict[str, int] = {}
    for sentence in sentences:
        for mention in sentence.mentions:
            for word in sentence.tokens[mention.start + 1 : mention.end - 1]:
                if word.isalpha() and word.islower():
                    counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if count >= least)


@dataclass
class FeatureExtractor:
    """Extracts features: the template groups, and the word lists that they need."""

    words: Sequence[str]
    """Names of :data:`TEMPLATES`."""
    spans: Sequence[str]
    """Names of :data:`SPAN_TEMPLATES`."""
    function_words: frozenset[str] = frozenset()
    clusters: dict[str, str] = field(default_factory=dict)
    """The bits of the Brown clusters of words."""

    def __post_init__(self) -> None:
        self.templates = [template for name in self.words for template in TEMPLATES[name]]
        self._of_token: dict[tuple[str, str], str] = {}

    def read(self, sentences: Sequence[Sentence]) -> SentenceFeatures:
        """Read sentences for feature extraction."""
        return SentenceFeatures(self, sentences)

    def text_of(self, layer: str, token: str) -> str:
        """The symbol text of a token in a layer; empty for none."""
        key = (layer, token)
        if key not in self._of_token:
            if len(self._of_token) > 1_000_000:
                self._of_token.clear()
            self._of_token[key] = self._analyse(layer, token)
        return self._of_token[key]

    def _analyse(self, layer: str, token: str) -> str:
        if layer == "word":
            return token
        if layer in ("lower", "shape", "outline"):
            return {"lower": str.lower, "shape": shape, "outline": outline}[layer](token)
        if layer == "type":
            return word_type(token, self.function_words)
        if layer.startswith("is "):
            return "yes" if FLAGS[layer.removeprefix("is ")](token) else ""
        size = int(layer.lstrip(string.ascii_letters))
        if layer.startswith("cluster"):
            return (self.clusters.get(token) or self.clusters.get(token.lower(), ""))[:size]
        if len(token) < size:
            return ""
        return token[:size] if layer.startswith("prefix") else token[-size:]


class SentenceFeatures:
    """Sentences one after the other, with padding around each for what lies beyond its ends."""

    def __init__(self, extractor: FeatureExtractor, sentences: Sequence[Sentence]):
        self.extractor, self.sentences = extractor, sentences
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        self.size = int(lengths.sum()) + REACH * (len(lengths) + 1)
        self.first = np.cumsum(lengths + REACH) - lengths
        """(sentences,): the place of the first word of each."""
        self.places = np.repeat(self.first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        """(N,): the place of each word."""
        self.tokens = [token for sentence in sentences for token in sentence.tokens]
        self._layers: dict[str, np.ndarray] = {}

    def texts(self, layer: str) -> list[str]:
        """The symbol text of each word in a layer."""
        if layer == "tag":
            return [tag for sentence in self.sentences for tag in sentence.tags or ("",) * len(sentence)]
        return [self.extractor.text_of(layer, token) for token in self.tokens]

    def symbols(self, layer: str) -> np.ndarray:
        """(size,): the symbol at each place; 0 for none."""
        if layer not in self._layers:
            values = np.full(self.size, symbol(BEYOND), dtype=np.int64)
            values[self.places] = [symbol(text) if text else 0 for text in self.texts(layer)]
            self._layers[layer] = values
        return self._layers[layer]

    def of_words(self) -> np.ndarray:
        """(N, templates): the hashes of the features of each word, 0 for none."""
        columns = np.zeros((len(self.places), len(self.extractor.templates)), dtype=np.int64)
        for column, template in enumerate(self.extractor.templates):
            columns[:, column] = self.of_template(template)
        return columns

    def of_template(self, template: Template) -> np.ndarray:
        """(N,): the same for one template."""
        values = self.symbols(template.layer)
        mixed = np.full(len(self.places), symbol(template.name), dtype=np.int64)
        known = np.ones(len(self.places), dtype=bool)
        for offset in template.offsets:
            here = values[self.places + offset]
            known &= here != 0
            mixed = _mix(mixed, here)
        return np.where(known, mixed | 1, 0)

    def name_of_word(self, place: int, template: Template) -> str:
        """The readable name of a template's feature at a word, given by its index."""
        sentence = int(np.searchsorted(self.first, self.places[place], side="right")) - 1
        position = int(self.places[place] - self.first[sentence])
        said = [self._said(sentence, position + offset, template.layer) for offset in template.offsets]
        return f"{template.name} {' '.join(said)}"

    def of_spans(self, sentence: np.ndarray, start: np.ndarray, width: np.ndarray) -> np.ndarray:
        """(spans, templates): the hashes of the features of spans of `width` + 1 words."""
        first = self.first[sentence] + start
        columns = np.zeros((len(first), len(self.extractor.spans)), dtype=np.int64)
        for column, name in enumerate(self.extractor.spans):
            columns[:, column] = self._of_spans(name, first, width) | 1
        return columns

    def _of_spans(self, name: str, first: np.ndarray, width: np.ndarray) -> np.ndarray:
        key = np.full(len(first), symbol(f"span {name}"), dtype=np.int64)
        if name == "width":
            return _mix(key, np.minimum(width, WIDE))
        if name in PAIRS:
            layer, outside = PAIRS[name]
            values = self.symbols(layer)
            return _mix(_mix(key, values[first - outside]), values[first + width + outside])
        values = self.symbols(SEQUENCES[name])
        running = np.full(self.size, symbol(f"span {name}"), dtype=np.int64)  # by first place
        for words_more in range(int(width.max(initial=-1)) + 1):
            running = _mix(running[: self.size - words_more], values[words_more:])
            wanted = np.flatnonzero(width == words_more)
            key[wanted] = running[first[wanted]]
        return key

    def name_of_span(self, sentence: int, start: int, width: int, name: str) -> str:
        """The readable name of a span feature."""
        if name == "width":
            return f"span width {min(width, WIDE) + 1}"
        if name in PAIRS:
            layer, outside = PAIRS[name]
            places = [start - outside, start + width + outside]
            return f"span {name} {' … '.join(self._said(sentence, place, layer) for place in places)}"
        places = range(start, start + width + 1)
        return f"span {name} {' '.join(self._said(sentence, place, SEQUENCES[name]) for place in places)}"

    def _said(self, sentence: int, place: int, layer: str) -> str:
        """The readable symbol of a word in a layer, or of a position beyond the sentence."""
        given = self.sentences[sentence]
        if not 0 <= place < len(given):
            return BEYOND
        if layer == "tag":
            return given.tags[place] if given.tags else ""
        return self.extractor.text_of(layer, given.tokens[place])


def _mix(state: np.ndarray, value: np.ndarray) -> np.ndarray:
    """One round of a multiplicative hash; overflow is intended."""
    mixed = (state ^ value).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))).view(np.int64)


def frequent(hashes: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """The hashes other than 0 that occur at least `least` times, sorted, and where each occurs first in the flat
    array."""
    values, places, counts = np.unique(hashes, return_index=True, return_counts=True)
    kept = (counts >= least) & (values != 0)
    return values[kept], places[kept]


def look_up(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The ids of features among the known ones, which are sorted, counted from 1; 0 for others.

    >>> look_up(np.array([[7, 5], [0, 9]]), np.array([5, 9]))
    array([[0, 1],
           [0, 2]])
    """
    if not len(known):
        return np.zeros(hashes.shape, dtype=np.int64)
    place = np.searchsorted(known, hashes).clip(max=len(known) - 1)
    return np.where(known[place] == hashes, place + 1, 0)
