"""The linear-chain CRF as a probability distribution over sets of mentions that do not overlap, and the chain of tags
that other systems share with it.

Each word has one of 4 m + 1 tags: outside, or beginning, inside, last word or only word (unit) of a mention of one of m
types. Tag sequences in which every mention that begins also ends, and sets of mentions that do not overlap, are
one-to-one. The score of a tag sequence sums the scores of its tags, of the steps between them, and of its first and
last tag. A score of -inf makes a tag or a step impossible. Everything is exact, and takes O(n t²) for n positions and
t tags.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from hyperspan.config import Config
from hyperspan.nn import Abilities, Batch, Encoder, Outputs, Scorer, Spans, TypeAxes
from hyperspan.structures import Mention, MentionSet, Scores, check_mentions, check_scores
from hyperspan.structures.graphs import Graph, GraphDistribution, stretches

# -- tags of words -----------------------------------------------------------------------------------------------------

Tags = tuple[int, ...]
OUTSIDE = 0
BEGIN, INSIDE, LAST, UNIT = range(1, 5)
"""The tags of type 0; those of type k are 4 k higher."""


def tags_of(mentions: Iterable[Mention], length: int, types: int) -> Tags:
    """The tags of a sentence with these mentions, which must not overlap.

    >>> tags_of({(0, 3, 0), (4, 5, 1)}, length=6, types=2)
    (1, 2, 3, 0, 8, 0)
    """
    (wanted,) = check_mentions([mentions], [length], types)
    if outermost(wanted)[1]:
        raise ValueError(f"expected mentions that do not overlap, got {sorted(wanted)}: choose some with outermost()")
    tags = [OUTSIDE] * length
    for start, end, kind in wanted:
        inner = [BEGIN, *[INSIDE] * (end - start - 2), LAST] if end - start > 1 else [UNIT]
        tags[start:end] = [tag + 4 * kind for tag in inner]
    return tuple(tags)


def mentions_of_tags(tags: Sequence[int]) -> MentionSet:
    """The mentions of a tag sequence in which every mention that begins also ends.

    >>> sorted(mentions_of_tags((1, 2, 3, 0, 8, 0)))
    [(0, 3, 0), (4, 5, 1)]
    """
    mentions: set[Mention] = set()
    start = 0
    for position, tag in enumerate(tags):
        if tag % 4 in (BEGIN, UNIT % 4):
            start = position
        if tag % 4 in (LAST, UNIT % 4) and tag != OUTSIDE:
            mentions.add((start, position + 1, (tag - 1) // 4))
    return frozenset(mentions)


def outermost(mentions: Iterable[Mention]) -> tuple[MentionSet, MentionSet]:
    """Select non-overlapping mentions; return them and the dropped ones.

    From left to right: for each start the longest mention is kept (for each span the first type), and a mention that
    starts inside the last kept one is dropped, even if it ends outside.

    >>> outermost({(0, 2, 0), (0, 4, 1), (3, 6, 0), (5, 7, 0)})[0] == {(0, 4, 1), (5, 7, 0)}
    True
    """
    pool = set(mentions)
    kept: list[Mention] = []
    for start, end, kind in sorted(pool, key=lambda mention: (mention[0], -mention[1], mention[2])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
    return frozenset(kept), frozenset(pool.difference(kept))


def legal_tags(types: int) -> np.ndarray:
    """(t, t): whether a tag may follow another one: every mention that begins continues with its type until it ends. A
    sentence begins with what may follow the outside tag, and ends with what this may follow."""
    tags = np.arange(4 * types + 1)
    place, kind = tags % 4, (tags - 1) // 4  # modulo 4, outside is as good as a unit
    first = (place == BEGIN) | (place == UNIT % 4)
    last = (place == LAST) | (place == UNIT % 4)
    goes_on = (kind[:, None] == kind) & ~first
    return np.where(last[:, None], first, goes_on)


# -- a first-order chain of tags ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TagScores(Scores):
    """One score (log-weight) for every tag of every word of a padded batch, and for every step from tag to tag.

    ============  ============  ====================================
    field         shape         choosing it means
    ============  ============  ====================================
    ``emit``      (B, n, t)     word i has this tag
    ``step``      (t, t)        the second tag follows the first one
    ``first``     (t,)          the sentence begins with this tag
    ``last``      (t,)          the sentence ends with this tag
    ============  ============  ====================================

    Sentences may have `step`, `first` and `last` of their own: (B, t, t) and (B, t).
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
        batch, n, tags = self.emit.shape
        own = (batch,) if self.step.dim() > 2 else ()
        shapes = {"emit": (batch, n, tags), "step": (*own, tags, tags), "first": (*own, tags), "last": (*own, tags)}
        check_scores(self.tensors(), shapes)

    @property
    def tags(self) -> int:
        """t: the number of tags."""
        return self.emit.shape[2]


class TagSteps:
    """The steps from tag to tag along a sentence, as a graph. Before the first word and after the last one stands
    tag 0.

    A hyperpath takes n + 1 steps. The score of a step includes that of the tag that it leads to.
    """

    def __init__(self, legal: np.ndarray):
        self.before, self.after = legal.nonzero()  # (steps,) each: their tags
        self.number = np.zeros(legal.shape, dtype=np.int64)
        self.number[legal] = np.arange(len(self.before))
        self.legal = legal
        self.graph = lru_cache(maxsize=64)(self._graph)
        """The graph of a sentence of n words."""

    def _graph(self, n: int) -> Graph:
        graph = Graph(step=(n + 1, len(self.before)))
        following = np.full(len(self.legal), graph.nowhere)
        following[OUTSIDE] = graph.end
        for place in reversed(range(n + 1)):
            tails = np.where(self.legal, following, graph.nowhere)
            slots = graph.slots["step"][place][self.number]
            following = graph.add(tails, slots, position=place - 1, tag=np.arange(len(tails)))
        return graph.finish(following[OUTSIDE])

    def scores(self, scores: TagScores, lengths: Sequence[int]) -> Tensor:
        """((n + 1) steps, B): the scores of all steps; in padding, from tag 0 to tag 0, 0."""
        (_, n, _), device = scores.emit.shape, scores.emit.device
        before, after = (torch.from_numpy(tags).to(device) for tags in (self.before, self.after))
        place = torch.arange(n + 1, device=device)[:, None]
        left = torch.tensor(lengths, device=device)[:, None, None] - place  # (B, n + 1, 1): words to come
        step = torch.where(place == 0, scores.first[..., None, after], scores.step[..., before, after].unsqueeze(-2))
        last = scores.last[..., None, before].masked_fill(after != OUTSIDE, -math.inf)
        beyond = scores.emit.new_zeros(len(before)).masked_fill((before != OUTSIDE) | (after != OUTSIDE), -math.inf)
        inside = pad(scores.emit, (0, 0, 0, 1)).index_select(2, after) + step  # (B, n + 1, steps)
        ended = torch.where((left == 0) & (place > 0), last, beyond)
        return torch.where(left > 0, inside, ended).flatten(1).T.contiguous()

    def slots_of(self, tags: np.ndarray) -> np.ndarray:
        """(B, n) -> (B, n + 1): the steps of tag sequences, which have tag 0 in padding."""
        tags = np.pad(tags, ((0, 0), (1, 1)))
        places = np.arange(tags.shape[1] - 1) * len(self.before)
        return self.number[tags[:, :-1], tags[:, 1:]] + places

    def by_tag(self, steps: Tensor) -> Tensor:
        """(places, steps, B) -> (places, t, B): the probabilities of tags, from those of the steps that lead to
        them."""
        tags = steps.new_zeros(len(steps), len(self.legal), steps.shape[2])
        return tags.index_add(1, torch.from_numpy(self.after).to(steps.device), steps)

    def tags_of(self, slots: Sequence[int]) -> Tags:
        """The tags that the steps of a hyperpath lead to."""
        steps = np.array(slots[:-1], dtype=np.int64) % len(self.before)
        return tuple(self.after[steps].tolist())


@cache
def steps_of(types: int) -> TagSteps:
    """The steps of tag sequences that are mention sets."""
    return TagSteps(legal_tags(types))


# -- the distribution --------------------------------------------------------------------------------------------------


class LinearChain(GraphDistribution):
    """A distribution over the sets of non-overlapping mentions of each sentence of a padded batch: p(set) ∝ exp(score).

    Tag 0 is outside; the tags of type k are 4 k + 1 (begin), 4 k + 2 (inside), 4 k + 3 (last) and 4 k + 4 (unit).
    Steps, first and last tags that belong to no set are impossible, whatever their score. Everything is exact, and
    takes O(n t²) for t tags; mentions may have any length, but `marginals` covers only those of at most `max_width`
    words (None: all), in O(n c m). Padding may hold anything. If a sentence has no possible set, its `log_partition`
    and `log_prob` are -inf; its other values are finite but meaningless.

    >>> scores = TagScores(torch.zeros(1, 2, 5), torch.zeros(5, 5), torch.zeros(5), torch.zeros(5))
    >>> words = LinearChain(scores, lengths=[2])
    >>> words.log_partition.exp()  # no mention, one of one word (twice), two of one word, one of two words
    tensor([5.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.4000, 0.2000],
            [0.4000, 0.0000]])
    """

    limits = "the scores of tags cannot rule out one mention"

    def __init__(self, scores: TagScores, lengths: Tensor | Sequence[int], max_width: int | None = None):
        if scores.tags % 4 != 1:
            raise ValueError(f"expected 4 m + 1 tags for m types, got {scores.tags}")
        if max_width is not None and max_width < 1:
            raise ValueError(f"expected max_width >= 1, got {max_width}")
        self.scores = scores
        (batch, n, _), types = scores.emit.shape, scores.tags // 4
        self.steps = steps_of(types)
        width = max(n, 1) if max_width is None else max_width
        super().__init__(self.steps.graph(n), lengths, (batch, n), types, width)

    def slot_scores(self) -> Tensor:
        return self.steps.scores(self.scores, self.lengths)

    def exact_scores(self) -> Tensor:
        return self.steps.scores(self.scores.in_float64(), self.lengths)

    def read(self, slots: Sequence[int]) -> MentionSet:
        return mentions_of_tags(self.steps.tags_of(slots))

    def slots_of(self, sets: Sequence[set[Mention]]) -> list[list[int] | None]:
        tags = np.zeros(self.scores.emit.shape[:2], dtype=np.int64)
        chosen = [outermost(mentions) for mentions in sets]
        for row, length, (kept, _) in zip(tags, self.lengths, chosen, strict=True):
            row[:length] = tags_of(kept, length, self.types)
        slots = self.steps.slots_of(tags).tolist()
        return [None if dropped else taken for taken, (_, dropped) in zip(slots, chosen, strict=True)]

    @property
    def marginals(self) -> Tensor:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k; 0 in padding. It begins at
        i, and then takes step after step, each with its probability given those before."""
        n, count = self.scores.emit.shape[1], len(self.lengths)
        steps = self.exact_posteriors.view(n + 1, len(self.steps.before), count)
        steps = torch.cat([steps, steps.new_zeros(1, *steps.shape[1:])])  # (n + 2, steps, B)
        tags, kinds = self.steps.by_tag(steps), np.arange(self.types) * 4

        def between(tag: int, following: int) -> Tensor:
            """(n + 2, m, B): the probability of the step from one tag to another of the same type."""
            return steps[:, self.steps.number[kinds + tag, kinds + following]]

        inside = tags[1:-1, INSIDE::4]
        inside = inside.masked_fill(inside == 0, 1.0)
        goes_on, ends = (between(INSIDE, tag)[2:] / inside for tag in (INSIDE, LAST))
        longer = stretches(between(BEGIN, INSIDE)[1:-1], goes_on, ends, max(self.max_width - 2, 0))
        short = torch.stack([tags[:-2, UNIT::4], between(BEGIN, LAST)[1:-1]], dim=-1)  # (n, m, B, 2)
        found = torch.cat([short, longer], dim=-1)
        # Rounding may put an almost certain mention slightly above 1.
        return found[..., : self.max_width].clamp(max=1.0).permute(2, 0, 3, 1).to(self.scores.emit)


# -- the scorer --------------------------------------------------------------------------------------------------------


class LinearChainScorer(Scorer):
    """The linear chain over 4 m + 1 tags, with learnt transition weights."""

    abilities = Abilities("none overlapping", large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.outputs = Outputs(["begins", "is inside", "ends", "is alone"], self.types, by_type=True, shared=1)
        tags = self.outputs.count
        self.emit = encoder.word_layer(self.outputs)
        self.step = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = (nn.Parameter(torch.zeros(tags)) for _ in range(2))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> TagScores:
        return TagScores(self.by_word(self.emit(words), batch), self.step, self.first, self.last)

    def add_mention_bias(self, scores: TagScores, bias: float) -> TagScores:
        tags = torch.arange(scores.tags, device=scores.emit.device)
        opens = (tags % 4 == BEGIN) | ((tags % 4 == UNIT % 4) & (tags > 0))
        return replace(scores, emit=scores.emit + bias * opens)

    def own_axes(self) -> dict[str, TypeAxes]:
        axes = {"step": (0, 1), "first": (0,), "last": (0,)}
        return {name: TypeAxes(self.outputs, which) for name, which in axes.items()}

    def distribution(self, scores: TagScores, lengths: Sequence[int]) -> LinearChain:
        return LinearChain(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(mentions)[0])
