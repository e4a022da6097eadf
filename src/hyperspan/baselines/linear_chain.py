"""The linear-chain CRF as a probability distribution over sets of mentions that do not overlap, and the chain of tags
that other systems share with it.

Each word has one of 4 m + 1 tags: outside, or beginning, inside, last word or only word (unit) of a mention of one of m
types. Tag sequences in which every mention that begins also ends, and sets of mentions that do not overlap, are
one-to-one. The score of a tag sequence sums the scores of its tags, of the steps between them, and of its first and
last tag. A score of -inf makes a tag or a step impossible. Everything is exact, and takes O(n t²) for n positions and
t tags.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from hyperspan.config import Config
from hyperspan.kernels.numbers import MINUS_INFINITY, finite, log_sum
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans, TypeAxes
from hyperspan.structures import Distribution, Mention, MentionSet
from hyperspan.structures.common import (
    ScoreTensors,
    check_count,
    check_no_nan,
    check_possible,
    check_scores,
    draw,
    entropy_term,
    in_sentence,
    largest,
    log_probability,
    portions,
)
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths

# -- tags of words -----------------------------------------------------------------------------------------------------

Tags = tuple[int, ...]
OUTSIDE = 0
BEGIN, INSIDE, LAST, UNIT = range(1, 5)
"""The tags of type 0; those of type k are 4 k higher."""


def tags_of(mentions: Iterable[Mention], length: int, types: int) -> Tags:
    """The tags of a sentence with these mentions, which must not overlap.

    >>> tags_of({(0, 3, 0), (4, 5, 1)}, length=6, types=2)
    (1, 2, 3, 0, 8, 0)
    """
    (wanted,) = check_mentions([mentions], [length], types)
    if outermost(wanted)[1]:
        raise ValueError(f"expected mentions that do not overlap, got {sorted(wanted)}: choose some with outermost()")
    tags = [OUTSIDE] * length
    for start, end, kind in wanted:
        inner = [BEGIN, *[INSIDE] * (end - start - 2), LAST] if end - start > 1 else [UNIT]
        tags[start:end] = [tag + 4 * kind for tag in inner]
    return tuple(tags)


def mentions_of_tags(tags: Sequence[int]) -> MentionSet:
    """The mentions of a tag sequence in which every mention that begins also ends.

    >>> sorted(mentions_of_tags((1, 2, 3, 0, 8, 0)))
    [(0, 3, 0), (4, 5, 1)]
    """
    mentions: set[Mention] = set()
    start = 0
    for position, tag in enumerate(tags):
        if tag % 4 in (BEGIN, UNIT % 4):
            start = position
        if tag % 4 in (LAST, UNIT % 4) and tag != OUTSIDE:
            mentions.add((start, position + 1, (tag - 1) // 4))
    return frozenset(mentions)


def outermost(mentions: Iterable[Mention]) -> tuple[MentionSet, MentionSet]:
    """Select non-overlapping mentions; return them and the dropped ones.

    From left to right: for each start the longest mention is kept (for each span the first type), and a mention that
    starts inside the last kept one is dropped, even if it ends outside.

    >>> outermost({(0, 2, 0), (0, 4, 1), (3, 6, 0), (5, 7, 0)})[0] == {(0, 4, 1), (5, 7, 0)}
    True
    """
    pool = set(mentions)
    kept: list[Mention] = []
    for start, end, kind in sorted(pool, key=lambda mention: (mention[0], -mention[1], mention[2])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
    return frozenset(kept), frozenset(pool.difference(kept))


class LegalTags(NamedTuple):
    """The tag sequences that are mention sets: every mention that begins continues with its type until it ends."""

    step: np.ndarray  # (t, t): whether the second may follow the first
    first: np.ndarray  # (t,): whether a sentence may begin with it
    last: np.ndarray  # (t,): whether a sentence may end with it


def legal_tags(types: int) -> LegalTags:
    """The rules of the tags of `types` types."""
    tags = np.arange(4 * types + 1)
    place, kind = tags % 4, (tags - 1) // 4  # modulo 4, outside is as good as a unit
    first = (place == BEGIN) | (place == UNIT % 4)
    last = (place == LAST) | (place == UNIT % 4)
    goes_on = (kind[:, None] == kind) & ~first
    return LegalTags(np.where(last[:, None], first, goes_on), first, last)


# -- a first-order chain of tags ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TagScores(ScoreTensors):
    """One score (log-weight) for every tag of every word of a padded batch, and for every step from tag to tag.

    ============  ============  ====================================
    field         shape         choosing it means
    ============  ============  ====================================
    ``emit``      (B, n, t)     word i has this tag
    ``step``      (t, t)        the second tag follows the first one
    ``first``     (t,)          the sentence begins with this tag
    ``last``      (t,)          the sentence ends with this tag
    ============  ============  ====================================

    Entries of `emit` beyond a sentence are padding: they may hold anything. A score of -inf makes its choice
    impossible.
    """

    emit: Tensor
    step: Tensor
    first: Tensor
    last: Tensor

    def __post_init__(self) -> None:
        if self.emit.dim() != 3 or self.emit.shape[2] < 1:
            raise ValueError(f"expected emit of shape (B, n, t) with t >= 1 tags, got {tuple(self.emit.shape)}")
        tags = self.emit.shape[2]
        shapes = {"emit": tuple(self.emit.shape), "step": (tags, tags), "first": (tags,), "last": (tags,)}
        check_scores(self.tensors(), shapes)

    @property
    def tags(self) -> int:
        """t: the number of tags."""
        return self.emit.shape[2]


class TagChain:
    """A distribution over the tag sequences of each sentence of a padded batch: p(tags) ∝ exp(score).

    The empty sentence has one sequence, the empty one. Padding has no effect.

    >>> scores = TagScores(torch.zeros(1, 3, 2), torch.tensor([[0.0, 0.0], [0.0, -torch.inf]]), *torch.zeros(2, 2))
    >>> chain = TagChain(scores, lengths=[3])
    >>> chain.log_partition.exp()  # of eight sequences, three have two ones in a row
    tensor([5.])
    >>> chain.argmax()
    [(0, 0, 0)]
    """

    def __init__(self, scores: TagScores, lengths: Tensor | Sequence[int]):
        batch, n, _ = scores.emit.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, n)

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @property
    def _sizes(self) -> Tensor:
        return torch.tensor(self.lengths, dtype=torch.long, device=self.scores.emit.device)

    @property
    def _alive(self) -> Tensor:
        """(B, n, 1): which positions are in their sentence."""
        emit = self.scores.emit
        return in_sentence(self.lengths, emit.shape[1], emit.device).unsqueeze(-1)

    @property
    def _emit(self) -> list[Tensor]:
        """The scores of each position, (B, t), 0 in padding; there is always a first position, if only of padding."""
        emit = self.scores.emit
        if not emit.shape[1]:
            return [emit.new_zeros(len(emit), self.scores.tags)]
        return list(emit.masked_fill(~self._alive, 0.0).unbind(1))

    def _before(self) -> list[Tensor]:
        """(B, t) per position: the log-sum over all paths to each tag, including the tag's score."""
        begin, *rest = self._emit
        before = [begin + self.scores.first]
        for emit in rest:
            before.append(log_sum(before[-1][:, :, None] + self.scores.step, 1) + emit)
        return before

    def _after(self) -> list[Tensor]:
        """(B, t) per position: the log-sum over all continuations after each tag."""
        emit, alive, last = self._emit, self._alive, self.scores.last
        after = [last.expand_as(emit[0])]
        for position in range(len(emit) - 1, 0, -1):
            further = log_sum(self.scores.step + (emit[position] + after[-1])[:, None], 2)
            after.append(torch.where(alive[:, position], further, last))
        return after[::-1]

    def messages(self) -> tuple[Tensor, Tensor]:
        """(B, n, t) each: the forward messages, including the tag's score, and the backward messages.

        Their sum minus `log_partition` is the log-probability of the tag. In padding they are meaningless, but never
        NaN.
        """
        n = self.scores.emit.shape[1]
        before, after = (torch.stack(messages, dim=1)[:, :n] for messages in (self._before(), self._after()))
        return before, after

    @property
    def log_partition(self) -> Tensor:
        """(B,): the logarithm of the sum of exp(score) over all sequences."""
        sizes = self._sizes
        final = (sizes - 1).clamp(min=0)[:, None, None].expand(-1, 1, self.scores.tags)
        total = log_sum(torch.stack(self._before(), dim=1).gather(1, final)[:, 0] + self.scores.last, 1)
        return total.masked_fill(sizes == 0, 0.0)

    def score(self, tags: Sequence[Sequence[int]]) -> Tensor:
        """(B,): the score of one sequence per sentence."""
        if [len(sequence) for sequence in tags] != self.lengths:
            raise ValueError(f"expected {self.lengths} tags, got {[len(sequence) for sequence in tags]}")
        scores, (batch, n, _) = self.scores, self.scores.emit.shape
        if not n:
            return scores.emit.new_zeros(batch)
        padded = [[*sequence, *[0] * (n - len(sequence))] for sequence in tags]
        chosen = torch.tensor(padded, dtype=torch.long, device=scores.emit.device).view(batch, n)
        own = scores.emit.gather(2, chosen[..., None])  # (B, n, 1)
        steps = scores.step[chosen[:, :-1], chosen[:, 1:]]  # (B, n - 1)
        total = own.masked_fill(~self._alive, 0.0).sum((1, 2))
        total = total + steps.masked_fill(~self._alive[:, 1:, 0], 0.0).sum(1)
        end = chosen.gather(1, (self._sizes - 1).clamp(min=0)[:, None])[:, 0]
        return total + (scores.first[chosen[:, 0]] + scores.last[end]).masked_fill(self._sizes == 0, 0.0)

    @property
    def entropy(self) -> Tensor:
        """(B,): the entropy of the distribution over sequences, in nats.

        The entropy of the first tag, plus the expected entropy of each next tag given the previous one. This sum has no
        cancellation, unlike log_partition minus the expected score.
        """
        emit, alive, after = self._emit, self._alive, self._after()
        rest = torch.zeros_like(emit[0])  # (B, t): the entropy of all that follows each tag
        for position in range(len(emit) - 1, 0, -1):
            ways = self.scores.step + (emit[position] + after[position])[:, None]  # (B, t, t)
            rest = torch.where(alive[:, position], _entropy(ways, rest[:, None]), rest)
        begin = emit[0] + self.scores.first + after[0]
        return _entropy(begin, rest).masked_fill(self._sizes == 0, 0.0)

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[Tags]:
        """The best sequence of each sentence. Ties go to the smallest last tag, then the smallest tag before it, and so
        on."""
        values, tags = self._best(1)
        check_possible(values[:, 0])
        rows = tags[:, 0].tolist()
        return [tuple(row[:length]) for row, length in zip(rows, self.lengths, strict=True)]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[Tags, float]]]:
        """The k best sequences of each sentence with their scores, best first; fewer where fewer are possible.

        The scores are added up in float64. Takes O(k n t²).
        """
        check_count(k)
        k = min(k, self.scores.tags ** max(self.lengths, default=0))
        if k == 0:
            return [[] for _ in self.lengths]
        exact = self.scores.in_float64()
        result: list[list[tuple[Tags, float]]] = []
        for some in portions(len(self.lengths), k * exact.tags**2):
            lengths = self.lengths[some]
            values, tags = TagChain(replace(exact, emit=exact.emit[some]), lengths)._best(k)
            check_no_nan(values[:, 0])
            for length, scores, rows in zip(lengths, values.tolist(), tags.tolist(), strict=True):
                ranked = zip(rows, scores, strict=True)
                result.append([(tuple(row[:length]), score) for row, score in ranked if score > MINUS_INFINITY])
        return result

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        """The k best sequences: scores (B, k), -inf where there are fewer, and tags (B, k, n)."""
        scores, emit, alive = self.scores, self._emit, self._alive
        batch, t = emit[0].shape
        best = emit[0].new_full((batch, t, k), MINUS_INFINITY)  # the k best paths to each tag
        best[:, :, 0] = emit[0] + scores.first
        stay = torch.arange(t * k, device=best.device).view(t, k)
        came_from: list[Tensor] = []  # (B, t * k) per position: tag * k + rank of the previous path
        for position in range(1, len(emit)):
            ways = best[..., None] + scores.step[:, None]  # (B, t, k, t): from tag and way to tag
            value, source = largest(ways.flatten(1, 2), k)  # (B, k, t)
            here = alive[:, position, :, None]
            best = torch.where(here, value.transpose(1, 2) + emit[position][..., None], best)
            came_from.append(torch.where(here, source.transpose(1, 2), stay).flatten(1))
        value, place = largest((best + scores.last[:, None]).flatten(1), k)  # (B, k)
        places = [place]
        for source in reversed(came_from):
            places.append(source.gather(1, places[-1]))
        empty = value.new_full((k,), MINUS_INFINITY)
        empty[0] = 0.0
        value = torch.where((self._sizes == 0)[:, None], empty, value)
        return value, torch.stack(places[::-1], dim=2) // k

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[Tags]]:
        """k independent, exact samples of each sentence's sequence."""
        check_count(k)
        exact = TagChain(self.scores.in_float64(), self.lengths)
        emit, after, step = exact._emit, exact._after(), exact.scores.step
        begin = emit[0] + exact.scores.first + after[0]
        check_possible(log_sum(begin, 1).masked_fill(exact._sizes == 0, 0.0))
        drawn = [draw(begin, k, generator)]  # (B, k) per position
        for position in range(1, len(emit)):
            choices = step[drawn[-1]] + (emit[position] + after[position])[:, None]  # (B, k, t)
            drawn.append(draw(choices, 1, generator)[..., 0])
        rows = torch.stack(drawn, dim=2).tolist()
        return [[tuple(row[:length]) for row in of_one] for of_one, length in zip(rows, self.lengths, strict=True)]


def _entropy(log_weights: Tensor, rest: Tensor) -> Tensor:
    """(..., choices) -> (...): the entropy of a choice plus the expected entropy `rest` of what follows."""
    log_probabilities = log_weights - finite(log_sum(log_weights, -1)).unsqueeze(-1)
    return (entropy_term(log_probabilities) + log_probabilities.exp() * rest).sum(-1)


# -- the distribution --------------------------------------------------------------------------------------------------


class LinearChain(Distribution):
    """A distribution over the sets of non-overlapping mentions of each sentence of a padded batch: p(set) ∝ exp(score).

    Tag 0 is outside; the tags of type k are 4 k + 1 (begin), 4 k + 2 (inside), 4 k + 3 (last) and 4 k + 4 (unit).
    Steps, first and last tags that belong to no set are impossible, whatever their score. Everything is exact, and
    takes O(n t²) for t tags; mentions may have any length, but `marginals` covers only those of at most `max_width`
    words (None: all), in O(n c m). Padding may hold anything. If a sentence has no possible set, its `log_partition`
    and `log_prob` are -inf; its other values are finite but meaningless.

    >>> scores = TagScores(torch.zeros(1, 2, 5), torch.zeros(5, 5), torch.zeros(5), torch.zeros(5))
    >>> words = LinearChain(scores, lengths=[2])
    >>> words.log_partition.exp()  # no mention, one of one word (twice), two of one word, one of two words
    tensor([5.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.4000, 0.2000],
            [0.4000, 0.0000]])
    """

    limits = "the scores of tags cannot rule out one mention"

    def __init__(self, scores: TagScores, lengths: Tensor | Sequence[int], max_width: int | None = None):
        if scores.tags % 4 != 1:
            raise ValueError(f"expected 4 m + 1 tags for m types, got {scores.tags}")
        if max_width is not None and max_width < 1:
            raise ValueError(f"expected max_width >= 1, got {max_width}")
        self.scores = scores
        self.lengths = TagChain(scores, lengths).lengths
        self.max_width = max(scores.emit.shape[1], 1) if max_width is None else max_width
        self.types = scores.tags // 4

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @property
    def tag_chain(self) -> TagChain:
        """The tag chain, restricted to sequences that encode a mention set."""
        scores, legal = self.scores, legal_tags(self.types)
        kept = (
            getattr(scores, name).masked_fill(torch.from_numpy(~allowed).to(scores.emit.device), MINUS_INFINITY)
            for name, allowed in legal._asdict().items()
        )
        return TagChain(TagScores(scores.emit, *kept), self.lengths)

    @property
    def log_partition(self) -> Tensor:
        return self.tag_chain.log_partition

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with mentions that overlap."""
        wanted = check_mentions(mention_sets, self.lengths, self.types)
        chosen, dropped = zip(*map(outermost, wanted), strict=True) if wanted else ((), ())
        tags = [tags_of(mentions, length, self.types) for mentions, length in zip(chosen, self.lengths, strict=True)]
        chain = self.tag_chain
        return log_probability(chain.score(tags), chain.log_partition, map(bool, dropped))

    @property
    def marginals(self) -> Tensor:
        chain, c = self.tag_chain, self.max_width
        step, (batch, n, _), m = chain.scores.step, self.scores.emit.shape, self.types
        before, after = chain.messages()  # (B, n, t)
        padding = ~in_sentence(self.lengths, n, step.device).unsqueeze(-1)  # (B, n, 1)
        emit = self.scores.emit.masked_fill(padding, MINUS_INFINITY)
        unit = (before + after).masked_fill(padding, MINUS_INFINITY)[..., UNIT::4]  # (B, n, m)
        last = (emit + after)[..., LAST::4]  # (B, n, m): that a mention ends here, and all that follows
        kinds = torch.arange(m, device=step.device) * 4
        begin_inside, inside_inside, inside_last, begin_last = (
            step[kinds + tag, kinds + following]  # (m,)
            for tag, following in ((BEGIN, INSIDE), (INSIDE, INSIDE), (INSIDE, LAST), (BEGIN, LAST))
        )
        inner = max(c - 2, 0)  # the most words between the first and the last
        nearest = torch.arange(inner, device=step.device)[:, None] == 0
        steps = torch.where(nearest, begin_inside, inside_inside)  # (c - 2, m): to each of them
        between = (_words_after(emit[..., INSIDE::4], inner) + steps).cumsum(2) + inside_last  # (B, n, c - 2, m)
        between = torch.cat([begin_last.expand(batch, n, 1, m), between], dim=2)[:, :, : c - 1]  # (B, n, c - 1, m)
        longer = before[:, :, None, BEGIN::4] + between + _words_after(last, c - 1)
        total = finite(chain.log_partition)[:, None, None, None]
        # Rounding may put an almost certain mention slightly above 1.
        return (torch.cat([unit[:, :, None], longer], dim=2) - total).exp().clamp(max=1.0)

    @property
    def entropy(self) -> Tensor:
        return self.tag_chain.entropy

    # -- decoding -------------------------------------------------------------------------------------------------

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the outside tag."""
        return [mentions_of_tags(tags) for tags in self.tag_chain.argmax()]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        >>> scores = TagScores(torch.tensor([[[1.0, 0.0, 0.0, 0.0, 0.0]]]), torch.zeros(5, 5), *torch.zeros(2, 5))
        >>> LinearChain(scores, [1]).topk(3)
        [[(frozenset(), -0.3132616875182228), (frozenset({(0, 1, 0)}), -1.3132616875182228)]]
        """
        chain = self.tag_chain
        totals = TagChain(chain.scores.in_float64(), self.lengths).log_partition.tolist()
        return [
            [(mentions_of_tags(tags), min(score - total, 0.0)) for tags, score in ranked]
            for ranked, total in zip(chain.topk(k), totals, strict=True)
        ]

    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        return [[mentions_of_tags(tags) for tags in drawn] for drawn in self.tag_chain.sample(k, generator)]


def _words_after(tensor: Tensor, count: int) -> Tensor:
    """(B, n, m) -> (B, n, count, m): for each word, the entries of the words after it; -inf beyond the last."""
    return pad(tensor, (0, 0, 0, count), value=MINUS_INFINITY).unfold(1, count, 1)[:, 1:].transpose(2, 3)


# -- the explicit hypergraph, for inspection and for testing the fast version ------------------------------------------


class TagNode(NamedTuple):
    """A word with a tag. The root stands before the first word and the end after the last one, as if outside."""

    position: int
    tag: int = OUTSIDE


def linear_chain_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[TagNode]:
    """The hypergraph of a sentence of `n` words: every edge leads to one tag of the next word, and from the last to the
    end.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> sorted(map(sorted, map(linear_chain_mentions, hyperpaths(linear_chain_hypergraph(2, types=1)))))
    [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(0, 2, 0)], [(1, 2, 0)]]
    """
    legal = legal_tags(types if isinstance(types, int) else len(types))
    follows, closes = legal.step.tolist(), legal.last.tolist()
    # A node without outgoing edges counts as an end, so there is none for a mention left open at the last word.
    words = [
        [TagNode(position, tag) for tag, closed in enumerate(closes) if closed or position < n - 1]
        for position in range(n)
    ]
    return Hypergraph(
        TagNode(-1),
        [
            Hyperedge(node, (following,))
            for level, next_level in itertools.pairwise([[TagNode(-1)], *words, [TagNode(n)]])
            for node, following in itertools.product(level, next_level)
            if follows[node.tag][following.tag]
        ],
    )


def linear_chain_mentions(path: Iterable[Hyperedge[TagNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    tags = [edge.head.tag for edge in path if edge.head.position >= 0]
    return mentions_of_tags(tags)


# -- the scorer --------------------------------------------------------------------------------------------------------


class LinearChainScorer(Scorer):
    """The linear chain over 4 m + 1 tags, with learnt transition weights."""

    abilities = Abilities("none overlapping", large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.outputs = Outputs(["begins", "is inside", "ends", "is alone"], self.types, by_type=True, shared=1)
        tags = self.outputs.count
        self.emit = encoder.word_layer(self.outputs)
        self.step = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = (nn.Parameter(torch.zeros(tags)) for _ in range(2))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> TagScores:
        return TagScores(self.by_word(self.emit(words), batch), self.step, self.first, self.last)

    def add_mention_bias(self, scores: TagScores, bias: float) -> TagScores:
        tags = torch.arange(scores.tags, device=scores.emit.device)
        opens = (tags % 4 == BEGIN) | ((tags % 4 == UNIT % 4) & (tags > 0))
        return replace(scores, emit=scores.emit + bias * opens)

    def own_axes(self) -> dict[str, TypeAxes]:
        axes = {"step": (0, 1), "first": (0,), "last": (0,)}
        return {name: TypeAxes(self.outputs, which) for name, which in axes.items()}

    def distribution(self, scores: TagScores, lengths: Sequence[int]) -> LinearChain:
        return LinearChain(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(mentions)[0])
