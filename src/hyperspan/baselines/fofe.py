"""A local span classifier over fixed-size ordinally forgetting encodings (FOFE: Xu, Jiang & Watcharawittayakul 2017).

Every span of at most c words is one of m types or none, independently of other spans. The classifier sees a sentence of
any length as codes of a fixed size, z_t = α z_{t-1} + e_t over vectors e_t: codes of the words up to the span, with and
without it; the same from the other side; the sum of the span's words (α = 1); and, in both directions, of the span's
characters.

*All spans at once.* The codes of contexts depend only on a span's start or its end. Codes of the inside are
differences, z_{i:j} = z_j - α^(j - i + 1) z_{i-1}, of codes of prefixes. So n codes of each kind cover all n c spans;
the first layer multiplies context codes once per word, and adds them up once per span.

*Represented.* Mentions nested, crossing, of the same type, in any number; but one type per span, as the types of a span
exclude each other. If a span has several types, the first label by name is learnt. Nothing removes overlapping mentions
afterwards: Xu et al. keep only the most probable of overlapping mentions; here all above the threshold stay. The
threshold is chosen on dev.

In training most spans are not mentions. Some are dropped at random: more of those far from mentions than of those that
overlap one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from hyperspan.config import MOST_LAYERS, MOST_UNITS, Config, KindOptions, key
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import in_float64
from hyperspan.nn import Abilities, Batch, Model, NeuralEncoder, Setting, Spans
from hyperspan.structures import Distribution, Loss, Mention, MentionSet
from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

FORGETTING_FACTOR, CHARACTER_FORGETTING_FACTOR = 0.5, 0.8
"""α: the vector of a word, or of a character, is multiplied by this for each word or character of distance."""
OVERLAPPING_RATE, DISJOINT_RATE = 0.36, 0.09
"""The fractions of spans without a mention that training uses as negatives: of those that overlap a mention, and of the
others. They are drawn anew in every step."""
MOSTLY_NONE = 3.0
"""The initial score of "none"."""
THRESHOLDS = [step / 40 for step in range(4, 40)]
"""From 0.1 to 0.975."""


@dataclass(frozen=True)
class FofeOptions(KindOptions):
    """The model `fofe`."""

    layers: int = key(1, "fixed", low=1, high=MOST_LAYERS)
    """Layers of the network that classifies spans."""
    hidden: int = key(128, "fixed", low=1, high=MOST_UNITS)
    """Units of each layer."""
    dropout: float = key(0.0, "fixed", low=0, high=0.95)
    """Dropout on the output of each layer."""
    threshold: float = key(0.3, "tuned", low=0, high=1)
    """The least probability of a mention. Training chooses it on dev at the end."""


class Fofe(Model):
    """Words → codes of words, contexts and characters → layers of rectified units → a type, or none, for every span."""

    abilities = Abilities("overlapping in any way, one type a span", spans=True, vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        fofe, characters, types = self.kind_options, config.characters.dimension, len(self.labels)
        # Word vectors without an LSTM
        self.encoder: NeuralEncoder = NeuralEncoder(config, vocabulary, layers=0, characters=True)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.characters = nn.Embedding(len(vocabulary.characters) + 2, characters, padding_idx=0)
        words = self.encoder.dimension
        self.starts = nn.Linear(2 * words, fofe.hidden)
        self.ends = nn.Linear(2 * words, fofe.hidden, bias=False)
        self.inside = nn.Linear(words + 2 * characters, fofe.hidden, bias=False)
        linear = [nn.Linear(fofe.hidden, fofe.hidden) for _ in range(fofe.layers - 1)]
        linear.append(nn.Linear(fofe.hidden, types + 1))
        with torch.no_grad():
            linear[-1].bias[-1] = MOSTLY_NONE
        dropout = nn.Dropout(fofe.dropout)
        self.layers = nn.Sequential(*(part for layer in linear for part in (nn.ReLU(), dropout, layer)))

    @property
    def kind_options(self) -> FofeOptions:
        """The section `fofe` of its configuration."""
        return self.config.options("fofe", FofeOptions)

    @classmethod
    def check(cls, config: Config) -> None:
        if config.encoder.kind != "neural":
            raise InputError(
                f"encoder.kind is {config.encoder.kind}, but model.kind fofe reads the vectors and characters of neural; set it to that"
            )
        if config.training.lm_loss_weight:
            raise InputError(
                f"training.lm_loss_weight is {config.training.lm_loss_weight:g}, but model.kind fofe has no LSTM that predicts words; set it to 0"
            )

    def codes(self, words: Tensor, batch: Batch) -> Codes:
        """(N, d), the vectors of words -> the codes of all spans."""
        shape = (len(batch.lengths), batch.longest)
        lengths = torch.tensor(batch.lengths, device=words.device)
        outside = (torch.arange(batch.longest, device=words.device) >= lengths[:, None])[..., None]  # (B, n, 1)

        def by_word(rows: Tensor) -> Tensor:
            """(N, ...) -> (B, n, ...), 0 in padding"""
            return rows.index_select(0, batch.row_of).view(*shape, -1).masked_fill(outside, 0)

        spelled, counts = character_codes(
            self.characters(self.encoder.character_ids(batch)), batch.characters, CHARACTER_FORGETTING_FACTOR
        )
        forward, backward = by_word(spelled.index_select(0, batch.spelling)).chunk(2, dim=2)
        counts = by_word(counts.index_select(0, batch.spelling)[:, None])
        return Codes.of(
            by_word(words.float()),
            forward,
            backward,
            counts,
            FORGETTING_FACTOR,
            CHARACTER_FORGETTING_FACTOR,
        )

    def classify(self, codes: Codes, start: Tensor, end: Tensor) -> Tensor:
        """(spans, m + 1): the scores of each type and of none, of spans from `start` to `end`, both as sentence * n +
        position."""
        together = self.starts(codes.starts).index_select(0, start) + self.ends(codes.ends).index_select(0, end)
        return self.layers(together + self.inside(codes.inside(start, end))).float()

    def distribution(self, sentences: Sequence[Sentence]) -> IndependentSpans:
        """The probabilities of the types of every span."""
        batch, types = self.collate(sentences), len(self.labels)
        if batch.longest == 0:
            empty = torch.zeros(len(sentences), 0, 1, types + 1, device=self.device)
            return IndependentSpans(empty, batch.lengths, self.kind_options.threshold)
        spans = Spans.unread(batch, self.config)
        scores = self.classify(self.codes(self.encoder(batch)[-1], batch), spans.layout.start, spans.layout.end)
        found = spans.by_width(scores.log_softmax(1))
        return IndependentSpans(found, batch.lengths, self.kind_options.threshold)

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        spans = Spans.unread(batch, self.config)
        width = min(self.max_width or batch.longest, batch.longest)
        unrepresentable = tuple(sum(end - start > width for start, end, _ in mentions) for mentions in gold)
        kinds, start, end = self._learnt_from(gold, batch, spans, width)
        wrong = cross_entropy(self.classify(self.codes(words, batch), start, end), kinds, reduction="none")  # (spans,)
        sentence = torch.div(start, batch.longest, rounding_mode="floor")
        return Loss(wrong.new_zeros(len(batch.lengths)).index_add(0, sentence, wrong), unrepresentable)

    def _learnt_from(
        self, gold: Sequence[set[Mention]], batch: Batch, spans: Spans, width: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The types, starts and ends of the spans to learn from: all mentions, and some of the others."""
        none, words = len(self.labels), len(batch.lengths) * batch.longest
        kind = np.full((words, width), none)
        covered = np.zeros(words + 1, dtype=np.int64)
        for sentence, mentions in enumerate(gold):
            first = sentence * batch.longest
            for start, end, label in mentions:
                covered[first + start + 1 : first + end + 1] = 1
                if end - start <= width:
                    kind[first + start, end - start - 1] = min(label, kind[first + start, end - start - 1])
        kinds, before = self.indices(kind.ravel(), covered.cumsum())  # mention words before each word
        kinds = kinds.index_select(0, spans.layout.start * width + spans.layout.width)
        overlaps = before.index_select(0, spans.layout.end + 1) > before.index_select(0, spans.layout.start)
        rate = torch.where(overlaps, OVERLAPPING_RATE, DISJOINT_RATE)
        chosen = ((kinds < none) | (torch.rand(rate.shape, device=self.device) < rate)).nonzero()[:, 0]
        return kinds[chosen], spans.layout.start[chosen], spans.layout.end[chosen]

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """One type per span, for spans that are not too wide."""
        spans: dict[tuple[int, int], int] = {}
        for start, end, kind in mentions:
            if end - start <= min(self.max_width or longest, longest):
                spans[start, end] = min(kind, spans.get((start, end), kind))
        return {(start, end, kind) for (start, end), kind in spans.items()}

    def found_at(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a threshold to the mentions found with it."""
        return self.distribution(sentences).above

    def settings(self) -> list[Setting]:
        return [Setting("fofe", "threshold", THRESHOLDS, self.kind_options.threshold, self.found_at)]


def forgetting(vectors: Tensor, kept: Tensor) -> Tensor:
    """(B, n, d), (B, n, 1) -> (B, n, d): z_t = kept_t z_{t-1} + vectors_t, in about log2(n) steps.

    After s steps each z_t has read 2^s vectors, and `kept` is the factor for the vectors before; the next step adds
    those.

    >>> forgetting(torch.tensor([[[1.0], [0.0], [4.0]]]), torch.full((1, 3, 1), 0.5)).flatten().tolist()
    [1.0, 0.5, 4.25]
    """
    step = 1
    while step < vectors.shape[1]:
        reaching = kept[:, step:]
        vectors = vectors + pad(reaching * vectors[:, :-step], (0, 0, step, 0))
        kept = pad(reaching * kept[:, :-step], (0, 0, step, 0))
        step *= 2
    return vectors


def character_codes(embedded: Tensor, characters: Tensor, forget: float) -> tuple[Tensor, Tensor]:
    """(U, longest, d), 0 in padding, and the ids -> (U, 2 d): the codes of spellings, read forwards and backwards; and
    (U,): the number of characters of each."""
    counts = (characters > 0).sum(1)
    place = torch.arange(characters.shape[1], device=characters.device)
    ahead = (counts[:, None] - 1 - place).clamp(min=0)
    base = embedded.new_tensor(forget)
    weights = torch.stack([base**ahead, (base**place).expand_as(ahead)], dim=1)  # (U, 2, longest)
    return torch.bmm(weights, embedded).flatten(1), counts


class Codes(NamedTuple):
    """The codes of all spans of a batch, by where they start and end; a word's place is sentence * n + position."""

    starts: Tensor  # (B n, 2 d): of what is before a span that starts here; of that and the span, read from the right
    ends: Tensor  # (B n, 2 d): of a span that ends here and what is before; of what is after, read from the right
    sums: Tensor  # (2, B n, d): of the words up to each, with it and without
    forward: Tensor  # (2, B n, d'): of the characters up to the end of a word, and up to its start
    backward: Tensor  # (2, B n, d'): of those from its start on, and from its end on, read from the right
    characters: Tensor  # (B n + 1,): how many characters there are before each word
    character_factor: float

    @classmethod
    def of(
        cls, words: Tensor, forward: Tensor, backward: Tensor, counts: Tensor, forget: float, character_factor: float
    ) -> Codes:
        """(B, n, d), twice (B, n, d'), the codes of each word's characters, and (B, n, 1), the number of characters; 0
        in padding."""
        until, since = _both_ways(words, words, words.new_full((*words.shape[:2], 1), forget))
        sums = words.cumsum(1)
        left, right = _both_ways(forward, backward, words.new_tensor(character_factor) ** counts)
        return cls(
            torch.cat([_later(until), since], dim=2).flatten(0, 1),
            torch.cat([until, _earlier(since)], dim=2).flatten(0, 1),
            torch.stack([sums, _later(sums)]).flatten(1, 2),
            torch.stack([left, _later(left)]).flatten(1, 2),
            torch.stack([right, _earlier(right)]).flatten(1, 2),
            pad(counts.flatten().cumsum(0), (1, 0)),
            character_factor,
        )

    def inside(self, start: Tensor, end: Tensor) -> Tensor:
        """(spans, d + 2 d'): the sum of the words of spans, and the codes of their characters forwards and
        backwards."""
        characters = self.characters.index_select(0, end + 1) - self.characters.index_select(0, start)
        left = (self.sums.new_tensor(self.character_factor) ** characters)[:, None]  # of what is beyond the span
        return torch.cat(
            [
                self.sums[0].index_select(0, end) - self.sums[1].index_select(0, start),
                self.forward[0].index_select(0, end) - left * self.forward[1].index_select(0, start),
                self.backward[0].index_select(0, start) - left * self.backward[1].index_select(0, end),
            ],
            dim=1,
        )


def _both_ways(forward: Tensor, backward: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """The codes of the words up to each word, and of those from it on, read from the right."""
    return forgetting(forward, kept), forgetting(backward.flip(1), kept.flip(1)).flip(1)


def _later(codes: Tensor) -> Tensor:
    """(B, n, d): each code one word later."""
    return pad(codes[:, :-1], (0, 0, 1, 0))


def _earlier(codes: Tensor) -> Tensor:
    return pad(codes[:, 1:], (0, 0, 0, 1))


class IndependentSpans(Distribution):
    """Every span has a type or none, independently of the others."""

    limits = "it classifies each span by itself"

    def __init__(self, log_probabilities: Tensor, lengths: list[int], threshold: float):
        _, n, c, choices = log_probabilities.shape
        words, widths = (torch.arange(size, device=log_probabilities.device) for size in (n, c))
        place = words[:, None] + widths
        self.beyond = place >= place.new_tensor(lengths).view(-1, 1, 1)  # (B, n, c)
        self.log_probabilities = log_probabilities
        """(B, n, c, m + 1): the log-probability of each type and of none; arbitrary in padding."""
        self.lengths, self.types, self.threshold = lengths, choices - 1, threshold

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k; 0 in padding."""
        return self.log_probabilities[..., :-1].exp().masked_fill(self.beyond[..., None], 0.0)

    def above(self, threshold: float) -> list[MentionSet]:
        """The most probable type of each span, if it reaches the threshold."""
        best, kind = self.marginals.max(3)  # (B, n, c)
        places = ((best >= threshold) & (best > 0)).nonzero()
        found: list[set[Mention]] = [set() for _ in self.lengths]
        for (b, start, width), label in zip(places.tolist(), kind[tuple(places.T)].tolist(), strict=True):
            found[b].add((start, start + width + 1, label))
        return [frozenset(mentions) for mentions in found]

    def argmax(self) -> list[MentionSet]:
        """The mentions found with the model's threshold."""
        return self.above(self.threshold)

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets with their log-probabilities, best first; the threshold does not apply."""
        return [self._topk_of(b, k) for b in range(len(self.lengths))]

    def _topk_of(self, sentence: int, k: int) -> list[tuple[MentionSet, float]]:
        spans = (~self.beyond[sentence]).nonzero()  # (spans, 2): start, one less than words
        ranked, kinds = in_float64(self.log_probabilities[sentence][tuple(spans.T)]).sort(dim=1, descending=True)
        best = {place: kind for place, kind in enumerate(kinds[:, 0].tolist()) if kind < self.types}
        # Only the spans with the cheapest second choice can differ in one of the k best sets.
        open_to_change = (ranked[:, 0] - ranked[:, 1]).topk(min(k, len(spans)), largest=False).indices.tolist()
        choices = [Alternatives(zip((-ranked[i]).tolist(), kinds[i].tolist(), strict=True)) for i in open_to_change]
        total = float(ranked[:, 0].sum())
        result = []
        for cost, changed in islice(cheapest_combinations(choices), k):
            if not math.isfinite(cost):
                break
            taken = best | {open_to_change[index]: kind for index, kind in changed.items()}
            found = ((*spans[place].tolist(), kind) for place, kind in taken.items() if kind < self.types)
            mentions = frozenset((start, start + width + 1, kind) for start, width, kind in found)
            result.append((mentions, total - cost))
        return result
