"""The segmental hypergraph over NumPy arrays: exact inference for annotation, without torch.

The formulas are those of :class:`hyperspan.structures.SegmentalHypergraph`, which also supports gradients and other
devices; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperspan.kernels.chain_arrays import ChainResults, best_places, run_chains
from hyperspan.kernels.encode import ScoreArrays
from hyperspan.structures.constraints import constraint_masks
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places, places_above, places_at, sets_of_rows
from hyperspan.structures.segmental_kbest import best_sets

SAMPLE_PORTION = 256
"""`sample` draws in portions of this size, so that memory does not grow with k."""


class ArrayHypergraph:
    """A distribution over the mention sets of each sentence of a padded batch; see SegmentalHypergraph.

    Types are indices, a mention is ``(start, end, type)`` in words. The arrays are not copied and must not change.
    `best` are the mentions of the most probable sets, (mentions, 4), if already known.
    """

    exact_marginals = True

    def __init__(self, scores: ScoreArrays, lengths: Sequence[int], best: np.ndarray | None = None):
        self.scores, self.lengths, self._known_best = scores, list(lengths), best
        self.max_width, self.types = scores.close.shape[2:]
        self._kept: ChainResults | None = None

    def __repr__(self) -> str:
        return f"ArrayHypergraph({len(self.lengths)} sentences of {sum(self.lengths)} words, {self.types} types)"

    @property
    def _results(self) -> ChainResults:
        """Cached without functools.cached_property, whose lock a fork may leave locked forever in the child."""
        if self._kept is None:
            self._kept = run_chains(self.scores, self.lengths)
        return self._kept

    @property
    def log_partition(self) -> np.ndarray:
        """(B,): the logarithm of the sum of exp(score) over all mention sets."""
        return self._results.log_partition.sum((1, 2))

    def log_prob(self, mention_sets: MentionSets) -> np.ndarray:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention wider than c."""
        exact = self._untied()._in_float64()
        log_partition = exact._results.log_partition  # (B, n, m)
        with np.errstate(invalid="ignore"):
            chains = exact.scores.absent - log_partition  # (B, n, m): what each chain adds
        too_wide = np.zeros(len(self.lengths), dtype=bool)
        for b, mentions in enumerate(check_mentions(mention_sets, self.lengths, self.types)):
            chains[b, self.lengths[b] :] = 0.0
            too_wide[b] = any(end - start > self.max_width for start, end, _ in mentions)
            for start, kind in {(start, kind) for start, end, kind in mentions if end - start <= self.max_width}:
                widths = sorted(end - start - 1 for first, end, type_ in mentions if (first, type_) == (start, kind))
                score = exact._chain_score(b, start, kind, [width for width in widths if width < self.max_width])
                chains[b, start, kind] = score - log_partition[b, start, kind]
        # An impossible choice in a chain with no possible choice gives -inf minus -inf.
        chains = np.where(np.isnan(chains) & (log_partition == -np.inf), -np.inf, chains)
        total = np.minimum(chains, 0.0).sum((1, 2))
        total[too_wide] = -np.inf
        return total

    def _chain_score(self, sentence: int, start: int, kind: int, widths: Sequence[int]) -> float:
        """The score of the mentions of these widths, sorted and at least one, from one start and of one type."""
        _, present, extend, close, branch = self.scores
        assert branch is not None
        *shorter, last = widths
        passed = extend[sentence, start, :last, kind].copy()
        passed[shorter] = branch[sentence, start, shorter, kind]
        return float(present[sentence, start, kind] + passed.sum() + close[sentence, start, last, kind])

    @property
    def marginals(self) -> np.ndarray:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k; 0 in padding."""
        edges = self._results.edges
        assert edges is not None
        if edges.branch is None:
            return edges.close
        found = edges.close.copy()
        found[:, :, :-1] += edges.branch
        return found

    @property
    def entropy(self) -> np.ndarray:
        """(B,): the entropy of the distribution over mention sets, in nats: log Z minus the expected score."""
        exact = self._in_float64()
        log_partition, edges = exact._results
        assert edges is not None
        total = log_partition.sum((1, 2))
        for score, probability in zip(exact.scores, edges, strict=True):
            if score is not None and probability is not None:
                with np.errstate(invalid="ignore"):  # -inf times 0 is 0 here
                    expected = np.where(probability > 0, score * probability, 0.0)
                total -= expected.reshape(len(total), -1).sum(1)
        return np.maximum(total, 0.0)

    # -- decoding -------------------------------------------------------------------------------------------------

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each entry of `wanted`: the mentions of the best sets (None), or those that reach their type's threshold.

        `certain` (mentions, 4) are mentions known to be present, which rounding may have made slightly less probable.
        """
        marginals = self.marginals
        if certain is not None and len(certain):
            marginals = marginals.copy()
            sentence, start, end, kind = certain.T
            marginals[sentence, start, end - start - 1, kind] = 1.0
        return [
            places_at(marginals, self._best()) if least is None else places_above(marginals, least) for least in wanted
        ]

    def _best(self) -> np.ndarray:
        found = best_places(self.scores, self.lengths) if self._known_best is None else self._known_best
        if found is None:
            self._raise_impossible()
            raise AssertionError("a chain without a choice has a log-partition of -inf or NaN")
        return found

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        return sets_of_rows(self._best(), len(self.lengths))

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer where fewer
        exist."""
        if k < 0:
            raise ValueError(f"expected k >= 0, got {k}")
        found = best_sets(self.scores, self.lengths, k)
        if found is None:
            self._raise_impossible()
        return found or []

    def sample(self, k: int = 1, generator: np.random.Generator | None = None) -> list[list[MentionSet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
        if k < 0:
            raise ValueError(f"expected k >= 0, got {k}")
        generator = generator or np.random.default_rng()
        reach, share = self._reach_and_share()
        samples: list[list[MentionSet]] = [[] for _ in self.lengths]
        for done in range(0, k, SAMPLE_PORTION):
            draws = min(SAMPLE_PORTION, k - done)
            level = generator.random((draws, *reach.shape[:3]))
            draw, b, start, kind = np.nonzero(level < reach[..., 0])
            last = (level[draw, b, start, kind][:, None] < reach[b, start, kind]).sum(1) - 1  # of the longest mentions
            tossed = share[b, start, kind]
            shorter = (generator.random(tossed.shape) < tossed) & (np.arange(tossed.shape[1]) < last[:, None])
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
        exact = self._untied()._in_float64()
        exact._raise_impossible()
        edges = exact._results.edges
        assert edges is not None and edges.branch is not None
        went_on = edges.extend + edges.branch  # (B, n, c - 1, m)
        reach = np.concatenate([edges.present[:, :, None], went_on], axis=2)
        share = np.divide(edges.branch, went_on, out=np.zeros_like(went_on), where=went_on > 0)
        return reach.swapaxes(2, 3), share.swapaxes(2, 3)

    # -- other distributions --------------------------------------------------------------------------------------

    def condition(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> ArrayHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence.
        """
        return self.given(*constraint_masks(require, forbid, self.lengths, self.scores.close.shape))

    def given(self, required: np.ndarray, forbidden: np.ndarray) -> ArrayHypergraph:
        """The same for masks (B, n, c, m) that are already validated."""
        absent, present, extend, close, branch = (array.copy() for array in self._untied().scores if array is not None)
        longer = (
            required[:, :, ::-1].cumsum(2)[:, :, ::-1] > required
        )  # (B, n, c, m): whether a wider one must be there
        absent[required.any(2)] = -np.inf
        extend[required[:, :, :-1]] = -np.inf
        close[forbidden | longer] = -np.inf
        branch[forbidden[:, :, :-1]] = -np.inf
        return ArrayHypergraph(ScoreArrays(absent, present, extend, close, branch), self.lengths)

    def restrict(self, types: Sequence[int]) -> ArrayHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = list(types)
        if len(set(chosen)) < len(chosen) or not all(0 <= kind < self.types for kind in chosen):
            raise ValueError(f"expected types from 0 to {self.types - 1}, each once, got {chosen}")
        arrays = (None if array is None else array[..., chosen] for array in self.scores)
        return ArrayHypergraph(ScoreArrays(*arrays), self.lengths)  # type: ignore[arg-type]

    def _untied(self) -> ArrayHypergraph:
        if self.scores.branch is not None:
            return self
        branch = self.scores.extend + self.scores.close[:, :, :-1]
        return ArrayHypergraph(self.scores._replace(branch=branch), self.lengths)

    def _in_float64(self) -> ArrayHypergraph:
        arrays = (None if array is None else array.astype(np.float64) for array in self.scores)
        return ArrayHypergraph(ScoreArrays(*arrays), self.lengths)  # type: ignore[arg-type]

    def _raise_impossible(self) -> None:
        """Raise an error if a sentence has no possible set."""
        value = self._results.log_partition
        if (value > -np.inf).all():
            return
        sentence, start, kind = np.argwhere(~(value > -np.inf))[0].tolist()
        reason = (
            "a score is NaN" if np.isnan(value[sentence, start, kind]) else "every choice there has a score of -inf"
        )
        raise ValueError(
            f"sentence {sentence} has no possible mention set: for start {start} and type {kind} {reason}; "
            "check the scores, or what was required and forbidden"
        )
