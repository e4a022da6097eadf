"""The chains of dev, from which calibration is fitted, at any temperature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hyperspan.kernels.encode import PartScores, ScoreArrays
from hyperspan.structures.discontinuous_arrays import DiscontinuousArrayHypergraph
from hyperspan.structures.discontinuous_edges import first_parts
from hyperspan.structures.mentions import AnyMention, MentionSets, parts_of
from hyperspan.structures.segmental_calibration import TypeCalibration, chain_leads

LEAST_PROBABLE = 1e-3
"""Chains without mentions are left out if a mention is less probable than this."""


class Tempered(NamedTuple):
    """Chains at one temperature."""

    log_odds: np.ndarray  # (chains,): of having a mention
    leads: np.ndarray  # (chains,)
    found: np.ndarray  # (mentions found,): their probability, given that their chain has a mention
    gold: np.ndarray  # (chains,): the log-probability of the gold mentions of a chain, given that it has a mention


class Marked(NamedTuple):
    """The relevant chains of a batch, with a likely, predicted or gold mention, and the mentions found in them."""

    places: tuple[np.ndarray, np.ndarray, np.ndarray]
    """(chains,) each: the sentence of the batch, the start and the type."""
    room: np.ndarray  # (chains,): words from the start on
    gold: np.ndarray  # (chains, c): the first parts of gold mentions, which are all of a contiguous one
    found: Sequence[tuple[int, AnyMention]]
    """The sentence of the batch and the mention, for each mention of the most probable sets."""
    row: np.ndarray  # (mentions found,): its chain
    width: np.ndarray  # (mentions found,): the number of words of its first part, minus one
    right: np.ndarray  # (mentions found,): whether it is gold


class DevBatch(Protocol):
    """A batch of dev."""

    numbers: np.ndarray  # (B,): the sentences of dev
    marked: Marked

    def tempered(self, temperature: float) -> Tempered:
        """The marked chains with all scores divided by a temperature."""
        ...


@dataclass
class ChainBatch:
    """A batch of a distribution over contiguous mentions."""

    numbers: np.ndarray
    marked: Marked
    chains: ScoreArrays
    """The scores of the marked chains at a temperature of 1: absent, present (chains,); extend, branch (chains, c - 1);
    close (chains, c)."""

    def tempered(self, temperature: float) -> Tempered:
        chains = _divided(self.chains, temperature)
        return _tempered(chains, chains, self.marked)


@dataclass
class PartBatch:
    """A batch of a distribution over discontinuous mentions, whose chains are of first parts."""

    numbers: np.ndarray
    marked: Marked
    distribution: DiscontinuousArrayHypergraph
    """At a temperature of 1."""
    bias: float = 0.0
    """The calibration of discontinuous mentions, `calibration.discontinuous`."""

    def tempered(self, temperature: float) -> Tempered:
        whole, value = self.distribution, self.distribution.first.close.dtype.type(temperature)
        longer = PartScores(*(array / value for array in whole.longer))
        divided = DiscontinuousArrayHypergraph(_divided(whole.first, value), longer, whole.lengths, whole.parts)
        if self.bias:
            divided = divided.calibrated(TypeCalibration([1.0] * whole.types, [0.0] * whole.types, self.bias))
        first, best = (_at(divided.first_parts(best=best).scores, self.marked.places) for best in (False, True))
        found = _tempered(first, best, self.marked)
        return found._replace(found=found.found * divided.given_first_parts(self.marked.found))


def _divided(scores: ScoreArrays, temperature: float) -> ScoreArrays:
    return ScoreArrays(*(None if array is None else array / temperature for array in scores))  # type: ignore[arg-type]


def _at(scores: ScoreArrays, places: tuple[np.ndarray, np.ndarray, np.ndarray]) -> ScoreArrays:
    """The scores of some chains."""
    sentence, start, kind = places
    return ScoreArrays(*(None if array is None else array[sentence, start, ..., kind] for array in scores))  # type: ignore[arg-type]


def marked_chains(
    likely: np.ndarray,
    width: int,
    lengths: Sequence[int],
    found: Sequence[Iterable[AnyMention]],
    gold: Sequence[Iterable[AnyMention]],
    known: np.ndarray | None = None,
) -> Marked:
    """The relevant chains of a batch; `likely` (B, n, m) says which have a likely mention, of at most `width` words.

    Where `known` (B, n, m) is false, the annotation of a chain is incomplete.
    """
    batch, n, m = likely.shape
    marked = [np.zeros((batch, n, width, m), dtype=bool) for _ in range(2)]
    for mask, sets in zip(marked, (found, gold), strict=True):
        for sentence, mentions in enumerate(sets):
            for start, end, kind in first_parts(mentions):
                mask[sentence, start, end - start - 1, kind] = True
    here = np.arange(n) < np.array(lengths)[:, None]  # (B, n)
    kept = (likely & here[:, :, None]) | (marked[0] | marked[1]).any(2)
    if known is not None:
        kept &= known
    sentence, start, kind = places = kept.nonzero()
    row = np.zeros(kept.shape, dtype=int)
    row[places] = np.arange(len(kind))
    rows = [(b, one) for b, mentions in enumerate(found) for one in sorted(mentions) if kept[b, one[0], one[2]]]
    return Marked(
        places,
        np.array(lengths)[sentence] - start,
        marked[1][sentence, start, :, kind],
        rows,
        np.array([row[b, one[0], one[2]] for b, one in rows], dtype=int),
        np.array([parts_of(one)[0][1] - one[0] - 1 for _, one in rows], dtype=int),
        np.array([one in gold[b] for b, one in rows], dtype=bool),
    )


def chain_batch(
    scores: ScoreArrays,
    lengths: Sequence[int],
    starts: np.ndarray,
    found: MentionSets,
    gold: MentionSets,
    numbers: np.ndarray,
    known: np.ndarray | None = None,
) -> ChainBatch:
    """A batch of contiguous mentions; `starts` (B, n, m) are the probabilities that a mention begins."""
    marked = marked_chains(starts > LEAST_PROBABLE, scores.close.shape[2], lengths, found, gold, known)
    return ChainBatch(numbers, marked, _at(scores, marked.places))


def part_batch(
    whole: DiscontinuousArrayHypergraph,
    found: DiscontinuousArrayHypergraph,
    gold: Sequence[Iterable[AnyMention]],
    numbers: np.ndarray,
    known: np.ndarray | None = None,
    bias: float = 0.0,
) -> PartBatch:
    """A batch of discontinuous mentions; `found` is the distribution of the model, `whole` that at a temperature of
    1."""
    likely = found.first_parts().marginals.sum(2) > LEAST_PROBABLE
    marked = marked_chains(likely, whole.max_width, whole.lengths, found.argmax(), gold, known)
    return PartBatch(numbers, marked, whole, bias)


def _tempered(chains: ScoreArrays, best: ScoreArrays, marked: Marked) -> Tempered:
    """Compute the quantities of the kernels for all widths of a chain at once; `best` has the same best sets."""
    absent, present, extend, close, branch = (None if array is None else array.astype(np.float64) for array in chains)
    assert absent is not None and present is not None and extend is not None and close is not None
    count, c = close.shape
    inside = np.arange(c) < marked.room[:, None]
    between = inside[:, 1:]
    close, extend = np.where(inside, close, -np.inf), np.where(between, extend, 0.0)
    branch = extend + np.where(between, close[:, :-1], 0.0) if branch is None else np.where(between, branch, 0.0)
    longest = close.copy()
    longest[:, 1:] += np.logaddexp(extend, branch).cumsum(1)
    total = np.logaddexp.reduce(longest, axis=1)
    share = np.exp(longest - total[:, None])  # (chains, c): the probability of each longest mention
    longer = share[:, ::-1].cumsum(1)[:, ::-1][:, 1:]  # (chains, c - 1): of a longer one
    odds = branch - extend
    probability = share.copy()
    probability[:, :-1] += longer / (1 + np.exp(-odds))
    last = np.where(marked.gold, np.arange(c), -1).max(1)  # (chains,): the longest gold mention
    choice = np.where(marked.gold[:, :-1], -np.logaddexp(0, -odds), -np.logaddexp(0, odds))
    shorter = np.where(np.arange(c - 1) < last[:, None], choice, 0.0).sum(1)
    return Tempered(
        present + total - absent,
        chain_leads(best, marked.room),
        probability[marked.row, marked.width],
        (longest - total[:, None])[np.arange(count), last] + shorter,
    )
