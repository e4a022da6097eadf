"""Sets of labels found from left to right (Katiyar & Cardie 2018, Nested Named Entity Recognition Revisited).

A word has a *set* of labels: it begins a mention of type X (B-X), is inside one (I-X), ends one (L-X), is a whole one
(U-X), or is outside all (O). Labels of neighbouring words are linked, B-X and I-X to I-X and L-X, and each I-X and L-X
needs such a label before it. So the labels of a sentence are a hypergraph, and its paths B-X I-X … L-X, and U-X, are
the mentions.

An LSTM reads, word by word, the state of the word LSTMs and the average embedding of the labels of the word before; its
state and that of the word score the labels. In training the labels before are gold, and the softmax learns to give each
of the s gold labels of a word the probability 1 / s. Inference chooses labels greedily: all with at least the
probability T, which is chosen on dev, and always the most probable one. All sentences of a batch are at the same word
at the same time.

*Represented.* Any mentions: nested, crossing, of the same type, several types on a span. *Ambiguous.* Within a stretch
of words of one type that I-X connects, each B-X may belong to each later L-X. "B C" with "A B C D" leaves the labels
that "A B C" with "B C D" leaves, and the four together; the key `reading` selects all paths, or a few nested ones.
Mentions of one word, and two that cross in one word, are unambiguous, unlike in models that mark only starts and ends
(:mod:`hyperspan.baselines.readings`).

>>> nested = label_sets({(0, 4, 0), (1, 3, 0)}, length=4, types=1)
>>> nested.astype(int).tolist()  # O, B, I, L, U of four words
[[0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 0]]
>>> sorted(mentions_of(nested, "nested")), len(mentions_of(nested, "all"))
([(0, 4, 0), (1, 3, 0)], 4)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hyperspan.baselines.greedy import GreedySets
from hyperspan.baselines.linear_chain import BEGIN, INSIDE, LAST, OUTSIDE, UNIT
from hyperspan.baselines.readings import Reading, pairs_of
from hyperspan.config import MOST_UNITS, Config, KindOptions, key
from hyperspan.nn import ENCODERS, Abilities, Batch, Model, Setting
from hyperspan.structures import AnyMention, Loss, Mention, MentionSet
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

LABEL_DIMENSION = 32
"""The size of a label embedding."""
THRESHOLDS = [step / 40 for step in range(2, 21)]
"""From 0.05 to 0.5; at 0.5 a word has at most two labels."""


@dataclass(frozen=True)
class KatiyarCardieOptions(KindOptions):
    """The model `katiyar-cardie`."""

    label_hidden: int = key(128, "fixed", low=1, high=MOST_UNITS)
    """Units of the LSTM over labels."""
    dropout: float = key(0.0, "fixed", low=0, high=0.95)
    """Dropout on the output of that LSTM."""
    threshold: float = key(0.3, "tuned", low=0, high=1)
    """The least probability of a label. Training chooses it on dev at the end."""
    reading: Reading = key("nested", "fixed")
    """How ambiguous label sets are decoded: `all` pairs every start with every end, `nested` pairs them so that
    mentions of one type do not cross."""


class KatiyarCardie(Model):
    """Words → vectors in context → an LSTM over labels → a set of labels for each word → the mentions of its paths."""

    abilities = Abilities(vectors=True)
    links: Tensor

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        labels, hidden = 4 * len(self.labels) + 1, self.kind_options.label_hidden
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        self.embedding = nn.Parameter(torch.randn(labels, LABEL_DIMENSION))
        self.lstm = nn.LSTM(self.encoder.dimension + LABEL_DIMENSION, hidden)
        self.dropout = nn.Dropout(self.kind_options.dropout)
        self.from_words = nn.Linear(self.encoder.dimension, labels)
        self.from_state = nn.Linear(hidden, labels, bias=False)
        self.register_buffer("links", torch.from_numpy(links(len(self.labels))).float(), persistent=False)

    @property
    def kind_options(self) -> KatiyarCardieOptions:
        """The section `katiyar-cardie` of its configuration."""
        return self.config.options("katiyar-cardie", KatiyarCardieOptions)

    def _outside(self, words: int) -> Tensor:
        """(words, labels) of 0 and 1: only O, the labels before a sentence's first word."""
        return nn.functional.one_hot(torch.full((words,), OUTSIDE, device=self.device), len(self.embedding)).float()

    def _log_probabilities(self, scores: Tensor, before: Tensor) -> Tensor:
        """(N, labels), and the labels of the words before as (N, labels) of 0 and 1 -> (N, labels); -inf without a
        link."""
        return scores.float().masked_fill(before @ self.links == 0, -math.inf).log_softmax(1)

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        labels = self._gold_rows(gold, batch)  # (N, labels)
        before = torch.cat([self._outside(int(batch.batch_sizes[0])), labels.index_select(0, batch.before)])
        average = before / before.sum(1, keepdim=True) @ self.embedding
        states, _ = self.lstm(PackedSequence(torch.cat([words, average], dim=1), batch.batch_sizes))
        scores = self.from_words(words) + self.from_state(self.dropout(states.data))
        losses = -self._log_probabilities(scores, before).masked_fill(labels == 0, 0.0)
        wrong = (losses * labels).sum(1) / labels.sum(1)  # (N,)
        values = wrong.new_zeros(len(batch.lengths)).index_add(0, batch.sentence, wrong)
        return Loss(values, (0,) * len(batch.lengths))

    def _gold_rows(self, gold: Sequence[set[Mention]], batch: Batch) -> Tensor:
        """(N, labels) of 0 and 1: the labels of each word of a batch."""
        given = [(b * batch.longest + word, label) for b, one in enumerate(gold) for word, label in labelled(one)]
        place, label = self.indices(*np.array(given, dtype=np.int64).reshape(-1, 2).T)
        labels = torch.zeros(len(batch.words), len(self.embedding), device=self.device)
        labels[batch.row_of.index_select(0, place), label] = 1.0
        labels[:, OUTSIDE] = (labels.sum(1) == 0).float()
        return labels

    def label(self, words: Tensor, batch: Batch, threshold: float) -> tuple[Tensor, Tensor]:
        """(N, d) -> twice (N, labels): which labels are chosen, and their probabilities; greedily, from left to
        right."""
        size, hidden = words.shape[1], self.lstm.hidden_size
        inputs, recurrent, one, other = (parameter for _, parameter in self.lstm.named_parameters())
        gates = torch.addmm(one + other, words, inputs[:, :size].T)  # (N, 4 * hidden)
        from_labels = self.embedding @ inputs[:, size:].T  # (labels, 4 * hidden)
        state = cell = words.new_zeros(len(batch.lengths), hidden)
        before = self._outside(len(batch.lengths))
        chosen: list[Tensor] = []
        probabilities: list[Tensor] = []
        sizes = batch.batch_sizes.tolist()
        for step, scores in zip(gates.split(sizes), self.from_words(words).split(sizes), strict=True):
            # The unfinished sentences come first.
            state, cell, before = state[: len(step)], cell[: len(step)], before[: len(step)]
            average = before / before.sum(1, keepdim=True)
            into, forget, new, out = (step + average @ from_labels + state @ recurrent.T).chunk(4, dim=1)
            cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
            state = out.sigmoid() * cell.tanh()
            found = self._log_probabilities(scores + self.from_state(state), before).exp()
            taken = (found >= found.amax(1, keepdim=True).clamp(max=threshold)) & (found > 0)
            before = taken.float()
            chosen.append(taken)
            probabilities.append(found)
        return torch.cat(chosen), torch.cat(probabilities)

    def distribution(self, sentences: Sequence[Sentence]) -> LabelSets:
        """The labels of each sentence, as found with the model's threshold."""
        batch = self.collate(sentences)
        return self._label_sets(self.encoder(batch)[-1], batch, self.kind_options.threshold)

    def _label_sets(self, words: Tensor, batch: Batch, threshold: float) -> LabelSets:
        shape = (len(batch.lengths), batch.longest, 4 * len(self.labels) + 1)
        if batch.longest == 0:
            return LabelSets(torch.zeros(shape, device=self.device), batch.lengths, self.kind_options.reading)
        chosen, probabilities = self.label(words, batch, threshold)
        shares = (probabilities * chosen.sum(1, keepdim=True)).clamp(max=1.0) * chosen
        by_word = shares.index_select(0, batch.row_of).view(shape)
        return LabelSets(by_word, batch.lengths, self.kind_options.reading)

    def found_at(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a threshold to the mentions found with it."""
        batch = self.collate(sentences)
        words = self.encoder(batch)[-1]
        return lambda threshold: self._label_sets(words, batch, threshold).argmax()

    def settings(self) -> list[Setting]:
        return [Setting("katiyar-cardie", "threshold", THRESHOLDS, self.kind_options.threshold, self.found_at)]


def links(types: int) -> np.ndarray:
    """(labels, labels): whether the second can follow the first: O, B-X and U-X after any, I-X and L-X after B-X and
    I-X."""
    linked = np.ones((4 * types + 1, 4 * types + 1), dtype=bool)
    for first in range(0, 4 * types, 4):
        linked[:, [first + INSIDE, first + LAST]] = False
        linked[np.ix_([first + BEGIN, first + INSIDE], [first + INSIDE, first + LAST])] = True
    return linked


def labelled(mentions: Iterable[Mention]) -> Iterator[tuple[int, int]]:
    """The words of mentions with the labels that they get; some come more than once."""
    for start, end, kind in mentions:
        if end - start == 1:
            yield start, UNIT + 4 * kind
            continue
        yield start, BEGIN + 4 * kind
        yield from ((word, INSIDE + 4 * kind) for word in range(start + 1, end - 1))
        yield end - 1, LAST + 4 * kind


def label_sets(mentions: Iterable[Mention], length: int, types: int) -> np.ndarray:
    """(length, labels): whether each word has each label in a sentence with these mentions."""
    labels = np.zeros((length, 4 * types + 1), dtype=bool)
    for word, label in labelled(mentions):
        labels[word, label] = True
    labels[:, OUTSIDE] = ~labels.any(1)
    return labels


def mentions_of(labels: np.ndarray, reading: Reading) -> MentionSet:
    """The mentions of the paths through a sentence's labels, (length, labels); labels on no path are ignored.

    A start reaches the ends in the stretch of I-X that follows it, and the end right after it. No end is reachable from
    two stretches, so each is read separately.
    """
    found: set[Mention] = set()
    for kind in np.unique((np.flatnonzero(labels[:, 1:].any(0))) // 4).tolist():
        begin, inside, last, unit = labels[:, 4 * kind + 1 : 4 * kind + 5].T.tolist()
        found.update((word, word + 1, kind) for word, there in enumerate(unit) if there)
        stretches: dict[int, list[int]] = {}
        for start in (word for word, there in enumerate(begin) if there):
            stop = start + 1
            while stop < len(inside) and inside[stop]:
                stop += 1
            stretches.setdefault(stop, []).append(start)
        for stop, starts in stretches.items():
            ends = [word for word in range(starts[0] + 1, min(stop + 1, len(last))) if last[word]]
            found.update((start, end + 1, kind) for start, end in pairs_of(starts, ends, reading) if start < end)
    return frozenset(found)


class LabelSets(GreedySets):
    """The mentions of the labels that were chosen for the words of a batch.

    The probability of a mention is the lowest of its labels', each times the number of labels of its word; the
    probability of a set is the product of those of its mentions.
    """

    limits = "labels are chosen greedily, and other choices are not followed"

    def __init__(self, shares: Tensor, lengths: list[int], reading: Reading):
        """(B, n, labels): the probability of each label, 0 if it was not chosen; arbitrary in padding."""
        found: list[dict[AnyMention, float]] = []
        for rows, length in zip(shares.cpu().numpy(), lengths, strict=True):
            mentions = mentions_of(rows[:length] > 0, reading)
            found.append({m: float(min(rows[word, label] for word, label in labelled([m]))) for m in mentions})
        totals = [sum(map(math.log, mentions.values())) for mentions in found]
        super().__init__(found, totals, lengths, shares.shape[2] // 4, shares.device)
