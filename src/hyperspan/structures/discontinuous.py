"""A distribution over sets of mentions that may have gaps.

The segmental hypergraph with one change: where a first part ends, its mention may go on after a gap. What that means, and why every
set of mentions is one hyperpath, is in :mod:`hyperspan.structures.discontinuous_menus`; docs/discontinuous.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from hyperspan.kernels import chains
from hyperspan.kernels.numerics import MINUS_INFINITY, finite
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.discontinuous_menus import (
    Menus,
    PartArrays,
    best_mentions,
    event_probabilities,
    probability_of,
    probable_mentions,
)
from hyperspan.structures.discontinuous_scores import (
    DiscontinuousScores,
    conditional_score,
    event_scores,
    first_parts,
    mean_scores,
    part_rows,
)
from hyperspan.structures.distribution import Distribution, check_types
from hyperspan.structures.mentions import AnyMention, check_discontinuous, parts_of
from hyperspan.structures.places import Places, places_above, places_at, with_discontinuous
from hyperspan.structures.scores import EdgeScores, check_lengths
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.teaching import widened, without_expected


class DiscontinuousHypergraph(Distribution):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' scores).

    A mention has one part, ``(start, end, type)``, or up to `parts` of them, ``(start, end, type, ((start, end), …))`` with words between them.
    With one part at most it is the :class:`SegmentalHypergraph`.

    >>> zeros = torch.zeros(1, 3, 1)
    >>> first, later = torch.zeros(1, 3, 1, 1), torch.zeros(1, 3, 1, 1)
    >>> scores = DiscontinuousScores(zeros, zeros, first[:, :, :0], first, first, gap=later, last=later)
    >>> words = DiscontinuousHypergraph(scores, lengths=[3])
    >>> words.log_partition.exp()  # each of the three words may be a mention, and the first and last together
    tensor([16.])
    """

    def __init__(self, scores: DiscontinuousScores, lengths: Tensor | Sequence[int], parts: int = 2):
        if parts < 1:
            raise ValueError(f"expected mentions of at least one part, got parts = {parts}")
        batch, n, c, m = scores.close.shape
        self.scores, self.parts = scores, parts
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self.limits_of_mentions = scores.limits(parts)

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def _lengths_there(self) -> Tensor:
        return chains.lengths_on(self.lengths, self.scores.close.device)

    @property
    def _inside(self) -> DiscontinuousScores:
        return self.scores.inside(self._lengths_there)

    def _event_scores(self) -> tuple[Tensor, Tensor]:
        return event_scores(self._inside, self.parts)

    def _first(self, events: Tensor) -> SegmentalHypergraph:
        """The distribution over first parts: sets of events, each a first part of one or more mentions."""
        scores = self.scores
        return SegmentalHypergraph(EdgeScores(scores.absent, scores.present, scores.extend, events), self.lengths)

    @property
    def _log_partition(self) -> Tensor:
        """(B, n, m): that of each chain, all mentions of a type that begin at a word; 0 in padding."""
        return self._first(self._event_scores()[1]).chain_log_partition

    @property
    def log_partition(self) -> Tensor:
        return self._log_partition.sum((1, 2))

    def log_prob(self, mention_sets: Sequence[Sequence[AnyMention] | set[AnyMention]]) -> Tensor:
        """(B,): the log-probability of one mention set a sentence; -inf for a set with a mention beyond the limits."""
        sets = check_discontinuous(mention_sets, self.lengths, self.types)
        limits = self.limits_of_mentions
        kept = [{mention for mention in some if limits.allow(mention)} for some in sets]
        impossible = [len(some) < len(every) for some, every in zip(kept, sets, strict=True)]
        events = self._event_scores()[1]
        first = self._first(events).log_prob([first_parts(some) for some in kept])
        rows = part_rows(kept, events.device)
        never = (first == MINUS_INFINITY) | torch.tensor(impossible, dtype=torch.bool, device=first.device)
        total = finite(first) + conditional_score(self.scores, events, rows)
        return total.masked_fill(never, MINUS_INFINITY).clamp(max=0.0)

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of each mention of one part; :meth:`discontinuous_marginals` has the others."""
        more, events = self._event_scores()
        probability = self._first(events).marginals
        given = self.scores.close + softplus(more, threshold=50.0) - finite(events)
        impossible = (events == MINUS_INFINITY) | (self.scores.close == MINUS_INFINITY)
        return probability * given.masked_fill(impossible, 0.0).exp().masked_fill(impossible, 0.0)

    @torch.no_grad()
    def discontinuous_marginals(self, least: float = 0.01) -> list[dict[AnyMention, float]]:
        """For each sentence the mentions of more than one part that are at least so probable."""
        menus, _, goes_on = self._probable()
        found = probable_mentions(menus, goes_on, [least] * self.types)
        result: list[dict[AnyMention, float]] = [{} for _ in self.lengths]
        for (sentence, mention), probability in zip(*found, strict=True):
            result[sentence][mention] = probability
        return result

    def restrict(self, types: Sequence[int]) -> DiscontinuousHypergraph:
        """The distribution over the mentions of some types alone; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        return DiscontinuousHypergraph(self.scores.map(lambda tensor: tensor[..., chosen]), self.lengths, self.parts)

    def cross_entropy(self, teacher: DiscontinuousHypergraph, weights: Tensor | None = None) -> Tensor:
        limits = self.limits_of_mentions.shared(teacher.limits_of_mentions)
        with torch.enable_grad():
            leaves = teacher.scores.narrowed(limits).map(lambda tensor: tensor.detach().requires_grad_())
            narrow = DiscontinuousHypergraph(leaves, self.lengths, limits.parts)
            total = narrow._log_partition if weights is None else narrow._log_partition * weights
            uses = torch.autograd.grad(total.sum(), list(leaves.tensors().values()), materialize_grads=True)
        own, found = self.scores.tensors(), dict(zip(leaves.tensors(), uses, strict=True))
        found = {name: widened(found[name], tensor.shape) for name, tensor in own.items()}
        log_partition = self._log_partition if weights is None else self._log_partition * weights
        return without_expected(log_partition, own, found).sum((1, 2))

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        n = self.scores.close.shape[1]
        # Single mentions that are known to be absent do not say all of a start: others of more parts may begin there.
        everything = replace(marks, forbidden=[()] * len(self.lengths))
        return everything.known_chains(self.lengths, n, min(self.limits_of_mentions.hull, max(n, 1)))

    def geometric_mean(self, others: Sequence[DiscontinuousHypergraph]) -> DiscontinuousHypergraph:
        limits = self.limits_of_mentions
        for other in others:
            limits = limits.shared(other.limits_of_mentions)
        scores = mean_scores([self.scores, *(other.scores for other in others)], limits)
        return DiscontinuousHypergraph(scores, self.lengths, limits.parts)

    # -- decoding -------------------------------------------------------------------------------------------------

    def _arrays(self) -> PartArrays:
        scores = self._inside
        tensors = scores.close, scores.open, scores.gap, scores.last
        return PartArrays(*(tensor.detach().cpu().numpy() for tensor in tensors))

    def _probable(self) -> tuple[Menus, np.ndarray, np.ndarray]:
        """The menus, and for each first part how probable it is that it is a mention, and that others follow it."""
        menus = Menus(self._arrays(), self.parts)
        events = torch.from_numpy(menus.events).to(self.scores.close.device)
        return menus, *event_probabilities(menus, self._first(events).marginals.cpu().numpy())

    def _best(self) -> tuple[np.ndarray, list[tuple[int, AnyMention]]]:
        menus = Menus(self._arrays(), self.parts, best=True)
        events = torch.from_numpy(menus.events).to(self.scores.close.device)
        return best_mentions(menus, self._first(events).best_rows())

    @torch.no_grad()
    def argmax(self) -> list[frozenset[AnyMention]]:  # type: ignore[override]
        """The most probable set of each sentence; of two equal choices the one with fewer mentions."""
        rows, longer = self._best()
        sets: list[set[AnyMention]] = [set() for _ in self.lengths]
        for sentence, start, end, kind in rows.tolist():
            sets[sentence].add((start, end, kind))
        for sentence, mention in longer:
            sets[sentence].add(mention)
        return [frozenset(mentions) for mentions in sets]

    @torch.no_grad()
    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        menus, alone, goes_on = self._probable()
        found: list[Places] = []
        for least in wanted:
            if least is None:
                rows, longer = self._best()
                contiguous = places_at(alone, rows)
                probable = [
                    probability_of(
                        menus,
                        b,
                        parts_of(one),
                        one[2],
                        float(goes_on[b, one[0], parts_of(one)[0][1] - one[0] - 1, one[2]]),
                    )
                    for b, one in longer
                ]
            else:
                contiguous = places_above(alone, least)
                longer, probable = probable_mentions(menus, goes_on, least)
            found.append(with_discontinuous(contiguous, longer, probable))
        return found

    def topk(self, k: int) -> list[list[tuple[frozenset[AnyMention], float]]]:  # type: ignore[override]
        raise self._not_supported("topk")
