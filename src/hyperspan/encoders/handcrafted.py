"""The handcrafted encoder: sparse attributes of words and spans in the place of vectors, and weights for them.

It stands where :class:`hyperspan.encoders.words.WordEncoder` and :class:`hyperspan.encoders.spans.SpanLSTM` stand: a scorer asks
either for layers, from words or spans to scores, and does not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.attributes import (
    OF_TAGS,
    SPAN_TEMPLATES,
    TEMPLATES,
    Attributes,
    Reading,
    Template,
    frequent,
    function_words_of,
    look_up,
)
from hyperspan.errors import InputError
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

REMEMBERED_SENTENCES = 50_000
"""So many sentences' attributes are kept in training, about 10 kB each."""


def check_attributes(config: Config) -> None:
    """Raises an error where a configuration asks the handcrafted encoder for what it has not, or cannot know."""
    asked = attributes_of(config, Vocabulary([], 0, [], [], []))
    if not asked.templates:
        raise InputError(f"features.words names nothing to look at; name some of {', '.join(TEMPLATES)}")
    layers = [template.layer for template in asked.templates] + list(asked.spans)
    if any(layer.startswith("cluster") for layer in layers) and not config.words.clusters:
        raise InputError(
            "features.words or attributes.spans ask for clusters, but words.clusters names no file of them; name one, or leave them out"
        )
    if config.training.lm_loss_weight:
        raise InputError(
            f"training.lm_loss_weight is {config.training.lm_loss_weight:g}, but the handcrafted encoder has no layers to learn them; set it to 0"
        )


def attributes_of(config: Config, vocabulary: Vocabulary) -> Attributes:
    """What a model looks at."""
    chosen = config.features
    return Attributes(
        _names("features.words", chosen.words, list(TEMPLATES)),
        _names("features.spans", chosen.spans, list(SPAN_TEMPLATES)),
        frozenset(vocabulary.function_words),
        vocabulary.clusters,
    )


def _names(key: str, given: str, known: Sequence[str]) -> list[str]:
    """The words of a text, each of them known."""
    names = given.replace(",", " ").split()
    for name in names:
        if name not in known:
            raise InputError(f"{key} names {name!r}, but must be some of {', '.join(known)}")
    return names


def collect(sentences: Sequence[Sentence], config: Config, vocabulary: Vocabulary) -> tuple[Vocabulary, Tensor, Tensor]:
    """The vocabulary with the attributes that occur often enough in training sentences, and the hashes of those of words and spans.

    Those of spans are counted where there is a mention: of other spans there are too many.
    """
    vocabulary = replace(vocabulary, function_words=sorted(function_words_of(sentences)))
    attributes = attributes_of(config, vocabulary)
    if not any(sentence.tags for sentence in sentences):
        attributes = replace(attributes, spans=[name for name in attributes.spans if name not in OF_TAGS])
    reading = attributes.read(sentences)
    least = config.features.min_count
    words, names = _frequent_of_words(reading, least)
    mentions = _mentions(sentences)
    columns = np.array(mentions, dtype=np.int64).reshape(-1, 3).T
    spans, places = frequent(reading.of_spans(columns[0], columns[1], columns[2]), least)
    span_names = [
        reading.name_of_span(*mentions[row], attributes.spans[column])
        for row, column in _places(places, len(attributes.spans))
    ]
    vocabulary = replace(vocabulary, attributes=names, span_attributes=span_names)
    return vocabulary, torch.from_numpy(words), torch.from_numpy(spans)


def _frequent_of_words(reading: Reading, least: int) -> tuple[np.ndarray, list[str]]:
    """The sorted hashes of frequent attributes of words, and their names; template by template, as all at once are many."""
    by_name: dict[str, list[Template]] = {}
    for template in reading.attributes.templates:  # those of a bag share their name
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
    """The rows and columns that indices of a flat array stand for."""
    yield from zip(*(part.tolist() for part in np.divmod(places, max(columns, 1))), strict=True)


def _mentions(sentences: Sequence[Sentence]) -> list[tuple[int, int, int]]:
    """Sentence, start, and how many words more than one, of all spans that are mentions of whatever type."""
    spans = {
        (number, mention.start, mention.end - mention.start - 1)
        for number, sentence in enumerate(sentences)
        for mention in sentence.mentions
        if not mention.fragments
    }
    return sorted(spans)


class AttributeEncoder(nn.Module):
    """The attributes of every word of a batch, as ids."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.attributes = attributes_of(config, vocabulary)
        self.rate = config.encoder.input_dropout
        self.known: Tensor
        self.register_buffer("known", torch.zeros(len(vocabulary.attributes), dtype=torch.int64))
        self._kept: dict[Sentence, np.ndarray] = {}
        self._arrays: tuple[list[tuple[int, int]], np.ndarray, np.ndarray] | None = None
        self.spans_known: Tensor
        self.register_buffer("spans_known", torch.zeros(len(vocabulary.span_attributes), dtype=torch.int64))

    def initialise(self, words: Tensor, spans: Tensor) -> None:
        """Puts the hashes of known attributes in place."""
        self.known.copy_(words)
        self.spans_known.copy_(spans)

    def collate(self, sentences: Sequence[Sentence], batch: Batch, layout: SpanLayout | None) -> Batch:
        """The batch with the attributes of its words and, where there is a layout, of its spans."""
        device = batch.words.device
        order = np.repeat(np.arange(len(batch.lengths)) * batch.longest - _before(batch.lengths), batch.lengths)
        order = order + np.arange(len(order))  # (N,): sentence * n + position, of words one after the other
        rows = batch.row_of.cpu().numpy()[order]
        words = np.empty((len(rows), len(self.attributes.templates)), dtype=np.int32)
        words[rows] = self._of_words(sentences)
        spans = None
        if layout is not None and self.attributes.spans:
            sentence, start = np.divmod(layout.chains.starts, max(batch.longest, 1))
            hashes = self.attributes.read(sentences).of_spans(sentence, start, layout.chains.widths)
            spans = torch.from_numpy(look_up(hashes, self._tables()[1])).to(device, torch.int32)
        return replace(batch, attributes=torch.from_numpy(words).to(device), span_attributes=spans)

    def _of_words(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """(N, templates): the ids of attributes of the words, one sentence after the other.

        Those of training sentences are kept, as they come back in every epoch.
        """
        known, _ = self._tables()
        if not self.training:
            return look_up(self.attributes.read(sentences).of_words(), known).astype(np.int32)
        if len(self._kept) > REMEMBERED_SENTENCES:
            self._kept.clear()
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._kept]
        ids = look_up(self.attributes.read(new).of_words(), known).astype(np.int32)
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
        """(N, templates): the ids of attributes, some of which are overlooked in training."""
        assert batch.attributes is not None
        return [self._overlook(batch.attributes)]

    def spans(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(rows, templates): the same for spans."""
        if batch.span_attributes is None:
            return words.new_zeros(len(layout.start), 0)
        return self._overlook(batch.span_attributes)

    def _overlook(self, ids: Tensor) -> Tensor:
        """The ids, with 0 in the place of some in training."""
        if not self.training or not self.rate:
            return ids
        return ids * (torch.rand(ids.shape, device=ids.device) >= self.rate)


def _before(lengths: Sequence[int]) -> np.ndarray:
    """How many words there are before each sentence."""
    counts = np.array(lengths, dtype=np.int64)
    return np.cumsum(counts) - counts


class AttributeLayers:
    """Weights for whoever scores words and spans."""

    def __init__(self, encoder: AttributeEncoder):
        self.counts, self.rate = (len(encoder.known), len(encoder.spans_known)), encoder.rate

    def words(self, outputs: int) -> nn.Module:
        """From the attributes of words to scores."""
        return AttributeWeights(self.counts[0], outputs, self.rate)

    def spans(self, outputs: int, *, whole: bool = False) -> nn.Module:
        """From spans to scores: of what is at their last word, or with `whole` of all their words; and of their own."""
        return WholeSpans(self, outputs) if whole else SpanEnds(self, outputs)


class AttributeWeights(nn.Module):
    """The sum of the weights of attributes."""

    def __init__(self, attributes: int, outputs: int, rate: float, *, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(attributes + 1, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.rate = rate
        """How many attributes are overlooked in training, which the others make up for."""

    def forward(self, ids: Tensor) -> Tensor:
        """(N, templates) -> (N, outputs)."""
        if ids.numel():
            total = embedding_bag(ids, self.weight, mode="sum", padding_idx=0)
        else:
            total = self.weight.new_zeros(len(ids), self.weight.shape[1])
        total = total / (1 - self.rate) if self.training and self.rate else total
        return total if self.bias is None else total + self.bias


def _beside(values: Tensor, batch: Batch, step: int) -> Tensor:
    """(N, d), of words -> (B * n, d): of the word so many places later than each place of the batch, 0 where there is none."""
    place = torch.arange(batch.longest, device=values.device) + step
    lengths = torch.tensor(batch.lengths, device=values.device)
    inside = (place >= 0) & (place < lengths[:, None])  # (B, n)
    rows = batch.row_of.view(len(batch.lengths), -1)[:, place.clamp(0, max(batch.longest - 1, 0))]
    return values.index_select(0, rows.flatten()) * inside.flatten()[:, None]


class SpanEnds(nn.Module):
    """Scores of spans from the attributes of their last word, of the next one, and their own."""

    def __init__(self, layers: AttributeLayers, outputs: int):
        super().__init__()
        words, spans = layers.counts
        self.words = AttributeWeights(words, 2 * outputs, layers.rate, bias=False)
        self.span = AttributeWeights(spans, outputs, layers.rate, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, words: Tensor, spans: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(rows, outputs)"""
        last, following = self.words(words).chunk(2, dim=1)
        ends = last.index_select(0, batch.row_of) + _beside(following, batch, 1)  # (B * n, outputs)
        return ends.index_select(0, layout.end) + self.span(spans) + self.bias


class WholeSpans(nn.Module):
    """Scores of spans from the attributes of the word before, of their first word, of each of their words, of their last word,
    of the word after, and their own."""

    def __init__(self, layers: AttributeLayers, outputs: int):
        super().__init__()
        words, spans = layers.counts
        self.words = AttributeWeights(words, 5 * outputs, layers.rate, bias=False)
        self.each = nn.Parameter(torch.zeros(outputs))
        self.span = AttributeWeights(spans, outputs, layers.rate, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, words: Tensor, spans: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(rows, outputs)"""
        before, first, each, last, following = self.words(words).chunk(5, dim=1)
        starts = first.index_select(0, batch.row_of) + _beside(before, batch, -1)  # (B * n, outputs)
        ends = last.index_select(0, batch.row_of) + _beside(following, batch, 1)
        in_order = (each + self.each).index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, -1)
        until = nn.functional.pad(in_order.cumsum(1), (0, 0, 1, 0)).flatten(0, 1)  # (B * (n + 1), outputs)
        shift = layout.start.div(max(batch.longest, 1), rounding_mode="floor")  # each sentence has one place more
        inside = until.index_select(0, layout.end + shift + 1) - until.index_select(0, layout.start + shift)
        edges = starts.index_select(0, layout.start) + ends.index_select(0, layout.end)
        return edges + inside + self.span(spans) + self.bias
