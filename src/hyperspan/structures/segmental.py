"""The segmental hypergraph of Wang & Lu (2018) as a probability distribution over sets of mentions.

Sets of mentions, with any overlap, and hyperpaths correspond one to one. :mod:`hyperspan.structures.graphs.segmental`
spells out the hypergraph; this module never builds it. :mod:`hyperspan.kernels.chain_reference` explains what is
computed instead, and why it is equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import softplus

from hyperspan.kernels import chains
from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.chains import PackedScores, Posteriors
from hyperspan.kernels.encode import ScoreArrays
from hyperspan.kernels.numerics import MINUS_INFINITY, finite
from hyperspan.structures.common import check_count, entropy_term
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution, check_types, tensor_masks
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets
from hyperspan.structures.places import sets_of_rows
from hyperspan.structures.risk import NEGLIGIBLE, best_expected_f1, mention_count_joint, sets_of
from hyperspan.structures.scores import EdgeScores, Hyperpaths, check_lengths, hyperpaths_of, mean_scores
from hyperspan.structures.segmental_kbest import best_sets
from hyperspan.structures.teaching import cross_entropy

SAMPLE_PORTION = 256
"""`sample` draws in portions of this size, so that memory does not grow with k."""


class SegmentalHypergraph(Distribution):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' scores).

    Everything is exact and takes O(c m n) time and memory; `topk`, `sample` and `max_expected_f1` state what they add.
    Padding may hold anything. Properties are differentiable with respect to the scores. If a sentence has no possible
    set (every hyperpath has an edge of -inf), its `log_partition` and `log_prob` are -inf; its other values are finite
    but meaningless.

    >>> import torch
    >>> from hyperspan import EdgeScores, SegmentalHypergraph
    >>> start, width = torch.zeros(1, 2, 1), torch.zeros(1, 2, 2, 1)
    >>> scores = EdgeScores(absent=start, present=start, extend=width[:, :, 1:], close=width)
    >>> words = SegmentalHypergraph(scores, lengths=[2])
    >>> words.log_partition.exp()  # three possible mentions, so eight equally probable sets
    tensor([8.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.5000, 0.5000],
            [0.5000, 0.0000]])
    """

    def __init__(self, scores: EdgeScores, lengths: Tensor | Sequence[int]):
        """Make the distribution from the scores of a batch and the number of words of each sentence."""
        batch, n, c, m = scores.close.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width = c
        self.types = m
        self._kept_layout: ChainLayout | None = None

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached: each call sees the current scores and builds a fresh autograd graph.

    @property
    def _layout(self) -> ChainLayout:
        if self._kept_layout is None:  # no cached_property, whose lock a fork may leave locked (Python 3.11)
            self._kept_layout = chains.layout_of(self.scores, self.lengths)
        return self._kept_layout

    @property
    def _packed(self) -> PackedScores:
        return chains.pack(self._layout, self.scores)

    @property
    def chain_log_partition(self) -> Tensor:
        """(B, n, m): the log-partition of each chain, all mentions of a type that begin at a word; 0 in padding."""
        return chains.log_partition(self.scores, self.lengths)

    @property
    def _lengths_there(self) -> Tensor:
        """(B,): the lengths, on the device of the scores."""
        return chains.lengths_on(self.lengths, self.scores.close.device)

    @property
    def _posteriors(self) -> Posteriors:
        return chains.posteriors(self._layout, self._packed)

    @property
    def _shorter_probability(self) -> Tensor:
        """(rows of width 1 and more, m): the probability of a mention at the previous row, given that the chain
        continued."""
        return chains.shorter_probability(self._layout, self._packed)

    @property
    def log_partition(self) -> Tensor:
        """(B,): log Z, the logarithm of the sum of exp(score) over all mention sets."""
        return self.chain_log_partition.sum((1, 2))

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention wider than c."""
        device = self.scores.close.device
        return self.log_prob_of(hyperpaths_of(mention_sets, self.lengths, self.max_width, self.types, device))

    def log_prob_of(self, paths: Hyperpaths) -> Tensor:
        """(B,): the log-probability of the sets that these hyperpaths stand for."""
        # Rounding may put the log-probability of an almost certain choice slightly above 0.
        total = self.chain_log_probs(paths).clamp(max=0.0).sum((1, 2))
        if not any(paths.too_wide):
            return total
        too_wide = torch.tensor([count > 0 for count in paths.too_wide], dtype=torch.bool, device=total.device)
        return total.masked_fill(too_wide, MINUS_INFINITY)

    def chain_log_probs(self, paths: Hyperpaths) -> Tensor:
        """(B, n, m): the log-probability of what hyperpaths choose in each chain, up to rounding; 0 in padding."""
        scores, log_partition = self.scores, self.chain_log_partition
        # Subtract per chain, so that large scores cancel before summing.
        per_chain = path_scores(scores, paths) - finite(log_partition)
        per_chain = per_chain.masked_fill(log_partition == MINUS_INFINITY, MINUS_INFINITY)
        return per_chain.masked_fill(chains.padding(scores, self.lengths), 0.0)

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Tensor:
        if marks is None:
            return self.log_prob(gold)
        _, n, c, _ = self.scores.close.shape
        device = self.scores.close.device
        required, forbidden = (torch.from_numpy(mask).to(device, non_blocking=True) for mask in marks.masks(gold, n, c))
        return self.log_prob_given(required, forbidden)

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of each mention, by start, width and type; 0 in padding."""
        return chains.marginals(self.scores, self.lengths, differentiable=self.scores.needs_gradient)

    @property
    def node_marginals(self) -> Tensor:
        """(B, n, c, m): the probability that a hyperpath visits each I node. A, E and T nodes are always visited."""
        posteriors = self._posteriors
        return self._layout.unpack_widths(torch.cat([posteriors.present, posteriors.extended]))

    @property
    def edge_marginals(self) -> EdgeScores:
        """The probability of each hyperedge, in the place of its score; 0 in padding."""
        layout, posteriors, shorter = self._layout, self._posteriors, self._shorter_probability
        return EdgeScores(
            absent=layout.unpack_chains(posteriors.absent),
            present=layout.unpack_chains(posteriors.present),
            extend=layout.unpack_extensions(posteriors.extended * (1 - shorter)),
            close=layout.unpack_widths(posteriors.stopped),
            branch=layout.unpack_extensions(posteriors.extended * shorter),
        )

    @property
    def entropy(self) -> Tensor:
        """(B,): the entropy of the distribution over mention sets, in nats."""
        layout, packed = self._layout, self._packed
        log_absent, log_stopped = chains.log_posteriors(layout, packed)
        posteriors = chains.choices_from(layout, log_absent.exp(), log_stopped.exp())
        log_odds = packed.shorter_log_odds(layout)
        certain = log_odds.isinf()
        odds = log_odds.masked_fill(certain, 0.0)
        bernoulli_entropy = torch.sigmoid(odds) * softplus(-odds) + torch.sigmoid(-odds) * softplus(odds)
        per_chain = layout.unpack_chains(entropy_term(log_absent))
        per_row = layout.unpack_widths(entropy_term(log_stopped))
        per_choice = layout.unpack_extensions(posteriors.extended * bernoulli_entropy.masked_fill(certain, 0.0))
        return per_chain.sum((1, 2)) + per_row.sum((1, 2, 3)) + per_choice.sum((1, 2, 3))

    def condition(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> SegmentalHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence. The result's
        `log_partition` minus that of `self` is the log-probability of the constraints.
        """
        required, forbidden = tensor_masks(require, forbid, self.lengths, self.scores.close)
        return SegmentalHypergraph(self.scores.given(required, forbidden), self.lengths)

    def constraint_log_prob(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> Tensor:
        """(B,): the log-probability that some mentions are in the set and others are not: constrained log Z minus log
        Z."""
        return self.log_prob_given(*tensor_masks(require, forbid, self.lengths, self.scores.close))

    def log_prob_given(self, required: Tensor, forbidden: Tensor) -> Tensor:
        """As `constraint_log_prob`, for masks that are already validated."""
        total, given = (
            self.chain_log_partition,
            chains.log_partition(self.scores.given(required, forbidden), self.lengths),
        )
        # Subtract per chain, so that large scores cancel before summing.
        per_chain = given - finite(total)
        per_chain = per_chain.masked_fill(total == MINUS_INFINITY, MINUS_INFINITY)
        unknown = ~(required | forbidden).any(2)  # two kernels may round equal chains differently
        # Rounding may put the log-probability of an almost certain choice slightly above 0.
        return per_chain.masked_fill(unknown, 0.0).clamp(max=0.0).sum((1, 2))

    def restrict(self, types: Sequence[int]) -> SegmentalHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        return SegmentalHypergraph(self.scores.map(lambda tensor: tensor[..., chosen]), self.lengths)

    def cross_entropy(self, teacher: SegmentalHypergraph, weights: Tensor | None = None) -> Tensor:
        return cross_entropy(self.scores, teacher.scores, self.lengths, weights)

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        return marks.known_chains(self.lengths, *self.scores.close.shape[1:3])

    def geometric_mean(self, others: Sequence[SegmentalHypergraph]) -> SegmentalHypergraph:
        return SegmentalHypergraph(mean_scores([self.scores, *(other.scores for other in others)]), self.lengths)

    # -- decoding -------------------------------------------------------------------------------------------------

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        return sets_of_rows(self.best_rows(), len(self.lengths))

    def best_rows(self) -> np.ndarray:
        return chains.best_rows(self.scores, self.lengths)

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        Takes one pass over the scores, a few times the cost of the marginals, then O(k log k) beyond the sets
        themselves. Equally probable sets come in a fixed order, whose only guarantee is that the first set equals
        `argmax`.

        >>> zeros = torch.zeros(1, 1, 1)
        >>> scores = EdgeScores(zeros, zeros + 1, torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 1, 1))
        >>> SegmentalHypergraph(scores, [1]).topk(3)
        [[(frozenset({(0, 1, 0)}), -0.3132616875182228), (frozenset(), -1.3132616875182228)]]
        """
        check_count(k)
        arrays = (None if tensor is None else tensor.detach().cpu().numpy() for tensor in _in_order(self.scores))
        found = best_sets(ScoreArrays(*arrays), self.lengths, k)  # type: ignore[arg-type]
        if found is None:
            chains.check_possible(self.chain_log_partition)
        return found or []

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
        check_count(k)
        exact = self._in_float64()
        chains.check_possible(exact.chain_log_partition)
        reach = exact.node_marginals.transpose(2, 3)  # (B, n, m, c): P(a mention of this width or more)
        share = exact._layout.unpack_extensions(exact._shorter_probability).transpose(2, 3)  # (B, n, m, c - 1)

        def uniform(*shape: int) -> Tensor:
            device = generator.device if generator is not None else reach.device
            return torch.rand(shape, generator=generator, dtype=torch.float64, device=device).to(reach.device)

        samples: list[list[MentionSet]] = [[] for _ in self.lengths]
        for done in range(0, k, SAMPLE_PORTION):
            draws = min(SAMPLE_PORTION, k - done)
            level = uniform(draws, *reach.shape[:3])
            draw, b, start, kind = (level < reach[..., 0]).nonzero(as_tuple=True)
            last = (level[draw, b, start, kind][:, None] < reach[b, start, kind]).sum(1) - 1  # of the longest mentions
            tossed = share[b, start, kind]
            below = torch.arange(tossed.shape[1], device=last.device) < last[:, None]
            shorter = (uniform(*tossed.shape) < tossed) & below
            row, width = shorter.nonzero(as_tuple=True)
            drawn: list[list[set[Mention]]] = [[set() for _ in range(draws)] for _ in self.lengths]
            for index, widths in ((slice(None), last), (row, width)):
                columns = [b[index], draw[index], start[index], widths, kind[index]]
                for s, d, i, w, t in torch.stack(columns, dim=1).tolist():
                    drawn[s][d].add((i, i + w + 1, t))
            for sentence, sets in enumerate(drawn):
                samples[sentence].extend(map(frozenset, sets))
        return samples

    def above(self, threshold: float) -> list[MentionSet]:
        """For each sentence, every mention with a probability of at least `threshold`.

        The set at 0.5 has the fewest expected errors; lower thresholds trade precision for recall.
        """
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"expected a threshold above 0 and at most 1, got {threshold}")
        return sets_of(self.marginals.detach() >= threshold)

    @torch.no_grad()
    def max_expected_f1(self) -> list[tuple[MentionSet, float]]:
        """The set of each sentence with the highest expected F1 under the distribution, and that expectation.

        Exact to about 1e-9: it uses the joint distribution of each mention and the size of the set, not only the
        marginals. It takes O(s c m n) for the s plausible set sizes: cheap for a trained model, slow for scores that
        leave thousands of mentions undecided. F1 is 1 when both sets are empty.
        """
        exact = self._in_float64()
        chains.check_possible(exact.chain_log_partition)
        layout = exact._layout
        absent = layout.unpack_chains(exact._posteriors.absent)
        longest = layout.unpack_widths(exact._posteriors.stopped).transpose(2, 3)
        share = layout.unpack_extensions(exact._shorter_probability).transpose(2, 3)
        result: list[tuple[MentionSet, float]] = []
        for sentence, length in enumerate(self.lengths):
            missing = absent[sentence, :length].flatten()
            start, kind = (absent[sentence, :length] < 1 - NEGLIGIBLE).nonzero(as_tuple=True)
            if len(start) == 0:
                result.append((frozenset(), float(missing.prod())))
                continue
            joint = mention_count_joint(
                absent[sentence, start, kind], longest[sentence, start, kind], share[sentence, start, kind]
            )
            chain, width = (joint.sum(0) > NEGLIGIBLE).nonzero(as_tuple=True)
            value, chosen = best_expected_f1(joint[:, chain, width], float(missing.prod()))
            first, words, types = start[chain[chosen]], width[chosen] + 1, kind[chain[chosen]]
            columns = (column.tolist() for column in (first, first + words, types))
            result.append((frozenset(zip(*columns, strict=True)), value))
        return result

    def _in_float64(self) -> SegmentalHypergraph:
        return SegmentalHypergraph(self.scores.in_float64(), self.lengths)


def path_scores(scores: EdgeScores, paths: Hyperpaths) -> Tensor:
    """(B, n, m): the score of what hyperpaths choose in each chain; arbitrary in padding."""
    active = torch.zeros_like(scores.absent, dtype=torch.bool)
    active[tuple(paths.present)] = True
    if scores.branch is None:
        used = [
            (scores.extend, torch.cat([paths.extend, paths.branch], dim=1)),
            (scores.close, torch.cat([paths.close, paths.branch], dim=1)),
        ]
    else:
        used = [(scores.extend, paths.extend), (scores.close, paths.close), (scores.branch, paths.branch)]
    _, n, m = scores.absent.shape
    per_chain = torch.where(active, scores.present, scores.absent).flatten()
    for tensor, edges in used:
        sentence, start, _, kind = edges
        per_chain = per_chain.index_add(0, (sentence * n + start) * m + kind, _Gather.apply(tensor, edges))
    return per_chain.view_as(scores.absent)


def _in_order(scores: EdgeScores) -> tuple[Tensor | None, ...]:
    return scores.absent, scores.present, scores.extend, scores.close, scores.branch


class _Gather(Function):
    """Gather the scores of edges given as index columns, each at most once, so that the backward pass needs no
    accumulation."""

    @staticmethod
    def forward(ctx, scores: Tensor, edges: Tensor) -> Tensor:
        ctx.edges, ctx.shape = edges, scores.shape
        return scores[tuple(edges)]

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return _Scatter.apply(gradient, ctx.edges, ctx.shape), None


class _Scatter(Function):
    @staticmethod
    def forward(ctx, values: Tensor, edges: Tensor, shape: torch.Size) -> Tensor:
        ctx.edges = edges
        return values.new_zeros(shape).index_put_(tuple(edges), values)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return _Gather.apply(gradient, ctx.edges), None, None
