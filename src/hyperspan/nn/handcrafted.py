"""The handcrafted encoder: sparse features of words and spans in place of vectors, and weights for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from hyperspan.config import Config, KindOptions, key
from hyperspan.errors import InputError
from hyperspan.kernels.lstm import SpanLayout
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.encoder import Encoder, EncoderAbilities, OutputLayer, Outputs, Spans, WeightColumns
from hyperspan.nn.features import (
    OF_TAGS,
    SPAN_TEMPLATES,
    TEMPLATES,
    FeatureExtractor,
    SentenceFeatures,
    Template,
    frequent,
    function_words_of,
    look_up,
)
from hyperspan.nn.resources import read_clusters
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

REMEMBERED_SENTENCES = 50_000
"""Sentences whose features are cached in training, about 10 kB each."""


@dataclass(frozen=True)
class HandcraftedOptions(KindOptions):
    """The encoder `handcrafted`: weights for sparse features of words and spans."""

    words: str = key("words tags bag types flags", "fixed")
    """Groups of word features: words, near, lower, shapes, tags, bag, types, flags, clusters, cluster_pairs, affixes,
    near_affixes."""
    spans: str = key("text tags types ends context width", "fixed")
    """Groups of span features. The page on models explains them."""
    min_count: int = key(2, "fixed", low=1)
    """How often a feature must occur in training to get weights. Span features count at mentions only."""
    clusters: str = key("", "file")
    """A file of Brown clusters."""


def options_of(config: Config) -> HandcraftedOptions:
    """The section `handcrafted` of a configuration."""
    return config.options("handcrafted", HandcraftedOptions)


def extractor_of(config: Config, vocabulary: Vocabulary) -> FeatureExtractor:
    """The feature extractor of a model."""
    chosen = options_of(config)
    return FeatureExtractor(
        _names("handcrafted.words", chosen.words, list(TEMPLATES)),
        _names("handcrafted.spans", chosen.spans, list(SPAN_TEMPLATES)),
        frozenset(vocabulary.function_words),
        vocabulary.clusters,
    )


def _names(key: str, given: str, known: Sequence[str]) -> list[str]:
    """Split a text into names; raise an error if one is unknown."""
    names = given.replace(",", " ").split()
    for name in names:
        if name not in known:
            raise InputError(f"{key} names {name!r}, but must be some of {', '.join(known)}")
    return names


class KnownFeatures(NamedTuple):
    """The sorted hashes of the features that a model knows."""

    words: Tensor
    spans: Tensor


def collect(sentences: Sequence[Sentence], config: Config, vocabulary: Vocabulary) -> tuple[Vocabulary, KnownFeatures]:
    """Add the features that occur often enough in training sentences to the vocabulary; return it with the hashes of
    word and span features.

    Span features are counted only on mentions: there are too many other spans.
    """
    vocabulary = replace(vocabulary, function_words=sorted(function_words_of(sentences)))
    extractor = extractor_of(config, vocabulary)
    if not any(sentence.tags for sentence in sentences):
        extractor = replace(extractor, spans=[name for name in extractor.spans if name not in OF_TAGS])
    reading = extractor.read(sentences)
    least = options_of(config).min_count
    words, names = _frequent_of_words(reading, least)
    mentions = _mentions(sentences)
    columns = np.array(mentions, dtype=np.int64).reshape(-1, 3).T
    spans, places = frequent(reading.of_spans(columns[0], columns[1], columns[2]), least)
    span_names = [
        reading.name_of_span(*mentions[row], extractor.spans[column])
        for row, column in _places(places, len(extractor.spans))
    ]
    vocabulary = replace(vocabulary, features=names, span_features=span_names)
    return vocabulary, KnownFeatures(torch.from_numpy(words), torch.from_numpy(spans))


def _frequent_of_words(reading: SentenceFeatures, least: int) -> tuple[np.ndarray, list[str]]:
    """The sorted hashes of frequent features of words, and their names; template by template, to save memory."""
    by_name: dict[str, list[Template]] = {}
    for template in reading.extractor.templates:  # those of a bag share their name
        by_name.setdefault(template.name, []).append(template)
    hashes: list[np.ndarray] = []
    names: list[str] = []
    for templates in by_name.values():
        columns = np.stack([reading.of_template(template) for template in templates], axis=1)
        found, places = frequent(columns, least)
        hashes.append(found)
        names += [reading.name_of_word(row, templates[column]) for row, column in _places(places, len(templates))]
    together = np.concatenate(hashes or [np.zeros(0, dtype=np.int64)])
    order = np.argsort(together, kind="stable")
    return together[order], [names[place] for place in order.tolist()]


def _places(places: np.ndarray, columns: int) -> Iterator[tuple[int, int]]:
    """The rows and columns of indices of a flat array."""
    yield from zip(*(part.tolist() for part in np.divmod(places, max(columns, 1))), strict=True)


def _mentions(sentences: Sequence[Sentence]) -> list[tuple[int, int, int]]:
    """The sentence, start and width (words - 1) of all spans that are mentions of any type."""
    spans = {
        (number, mention.start, mention.end - mention.start - 1)
        for number, sentence in enumerate(sentences)
        for mention in sentence.mentions
        if not mention.fragments
    }
    return sorted(spans)


class FeatureEncoder(Encoder):
    """Words and spans as the ids of their features."""

    abilities = EncoderAbilities(spans=True)

    def __init__(self, config: Config, vocabulary: Vocabulary, *, spans: bool = False):
        super().__init__(config, vocabulary, spans=spans)
        self.extractor = extractor_of(config, vocabulary)
        self.rate = config.encoder.input_dropout
        self.known: Tensor
        """The sorted hashes of known features of words."""
        self.register_buffer("known", torch.zeros(len(vocabulary.features), dtype=torch.int64))
        self._kept: dict[Sentence, np.ndarray] = {}
        self._arrays: tuple[list[tuple[int, int]], np.ndarray, np.ndarray] | None = None
        self.spans_known: Tensor
        """The sorted hashes of known features of spans."""
        self.register_buffer("spans_known", torch.zeros(len(vocabulary.span_features), dtype=torch.int64))

    @classmethod
    def check(cls, config: Config) -> None:
        for name, value, unset in (
            ("words.vectors", config.words.vectors, ""),
            ("characters.encoder", config.characters.encoder, "none"),
            ("transformer.name", config.transformer.name, ""),
        ):
            if value != unset:
                raise InputError(
                    f"{name} is {value}, but encoder.kind is handcrafted, which reads no vectors; leave it out, or set encoder.kind to neural"
                )
        asked = extractor_of(config, Vocabulary([], 0, [], [], []))
        if not asked.templates:
            raise InputError(f"handcrafted.words is empty, but must name some of {', '.join(TEMPLATES)}")
        layers = [template.layer for template in asked.templates] + list(asked.spans)
        if any(layer.startswith("cluster") for layer in layers) and not options_of(config).clusters:
            raise InputError(
                "handcrafted.words or handcrafted.spans ask for clusters, but handcrafted.clusters names no file of them; name one, or "
                "leave them out"
            )
        if config.training.lm_loss_weight:
            raise InputError(
                f"training.lm_loss_weight is {config.training.lm_loss_weight:g}, but the handcrafted encoder has no LSTM that predicts words; set it to 0"
            )

    @classmethod
    def prepare(cls, config: Config, sentences: Sequence[Sentence]) -> tuple[Vocabulary, KnownFeatures]:
        file = options_of(config).clusters
        clusters = read_clusters(file) if file else None
        return collect(sentences, config, Vocabulary.of(sentences, config, clusters=clusters))

    def initialise(self, resources: KnownFeatures) -> None:
        self.known.copy_(resources.words)
        self.spans_known.copy_(resources.spans)

    def collate(self, sentences: Sequence[Sentence], device: torch.device) -> Batch:
        """Collate sentences with the features of their words and, if spans are scored, of their spans."""
        batch = collate(sentences, self.vocabulary, characters=False, device=device)
        counts = np.array(batch.lengths, dtype=np.int64)
        begin = np.arange(len(counts)) * batch.longest - (counts.cumsum() - counts)
        order = np.repeat(begin, counts) + np.arange(counts.sum())  # (N,): sentence * n + position, word by word
        rows = batch.row_of.cpu().numpy()[order]
        words = np.empty((len(rows), len(self.extractor.templates)), dtype=np.int32)
        words[rows] = self._of_words(sentences)
        spans, layout = None, self.span_layout(batch)
        if layout is not None and self.extractor.spans:
            sentence, start = np.divmod(layout.start.cpu().numpy(), max(batch.longest, 1))
            hashes = self.extractor.read(sentences).of_spans(sentence, start, layout.width.cpu().numpy())
            spans = torch.from_numpy(look_up(hashes, self._tables()[1])).to(device, torch.int32)
        return replace(batch, features=torch.from_numpy(words).to(device), span_features=spans)

    def _of_words(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """(N, templates): the ids of features of the words, one sentence after the other.

        Those of training sentences are cached, as they recur in every epoch.
        """
        known, _ = self._tables()
        if not self.training:
            return look_up(self.extractor.read(sentences).of_words(), known).astype(np.int32)
        if len(self._kept) > REMEMBERED_SENTENCES:
            self._kept.clear()
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._kept]
        ids = look_up(self.extractor.read(new).of_words(), known).astype(np.int32)
        ends = np.cumsum([len(sentence) for sentence in new])
        self._kept.update(zip(new, np.split(ids, ends[:-1]) if new else (), strict=True))
        return np.concatenate([self._kept[sentence] for sentence in sentences] or [ids])

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The known hashes of words and spans as arrays, copied from the device once."""
        state = [(id(tensor), tensor._version) for tensor in (self.known, self.spans_known)]
        if self._arrays is None or self._arrays[0] != state:
            self._arrays = (state, self.known.cpu().numpy(), self.spans_known.cpu().numpy())
        return self._arrays[1:]

    def forward(self, batch: Batch) -> list[Tensor]:
        """(N, templates): the ids of features, with dropout in training."""
        assert batch.features is not None
        return [self._drop(batch.features)]

    def encode_spans(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(rows, templates): the same for spans."""
        if batch.span_features is None:
            return words.new_zeros(len(layout.start), 0)
        return self._drop(batch.span_features)

    def _drop(self, ids: Tensor) -> Tensor:
        """Replace some ids by 0 in training."""
        if not self.training or not self.rate:
            return ids
        return ids * (torch.rand(ids.shape, device=ids.device) >= self.rate)

    def word_layer(self, outputs: Outputs) -> WordFeatures:
        return WordFeatures(len(self.known), outputs, self.rate)

    def span_layer(self, outputs: Outputs, *, whole: bool = False) -> SpanEnds | WholeSpans:
        return (WholeSpans if whole else SpanEnds)(len(self.known), len(self.spans_known), outputs, self.rate)


class FeatureWeights(nn.Module):
    """The sum of the weights of features."""

    def __init__(self, features: int, outputs: int, rate: float, *, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features + 1, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.rate = rate
        """The share of features that training drops; the others are scaled up."""

    def forward(self, ids: Tensor) -> Tensor:
        """(N, templates) -> (N, outputs)."""
        if ids.numel():
            total = embedding_bag(ids, self.weight, mode="sum", padding_idx=0)
        else:
            total = self.weight.new_zeros(len(ids), self.weight.shape[1])
        total = total / (1 - self.rate) if self.training and self.rate else total
        return total if self.bias is None else total + self.bias


class WordFeatures(FeatureWeights, OutputLayer):
    """Scores of words from their features."""

    def __init__(self, features: int, outputs: Outputs, rate: float):
        super().__init__(features, outputs.count, rate)
        self.outputs = outputs

    def columns(self) -> list[WeightColumns]:
        return [WeightColumns(self.weight, self.outputs)]


def _beside(values: Tensor, batch: Batch, step: int) -> Tensor:
    """(N, d), of words -> (B * n, d), of the word `step` positions later; 0 if there is none."""
    place = torch.arange(batch.longest, device=values.device) + step
    lengths = torch.tensor(batch.lengths, device=values.device)
    inside = (place >= 0) & (place < lengths[:, None])  # (B, n)
    rows = batch.row_of.view(len(batch.lengths), -1)[:, place.clamp(0, max(batch.longest - 1, 0))]
    return values.index_select(0, rows.flatten()) * inside.flatten()[:, None]


class SpanEnds(OutputLayer):
    """Scores of spans from the features of their last word, of the next word, and of the span."""

    def __init__(self, words: int, spans: int, outputs: Outputs, rate: float):
        super().__init__()
        self.outputs, count = outputs, outputs.count
        self.words = FeatureWeights(words, 2 * count, rate, bias=False)
        self.span = FeatureWeights(spans, count, rate, bias=False)
        self.bias = nn.Parameter(torch.zeros(count))

    def forward(self, words: Tensor, spans: Spans, batch: Batch) -> Tensor:
        """(rows, outputs)"""
        last, following = self.words(words).chunk(2, dim=1)
        ends = last.index_select(0, batch.row_of) + _beside(following, batch, 1)  # (B * n, outputs)
        return ends.index_select(0, spans.layout.end) + self.span(spans.states) + self.bias

    def columns(self) -> list[WeightColumns]:
        following = [f"{role} before it" for role in self.outputs.roles]
        return [
            WeightColumns(self.words.weight, replace(self.outputs, roles=[*self.outputs.roles, *following])),
            WeightColumns(self.span.weight, self.outputs, of_spans=True),
        ]


class WholeSpans(OutputLayer):
    """Scores of spans from the features of the word before, of their first word, of each of their words, of their last
    word, of the word after, and of the span."""

    def __init__(self, words: int, spans: int, outputs: Outputs, rate: float):
        super().__init__()
        self.outputs, count = outputs, outputs.count
        self.words = FeatureWeights(words, 5 * count, rate, bias=False)
        self.each = nn.Parameter(torch.zeros(count))
        self.span = FeatureWeights(spans, count, rate, bias=False)
        self.bias = nn.Parameter(torch.zeros(count))

    def forward(self, words: Tensor, spans: Spans, batch: Batch) -> Tensor:
        """(rows, outputs)"""
        before, first, each, last, following = self.words(words).chunk(5, dim=1)
        starts = first.index_select(0, batch.row_of) + _beside(before, batch, -1)  # (B * n, outputs)
        ends = last.index_select(0, batch.row_of) + _beside(following, batch, 1)
        in_order = (each + self.each).index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, -1)
        until = nn.functional.pad(in_order.cumsum(1), (0, 0, 1, 0)).flatten(0, 1)  # (B * (n + 1), outputs)
        shift = spans.layout.start.div(max(batch.longest, 1), rounding_mode="floor")  # each sentence has one place more
        inside = until.index_select(0, spans.layout.end + shift + 1) - until.index_select(0, spans.layout.start + shift)
        edges = starts.index_select(0, spans.layout.start) + ends.index_select(0, spans.layout.end)
        return edges + inside + self.span(spans.states) + self.bias

    def columns(self) -> list[WeightColumns]:
        places = ["begins after it", "begins", "is inside", "ends", "ends before it"]
        return [
            WeightColumns(
                self.words.weight, replace(self.outputs, roles=[p for p in places for _ in self.outputs.roles])
            ),
            WeightColumns(self.span.weight, self.outputs, of_spans=True),
        ]
