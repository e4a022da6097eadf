"""Nested mentions as constituents of a tree, after Finkel & Manning (2009): a distribution over sets without crossing.

A sentence is a sequence of items; an item is a word or a mention, and a mention is again a sequence of items. Sequences
are built from left to right by their last item, so every set is built in exactly one way:

- ``mention[i, j) = log Σ_k exp(score[i, j, k]) + inner[i, j)``
- ``inner[i, j)``: the last item is the word j - 1, after ``sequence[i, j - 1)``; or ``mention[a, j)`` with a > i, after
  ``sequence[i, a)``. That is a mention's content: anything but the same span once more.
- ``sequence[i, j)``: ``inner[i, j)`` or ``mention[i, j)``
- ``top[j]``: the same from word 0 on and inside no mention, where a word may have a score
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.baselines.semi_markov import SegmentScorer, SegmentScores
from hyperspan.kernels.numerics import MINUS_INFINITY, finite, log_sum
from hyperspan.nn import Abilities
from hyperspan.structures import Distribution, Mention, MentionSet
from hyperspan.structures.common import (
    check_count,
    check_no_nan,
    check_possible,
    check_scores,
    in_float64,
    in_sentence,
    largest,
    log_probability,
    span_score,
)
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSets, check_mentions
from hyperspan.structures.scores import check_lengths


class ConstituencyTrees(Distribution):
    """A distribution over the nested mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of scores).

    `scores` (B, n, c, m) has one score for each mention, by start i, words - 1 and type; `outside` (B, n), 0 unless
    given, one for each word that is in no mention. Sets with mentions that cross, or with two types on one span, are
    impossible. Everything is exact; probabilities take O(n c²) time. Padding may hold anything. If a sentence has no
    possible set, its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless.

    >>> words = ConstituencyTrees(torch.zeros(1, 3, 3, 1), lengths=[3])
    >>> words.log_partition.exp()  # 2 ** 6 sets less the 2 ** 4 in which (0, 2) and (1, 3) cross
    tensor([48.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.5000, 0.3333, 0.5000],
            [0.5000, 0.3333, 0.0000],
            [0.5000, 0.0000, 0.0000]])
    """

    limits = "a mention can be ruled out by its score, but no score makes one certain"

    def __init__(self, scores: Tensor, lengths: Tensor | Sequence[int], outside: Tensor | None = None):
        if scores.dim() != 4 or scores.shape[2] < 1:
            raise ValueError(f"expected scores of shape (B, n, c, m) with c >= 1 widths, got {tuple(scores.shape)}")
        batch, n, c, m = scores.shape
        if outside is None:
            outside = scores.new_zeros(batch, n)
        check_scores({"scores": scores, "outside": outside}, {"scores": (batch, n, c, m), "outside": (batch, n)})
        self.scores, self.outside = scores, outside
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m

    # -- probabilities --------------------------------------------------------------------------------------------

    def _without_padding(self, scores: Tensor, outside: Tensor) -> tuple[Tensor, Tensor]:
        """The scores with -inf for mentions that reach beyond their sentence, cut to n widths, and 0 for words
        there."""
        n, c = scores.shape[1], min(scores.shape[2], scores.shape[1]) if self.types else 0
        inside = in_sentence(self.lengths, n + c, scores.device)
        fits = inside.unfold(1, c, 1)[:, :n] if c else inside[:, :, None][:, :, :0]  # (B, n, c): by the last word
        return scores[:, :, :c].masked_fill(~fits[..., None], MINUS_INFINITY), outside.masked_fill(~inside[:, :n], 0.0)

    def _total(self, scores: Tensor, outside: Tensor) -> Tensor:
        """(B,): the log-partition."""
        return TreeChart(*self._without_padding(scores, outside)).values(self.lengths)[:, 0]

    @property
    def log_partition(self) -> Tensor:
        """(B,): the logarithm of the sum of exp(score) over all mention sets without crossing."""
        return self._total(self.scores, self.outside)

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set that is impossible, or wider than
        c.

        :func:`without_crossing` finds the largest possible subset.
        """
        sets = check_mentions(mention_sets, self.lengths, self.types)
        possible = [
            is_nested(mentions) and all(end - start <= self.max_width for start, end, _ in mentions)
            for mentions in sets
        ]
        fitting = [mentions if fits else () for mentions, fits in zip(sets, possible, strict=True)]
        score = span_score(self.scores, self.outside, fitting, self.lengths)
        return log_probability(score, self.log_partition, (not fits for fits in possible))

    @property
    def marginals(self) -> Tensor:
        # In float64: large scores would leave too few digits in the sums compared here.
        exact = [in_float64(self.scores), in_float64(self.outside)]
        return with_posteriors(self._total, exact)[1][0].to(self.scores)

    @property
    def entropy(self) -> Tensor:
        # log Z minus the expected score; in float64, as the two nearly cancel for large scores.
        exact = [in_float64(self.scores), in_float64(self.outside)]
        total, posteriors = with_posteriors(self._total, exact)
        entropy = finite(total)
        for tensor, expected in zip(exact, posteriors, strict=True):
            # Scores that are never used may be -inf, or NaN in padding.
            entropy = entropy - (torch.where(expected == 0, 0.0, tensor) * expected).flatten(1).sum(1)
        return entropy.clamp(min=0.0).to(self.scores)

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[MentionSet]:
        trees = BestTrees(*self._without_padding(self.scores, self.outside), k=1)
        check_possible(trees.values(self.lengths)[:, 0])
        return [trees.read(sentence, length, 0) for sentence, length in enumerate(self.lengths)]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        >>> ConstituencyTrees(torch.ones(1, 1, 1, 1).double(), [1]).topk(3)
        [[(frozenset({(0, 1, 0)}), -0.3132616875182228), (frozenset(), -1.3132616875182228)]]
        """
        check_count(k)
        if k == 0:
            return [[] for _ in self.lengths]
        scores, outside = self._without_padding(in_float64(self.scores), in_float64(self.outside))
        total = self._total(in_float64(self.scores), in_float64(self.outside))
        check_no_nan(total)
        result: list[list[tuple[MentionSet, float]]] = []
        for sentence, length in enumerate(self.lengths):  # one by one, as memory grows with k
            own = slice(sentence, sentence + 1)
            trees = BestTrees(scores[own, :length, :length], outside[own, :length], k=k)
            log_prob = log_probability(trees.values([length])[0], total[sentence]).tolist()
            possible = [(rank, value) for rank, value in enumerate(log_prob) if value > MINUS_INFINITY]
            result.append([(trees.read(0, length, rank), value) for rank, value in possible])
        return result

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        scores, outside = self._without_padding(in_float64(self.scores), in_float64(self.outside))
        chart = TreeChart(scores, outside)
        check_possible(chart.values(self.lengths)[:, 0])
        device = generator.device if generator is not None else scores.device
        samples: list[list[MentionSet]] = []
        for sentence, length in enumerate(self.lengths):
            sampler = TreeSampler(chart, scores, outside, sentence)
            # At most one choice for each word, and two for each of at most 2 * length - 1 mentions.
            shape = (k, 5 * length)
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64, device=device).tolist()
            samples.append([sampler.draw(length, row) for row in uniform])
        return samples


def with_posteriors(
    log_partition: Callable[..., Tensor], scores: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A log-partition (B,) and its gradients: how often each score is expected to be used.

    Both are differentiable where autograd tracks the scores, and are computed in any mode, inference mode included.

    >>> _, (probability, _) = with_posteriors(torch.logaddexp, [torch.zeros(1), torch.zeros(1)])
    >>> probability
    tensor([0.5000])
    """
    followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in scores)
    with torch.inference_mode(False), torch.enable_grad():
        # Use a separate view of each: scores computed from one another must not share gradients.
        own = [
            tensor.view_as(tensor) if followed and tensor.requires_grad else tensor.detach().clone().requires_grad_()
            for tensor in scores
        ]
        total = log_partition(*own)
        gradients = (
            torch.autograd.grad(total.sum(), own, create_graph=followed, allow_unused=True)
            if total.requires_grad
            else [None] * len(own)
        )
    expected = tuple(
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(scores, gradients, strict=True)
    )
    return (total if followed else total.detach()), expected


def is_nested(mentions: Iterable[Mention]) -> bool:
    """Whether no two mentions cross, and no two share their span.

    >>> is_nested({(0, 4, 0), (1, 3, 0), (1, 2, 1)})
    True
    >>> is_nested({(0, 2, 0), (1, 3, 0)}), is_nested({(0, 1, 0), (0, 1, 1)})
    (False, False)
    """
    open_ends: list[int] = []
    before: tuple[int, int] | None = None
    # Outer mentions come before those that they contain.
    for start, end, _ in sorted(mentions, key=lambda mention: (mention[0], -mention[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if (start, end) == before or (open_ends and open_ends[-1] < end):
            return False
        open_ends.append(end)
        before = start, end
    return True


def without_crossing(mentions: Iterable[Mention]) -> MentionSet:
    """The largest subset of mentions that forms a tree. Ties go to the subset that covers more words.

    >>> crossing = {(0, 3, 0), (2, 5, 0), (2, 4, 1), (4, 5, 0)}
    >>> sorted(without_crossing(crossing))
    [(2, 4, 1), (2, 5, 0), (4, 5, 0)]
    >>> len(crossing - without_crossing(crossing))
    1
    """
    wanted = frozenset(mentions)
    if is_nested(wanted):
        return wanted
    # The best tree where each wanted mention scores 1 and all others are impossible. Only the order of the boundaries
    # matters, so one word per boundary is enough.
    boundaries = sorted({boundary for start, end, _ in wanted for boundary in (start, end)})
    place = {boundary: index for index, boundary in enumerate(boundaries)}
    kinds = sorted({kind for _, _, kind in wanted})
    all_words = sum(end - start for start, end, _ in wanted)
    n = len(boundaries) - 1
    scores = torch.full((1, n, n, len(kinds)), MINUS_INFINITY, dtype=torch.float64, device="cpu")
    for start, end, kind in wanted:
        score = 1 + (end - start) / (all_words + 1)
        scores[0, place[start], place[end] - place[start] - 1, kinds.index(kind)] = score
    (kept,) = ConstituencyTrees(scores, [n]).argmax()
    return frozenset((boundaries[start], boundaries[end], kinds[kind]) for start, end, kind in kept)


# -- the recursion over all spans of a sentence: log-sums, the k best trees, and samples -------------------------------

Part = Literal["top", "sequence", "inner", "mention"]


class TreeChart:
    """Log-sums over all ways to cover some words, k = 1 value each; `scores` (B, n, c, m) and `outside` (B, n) must be
    free of padding.

    They are -inf where nothing can cover the words, and where there are no such words.
    """

    sequence: Tensor  # (B, n + 1, c + 1, k): by start and number of words
    mention: Tensor  # (B, n + 1, c, k): by *end* and number of words, the widest first
    top: Tensor  # (B, n + 1, k): by end

    def __init__(self, scores: Tensor, outside: Tensor, k: int = 1):
        batch, n, c, m = scores.shape
        self.k, self.c = k, c if m else 0
        nothing = pad(scores.new_zeros(batch, n + 1, 1, 1), (0, k - 1), value=MINUS_INFINITY)  # no words: one way
        sequence, mention = nothing, nothing[:, :, :0]
        for width in range(1, self.c + 1):
            starts = n - width + 1
            # A last mention of `width - u` words follows a sequence of u: both charts line up, as one grows at each
            # end.
            split = self._join(sequence[:, :starts, 1:], mention[:, width:])
            inner = self._keep("inner", width, torch.cat([sequence[:, :starts, -1], split], dim=2))
            whole = self._keep("mention", width, self._typed(width, scores[:, :starts, width - 1], inner))
            either = self._keep("sequence", width, torch.cat([inner, whole], dim=2))
            sequence = torch.cat([sequence, pad(either, (0, 0, 0, width), value=MINUS_INFINITY)[:, :, None]], dim=2)
            mention = torch.cat([pad(whole, (0, 0, width, 0), value=MINUS_INFINITY)[:, :, None], mention], dim=2)
        top = [nothing[:, 0, 0]]  # (B, k) by end
        for end in range(1, n + 1):
            words = min(self.c, end)
            # (B, words, k): what comes before a last mention, the longest first
            before = torch.stack(top[end - words :], dim=1) if words else nothing[:, 0, :0]
            split = self._join(before, mention[:, end, self.c - words :])
            after_word = top[-1] + outside[:, end - 1, None]
            top.append(self._keep("top", end, torch.cat([after_word, split], dim=1)))
        self.sequence, self.mention, self.top = sequence, mention, torch.stack(top, dim=1)

    def values(self, lengths: Sequence[int]) -> Tensor:
        """(B, k): the values of whole sentences."""
        sentences = torch.arange(len(lengths), device=self.top.device)
        return self.top[sentences, torch.tensor(lengths, dtype=torch.long, device=self.top.device)]

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, splits, k) twice -> (…, candidates): what is left of each split, with a mention on its right."""
        return (left + right).flatten(-2)

    def _typed(self, width: int, scores: Tensor, inner: Tensor) -> Tensor:
        """Scores of types (…, m) and a content (…, k) -> (…, candidates)."""
        return scores + inner

    def _keep(self, part: Part, place: int, candidates: Tensor) -> Tensor:
        """(…, candidates) -> (…, k): the candidates kept for spans of a width, or at the top for an end."""
        return log_sum(candidates, -1).unsqueeze(-1)


class BestTrees(TreeChart):
    """The k best trees of each sentence of a batch, best first; -inf where there are fewer.

    For all spans of a width at once, the k best trees are the best combinations of the k best parts. For two parts,
    ranks r and s (from 0) can be among the k best only if (r + 1)(s + 1) <= k.
    """

    def __init__(self, scores: Tensor, outside: Tensor, k: int):
        self._left, self._right = _pairs(k, k, k)
        self._type_rank, self._inner_rank = _pairs(min(scores.shape[3], k), k, k)
        # Where each of the k best came from, as an index into its candidates; by width, and at the top by end.
        self._sources: dict[tuple[Part, int], Tensor] = {}
        self._types: dict[int, Tensor] = {}
        super().__init__(scores, outside, k)
        self._sources = {place: source.cpu() for place, source in self._sources.items()}
        self._types = {width: kinds.cpu() for width, kinds in self._types.items()}

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return (left[..., self._left] + right[..., self._right]).flatten(-2)

    def _typed(self, width: int, scores: Tensor, inner: Tensor) -> Tensor:
        best, self._types[width] = scores.topk(min(scores.shape[-1], self.k), dim=2)
        return best[..., self._type_rank] + inner[..., self._inner_rank]

    def _keep(self, part: Part, place: int, candidates: Tensor) -> Tensor:
        best, source = (
            found.view(*candidates.shape[:-1], self.k) for found in largest(candidates.flatten(0, -2), self.k)
        )
        self._sources[part, place] = source
        return best

    def read(self, sentence: int, length: int, rank: int) -> MentionSet:
        """The mentions of a sentence's tree of this rank."""
        mentions: set[Mention] = set()
        todo: list[tuple[Part, int, int, int]] = [("top", 0, length, rank)]
        while todo:
            part, start, end, rank = todo.pop()
            if start == end:
                continue
            row = self._sources[part, end if part == "top" else end - start][sentence]
            source = int(row[rank] if part == "top" else row[start, rank])
            if part == "sequence":
                todo.append(("inner" if source < self.k else "mention", start, end, source % self.k))
            elif part == "mention":
                kind = self._types[end - start][sentence, start, self._type_rank[source]]
                mentions.add((start, end, int(kind)))
                todo.append(("inner", start, end, self._inner_rank[source]))
            elif source < self.k:
                todo.append(("top" if part == "top" else "sequence", start, end - 1, source))
            else:
                split, pair = divmod(source - self.k, len(self._left))
                first = end - min(self.c, end) + split if part == "top" else start + 1 + split
                todo.append(("top" if part == "top" else "sequence", start, first, self._left[pair]))
                todo.append(("mention", first, end, self._right[pair]))
        return frozenset(mentions)


def _pairs(lefts: int, rights: int, k: int) -> tuple[list[int], list[int]]:
    """The ranks of two parts whose combination can be among the k best, as two lists."""
    pairs = [(r, s) for r in range(min(lefts, k)) for s in range(min(rights, k // (r + 1)))]
    return [r for r, _ in pairs], [s for _, s in pairs]


class TreeSampler:
    """Sample the mention sets of one sentence from the top down; the choices at each place are computed once.

    `sequence[i][w]` is the log-sum over the w words from i on, `mention[j][-w]` over mentions of the w words up to j.
    """

    def __init__(self, chart: TreeChart, scores: Tensor, outside: Tensor, sentence: int):
        self.scores, self.outside = scores[sentence].tolist(), outside[sentence].tolist()
        self.sequence = chart.sequence[sentence, :, :, 0].tolist()
        self.mention, self.top = chart.mention[sentence, :, :, 0].tolist(), chart.top[sentence, :, 0].tolist()
        self._cumulative: dict[tuple[Part, int, int], list[float]] = {}

    def draw(self, length: int, uniform: Iterable[float]) -> MentionSet:
        """One set, from numbers between 0 and 1: one for each word, and two for each mention, are always enough."""
        numbers = iter(uniform)
        mentions: set[Mention] = set()
        todo: list[tuple[Part, int, int]] = [("top", 0, length)]
        while todo:
            part, start, end = todo.pop()
            if start == end:
                continue
            outer: Part = "top" if part == "top" else "sequence"
            words = self._choose(part, start, end, next(numbers))
            if words == 0:
                todo.append((outer, start, end - 1))
                continue
            first = end - words
            mentions.add((first, end, self._choose("mention", first, end, next(numbers))))
            todo.append((outer, start, first))
            todo.append(("inner", first, end))
        return frozenset(mentions)

    def _choose(self, part: Part, start: int, end: int, number: float) -> int:
        place = (part, start, end)
        if place not in self._cumulative:
            weights = self.scores[start][end - start - 1] if part == "mention" else self._last_items(*place)
            pivot = max(weights)
            self._cumulative[place] = list(itertools.accumulate(math.exp(weight - pivot) for weight in weights))
        cumulative = self._cumulative[place]
        return bisect.bisect_right(cumulative, number * cumulative[-1], hi=len(cumulative) - 1)

    def _last_items(self, part: Part, start: int, end: int) -> list[float]:
        """The log-weight of a word as the last item, and of mentions of 1, 2, … words."""
        mention = self.mention[end]
        if part == "top":
            widest = min(len(mention), end)
            ending = [self.top[end - words] + mention[-words] for words in range(1, widest + 1)]
            return [self.top[end - 1] + self.outside[end - 1], *ending]
        widest = end - start if part == "sequence" else end - start - 1
        before = self.sequence[start]
        return [before[end - start - 1], *(before[end - start - w] + mention[-w] for w in range(1, widest + 1))]


# -- the explicit hypergraph, for inspection and for testing the fast version ------------------------------------------


class ConstituencyNode(NamedTuple):
    """A node of the explicit hypergraph; it covers the words from `start` up to `end`, exclusive.

    ``top``: a sequence of words and mentions from the first word on, inside no mention. ``sequence``: one inside a
    mention. ``inner``: a sequence that is not one mention alone. ``mention``: a mention of some type, with what it
    contains. ``type`` (number `kind`), ``word`` and ``outside`` (a word in no mention) are leaves.
    """

    symbol: Literal["top", "sequence", "inner", "mention", "type", "word", "outside"]
    start: int = -1
    end: int = -1
    kind: int = -1


def constituency_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[ConstituencyNode]:
    """All sets of nested and disjoint mentions in `n` words, at most one type per span; each set is one hyperpath.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = constituency_hypergraph(3, types=1)  # six spans, and no set with both (0, 2) and (1, 3)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]
    48
    """
    m = types if isinstance(types, int) else len(types)
    c = (n if max_width is None else max_width) if m else 0
    edges: list[Hyperedge[ConstituencyNode]] = []
    for j in range(1, n + 1):
        top = ConstituencyNode("top", 0, j)
        edges.append(Hyperedge(top, (ConstituencyNode("top", 0, j - 1), ConstituencyNode("outside", j - 1, j))))
        for a in range(max(j - c, 0), j):
            mention = ConstituencyNode("mention", a, j)
            edges.append(Hyperedge(top, (ConstituencyNode("top", 0, a), mention)))
            inner = ConstituencyNode("inner", a, j)
            edges.extend(Hyperedge(mention, (ConstituencyNode("type", a, j, k), inner)) for k in range(m))
            edges.extend(_sequences(a, j))
    return Hypergraph(ConstituencyNode("top", 0, n), edges)


def _sequences(i: int, j: int) -> Iterable[Hyperedge[ConstituencyNode]]:
    """The ways to cover [i, j) inside a mention, by their last item."""
    inner, sequence = ConstituencyNode("inner", i, j), ConstituencyNode("sequence", i, j)
    yield Hyperedge(sequence, (inner,))
    yield Hyperedge(sequence, (ConstituencyNode("mention", i, j),))
    yield Hyperedge(inner, (ConstituencyNode("sequence", i, j - 1), ConstituencyNode("word", j - 1, j)))
    for a in range(i + 1, j):
        yield Hyperedge(inner, (ConstituencyNode("sequence", i, a), ConstituencyNode("mention", a, j)))


def constituents_of(path: Iterable[Hyperedge[ConstituencyNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes: one for each type that it visits."""
    leaves = (node for edge in path for node in edge.tail)
    return frozenset((leaf.start, leaf.end, leaf.kind) for leaf in leaves if leaf.symbol == "type")


# -- the scorer --------------------------------------------------------------------------------------------------------


class TreeScorer(SegmentScorer):
    """The same scores for trees: mentions nest, but do not cross."""

    abilities = Abilities("nested, none crossing", spans=True)
    # No large batches: the inside algorithm is cubic in the words of a sentence.

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return ConstituencyTrees(scores.segment, lengths, scores.outside)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(without_crossing(self.no_wider(mentions, longest)))
