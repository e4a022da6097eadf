"""The chains of dev, from which calibration is fitted, at any temperature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.numbers import log_sum, sigmoid, softplus
from hyperspan.structures.calibration import TypeCalibration
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.edges import first_parts
from hyperspan.structures.mentions import AnyMention, MentionSets, parts_of
from hyperspan.structures.scores import EdgeScores
from hyperspan.structures.segmental_chains import Chains

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
    gold: np.ndarray  # (chains, c): the first parts of gold mentions, which are all of a contiguous one
    found: Sequence[tuple[int, AnyMention]]
    """The sentence of the batch and the mention, for each mention of the most probable sets."""
    row: np.ndarray  # (mentions found,): its chain
    width: np.ndarray  # (mentions found,): the number of words of its first part, minus one
    right: np.ndarray  # (mentions found,): whether it is gold


@dataclass
class ChainBatch:
    """A batch of a distribution over contiguous mentions."""

    numbers: np.ndarray  # (B,): the sentences of dev
    marked: Marked
    chains: Chains
    """The scores of the marked chains at a temperature of 1."""

    def tempered(self, temperature: float) -> Tempered:
        """The marked chains with all scores divided by a temperature."""
        chains = Chains(*(array / temperature for array in self.chains))
        return _tempered(chains, chains, self.marked)


@dataclass
class PartBatch:
    """A batch of a distribution over discontinuous mentions, whose chains are of first parts."""

    numbers: np.ndarray
    marked: Marked
    distribution: DiscontinuousHypergraph[np.ndarray]
    """At a temperature of 1."""
    bias: float = 0.0
    """The calibration of discontinuous mentions, `calibration.discontinuous`."""

    def tempered(self, temperature: float) -> Tempered:
        whole = self.distribution
        divided = whole.with_scores(whole.scores / whole.scores.close.dtype.type(temperature))
        if self.bias:
            divided = divided.calibrated(TypeCalibration([1.0] * whole.types, [0.0] * whole.types, self.bias))
        pair = (divided.first_parts(best=best).scores for best in (False, True))
        first, best = (Chains.at(scores, whole.lengths, self.marked.places) for scores in pair)
        found = _tempered(first, best, self.marked)
        return found._replace(found=found.found * divided.given_first_parts(self.marked.found))


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
        marked[1][sentence, start, :, kind],
        rows,
        np.array([row[b, one[0], one[2]] for b, one in rows], dtype=int),
        np.array([parts_of(one)[0][1] - one[0] - 1 for _, one in rows], dtype=int),
        np.array([one in gold[b] for b, one in rows], dtype=bool),
    )


def chain_batch(
    scores: EdgeScores[np.ndarray],
    lengths: Sequence[int],
    starts: np.ndarray,
    found: MentionSets,
    gold: MentionSets,
    numbers: np.ndarray,
    known: np.ndarray | None = None,
) -> ChainBatch:
    """A batch of contiguous mentions; `starts` (B, n, m) are the probabilities that a mention begins."""
    marked = marked_chains(starts > LEAST_PROBABLE, scores.close.shape[2], lengths, found, gold, known)
    return ChainBatch(numbers, marked, Chains.at(scores, lengths, marked.places))


def part_batch(
    whole: DiscontinuousHypergraph[np.ndarray],
    found: DiscontinuousHypergraph[np.ndarray],
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


def _tempered(chains: Chains, best: Chains, marked: Marked) -> Tempered:
    """Compute the quantities of the kernels for all widths of a chain at once; `best` has the same best sets."""
    count, c = chains.close.shape
    longest = chains.longest(maximum=False)
    total = log_sum(longest, 1)
    share = np.exp(longest - total[:, None])  # (chains, c): the probability of each longest mention
    longer = share[:, ::-1].cumsum(1)[:, ::-1][:, 1:]  # (chains, c - 1): of a longer one
    odds = chains.log_odds()
    probability = share.copy()
    probability[:, :-1] += longer * sigmoid(odds)
    last = np.where(marked.gold, np.arange(c), -1).max(1)  # (chains,): the longest gold mention
    choice = np.where(marked.gold[:, :-1], -softplus(-odds), -softplus(odds))
    shorter = np.where(np.arange(c - 1) < last[:, None], choice, 0.0).sum(1)
    return Tempered(
        total - chains.absent,
        best.leads(),
        probability[marked.row, marked.width],
        (longest - total[:, None])[np.arange(count), last] + shorter,
    )
