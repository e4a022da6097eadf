"""Nested mentions as constituents of a tree, after Finkel & Manning (2009): a distribution over sets without crossing.

A sentence is a sequence of items; an item is a word or a mention, and a mention is again a sequence of items. Sequences
are built from left to right by their last item, so every set is built in exactly one way:

- ``mention[i, j) = log Σ_k exp(score[i, j, k]) + inner[i, j)``
- ``inner[i, j)``: the last item is the word j - 1, after ``sequence[i, j - 1)``; or ``mention[a, j)`` with a > i, after
  ``sequence[i, a)``. That is a mention's content: anything but the same span once more.
- ``sequence[i, j)``: ``inner[i, j)`` or ``mention[i, j)``
- ``top[j]``: the same from word 0 on and inside no mention, where a word may have a score

:mod:`hyperspan.structures.graphs.constituency` has the explicit hypergraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY, finite
from hyperspan.structures.common import (
    check_count,
    check_no_nan,
    check_possible,
    check_scores,
    in_float64,
    in_sentence,
    log_probability,
    span_score,
)
from hyperspan.structures.constituency_charts import BestTrees, TreeChart, TreeSampler
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
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
