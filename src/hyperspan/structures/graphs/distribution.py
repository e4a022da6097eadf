"""A distribution over the hyperpaths of a graph: what a structure is whose hypergraph is stated."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels.numbers import MINUS_INFINITY, finite, highest, in_float64, log_sum
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.graphs.packed import Graph
from hyperspan.structures.graphs.paths import Values
from hyperspan.structures.graphs.sums import log_partition, posteriors
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths
from hyperspan.structures.units import check_count

NUMBERS = 1024
"""`sample` draws this many random numbers at a time."""


class GraphDistribution(Distribution):
    """A distribution over the hyperpaths of a graph for each sentence of a batch: p(hyperpath) ∝ exp(score).

    All sentences have the graph of the longest one. Past the end of a sentence exactly one way must be possible, and
    score 0. A subclass says what its scores are, and how hyperpaths stand for mention sets. Everything is exact, takes
    time and memory linear in the edges, and can be differentiated, posteriors too. If a sentence has no possible
    hyperpath, its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless.
    """

    def __init__(
        self, graph: Graph, lengths: Tensor | Sequence[int], size: tuple[int, int], types: int, max_width: int
    ):
        """`size` is (B, n): the number of sentences, and of words that the scores are for."""
        self.lengths = check_lengths(lengths, *size)
        self.graph, self.types, self.max_width = graph, types, max_width

    # -- what a structure says ----------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @abstractmethod
    def slot_scores(self) -> Tensor:
        """(scores, B): the scores of the graph, where padding has one way, of score 0."""

    def exact_scores(self) -> Tensor:
        """The same in float64; one that adds up scores adds them in float64, too."""
        return in_float64(self.slot_scores())

    @abstractmethod
    def read(self, slots: Sequence[int]) -> MentionSet:
        """The mentions of the hyperpath that takes these scores."""

    @abstractmethod
    def slots_of(self, sets: Sequence[set[Mention]]) -> list[list[int] | None]:
        """The scores that the hyperpath of each sentence's set takes; None if it has none."""

    # -- probabilities ------------------------------------------------------------------------------------------------

    @property
    def log_partition(self) -> Tensor:
        return log_partition(self.graph, self.slot_scores()).sum(0)

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set that the structure cannot hold."""
        found = self.slots_of(check_mentions(mention_sets, self.lengths, self.types))
        scores = self.slot_scores()
        counts = torch.tensor([len(slots or ()) for slots in found], dtype=torch.long, device="cpu")
        sentence = torch.arange(len(found), device="cpu").repeat_interleave(counts)
        slot = torch.tensor([slot for slots in found for slot in slots or ()], dtype=torch.long, device="cpu")
        places = (slot * len(found) + sentence).to(scores.device)
        taken = scores.flatten().index_select(0, places)
        score = scores.new_zeros(len(found)).index_add(0, sentence.to(scores.device), taken)
        total = log_partition(self.graph, scores).sum(0)
        impossible = torch.tensor([slots is None for slots in found], dtype=torch.bool, device="cpu").to(scores.device)
        never = (total == MINUS_INFINITY) | impossible
        return (score - finite(total)).masked_fill(never, MINUS_INFINITY).clamp(max=0.0)  # despite rounding

    @property
    def exact_posteriors(self) -> Tensor:
        """(scores, B): how often a hyperpath takes each score, on average; in float64, where large scores leave enough
        digits."""
        return posteriors(self.graph, self.exact_scores())

    @property
    def entropy(self) -> Tensor:
        # log Z minus the expected score; in float64, as the two nearly cancel for large scores.
        exact = self.exact_scores()
        expected = posteriors(self.graph, exact)
        used = expected * exact.masked_fill(expected == 0, 0.0)
        entropy = finite(log_partition(self.graph, exact).sum(0)) - used.sum(0)
        return entropy.clamp(min=0.0).to(self.slot_scores())

    # -- decoding -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the first edge."""
        values = Values(self.graph, self.exact_scores().numpy(force=True), highest)
        _check(values.totals)
        return [self.read(values.best(sentence)) for sentence in range(len(self.lengths))]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer where fewer
        exist."""
        check_count(k)
        scores = self.exact_scores().numpy(force=True)
        totals = Values(self.graph, scores, log_sum).totals
        _check(np.where(np.isneginf(totals), 0.0, totals))  # only NaN is wrong
        values = Values(self.graph, scores, highest)
        return [
            [(self.read(slots), min(value - total, 0.0)) for value, slots in islice(values.ranked(sentence, k), k)]
            for sentence, total in enumerate(totals.tolist())
        ]

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        values = Values(self.graph, self.exact_scores().numpy(force=True), log_sum)
        _check(values.totals)
        numbers = _uniform(generator)
        return [
            [self.read(slots) for slots in values.samples(sentence, k, numbers)]
            for sentence in range(len(self.lengths))
        ]


def _check(totals: np.ndarray) -> None:
    """Raise an error unless every sentence has a possible set: (B,), its best or total score."""
    for sentence, score in enumerate(totals.tolist()):
        if not score > MINUS_INFINITY:
            reason = "a score is NaN" if score != score else "every one has a score of -inf"
            raise ValueError(f"sentence {sentence} has no possible mention set: {reason}; check the scores")


def _uniform(generator: torch.Generator | None) -> Iterator[float]:
    """Random numbers between 0 and 1."""
    device = generator.device if generator is not None else torch.device("cpu")
    while True:
        yield from torch.rand(NUMBERS, generator=generator, dtype=torch.float64, device=device).tolist()


class SpanGraph(GraphDistribution):
    """A distribution over the hyperpaths of a graph whose first scores, `mention` (n, c, m), stand for the mentions.

    `graph` is for the longest sentence and its widest mentions, c <= n. Scores have the names and shapes of those of
    the graph, after the sentence: (B, n, widths, m) of mentions, by start, words - 1 and type, and (B, n, …) of words,
    such as those outside all mentions, which score 0 in padding; those that are not given are 0. Each set must have at
    most one hyperpath.

    >>> def one_word_each(n: int, m: int) -> Graph:
    ...     graph, rest = Graph(mention=(n, 1, m)), Graph.end
    ...     for word in reversed(range(n)):
    ...         for kind in range(m):
    ...             rest = graph.add([rest, rest], slots=[graph.nothing, graph.slots["mention"][word, 0, kind]])
    ...     return graph.finish(rest)
    >>> words = SpanGraph(one_word_each(2, 1), {"mention": torch.zeros(1, 2, 1, 1)}, lengths=[2])
    >>> words.log_partition.exp(), words.log_prob([{(0, 1, 0)}]).exp()
    (tensor([4.]), tensor([0.2500]))
    >>> words.log_prob([{(0, 2, 0)}])  # a mention of two words
    tensor([-inf])
    """

    limits = "a mention can be ruled out by its score, but no score makes one certain"

    def __init__(self, graph: Graph, scores: Mapping[str, Tensor], lengths: Tensor | Sequence[int]):
        mention = scores["mention"]
        batch, n, widths, m = mention.shape
        self.by_name = dict(scores)
        super().__init__(graph, lengths, (batch, n), m, widths)

    def slot_scores(self) -> Tensor:
        rows = [self._without_padding(name, slots.shape) for name, slots in self.graph.slots.items()]
        return torch.cat(rows, dim=1).T.contiguous()

    def _without_padding(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """(B, scores)"""
        if name not in self.by_name:
            return self.by_name["mention"].new_zeros(len(self.lengths), math.prod(shape))
        tensor = self.by_name[name]
        n, c = tensor.shape[1], shape[1] if name == "mention" else 0
        lengths = torch.tensor(self.lengths, dtype=torch.long, device="cpu")
        inside = (torch.arange(n + c, device="cpu") < lengths[:, None]).to(tensor.device)  # (B, n + c)
        if name != "mention":
            padding = ~inside.view(*inside.shape, *(1 for _ in shape[1:]))
            return tensor.masked_fill(padding, 0.0).flatten(1)
        fits = inside.unfold(1, c, 1)[:, :n, :, None] if c else inside[:, :, None, None]  # (B, n, c, 1): by last word
        return tensor[:, :, :c].masked_fill(~fits, MINUS_INFINITY).flatten(1)

    @property
    def _shape(self) -> tuple[int, int, int]:
        """(n, c, m) of the mentions of the graph, whose scores are its first."""
        n, c, m = self.graph.slots["mention"].shape
        return n, c, m

    def read(self, slots: Sequence[int]) -> MentionSet:
        n, c, m = self._shape
        mentions: list[Mention] = []
        for slot in slots:
            if slot < n * c * m:
                (start, width), kind = divmod(slot // m, c), slot % m
                mentions.append((start, start + width + 1, kind))
        return frozenset(mentions)

    def slots_of(self, sets: Sequence[set[Mention]]) -> list[list[int] | None]:
        """Those of the best hyperpath where each wanted mention scores 1 and no other is possible, if it takes all of
        them."""
        n, c, m = self._shape
        scores = np.zeros((self.graph.nothing, len(sets)))
        scores[: n * c * m] = -np.inf
        for sentence, mentions in enumerate(sets):
            for start, end, kind in mentions:
                if end - start <= c:
                    scores[(start * c + end - start - 1) * m + kind, sentence] = 1.0
        values = Values(self.graph, scores, highest)
        complete = values.totals == [len(mentions) for mentions in sets]
        return [values.best(sentence) if whole else None for sentence, whole in enumerate(complete.tolist())]

    @property
    def marginals(self) -> Tensor:
        n, c, m = self._shape
        found = self.exact_posteriors[: n * c * m].view(n, c, m, len(self.lengths)).permute(3, 0, 1, 2)
        return pad(found.to(self.by_name["mention"]), (0, 0, 0, self.max_width - c))
