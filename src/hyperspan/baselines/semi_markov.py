"""The semi-Markov CRF of order zero (Sarawagi & Cohen 2004) as a probability distribution over sets of mentions that do
not overlap.

A sentence is a sequence of single words outside all mentions and of segments, each a mention of at most c words with
its type. Such sequences and sets of non-overlapping mentions are one-to-one. The score of a sequence is the sum over
its parts; neighbours do not interact, so only the starts of parts matter. From each start one *step* leads on: w + 1
words and a type. "Outside" counts as an extra type, the first, which only w = 0 has. There are (B, n, c, 1 + m) steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.baselines.linear_chain import outermost
from hyperspan.config import Config
from hyperspan.kernels.numerics import MINUS_INFINITY, finite, log_sum
from hyperspan.nn import INITIAL_MENTION_BIAS, Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import Distribution, Mention, MentionSet, PartialMarks
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
    span_score,
)
from hyperspan.structures.distribution import tensor_masks
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths


@dataclass(frozen=True)
class SegmentScores(ScoreTensors):
    """One score (log-weight) for every word outside and for every segment of a padded batch.

    ============  ==============  ==============================================================
    field         shape           choosing it means
    ============  ==============  ==============================================================
    ``outside``   (B, n)          word i is in no mention
    ``segment``   (B, n, c, m)    there is a mention of type k from word i to word i + w inclusive
    ============  ==============  ==============================================================

    c, the number of widths, may be larger than n. Entries that reach beyond a sentence are padding: they may hold
    anything. A score of -inf makes its choice impossible.
    """

    outside: Tensor
    segment: Tensor

    def __post_init__(self) -> None:
        if self.segment.dim() != 4 or self.segment.shape[2] < 1:
            raise ValueError(
                f"expected segment of shape (B, n, c, m) with c >= 1 widths, got {tuple(self.segment.shape)}"
            )
        shape = tuple(self.segment.shape)
        check_scores({"segment": self.segment, "outside": self.outside}, {"segment": shape, "outside": shape[:2]})


class SemiMarkov(Distribution):
    """A distribution over the sets of non-overlapping mentions of each sentence of a padded batch: p(set) ∝ exp(score).

    Everything is exact, and takes O(c m n) time and memory (`topk` and `sample` k times that). Padding may hold
    anything. If a sentence has no possible set, its `log_partition` and `log_prob` are -inf; its other values are
    finite but meaningless.

    >>> words = SemiMarkov(SegmentScores(outside=torch.zeros(1, 2), segment=torch.zeros(1, 2, 2, 1)), lengths=[2])
    >>> words.log_partition.exp()  # no mention, one of one word (twice), two of one word, one of two words
    tensor([5.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.4000, 0.2000],
            [0.4000, 0.0000]])
    """

    def __init__(self, scores: SegmentScores, lengths: Tensor | Sequence[int]):
        batch, n, c, m = scores.segment.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width = c
        self.types = m

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @property
    def _alive(self) -> Tensor:
        """(B, n): which words are in their sentence."""
        return in_sentence(self.lengths, self.scores.segment.shape[1], self.scores.segment.device)

    @property
    def _ways(self) -> Tensor:
        """(B, n, c, 1 + m): the score of each step, -inf for those that lead beyond the sentence."""
        outside = pad(self.scores.outside[..., None, None], (0, 0, 0, self.max_width - 1), value=MINUS_INFINITY)
        ways = torch.cat([outside, self.scores.segment], dim=3)
        fits = _following(self._alive, self.max_width, fill=False)
        return ways.masked_fill(~fits.unsqueeze(-1), MINUS_INFINITY)

    def _rest(self, ways: Tensor) -> Tensor:
        """(B, n + 1): the log-sum over all completions of the sentence from each position; 0 at its end and in
        padding."""
        alive = self._alive
        by_width = log_sum(ways, 3).unbind(1)  # (B, c) per position
        ahead = ways.new_zeros(len(ways), self.max_width)  # the rest after the next words, nearest first
        rest = [ways.new_zeros(len(ways))]
        for place in reversed(range(len(by_width))):
            here = log_sum(by_width[place] + ahead, 1)
            rest.append(here.masked_fill(~alive[:, place], 0.0))
            ahead = torch.cat([rest[-1][:, None], ahead[:, :-1]], dim=1)
        return torch.stack(rest[::-1], dim=1)

    @property
    def _log_posteriors(self) -> Tensor:
        """(B, n, c, 1 + m): the log-probability of each step, given that a part begins at its position."""
        ways = self._ways
        rest = self._rest(ways)
        after = _following(rest[:, 1:], self.max_width, fill=0.0)  # (B, n, c)
        return ways + after.unsqueeze(-1) - finite(rest[:, :-1, None, None])

    def _begins(self, posteriors: Tensor) -> Tensor:
        """(B, n): the probability that a part begins at each position; `posteriors` are the steps from there."""
        by_width = posteriors.sum(3).unbind(1)  # (B, c) per position
        arriving = pad(posteriors.new_ones(len(posteriors), 1), (0, self.max_width - 1))  # from before, nearest first
        begins = []
        for leaving in by_width:
            begins.append(arriving[:, 0])
            arriving = pad(arriving[:, 1:], (0, 1)) + begins[-1][:, None] * leaving
        return torch.stack(begins, dim=1) if begins else posteriors.new_zeros(len(posteriors), 0)

    @property
    def log_partition(self) -> Tensor:
        return self._rest(self._ways)[:, 0]

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf if mentions overlap or one is wider than
        c."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        possible = [
            not outermost(mentions)[1] and all(end - start <= self.max_width for start, end, _ in mentions)
            for mentions in sets
        ]
        fitting = [mentions if fits else () for mentions, fits in zip(sets, possible, strict=True)]
        score = span_score(self.scores.segment, self.scores.outside, fitting, self.lengths)
        return log_probability(score, self.log_partition, (not fits for fits in possible))

    @property
    def marginals(self) -> Tensor:
        posteriors = self._log_posteriors.exp()
        return self._begins(posteriors)[..., None, None] * posteriors[..., 1:]

    @property
    def entropy(self) -> Tensor:
        log_posteriors = self._log_posteriors
        return (self._begins(log_posteriors.exp()) * entropy_term(log_posteriors).sum((2, 3))).sum(1)

    def condition(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> SemiMarkov:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence. The result's `log_partition` minus that of `self` is the
        log-probability of the constraints: -inf where two required mentions overlap.

        >>> words = SemiMarkov(SegmentScores(outside=torch.zeros(1, 2), segment=torch.zeros(1, 2, 2, 1)), lengths=[2])
        >>> words.condition(require=[{(1, 2, 0)}]).marginals[0, :, :, 0]
        tensor([[0.5000, 0.0000],
                [1.0000, 0.0000]])
        """
        return self._given(*tensor_masks(require, forbid, self.lengths, self.scores.segment))

    def _given(self, required: Tensor, forbidden: Tensor) -> SemiMarkov:
        """The same for masks (B, n, c, m)."""
        outside = torch.zeros_like(self.scores.outside, dtype=torch.bool)
        segment = forbidden.clone()
        for b, start, width, kind in required.nonzero().tolist():
            itself, end = segment[b, start, width, kind].clone(), start + width + 1
            outside[b, start:end] = True
            for other in range(max(start - self.max_width + 1, 0), end):  # segments that overlap it begin here
                segment[b, other, max(start - other, 0) :] = True
            segment[b, start, width, kind] = itself
        scores = SegmentScores(
            self.scores.outside.masked_fill(outside, MINUS_INFINITY),
            self.scores.segment.masked_fill(segment, MINUS_INFINITY),
        )
        return SemiMarkov(scores, self.lengths)

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Tensor:
        if marks is None:
            return self.log_prob(gold)
        _, n, c, _ = self.scores.segment.shape
        required, forbidden = (
            torch.from_numpy(mask).to(self.scores.segment.device) for mask in marks.masks(gold, n, c)
        )
        return self._given(required, forbidden).log_partition - self.log_partition

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to outside, then to the shorter mention."""
        values, sets = self._best(1)
        check_possible(values[:, 0])
        return [ranked[0] for ranked in sets]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        >>> SemiMarkov(SegmentScores(torch.tensor([[1.0]]), torch.zeros(1, 1, 1, 1)), [1]).topk(3)
        [[(frozenset(), -0.3132616875182228), (frozenset({(0, 1, 0)}), -1.3132616875182228)]]
        """
        check_count(k)
        # There are no more sets than this.
        k = min(k, (1 + self.max_width * self.types) ** max(self.lengths, default=0))
        if k == 0:
            return [[] for _ in self.lengths]
        exact = self.scores.in_float64()
        result: list[list[tuple[MentionSet, float]]] = []
        for some in portions(len(self.lengths), k * self.max_width * (1 + self.types)):
            portion = SemiMarkov(exact.map(lambda tensor, some=some: tensor[some]), self.lengths[some])
            values, sets = portion._best(k)
            check_no_nan(values[:, 0])
            total = finite(portion.log_partition)[:, None]
            for ranked, log_probs in zip(sets, (values - total).clamp(max=0.0).tolist(), strict=True):
                result.append(list(zip(ranked, log_probs[: len(ranked)], strict=True)))
        return result

    def _best(self, k: int) -> tuple[Tensor, list[list[MentionSet]]]:
        """The k best sets: scores (B, k), -inf where there are fewer, and the sets that are possible."""
        ways, alive = self._ways, self._alive
        batch, n, c, kinds = ways.shape
        finished = ways.new_full((batch, k), MINUS_INFINITY)
        finished[:, 0] = 0.0
        ahead = finished[:, None].repeat(1, c, 1)  # (B, c, k): the k best completions after the next words
        best, chosen = finished, []
        for place in reversed(range(n)):
            # (B, c, 1 + m, k): by width, type, and rank of the completion after it
            candidates = ways[:, place, :, :, None] + ahead[:, :, None]
            best, choice = largest(candidates.flatten(1), k)
            best = torch.where(alive[:, place, None], best, finished)
            chosen.append(choice.tolist())
            ahead = torch.cat([best[:, None], ahead[:, :-1]], dim=1)
        chosen.reverse()
        sets: list[list[MentionSet]] = []
        for sentence, (length, values) in enumerate(zip(self.lengths, best.tolist(), strict=True)):
            sets.append([])
            for rank in range(sum(value > MINUS_INFINITY for value in values)):
                mentions, place, way = [], 0, rank
                while place < length:
                    width, kind, way = _unravel(chosen[place][sentence][way], kinds, k)
                    if kind:
                        mentions.append((place, place + width + 1, kind - 1))
                    place += width + 1
                sets[-1].append(frozenset(mentions))
        return best, sets

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        exact = SemiMarkov(self.scores.in_float64(), self.lengths)
        check_possible(exact.log_partition)
        kinds = 1 + self.types
        # (B, n, k): the step, if a part begins there
        choice = draw(exact._log_posteriors.flatten(2), k, generator)
        width, kind = choice.div(kinds, rounding_mode="floor"), choice % kinds
        alive = exact._alive
        now = choice.new_zeros(len(choice), k)  # (B, k): where the next part of each sample begins
        drawn: list[list[list[Mention]]] = [[[] for _ in range(k)] for _ in self.lengths]
        for place in range(choice.shape[1]):
            begins = (now == place) & alive[:, place, None]
            now = torch.where(begins, place + 1 + width[:, place], now)
            rows = (begins & (kind[:, place] > 0)).nonzero(as_tuple=True)
            for sentence, sample, end, tag in zip(
                *(column.tolist() for column in (*rows, now[rows], kind[:, place][rows])), strict=True
            ):
                drawn[sentence][sample].append((place, end, tag - 1))
        return [[frozenset(mentions) for mentions in samples] for samples in drawn]


def _following(tensor: Tensor, count: int, fill: float) -> Tensor:
    """(B, n) -> (B, n, count): for each position, its entry and those after it; `fill` beyond the last."""
    return pad(tensor, (0, count), value=fill).unfold(1, count, 1)[:, :-1]


def _unravel(choice: int, kinds: int, k: int) -> tuple[int, int, int]:
    """The width, type and completion that a flat index encodes."""
    width, rest = divmod(choice, kinds * k)
    return width, *divmod(rest, k)


# -- the explicit hypergraph, for inspection and for testing the fast version ------------------------------------------


class SuffixNode(NamedTuple):
    """The rest of a sentence from this word on."""

    position: int


class SegmentNode(NamedTuple):
    """A mention."""

    start: int
    end: int
    kind: int


def semi_markov_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[SuffixNode | SegmentNode]:
    """The hypergraph of a sentence of `n` words: from a place to the next, or to a segment and the place after it.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> sorted(map(sorted, map(semi_markov_mentions, hyperpaths(semi_markov_hypergraph(2, types=1)))))
    [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(0, 2, 0)], [(1, 2, 0)]]
    """
    m = types if isinstance(types, int) else len(types)
    c = n if max_width is None else max_width
    edges: list[Hyperedge[SuffixNode | SegmentNode]] = []
    for i in range(n):
        edges.append(Hyperedge(SuffixNode(i), (SuffixNode(i + 1),)))
        for j in range(i + 1, min(i + c, n) + 1):
            edges += [Hyperedge(SuffixNode(i), (SegmentNode(i, j, k), SuffixNode(j))) for k in range(m)]
    return Hypergraph(SuffixNode(0), edges)


def semi_markov_mentions(path: Iterable[Hyperedge[SuffixNode | SegmentNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    segments = [node for edge in path for node in edge.tail if isinstance(node, SegmentNode)]
    return frozenset((start, end, kind) for start, end, kind in segments)


# -- the scorer --------------------------------------------------------------------------------------------------------


class SegmentScorer(Scorer):
    """Scores of whole segments and of words outside them, for the semi-Markov structure."""

    abilities = Abilities("none overlapping", spans=True, conditions=True, large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.segment = encoder.span_layer(Outputs(["is a mention"], self.types), whole=True)
        self.outside = encoder.word_layer(Outputs(["is outside"]))
        with torch.no_grad():
            self.segment.bias[: self.types] = INITIAL_MENTION_BIAS

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> SegmentScores:
        shape = (len(batch.lengths), batch.longest)
        outside = self.by_word(self.outside(words), batch)[..., 0]
        if spans is None:
            return SegmentScores(outside, outside.new_zeros(*shape, 1, self.types))
        rows = self.segment(words, spans, batch).float()
        return SegmentScores(outside, spans.by_width(rows))

    def add_mention_bias(self, scores: SegmentScores, bias: float) -> SegmentScores:
        return replace(scores, segment=scores.segment + bias)

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return SemiMarkov(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(self.no_wider(mentions, longest))[0])
