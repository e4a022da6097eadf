"""A first-order chain of tags: the engine under the linear-chain CRF and the mention separators.

The score of a tag sequence sums the scores of its tags, of the steps between them, and of its first and last tag. A
score of -inf makes a tag or a step impossible. Everything is exact, and takes O(n t²) for n positions and t tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hyperspan.kernels.numerics import MINUS_INFINITY, finite, log_sum
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
    portions,
)
from hyperspan.structures.scores import check_lengths
from hyperspan.structures.tags import Tags


@dataclass(frozen=True)
class TagScores(ScoreTensors):
    """One score (log-weight) for every tag of every word of a padded batch, and for every step from tag to tag.

    ============  ============  ====================================
    field         shape         choosing it means
    ============  ============  ====================================
    ``emit``      (B, n, t)     word i has this tag
    ``step``      (t, t)        the second tag follows the first one
    ``first``     (t,)          the sentence begins with this tag
    ``last``      (t,)          the sentence ends with this tag
    ============  ============  ====================================

    Entries of `emit` beyond a sentence are padding: they may hold anything. A score of -inf makes its choice
    impossible.
    """

    emit: Tensor
    step: Tensor
    first: Tensor
    last: Tensor

    def __post_init__(self) -> None:
        if self.emit.dim() != 3 or self.emit.shape[2] < 1:
            raise ValueError(f"expected emit of shape (B, n, t) with t >= 1 tags, got {tuple(self.emit.shape)}")
        tags = self.emit.shape[2]
        shapes = {"emit": tuple(self.emit.shape), "step": (tags, tags), "first": (tags,), "last": (tags,)}
        check_scores(self.tensors(), shapes)

    @property
    def tags(self) -> int:
        """t: the number of tags."""
        return self.emit.shape[2]


class TagChain:
    """A distribution over the tag sequences of each sentence of a padded batch: p(tags) ∝ exp(score).

    The empty sentence has one sequence, the empty one. Padding has no effect.

    >>> scores = TagScores(torch.zeros(1, 3, 2), torch.tensor([[0.0, 0.0], [0.0, -torch.inf]]), *torch.zeros(2, 2))
    >>> chain = TagChain(scores, lengths=[3])
    >>> chain.log_partition.exp()  # of eight sequences, three have two ones in a row
    tensor([5.])
    >>> chain.argmax()
    [(0, 0, 0)]
    """

    def __init__(self, scores: TagScores, lengths: Tensor | Sequence[int]):
        batch, n, _ = scores.emit.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, n)

    # -- probabilities --------------------------------------------------------------------------------------------
    # Nothing that depends on the scores is cached, as in SegmentalHypergraph.

    @property
    def _sizes(self) -> Tensor:
        return torch.tensor(self.lengths, dtype=torch.long, device=self.scores.emit.device)

    @property
    def _alive(self) -> Tensor:
        """(B, n, 1): which positions are in their sentence."""
        emit = self.scores.emit
        return in_sentence(self.lengths, emit.shape[1], emit.device).unsqueeze(-1)

    @property
    def _emit(self) -> list[Tensor]:
        """The scores of each position, (B, t), 0 in padding; there is always a first position, if only of padding."""
        emit = self.scores.emit
        if not emit.shape[1]:
            return [emit.new_zeros(len(emit), self.scores.tags)]
        return list(emit.masked_fill(~self._alive, 0.0).unbind(1))

    def _before(self) -> list[Tensor]:
        """(B, t) per position: the log-sum over all paths to each tag, including the tag's score."""
        begin, *rest = self._emit
        before = [begin + self.scores.first]
        for emit in rest:
            before.append(log_sum(before[-1][:, :, None] + self.scores.step, 1) + emit)
        return before

    def _after(self) -> list[Tensor]:
        """(B, t) per position: the log-sum over all continuations after each tag."""
        emit, alive, last = self._emit, self._alive, self.scores.last
        after = [last.expand_as(emit[0])]
        for position in range(len(emit) - 1, 0, -1):
            further = log_sum(self.scores.step + (emit[position] + after[-1])[:, None], 2)
            after.append(torch.where(alive[:, position], further, last))
        return after[::-1]

    def messages(self) -> tuple[Tensor, Tensor]:
        """(B, n, t) each: the forward messages, including the tag's score, and the backward messages.

        Their sum minus `log_partition` is the log-probability of the tag. In padding they are meaningless, but never
        NaN.
        """
        n = self.scores.emit.shape[1]
        before, after = (torch.stack(messages, dim=1)[:, :n] for messages in (self._before(), self._after()))
        return before, after

    @property
    def log_partition(self) -> Tensor:
        """(B,): the logarithm of the sum of exp(score) over all sequences."""
        sizes = self._sizes
        final = (sizes - 1).clamp(min=0)[:, None, None].expand(-1, 1, self.scores.tags)
        total = log_sum(torch.stack(self._before(), dim=1).gather(1, final)[:, 0] + self.scores.last, 1)
        return total.masked_fill(sizes == 0, 0.0)

    def score(self, tags: Sequence[Sequence[int]]) -> Tensor:
        """(B,): the score of one sequence per sentence."""
        if [len(sequence) for sequence in tags] != self.lengths:
            raise ValueError(f"expected {self.lengths} tags, got {[len(sequence) for sequence in tags]}")
        scores, (batch, n, _) = self.scores, self.scores.emit.shape
        if not n:
            return scores.emit.new_zeros(batch)
        padded = [[*sequence, *[0] * (n - len(sequence))] for sequence in tags]
        chosen = torch.tensor(padded, dtype=torch.long, device=scores.emit.device).view(batch, n)
        own = scores.emit.gather(2, chosen[..., None])  # (B, n, 1)
        steps = scores.step[chosen[:, :-1], chosen[:, 1:]]  # (B, n - 1)
        total = own.masked_fill(~self._alive, 0.0).sum((1, 2))
        total = total + steps.masked_fill(~self._alive[:, 1:, 0], 0.0).sum(1)
        end = chosen.gather(1, (self._sizes - 1).clamp(min=0)[:, None])[:, 0]
        return total + (scores.first[chosen[:, 0]] + scores.last[end]).masked_fill(self._sizes == 0, 0.0)

    @property
    def entropy(self) -> Tensor:
        """(B,): the entropy of the distribution over sequences, in nats.

        The entropy of the first tag, plus the expected entropy of each next tag given the previous one. This sum has no
        cancellation, unlike log_partition minus the expected score.
        """
        emit, alive, after = self._emit, self._alive, self._after()
        rest = torch.zeros_like(emit[0])  # (B, t): the entropy of all that follows each tag
        for position in range(len(emit) - 1, 0, -1):
            ways = self.scores.step + (emit[position] + after[position])[:, None]  # (B, t, t)
            rest = torch.where(alive[:, position], _entropy(ways, rest[:, None]), rest)
        begin = emit[0] + self.scores.first + after[0]
        return _entropy(begin, rest).masked_fill(self._sizes == 0, 0.0)

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def argmax(self) -> list[Tags]:
        """The best sequence of each sentence. Ties go to the smallest last tag, then the smallest tag before it, and so
        on."""
        values, tags = self._best(1)
        check_possible(values[:, 0])
        rows = tags[:, 0].tolist()
        return [tuple(row[:length]) for row, length in zip(rows, self.lengths, strict=True)]

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[Tags, float]]]:
        """The k best sequences of each sentence with their scores, best first; fewer where fewer are possible.

        The scores are added up in float64. Takes O(k n t²).
        """
        check_count(k)
        k = min(k, self.scores.tags ** max(self.lengths, default=0))
        if k == 0:
            return [[] for _ in self.lengths]
        exact = self.scores.in_float64()
        result: list[list[tuple[Tags, float]]] = []
        for some in portions(len(self.lengths), k * exact.tags**2):
            lengths = self.lengths[some]
            values, tags = TagChain(replace(exact, emit=exact.emit[some]), lengths)._best(k)
            check_no_nan(values[:, 0])
            for length, scores, rows in zip(lengths, values.tolist(), tags.tolist(), strict=True):
                ranked = zip(rows, scores, strict=True)
                result.append([(tuple(row[:length]), score) for row, score in ranked if score > MINUS_INFINITY])
        return result

    def _best(self, k: int) -> tuple[Tensor, Tensor]:
        """The k best sequences: scores (B, k), -inf where there are fewer, and tags (B, k, n)."""
        scores, emit, alive = self.scores, self._emit, self._alive
        batch, t = emit[0].shape
        best = emit[0].new_full((batch, t, k), MINUS_INFINITY)  # the k best paths to each tag
        best[:, :, 0] = emit[0] + scores.first
        stay = torch.arange(t * k, device=best.device).view(t, k)
        came_from: list[Tensor] = []  # (B, t * k) per position: tag * k + rank of the previous path
        for position in range(1, len(emit)):
            ways = best[..., None] + scores.step[:, None]  # (B, t, k, t): from tag and way to tag
            value, source = largest(ways.flatten(1, 2), k)  # (B, k, t)
            here = alive[:, position, :, None]
            best = torch.where(here, value.transpose(1, 2) + emit[position][..., None], best)
            came_from.append(torch.where(here, source.transpose(1, 2), stay).flatten(1))
        value, place = largest((best + scores.last[:, None]).flatten(1), k)  # (B, k)
        places = [place]
        for source in reversed(came_from):
            places.append(source.gather(1, places[-1]))
        empty = value.new_full((k,), MINUS_INFINITY)
        empty[0] = 0.0
        value = torch.where((self._sizes == 0)[:, None], empty, value)
        return value, torch.stack(places[::-1], dim=2) // k

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[Tags]]:
        """k independent, exact samples of each sentence's sequence."""
        check_count(k)
        exact = TagChain(self.scores.in_float64(), self.lengths)
        emit, after, step = exact._emit, exact._after(), exact.scores.step
        begin = emit[0] + exact.scores.first + after[0]
        check_possible(log_sum(begin, 1).masked_fill(exact._sizes == 0, 0.0))
        drawn = [draw(begin, k, generator)]  # (B, k) per position
        for position in range(1, len(emit)):
            choices = step[drawn[-1]] + (emit[position] + after[position])[:, None]  # (B, k, t)
            drawn.append(draw(choices, 1, generator)[..., 0])
        rows = torch.stack(drawn, dim=2).tolist()
        return [[tuple(row[:length]) for row in of_one] for of_one, length in zip(rows, self.lengths, strict=True)]


def _entropy(log_weights: Tensor, rest: Tensor) -> Tensor:
    """(..., choices) -> (...): the entropy of a choice plus the expected entropy `rest` of what follows."""
    log_probabilities = log_weights - finite(log_sum(log_weights, -1)).unsqueeze(-1)
    return (entropy_term(log_probabilities) + log_probabilities.exp() * rest).sum(-1)
