"""The layered model of Ju, Miwa & Ananiadou (2018): flat recognisers from inner to outer mentions.

A layer is a bidirectional LSTM and a linear chain over its positions. The mentions that a layer finds are merged for
the next one: the positions of a mention become one position, the mean of their vectors; all others stay. So the next
layer sees a shorter sentence, in which the mentions around those found are flat again. Layers run until one finds
nothing new.

*Shared.* All layers have the same weights of tags and steps, and all above the first the same LSTM. The first LSTM is
the word encoder, because word vectors have a different size; if they have the same size, as in the original, it is
shared too.

*Represented.* Mentions may be nested to any depth up to `MOST_LAYERS`, of the same type or not, but may not cross. A
second type on one span is one layer further out, by the order of labels: a merged mention is one position, which can be
found again. The original does the same, since it counts a mention as inside another of the same span.

*Training* merges gold mentions, whereas the original merges what it finds itself; the loss is the sum over the layers
of a sentence, the last of which finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from hyperspan.baselines.linear_chain import LinearChain, TagScores
from hyperspan.baselines.tree import without_crossing
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import ENCODERS, Abilities, Batch, Model, word_states
from hyperspan.structures import Distribution, Loss, Mention, MentionSet, check_count
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

MOST_LAYERS = 16
"""Inference stops after this many layers."""


def layers_of(mentions: Iterable[Mention]) -> list[MentionSet]:
    """Split non-crossing mentions into flat sets, innermost first: each mention is one layer above the highest one
    inside it.

    >>> [sorted(layer) for layer in layers_of({(0, 4, 0), (1, 2, 0), (5, 6, 0), (5, 6, 1)})]
    [[(1, 2, 0), (5, 6, 0)], [(0, 4, 0), (5, 6, 1)]]
    """
    levels: dict[Mention, int] = {}
    for start, end, kind in sorted(mentions, key=lambda mention: (mention[1] - mention[0], mention)):
        inside = (level for (first, last, _), level in levels.items() if start <= first and last <= end)
        levels[start, end, kind] = 1 + max(inside, default=-1)
    return [
        frozenset(mention for mention, own in levels.items() if own == level)
        for level in range(1 + max(levels.values(), default=-1))
    ]


class Merge(NamedTuple):
    """How the rows of one layer become those of the next: row `target[i]` is the mean of its rows `source[i]`."""

    source: np.ndarray
    target: np.ndarray


class Sequences:
    """Some sentences of a batch as a layer sees them, longest first: P positions, each a word or a merged mention.

    Arrays have one sentence after the other; `row` is the place of each position in packed order.
    """

    def __init__(self, sentence: np.ndarray, lengths: np.ndarray, start: np.ndarray, end: np.ndarray):
        self.sentence, self.lengths = sentence, lengths
        """(S,) each: which sentence of the batch, and its positions, at least one."""
        self.start, self.end = start, end
        """(P,) each: the first word of a position, and the one after its last."""
        self.begin = lengths.cumsum() - lengths
        counts = (lengths[None, :] > np.arange(lengths.max(initial=0))[:, None]).sum(1)
        self.sequence = np.repeat(np.arange(len(lengths)), lengths)  # (P,)
        self.position = np.arange(len(start)) - self.begin[self.sequence]  # (P,)
        self.row = (counts.cumsum() - counts)[self.position] + self.sequence  # (P,)

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Sequences:
        """The words of all sentences that have any; their rows are those of the batch."""
        every = np.array(lengths, dtype=np.int64)
        order = np.argsort(-every, kind="stable")[: np.count_nonzero(every)]
        first = np.arange(every.sum()) - np.repeat(every[order].cumsum() - every[order], every[order])
        return cls(order, every[order], first, first + 1)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def padded(self) -> np.ndarray:
        """(S, n): the row of each position; 0 in padding."""
        rows = np.zeros((len(self), self.lengths.max(initial=0)), dtype=np.int64)
        rows[self.sequence, self.position] = self.row
        return rows

    def in_words(self, sequence: int, mentions: Iterable[Mention]) -> MentionSet:
        """Mentions of a sequence's positions as mentions of words."""
        first = self.begin[sequence]
        return frozenset((int(self.start[first + i]), int(self.end[first + j - 1]), kind) for i, j, kind in mentions)

    def in_positions(self, sequence: int, mentions: Iterable[Mention]) -> MentionSet:
        """Mentions of words as mentions of positions, whose bounds they must share."""
        own = slice(self.begin[sequence], self.begin[sequence] + self.lengths[sequence])
        starts, ends = self.start[own], self.end[own]
        return frozenset((int(starts.searchsorted(i)), int(ends.searchsorted(j)) + 1, kind) for i, j, kind in mentions)

    def merged(self, found: Sequence[MentionSet]) -> tuple[Sequences, Merge]:
        """The input of the next layer: the sequences in which mentions (of positions, flat) were found, merged."""
        spans = [(b + i, b + j) for b, mentions in zip(self.begin, found, strict=True) for i, j, _ in mentions]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        goes_on = np.zeros(len(self.start) + 1, dtype=np.int64)
        np.add.at(goes_on, starts + 1, 1)
        np.add.at(goes_on, ends, -1)
        opens = goes_on[:-1].cumsum() == 0  # (P,): whether a new position starts here
        closes = np.append(opens[1:], True)[: len(opens)]
        counts = np.bincount(self.sequence[opens], minlength=len(self))
        kept = np.flatnonzero([bool(mentions) for mentions in found])
        kept = kept[np.argsort(-counts[kept], kind="stable")]
        lengths = counts[kept]
        within = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
        chosen = np.repeat((counts.cumsum() - counts)[kept], lengths) + within  # of all new positions, in the new order
        following = Sequences(self.sentence[kept], lengths, self.start[opens][chosen], self.end[closes][chosen])
        rows = np.full(np.count_nonzero(opens), -1)
        rows[chosen] = following.row
        target = rows[opens.cumsum() - 1]  # (P,)
        return following, Merge(self.row[target >= 0], target[target >= 0])


class Layer(NamedTuple):
    """A layer in inference: its sequences, its chain over them, and the best mentions of their positions."""

    sequences: Sequences
    chain: LinearChain
    best: list[MentionSet]


class LayeredChains(Distribution):
    """The mentions that the layers found, each layer conditional on the previous ones."""

    limits = "each layer reads what those before it found, and other ways are not followed"

    def __init__(self, layers: list[Layer], lengths: list[int], types: int, device: torch.device):
        self.layers, self.lengths, self.types, self.device = layers, lengths, types, device

    @property
    def exact_marginals(self) -> bool:
        return False

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability of a mention in the layer that is most confident, given what earlier layers
        found."""
        n = max(self.lengths, default=0)
        result = torch.zeros(len(self.lengths) * n * n, self.types, device=self.device)
        for sequences, chain, _ in self.layers:
            begin, length = sequences.begin[sequences.sequence], sequences.lengths[sequences.sequence]
            widths = length - sequences.position  # (P,): of the mentions that start at each position
            from_ = np.repeat(np.arange(len(widths)), widths)
            width = np.arange(len(from_)) - np.repeat(widths.cumsum() - widths, widths)
            start, last = sequences.start[from_], sequences.end[from_ + width] - 1
            place = (sequences.sentence[sequences.sequence[from_]] * n + start) * n + last - start
            longest = sequences.lengths.max(initial=0)
            entry = (sequences.sequence[from_] * longest + (from_ - begin[from_])) * longest + width
            places, entries = torch.from_numpy(np.stack([place, entry])).to(self.device)
            found = chain.marginals.flatten(0, 2).index_select(0, entries).to(result.dtype)
            result[places] = torch.maximum(result[places], found)  # each place once
        return result.view(len(self.lengths), n, n, self.types)

    def argmax(self) -> list[MentionSet]:
        """The mentions that all layers found together."""
        found: list[set[Mention]] = [set() for _ in self.lengths]
        for sequences, _, best in self.layers:
            for sequence, mentions in enumerate(best):
                found[sequences.sentence[sequence]] |= sequences.in_words(sequence, mentions)
        return [frozenset(mentions) for mentions in found]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The set that was found, with the log-probability of all layers' decisions; no other sets."""
        check_count(k)
        values = np.zeros(len(self.lengths))
        for sequences, chain, best in self.layers:
            values[sequences.sentence] += chain.log_prob(best).double().cpu().numpy()
        return [[(mentions, value)][:k] for mentions, value in zip(self.argmax(), values.tolist(), strict=True)]


class Layered(Model):
    """Flat layers of linear chains, as many as find something."""

    abilities = Abilities(vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        d, tags = self.encoder.dimension, 4 * len(self.labels) + 1
        self.further = nn.LSTM(d, config.encoder.hidden, bidirectional=True)
        self.dropout = nn.Dropout(config.encoder.output_dropout)
        self.emit = nn.Linear(d, tags)
        self.step = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = (nn.Parameter(torch.zeros(tags)) for _ in range(2))

    @classmethod
    def check(cls, config: Config) -> None:
        if config.encoder.layers == 0:
            raise InputError("encoder.layers is 0, but model.kind layered is made of such layers; set it to 1 or more")

    def _emitted(self, rows: Tensor, sequences: Sequences) -> Tensor:
        """(P, d) -> (S, n, tags)"""
        (padded,) = self.indices(sequences.padded)
        return self.emit(rows).float().index_select(0, padded.flatten()).view(*padded.shape, self.emit.out_features)

    def _chain(self, emit: Tensor, lengths: Sequence[int]) -> LinearChain:
        return LinearChain(TagScores(emit, self.step, self.first, self.last), lengths)

    def _following(self, rows: Tensor, merge: Merge, sequences: Sequences) -> Tensor:
        """(P, d) of a layer -> (P', d) of the next one, whose sequences are given: means, then the LSTM of further
        layers."""
        sizes = np.bincount(merge.target, minlength=len(sequences.start))
        source, target, size = self.indices(merge.source, merge.target, sizes)
        sums = rows.new_zeros(len(size), rows.shape[1]).index_add(0, target, rows.index_select(0, source))
        states = word_states(self.further, sums / size[:, None], sequences.lengths.tolist())
        return self.dropout(states)

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        """The negative log-likelihood of all layers of a sentence. Their chains share weights, so all are computed at
        once."""
        kept = [self.representable(mentions, batch.longest) for mentions in gold]
        layers = [layers_of(mentions) for mentions in kept]
        sequences, rows = Sequences.of(batch.lengths), words
        emitted: list[Tensor] = []
        wanted: list[MentionSet] = []
        seen: list[Sequences] = []
        while not seen or len(sequences):
            of_layer = [
                sequences.in_positions(place, layers[sentence][len(seen)] if len(seen) < len(layers[sentence]) else ())
                for place, sentence in enumerate(sequences.sentence)
            ]
            emitted.append(self._emitted(rows, sequences))
            wanted += of_layer
            seen.append(sequences)
            sequences, merge = sequences.merged(of_layer)
            rows = self._following(rows, merge, sequences) if len(sequences) else rows
        emit = torch.cat([pad(scores, (0, 0, 0, batch.longest - scores.shape[1])) for scores in emitted])
        chain = self._chain(emit, np.concatenate([one.lengths for one in seen]).tolist())
        (owner,) = self.indices(np.concatenate([one.sentence for one in seen]))
        values = emit.new_zeros(len(gold)).index_add(0, owner, -chain.log_prob(wanted))
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def distribution(self, sentences: Sequence[Sentence]) -> LayeredChains:
        batch = self.collate(sentences)
        sequences, rows = Sequences.of(batch.lengths), self.encoder(batch)[-1]
        known: list[MentionSet] = [frozenset()] * len(sentences)
        layers: list[Layer] = []
        while len(sequences) and len(layers) < MOST_LAYERS:
            chain = self._chain(self._emitted(rows, sequences), sequences.lengths.tolist())
            best = chain.argmax()
            layers.append(Layer(sequences, chain, best))
            going_on: list[MentionSet] = []
            for place, (sentence, mentions) in enumerate(zip(sequences.sentence, best, strict=True)):
                found = known[sentence] | sequences.in_words(place, mentions)
                going_on.append(mentions if len(found) > len(known[sentence]) else frozenset())
                known[sentence] = found
            sequences, merge = sequences.merged(going_on)
            rows = self._following(rows, merge, sequences) if len(sequences) else rows
        return LayeredChains(layers, batch.lengths, len(self.labels), self.device)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        spans = without_crossing({(start, end, 0) for start, end, _ in mentions})
        nested = {(start, end, kind) for start, end, kind in mentions if (start, end, 0) in spans}
        return {mention for layer in layers_of(nested)[:MOST_LAYERS] for mention in layer}
