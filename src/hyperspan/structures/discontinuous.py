"""A distribution over sets of mentions that may have gaps.

The segmental hypergraph with one change: where a first part ends, its mention may continue after a gap.
:mod:`hyperspan.structures.discontinuous_menus` explains why every set of mentions is one hyperpath;
docs/concepts/discontinuous.md derives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import transfer
from hyperspan.kernels.numbers import MINUS_INFINITY, finite, widened
from hyperspan.structures.common import check_count, check_no_nan, in_float64
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.discontinuous_calibration import AllowedBiases, allowed_biases
from hyperspan.structures.discontinuous_edges import first_parts
from hyperspan.structures.discontinuous_events import Events, events_of
from hyperspan.structures.discontinuous_given import AnySets, Known, known_of, known_of_marks
from hyperspan.structures.discontinuous_kbest import FirstParts, best_sets
from hyperspan.structures.discontinuous_menus import (
    Menus,
    PartArrays,
    best_mentions,
    probability_of,
    probable_mentions,
)
from hyperspan.structures.discontinuous_menus_c import ArrayMenus
from hyperspan.structures.discontinuous_sampling import draw_mentions
from hyperspan.structures.discontinuous_scores import (
    DiscontinuousScores,
    conditional_scores,
    mean_scores,
    part_rows,
)
from hyperspan.structures.distribution import Distribution, check_types, places_above, places_at
from hyperspan.structures.mentions import AnyMention, check_discontinuous, parts_of
from hyperspan.structures.places import Places, with_discontinuous
from hyperspan.structures.scores import EdgeScores, check_lengths, hyperpaths_of, path_scores, without_expected
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.segmental_calibration import TypeCalibration

"""One collection of mentions, contiguous or discontinuous, for each sentence of a batch."""
"""Such mentions, or a boolean mask (B, n, c, m) for contiguous ones."""


class DiscontinuousHypergraph(Distribution):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' scores).

    A mention has one part, ``(start, end, type)``, or up to `parts` of them, ``(start, end, type, ((start, end), …))``
    with words between them. With `parts` = 1 this is the :class:`SegmentalHypergraph`. Everything is exact.

    >>> import torch
    >>> from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores
    >>> zeros = torch.zeros(1, 3, 1)
    >>> first, later = torch.zeros(1, 3, 1, 1), torch.zeros(1, 3, 1, 1)
    >>> scores = DiscontinuousScores(zeros, zeros, first[:, :, :0], first, first, gap=later, last=later)
    >>> words = DiscontinuousHypergraph(scores, lengths=[3])
    >>> words.log_partition.exp()  # each of the three words may be a mention, and the first and last together
    tensor([16.])
    >>> words.condition(require=[[(0, 3, 0, ((0, 1), (2, 3)))]]).log_partition.exp()
    tensor([8.])
    """

    def __init__(
        self,
        scores: DiscontinuousScores,
        lengths: Tensor | Sequence[int],
        parts: int = 2,
        known: Known | None = None,
    ):
        if parts < 1:
            raise ValueError(f"expected mentions of at least one part, got parts = {parts}")
        batch, n, c, m = scores.close.shape
        self.scores, self.parts, self.known = scores, parts, known
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self.limits_of_mentions = scores.limits(parts)

    def _like(self, scores: DiscontinuousScores) -> DiscontinuousHypergraph:
        """The distribution with other scores under the same constraints."""
        return DiscontinuousHypergraph(scores, self.lengths, self.parts, self.known)

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def _lengths_there(self) -> Tensor:
        return transfer.lengths_on(self.lengths, self.scores.close.device)

    @property
    def _inside(self) -> DiscontinuousScores:
        return self.scores.inside(self._lengths_there)

    def _events(self, known: Known | None = None) -> Events:
        return events_of(self._inside, self.parts, known or self.known)

    def _first(self, events: Tensor, required: Tensor | None) -> SegmentalHypergraph:
        """The distribution over first parts: sets of events, each a first part of one or more mentions."""
        edges = EdgeScores(self.scores.absent, self.scores.present, self.scores.extend, events)
        if required is not None:
            edges = edges.given(required, torch.zeros_like(required))
        return SegmentalHypergraph(edges, self.lengths)

    def _chains(self, known: Known | None = None) -> Tensor:
        """(B, n, m): the log-partition of each chain, all mentions of a type that begin at a word; 0 in padding."""
        events = self._events(known)
        return self._first(events.all, events.required).unit_log_partition

    @property
    def log_partition(self) -> Tensor:
        return self._chains().sum((1, 2))

    def log_prob(self, mention_sets: AnySets) -> Tensor:  # type: ignore[override]
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention beyond the
        limits."""
        sets = check_discontinuous(mention_sets, self.lengths, self.types)
        limits, known = self.limits_of_mentions, self.known
        kept = [{mention for mention in some if limits.allow(mention)} for some in sets]
        impossible = [
            len(some) < len(every) or (known is not None and not known.allows(sentence, some))
            for sentence, (some, every) in enumerate(zip(kept, sets, strict=True))
        ]
        events = self._events()
        device, first = events.all.device, [first_parts(some) for some in kept]
        chains = self._first(events.all, events.required)
        paths = hyperpaths_of(first, self.max_width, events.all)
        # Subtract per chain, so that large scores cancel before summing.
        per_chain = chains._relative(path_scores(chains.scores, paths))
        per_chain = per_chain + conditional_scores(self.scores, events.all, part_rows(kept, device))
        never = torch.tensor(impossible, dtype=torch.bool, device=device)
        return per_chain.clamp(max=0.0).sum((1, 2)).masked_fill(never, MINUS_INFINITY)

    def log_prob_of_known(self, gold: AnySets, marks: PartialMarks | None) -> Tensor:  # type: ignore[override]
        if marks is None:
            return self.log_prob(gold)
        sets = check_discontinuous(gold, self.lengths, self.types)
        return self._log_prob_given(known_of_marks(sets, marks, self.scores.close.shape, self.limits_of_mentions))

    def _log_prob_given(self, known: Known) -> Tensor:
        """(B,): the log-probability of the constraints; subtracted per chain, so that large scores cancel before
        summing."""
        total, given = self._chains(), self._chains(self._joined(known))
        per_chain = (given - finite(total)).masked_fill(total == MINUS_INFINITY, MINUS_INFINITY)
        unknown = torch.from_numpy(~known.chains).to(total.device)
        # Rounding may put the log-probability of an almost certain choice slightly above 0.
        return per_chain.masked_fill(unknown, 0.0).clamp(max=0.0).sum((1, 2))

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of each contiguous mention; for others see :meth:`discontinuous_marginals`."""
        events, close = self._events(), self._inside.close
        probability = self._first(events.all, events.required).marginals
        impossible = (events.all == MINUS_INFINITY) | (close == MINUS_INFINITY) | (events.rest == MINUS_INFINITY)
        if self.known is not None:
            impossible = impossible | torch.from_numpy(self.known.forbidden).to(close.device)
        given = close.masked_fill(impossible, 0.0) + events.rest.masked_fill(impossible, 0.0) - finite(events.all)
        return probability * given.exp().masked_fill(impossible, 0.0)

    @torch.no_grad()
    def discontinuous_marginals(self, least: float = 0.01) -> list[dict[AnyMention, float]]:
        """For each sentence, the discontinuous mentions with a probability of at least `least`."""
        menus, _, goes_on = self._probable()
        result: list[dict[AnyMention, float]] = [{} for _ in self.lengths]
        for (sentence, mention), probability in zip(
            *probable_mentions(menus, goes_on, [least] * self.types), strict=True
        ):
            result[sentence][mention] = min(probability, 1.0)
        return result

    @property
    def entropy(self) -> Tensor:
        """(B,): the entropy of the first parts plus that of their continuations (log-sum minus expected score)."""
        differentiable = self.scores.needs_gradient
        with torch.inference_mode(False), torch.enable_grad():
            leaves = (
                self.scores.in_float64()
                if differentiable
                else self.scores.map(lambda one: in_float64(one.detach()).clone())
            )
            leaves = leaves.map(lambda one: one if one.requires_grad else one.requires_grad_())
            exact = self._like(leaves)
            events = exact._events()
            first = exact._first(events.all, events.required)
            probability = first.marginals
            inner = {name: leaves.tensors()[name] for name in ("close", "open", "gap", "last")}
            uses = torch.autograd.grad(
                events.all,
                list(inner.values()),
                probability,
                create_graph=differentiable,
                retain_graph=True,
                materialize_grads=True,
            )
            below = (probability * finite(events.all)).sum(2)  # (B, n, m)
            below = without_expected(below, inner, dict(zip(inner, uses, strict=True)))
            total = (first.entropy + below.sum((1, 2))).to(self.scores.close)
        return total if differentiable else total.detach()

    # -- given, and of some types ---------------------------------------------------------------------------------

    def _joined(self, known: Known) -> Known:
        return known if self.known is None else self.known.joined(known)

    def _known_of(self, require: AnySets | None, forbid: AnySets | None) -> Known:
        return known_of(require, forbid, self.lengths, self.scores.close.shape, self.limits_of_mentions)

    def condition(self, require: AnySets | None = None, forbid: AnySets | None = None) -> DiscontinuousHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence.
        """
        known = self._joined(self._known_of(require, forbid))
        return DiscontinuousHypergraph(self.scores, self.lengths, self.parts, known)

    def constraint_log_prob(self, require: AnySets | None = None, forbid: AnySets | None = None) -> Tensor:
        return self._log_prob_given(self._known_of(require, forbid))

    def restrict(self, types: Sequence[int]) -> DiscontinuousHypergraph:
        """The distribution over only the mentions of some types; types are independent, so nothing else changes."""
        chosen = check_types(types, self.types)
        known = None if self.known is None else self.known.restrict(chosen)
        return DiscontinuousHypergraph(
            self.scores.map(lambda tensor: tensor[..., chosen]), self.lengths, self.parts, known
        )

    # -- teaching -------------------------------------------------------------------------------------------------

    def cross_entropy(self, teacher: DiscontinuousHypergraph, weights: Tensor | None = None) -> Tensor:
        limits = self.limits_of_mentions.shared(teacher.limits_of_mentions)
        with torch.enable_grad():
            leaves = teacher.scores.narrowed(limits).map(lambda tensor: tensor.detach().requires_grad_())
            taught = DiscontinuousHypergraph(leaves, self.lengths, limits.parts)._chains()
            total = (taught if weights is None else taught * weights).sum()
            uses = torch.autograd.grad(total, list(leaves.tensors().values()), materialize_grads=True)
        own, found = self.scores.tensors(), dict(zip(leaves.tensors(), uses, strict=True))
        found = {
            name: found[name] if tensor.dim() == 3 else widened(found[name], tensor.shape[2])
            for name, tensor in own.items()
        }
        log_partition = self._chains() if weights is None else self._chains() * weights
        return without_expected(log_partition, own, found).sum((1, 2))

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        n = self.scores.close.shape[1]
        # Absent single mentions do not settle a start: discontinuous ones may begin there.
        everything = replace(marks, forbidden=[()] * len(self.lengths))
        return everything.known_chains(self.lengths, n, min(self.limits_of_mentions.hull, max(n, 1)))

    def geometric_mean(self, others: Sequence[DiscontinuousHypergraph]) -> DiscontinuousHypergraph:
        limits = self.limits_of_mentions
        for other in others:
            limits = limits.shared(other.limits_of_mentions)
        scores = mean_scores([self.scores, *(other.scores for other in others)], limits)
        return DiscontinuousHypergraph(scores, self.lengths, limits.parts)

    # -- decoding -------------------------------------------------------------------------------------------------

    def _menus(self, *, best: bool = False) -> ArrayMenus:
        scores = self._inside
        tensors = scores.close, scores.open, scores.gap, scores.last
        arrays = PartArrays(*(tensor.numpy(force=True) for tensor in tensors))
        return ArrayMenus(arrays, self.lengths, self.parts, best=best, known=self.known)

    def _first_of(self, menus: Menus) -> SegmentalHypergraph:
        """The distribution over first parts, or one with the same best set."""
        device = self.scores.close.device
        required = None if self.known is None else torch.from_numpy(menus.required.any(0)).to(device)
        exact = self._like(self.scores.to(torch.from_numpy(menus.events).dtype))
        return exact._first(torch.from_numpy(menus.events).to(device), required)

    def _probable(self) -> tuple[Menus, np.ndarray, np.ndarray]:
        """The menus, and for each first part, the probability that it is a mention, and that other parts follow it."""
        menus = self._menus()
        alone, goes_on = menus.item_probabilities(self._first_of(menus).marginals.numpy(force=True))
        if self.known is not None:  # rounding may have made certain mentions slightly less probable
            alone[self.known.required] = goes_on[self.known.opened] = 1.0
        return menus, alone, goes_on

    def _best(self) -> tuple[np.ndarray, list[tuple[int, AnyMention]]]:
        menus = self._menus(best=True)
        return best_mentions(menus, self._first_of(menus).best_rows())

    @torch.no_grad()
    def allowed_biases(self, calibration: TypeCalibration) -> AllowedBiases:
        """The biases of a calibration, so far as they keep the most probable sets; the scores must already be divided
        by its temperatures."""
        menus, scores = self._menus(best=True), self.scores
        tensors = scores.absent, scores.present, scores.extend, scores.close
        first = EdgeScores(*(tensor.numpy(force=True) for tensor in tensors))
        return allowed_biases(calibration, first, menus, self._first_of(menus).best_rows(), self.lengths)

    @torch.no_grad()
    def argmax(self) -> list[frozenset[AnyMention]]:  # type: ignore[override]
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        rows, longer = self._best()
        return _sets(Places(rows, np.zeros(len(rows))), longer, len(self.lengths))

    @torch.no_grad()
    def above(self, threshold: float) -> list[frozenset[AnyMention]]:
        """For each sentence, every mention with a probability of at least `threshold`.

        The set at 0.5 has the fewest expected errors; lower thresholds trade precision for recall.
        """
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"expected a threshold above 0 and at most 1, got {threshold}")
        menus, alone, goes_on = self._probable()
        least = [threshold] * self.types
        return _sets(places_above(alone, least), probable_mentions(menus, goes_on, least).rows, len(self.lengths))

    @torch.no_grad()
    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        menus, alone, goes_on = self._probable()
        found: list[Places] = []
        for least in wanted:
            if least is None:
                rows, longer = self._best()
                contiguous = places_at(alone, rows)
                probable = [_probability(menus, alone, goes_on, sentence, one) for sentence, one in longer]
            else:
                contiguous = places_above(alone, least)
                longer, probable = probable_mentions(menus, goes_on, least)
            found.append(with_discontinuous(contiguous, longer, np.minimum(probable, 1.0).tolist()))
        return found

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[frozenset[AnyMention], float]]]:  # type: ignore[override]
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer
        exist."""
        check_count(k)
        exact = self._like(self.scores.in_float64())
        log_partition = exact._chains()
        check_no_nan(log_partition.sum((1, 2)))
        menus = exact._menus(best=True)
        edges = exact._first_of(menus).scores
        first = FirstParts.of(edges, exact.scores.extend, menus.events, self.lengths)
        possible = (log_partition > MINUS_INFINITY).all(2).all(1).tolist()
        return best_sets(menus, first, log_partition.numpy(force=True), possible, k)

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[frozenset[AnyMention]]]:  # type: ignore[override]
        check_count(k)
        exact = self._like(self.scores.in_float64())
        menus = exact._menus()
        events = exact._first_of(menus).sample(k, generator)
        device = generator.device if generator is not None else self.scores.close.device
        seed = int(torch.randint(2**62, (1,), generator=generator, device=device))
        return draw_mentions(menus, events, np.random.default_rng(seed))


def _probability(menus: Menus, alone: np.ndarray, goes_on: np.ndarray, sentence: int, mention: AnyMention) -> float:
    """The probability of a mention, given those of first parts."""
    parts, kind = parts_of(mention), mention[2]
    place = sentence, parts[0][0], parts[0][1] - parts[0][0] - 1, kind
    if len(parts) == 1:
        return float(alone[place])
    return probability_of(menus, sentence, parts, kind, float(goes_on[place]))


def _sets(contiguous: Places, longer: Iterable[tuple[int, AnyMention]], sentences: int) -> list[frozenset[AnyMention]]:
    sets: list[set[AnyMention]] = [set() for _ in range(sentences)]
    for sentence, start, end, kind in contiguous.rows.tolist():
        sets[sentence].add((start, end, kind))
    for sentence, mention in longer:
        sets[sentence].add(mention)
    return [frozenset(mentions) for mentions in sets]
