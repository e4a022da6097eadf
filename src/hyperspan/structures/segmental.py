"""The segmental hypergraph of Wang & Lu (2018) as a probability distribution over sets of mentions.

Sets of mentions, with any overlap, and hyperpaths correspond one to one. :mod:`hyperspan.structures.graphs.segmental`
spells out the hypergraph; this module never builds it. :mod:`hyperspan.kernels.chains` explains what is computed
instead, and why it is equivalent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hyperspan.kernels import chains
from hyperspan.kernels.chains import ChainResults, EdgeValues
from hyperspan.kernels.numbers import is_array, widened
from hyperspan.structures.calibration import TypeCalibration
from hyperspan.structures.constraints import AnySets, PartialMarks, constraint_masks
from hyperspan.structures.edges import hyperpaths_of, path_scores
from hyperspan.structures.kbest import Mentions
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places
from hyperspan.structures.scores import EdgeScores, Values, check_lengths, mean_scores
from hyperspan.structures.segmental_chains import Chains
from hyperspan.structures.units import Given, Uniform, UnitProduct

SAMPLE_PORTION = 2**20
"""`sample` draws this many random numbers at a time, so that memory does not grow with k."""


class SegmentalHypergraph(UnitProduct[Values]):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' scores).

    Its units are *chains*: all mentions of a type that begin at a word. Everything is exact and takes O(c m n) time and
    memory; `topk`, `sample` and `max_expected_f1` state what they add. Padding may hold anything. Values of tensors are
    differentiable with respect to the scores. If a sentence has no possible set (every hyperpath has an edge of -inf),
    its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless. Arrays are not copied and
    must not change.

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

    def __init__(self, scores: EdgeScores[Values], lengths: Any, best: np.ndarray | None = None):
        """Make the distribution from the scores of a batch and the number of words of each sentence; `best` are the
        mentions of the most probable sets, (mentions, 4), if already known."""
        batch, n, c, m = scores.close.shape
        self.scores: EdgeScores[Any] = scores
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self._known_best = best
        self._kept: ChainResults | None = None

    def with_scores(self, scores: Any, lengths: Sequence[int] | None = None) -> Self:
        return type(self)(scores, self.lengths if lengths is None else lengths)

    def calibrated(self, calibration: TypeCalibration) -> Self:
        """The calibrated distribution, with the same most probable sets; the scores must already be divided by the
        temperatures."""
        scores, best = calibration.apply(self.scores, self.lengths)
        return type(self)(scores, self.lengths, best)

    # -- probabilities -----------------------------------------------------------------------------------------------
    # Nothing that depends on tensors is kept: each call sees the current scores and builds a fresh autograd graph.

    @property
    def _results(self) -> ChainResults:
        """Of arrays: all in one pass. Kept without functools.cached_property, whose lock a fork may leave locked."""
        if self._kept is None:
            self._kept = chains.run(self.scores, self.lengths)
        return self._kept

    @property
    def unit_log_partition(self) -> Values:
        """(B, n, m): the log-partition of each chain; 0 in padding."""
        if is_array(self.scores.close):
            return self._results.log_partition
        return chains.log_partition(self.scores, self.lengths)

    def unit_scores(self, mention_sets: AnySets) -> tuple[Values, list[bool]]:
        sets = check_mentions(mention_sets, self.lengths, self.types)  # type: ignore[arg-type]
        paths = hyperpaths_of(sets, self.max_width, self.scores.close)
        too_wide = [any(end - start > self.max_width for start, end, _ in some) for some in sets]
        return path_scores(self.scores, paths), too_wide

    @property
    def edge_marginals(self) -> EdgeScores[Values]:
        """The probability of each hyperedge in the place of its score; 0 in padding. Tied scores have no `branch`: its
        probability counts towards `extend` and `close`. This is the gradient of the log-partition."""
        return EdgeScores(*self._edges())

    def _edges(self) -> EdgeValues:
        if is_array(self.scores.close):
            return self._results.edges
        return chains.edge_marginals(self.scores, self.lengths, differentiable=self.scores.needs_gradient)

    @property
    def marginals(self) -> Values:
        """(B, n, c, m): the probability of each mention, by start, width and type; 0 in padding."""
        edges = self._edges()
        if edges.branch is None:
            return edges.close
        return edges.close + widened(edges.branch, self.max_width)

    # -- under constraints, and as a teacher -------------------------------------------------------------------------

    def given(self, require: MentionSets | None, forbid: MentionSets | None) -> Given:  # type: ignore[override]
        return self.given_masks(*constraint_masks(require, forbid, self.lengths, self.scores.close.shape))

    def given_marks(self, gold: AnySets, marks: PartialMarks) -> Given:
        _, n, c, _ = self.scores.close.shape
        return self.given_masks(*marks.masks(gold, n, c))  # type: ignore[arg-type]

    def given_masks(self, required: np.ndarray, forbidden: np.ndarray) -> Given:
        """The distribution given what masks (B, n, c, m) require and forbid."""
        return Given(
            self.with_scores(self.scores.given(required, forbidden)), np.asarray((required | forbidden).any(2))
        )

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        return marks.known_chains(self.lengths, *self.scores.close.shape[1:3])

    def tilted(self, weight: float) -> Self:
        scores = self.scores
        branch = None if scores.branch is None else scores.branch + weight
        return self.with_scores(replace(scores, close=scores.close + weight, branch=branch))

    def geometric_mean(self, others: Sequence[SegmentalHypergraph]) -> Self:
        return self.with_scores(mean_scores([self.scores, *(other.scores for other in others)]))

    def expected_edges(self, teacher: SegmentalHypergraph, weights: Any = None) -> EdgeScores[Values]:
        own, c = self.scores, self.max_width
        given = teacher.scores if own.branch is None else teacher.scores.untied()
        found = chains.edge_marginals(given.narrowed(c), self.lengths)
        if own.branch is None and found.branch is not None:  # I → (X, I) uses both scores
            close = found.close + widened(found.branch, found.close.shape[2])
            found = EdgeValues(found.absent, found.present, found.extend + found.branch, close)
        branch = None if found.branch is None else widened(found.branch, c - 1)
        wide = EdgeScores(found.absent, found.present, widened(found.extend, c - 1), widened(found.close, c), branch)
        return (
            wide if weights is None else wide.map(lambda one: one * (weights if one.ndim == 3 else weights[:, :, None]))
        )

    # -- decoding ----------------------------------------------------------------------------------------------------

    def best(self) -> Places:
        if self._known_best is None:
            found = chains.best(self.scores, self.lengths)
            if found is None:
                chains.check_possible(self.unit_log_partition)
                raise AssertionError("a chain without a choice has a log-partition of -inf or NaN")
            if not is_array(self.scores.close):
                return Places(found, np.zeros(len(found)))
            self._known_best = found
        return Places(self._known_best, np.zeros(len(self._known_best)))

    def leads(self) -> tuple[np.ndarray, np.ndarray]:
        leads = np.zeros(self.scores.absent.shape)
        chains.best(self.scores, self.lengths, leads)
        return self.scores.absent, leads

    def alternatives(self, sentence: int, units: np.ndarray, k: int) -> Sequence[Iterator[tuple[float, Mentions]]]:
        start, kind = units.T
        picked = Chains.at(self.scores, self.lengths, (np.full(len(units), sentence), start, kind))

        def ranked(chain: int, i: int, q: int) -> Iterator[tuple[float, Mentions]]:
            for cost, widths in picked.alternatives(chain, k):
                yield cost, tuple((i, i + width + 1, q) for width in widths)

        return [ranked(chain, i, q) for chain, (i, q) in enumerate(units.tolist())]

    def draw(self, k: int, uniform: Uniform) -> list[list[MentionSet]]:
        reach, share = self._reach_and_share()
        samples: list[list[MentionSet]] = [[] for _ in self.lengths]
        at_once = max(1, SAMPLE_PORTION // max(reach[..., 0].size, 1))
        for done in range(0, k, at_once):
            draws = min(at_once, k - done)
            level = uniform(draws, *reach.shape[:3])
            draw, b, start, kind = np.nonzero(level < reach[..., 0])
            last = (level[draw, b, start, kind][:, None] < reach[b, start, kind]).sum(1) - 1  # of the longest mentions
            tossed = share[b, start, kind]
            shorter = (uniform(*tossed.shape) < tossed) & (np.arange(tossed.shape[1]) < last[:, None])
            row, width = np.nonzero(shorter)
            drawn: list[list[set[Mention]]] = [[set() for _ in range(draws)] for _ in self.lengths]
            for index, widths in ((slice(None), last), (row, width)):
                columns = [b[index], draw[index], start[index], widths, kind[index]]
                for s, d, i, w, t in np.stack(columns, axis=1).tolist():
                    drawn[s][d].add((i, i + w + 1, t))
            for sentence, sets in enumerate(drawn):
                samples[sentence].extend(map(frozenset, sets))
        return samples

    def _reach_and_share(self) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, m, c): P(a mention of this width or more). (B, n, m, c - 1): P(a mention of this width), given a wider
        one."""
        edges = chains.run(self.scores.untied(), self.lengths).edges
        went_on = edges.extend + edges.branch  # (B, n, c - 1, m)
        reach = np.concatenate([edges.present[:, :, None], went_on], axis=2)
        share = np.divide(edges.branch, went_on, out=np.zeros_like(went_on), where=went_on > 0)
        return reach.swapaxes(2, 3), share.swapaxes(2, 3)
