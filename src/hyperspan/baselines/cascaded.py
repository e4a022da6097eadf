"""Cascaded linear chains (Alex et al. 2007): one chain for each type, given the tags that the earlier ones chose.

This is a pipeline: `log_prob` and `sample` are exact, by the chain rule, while `argmax` takes the best tags of one type
after the other. Where chains depend on earlier ones, `marginals` and the candidates of `topk` are conditional on the
best tags of earlier types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor, nn

from hyperspan.baselines.linear_chain import LinearChain, TagScores, outermost, tags_of
from hyperspan.config import Config, KindOptions, key
from hyperspan.errors import InputError
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans, TypeAxes
from hyperspan.structures import (
    Distribution,
    Mention,
    MentionSet,
    MentionSets,
    Scores,
    check_count,
    check_lengths,
    check_mentions,
    check_scores,
)
from hyperspan.structures.kbest import Alternatives, cheapest_combinations

TAGS = 5
"""Outside, and begin, inside, last and unit of the one type of a chain."""
OFFSETS = (-1, 0, 1)
"""Offsets of the words whose earlier tags influence a word."""
PORTION = 256
"""`sample` and `topk` process this many copies of sentences at a time, so that memory does not grow with k."""


@dataclass(frozen=True)
class CascadeScores(Scores):
    """One score (log-weight) for every tag of every word in the chain of each of m types, and for steps; and for
    earlier tags.

    ============  ================  ==================================================================================
    field         shape             choosing it means
    ============  ================  ==================================================================================
    ``emit``      (B, n, m, 5)      word i has this tag, in the chain of type k
    ``step``      (m, 5, 5)         the second tag follows the first one
    ``first``     (m, 5)            the sentence begins with this tag
    ``last``      (m, 5)            the sentence ends with this tag
    ``earlier``   (m, m, 3, 5, 5)   a word has the last tag where the word before it, itself or the one after it has the
                                    tag before in the chain of the second type
    ============  ================  ==================================================================================
    """

    emit: Tensor
    step: Tensor
    first: Tensor
    last: Tensor
    earlier: Tensor

    def __post_init__(self) -> None:
        if self.emit.dim() != 4 or self.emit.shape[3] != TAGS:
            raise ValueError(f"expected emit of shape (B, n, m, {TAGS}), got {tuple(self.emit.shape)}")
        m = self.emit.shape[2]
        shapes = {"emit": tuple(self.emit.shape), "step": (m, TAGS, TAGS), "first": (m, TAGS), "last": (m, TAGS)}
        check_scores(self.tensors(), shapes | {"earlier": (m, m, len(OFFSETS), TAGS, TAGS)})


class CascadedChains(Distribution):
    """Linear chains of one type each over the sentences of a padded batch, in the order of `order`, a permutation of
    the types.

    Mentions of one type do not overlap; those of different types may overlap freely. `log_partition` is 0: each chain
    is normalised.

    >>> zeros = [torch.zeros(size) for size in ((2, 5, 5), (2, 5), (2, 5), (2, 2, 3, 5, 5))]
    >>> chains = CascadedChains(CascadeScores(torch.zeros(1, 2, 2, 5), *zeros), lengths=[2], order=[1, 0])
    >>> chains.log_prob([{(0, 2, 0), (1, 2, 1)}]).exp()  # five sets of each type
    tensor([0.0400])
    """

    limits = "each chain is normalised by itself, given the tags of earlier types"

    def __init__(self, scores: CascadeScores, lengths: Tensor | Sequence[int], order: Sequence[int]):
        batch, n, m, _ = scores.emit.shape
        if sorted(order) != list(range(m)):
            raise ValueError(f"expected an order of the types 0 to {m - 1}, got {list(order)}")
        self.scores, self.order = scores, list(order)
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = max(n, 1), m

    @property
    def exact_marginals(self) -> bool:
        """Whether no chain depends on an earlier one."""
        later = (self.scores.earlier[kind, self.order[:place]] for place, kind in enumerate(self.order))
        return not any(bool(weights.any()) for weights in later)

    @property
    def log_partition(self) -> Tensor:
        """(B,): 0."""
        return self.scores.emit.new_zeros(len(self.lengths))

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf if mentions of one type overlap."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        if not self.types:
            return self.log_partition
        known: dict[int, list[MentionSet]] = {}
        chains: list[LinearChain] = []
        wanted: list[MentionSet] = []
        for kind in self.order:
            own = [frozenset((start, end, 0) for start, end, k in mentions if k == kind) for mentions in sets]
            chains.append(self._chain(kind, known))
            known[kind] = [outermost(mentions)[0] for mentions in own]
            wanted += own
        together = LinearChain(_side_by_side([chain.scores for chain in chains]), self.lengths * self.types)
        return together.log_prob(wanted).view(self.types, -1).sum(0)

    def _chain(self, kind: int, known: dict[int, list[MentionSet]]) -> LinearChain:
        """The chain of a type, given the mentions (with type 0) of earlier types."""
        scores = self.scores
        emit = scores.emit[:, :, kind]
        for other, sets in known.items():
            tags = self._tags(sets)  # (B, n + 2)
            for place, weights in enumerate(scores.earlier[kind, other]):
                emit = emit + weights[tags[:, place : place + emit.shape[1]]]
        tag_scores = TagScores(emit, scores.step[kind], scores.first[kind], scores.last[kind])
        return LinearChain(tag_scores, self.lengths)

    def _tags(self, sets: Sequence[MentionSet]) -> Tensor:
        """(B, n + 2): the tags of mentions of one type; those beyond the ends are outside."""
        n = self.scores.emit.shape[1]
        rows = [
            [0, *tags_of(mentions, length, 1), *[0] * (n - length), 0]
            for mentions, length in zip(sets, self.lengths, strict=True)
        ]
        return torch.tensor(rows, dtype=torch.long, device=self.scores.emit.device).view(len(rows), n + 2)

    def _best(self) -> list[tuple[int, LinearChain, list[MentionSet]]]:
        """Each type with its chain, given the best mentions of earlier types, and its own best ones."""
        known: dict[int, list[MentionSet]] = {}
        result: list[tuple[int, LinearChain, list[MentionSet]]] = []
        for kind in self.order:
            chain = self._chain(kind, known)
            known[kind] = chain.argmax()
            result.append((kind, chain, known[kind]))
        return result

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        """The best mentions of each type, given those of the types before."""
        best = [sets for _, _, sets in self._best()]
        return [self._merge(sets[sentence] for sets in best) for sentence in range(len(self.lengths))]

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k, given the best earlier
        ones."""
        by_type = {kind: chain.marginals for kind, chain, _ in self._best()}
        if not by_type:
            batch, n, _, _ = self.scores.emit.shape
            return self.scores.emit.new_zeros(batch, n, self.max_width, 0)
        return torch.cat([by_type[kind] for kind in range(self.types)], dim=3)

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k best sets when each chain is conditional on the best mentions of earlier types.

        They come with their exact log-probabilities, in that order; where chains depend on each other, other sets may
        be more probable.
        """
        check_count(k)
        ranked = [chain.topk(k) for _, chain, _ in self._best()]
        result: list[list[tuple[MentionSet, float]]] = [[] for _ in self.lengths]
        candidates = [
            (sentence, self._merge(chosen))
            for sentence in range(len(self.lengths))
            for chosen, _ in _best_products([sets[sentence] for sets in ranked], k)
        ]
        for begin in range(0, len(candidates), PORTION):
            sentences, sets = zip(*candidates[begin : begin + PORTION], strict=True)
            values = self._copies(sentences, exact=True).log_prob(sets).tolist()
            for sentence, mentions, value in zip(sentences, sets, values, strict=True):
                if value > -math.inf:  # also not NaN, where earlier tags leave nothing possible
                    result[sentence].append((mentions, value))
        return [sorted(sets, key=lambda pair: -pair[1]) for sets in result]

    def _copies(self, sentences: Sequence[int], *, exact: bool = False) -> CascadedChains:
        """The same chains over some sentences, each as often as it is listed."""
        emit = self.scores.emit[torch.tensor(sentences, device=self.scores.emit.device)]
        scores = replace(self.scores, emit=emit)
        scores = scores.in_float64() if exact else scores
        return CascadedChains(scores, [self.lengths[sentence] for sentence in sentences], self.order)

    def _merge(self, by_type: Iterable[MentionSet]) -> MentionSet:
        """One set from those of each type, in the order of the chains."""
        pairs = zip(self.order, by_type, strict=True)
        return frozenset((start, end, kind) for kind, own in pairs for start, end, _ in own)

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        drawn: list[list[MentionSet]] = [[] for _ in self.lengths]
        for done in range(0, k, PORTION):
            copies = min(PORTION, k - done)  # of each sentence, one for each sample
            sentences = [sentence for sentence in range(len(self.lengths)) for _ in range(copies)]
            repeated = self._copies(sentences)
            known: dict[int, list[MentionSet]] = {}
            for kind in self.order:
                known[kind] = [draws[0] for draws in repeated._chain(kind, known).sample(1, generator)]
            for index, sentence in enumerate(sentences):
                drawn[sentence].append(self._merge(sets[index] for sets in known.values()))
        return drawn

    @property
    def entropy(self) -> Tensor:
        """(B,): the entropy of the chains, in nats, where none depends on an earlier one."""
        if not self.exact_marginals:
            raise self._not_supported("entropy")
        return sum((chain.entropy for _, chain, _ in self._best()), start=self.log_partition)


def _side_by_side(chains: Sequence[TagScores]) -> TagScores:
    """One batch of all sentences of some chains."""
    tensors = [chain.tensors() for chain in chains]
    weights = {
        name: torch.stack([one[name] for one in tensors]).repeat_interleave(len(chains[0].emit), 0)
        for name in ("step", "first", "last")
    }
    return TagScores(torch.cat([one["emit"] for one in tensors]), **weights)


def _best_products(
    ranked: Sequence[Sequence[tuple[MentionSet, float]]], k: int
) -> Iterator[tuple[tuple[MentionSet, ...], float]]:
    """The k best combinations of one set from each list of (set, log-probability), each list best first."""
    if not all(ranked):
        return
    top = sum(values[0][1] for values in ranked)
    choices = [Alternatives((-log_probability, value) for value, log_probability in values) for values in ranked]
    for cost, changed in islice(cheapest_combinations(choices), k):
        chosen = tuple(changed.get(index, values[0][0]) for index, values in enumerate(ranked))
        yield chosen, min(top - cost, 0.0)


@dataclass(frozen=True)
class CascadedOptions(KindOptions):
    """The model `cascaded`."""

    order: str = key("", "fixed")
    """The order of labels. Default: alphabetical."""


class CascadedScorer(Scorer):
    """Cascaded linear chains, one for each type."""

    abilities = Abilities("none overlapping another of its type")

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        m = self.types
        order = config.options("cascaded", CascadedOptions).order
        asked = [part.strip() for part in (order.split(",") if "," in order else order.split())] or list(labels)
        if sorted(asked) != sorted(labels):
            raise InputError(
                f"cascaded.order is {order!r}, but must name each label once; they are {', '.join(labels)}"
            )
        self.order = [labels.index(label) for label in asked]
        roles = ["is outside", "begins", "is inside", "ends", "is alone"]
        self.emit = encoder.word_layer(Outputs(roles, m, by_type=True))
        shapes = {"step": (m, 5, 5), "first": (m, 5), "last": (m, 5), "earlier": (m, m, 3, 5, 5)}
        self.weights = nn.ParameterDict({name: nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()})

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> CascadeScores:
        emit = self.by_word(self.emit(words), batch).unflatten(2, (self.types, 5))
        return CascadeScores(emit, **dict(self.weights.items()))

    def add_mention_bias(self, scores: CascadeScores, bias: float) -> CascadeScores:
        opens = scores.emit.new_tensor([0, 1, 0, 0, 1])
        return replace(scores, emit=scores.emit + bias * opens)

    def own_axes(self) -> dict[str, TypeAxes]:
        axes = {"step": (0,), "first": (0,), "last": (0,), "earlier": (0, 1)}
        each = Outputs(["is a chain"], self.types)
        return {f"weights.{name}": TypeAxes(each, which) for name, which in axes.items()}

    def distribution(self, scores: CascadeScores, lengths: Sequence[int]) -> CascadedChains:
        return CascadedChains(scores, lengths, self.order)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        by_type = [{mention for mention in mentions if mention[2] == kind} for kind in range(self.types)]
        return {mention for own in by_type for mention in outermost(own)[0]}
