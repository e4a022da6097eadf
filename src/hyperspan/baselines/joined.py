"""Segments, then mentions: a pipeline in the manner of Wang & Lu (2019), "Combining Spans into Mentions".

A segmental hypergraph finds segments: contiguous mentions, and the parts of discontinuous ones, which have a separate
part type for each mention type. A classifier then decides for each pair of parts of one type whether they belong to one
mention. Parts that are all joined pairwise, up to `discontinuous.parts` of them, form a mention; a segment found as a
contiguous mention is one already.

*Classifier input*: the span LSTM's vectors of both segments and of the words between them, the number of those words,
and the type. Both steps share one encoder and are trained together: the loss is the sum of theirs.

*Classifier training*: pairs of the segments that the hypergraph currently finds most probable, and of all gold
segments. So it learns which gold segments do not belong together, and to reject segments that are wrong or almost
right. In inference it scores all somewhat probable segments, not only those of the best set. The threshold is chosen on
dev.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from hyperspan.baselines.greedy import GreedySets
from hyperspan.config import Config, KindOptions, key
from hyperspan.errors import InputError
from hyperspan.nn import ENCODERS, INITIAL_MENTION_BIAS, Abilities, Batch, Model, SegmentalScorer, Setting, Spans
from hyperspan.structures import (
    AnyMention,
    Limits,
    Loss,
    Mention,
    MentionSet,
    Parts,
    SegmentalHypergraph,
    fragments_of,
    with_parts,
)
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

# -- segments, pairs of them, and back ---------------------------------------------------------------------------------

Span = tuple[int, int]
Pair = tuple[Span, Span]


def segments_of(mentions: Iterable[AnyMention], types: int) -> set[Mention]:
    """Contiguous mentions, and the parts of discontinuous ones, which have separate types: `types` + k for type k.

    >>> sorted(segments_of({(0, 1, 1), (0, 4, 1, ((0, 1), (3, 4)))}, types=2))
    [(0, 1, 1), (0, 1, 3), (3, 4, 3)]
    """
    found: set[Mention] = set()
    for mention in mentions:
        parts = fragments_of(mention)
        found |= {(start, end, types + mention[2]) for start, end in parts} or {(mention[0], mention[1], mention[2])}
    return found


def pairs_of(mentions: Iterable[AnyMention]) -> set[tuple[int, Pair]]:
    """The type and both segments of each pair of parts of one mention.

    >>> len(pairs_of({(0, 6, 1, ((0, 1), (2, 3), (5, 6))), (0, 3, 1)}))
    3
    """
    return {(one[2], pair) for one in mentions for pair in itertools.combinations(fragments_of(one), 2)}


def joined_mentions(pairs: Mapping[Pair, float], kind: int, limits: Limits) -> dict[AnyMention, float]:
    """The mentions of one type whose segments are all joined pairwise, with the probability of the least probable pair.

    Only maximal mentions within the limits count: a mention that is part of another is left out.

    >>> limits = Limits(parts=3, width=9, gap=4, later_width=9)
    >>> a, b, c = (0, 1), (2, 3), (4, 5)
    >>> list(joined_mentions({(a, c): 0.9, (b, c): 0.8}, 0, limits))
    [(0, 5, 0, ((0, 1), (4, 5))), (2, 5, 0, ((2, 3), (4, 5)))]
    >>> joined_mentions({(a, b): 0.9, (b, c): 0.8, (a, c): 0.7}, 0, limits)
    {(0, 5, 0, ((0, 1), (2, 3), (4, 5))): 0.7}
    """
    after: dict[Span, set[Span]] = {}
    for first, second in pairs:
        after.setdefault(first, set()).add(second)
    every: list[Parts] = []
    growing: list[Parts] = [(first, second) for first, second in pairs]
    while growing:
        every += growing
        growing = [
            (*parts, further)
            for parts in growing
            if len(parts) < limits.parts
            for further in sorted(set.intersection(*(after.get(part, set()) for part in parts)))
        ]
    allowed = [parts for parts in every if limits.allow(with_parts(parts, kind))]
    inner = {some for parts in allowed for size in range(2, len(parts)) for some in itertools.combinations(parts, size)}
    return {
        with_parts(parts, kind): min(pairs[pair] for pair in itertools.combinations(parts, 2))
        for parts in sorted(allowed)
        if parts not in inner
    }


# -- the classifier, and the model -------------------------------------------------------------------------------------

HIDDEN = 128
"""Hidden units of the classifier that decides whether two parts belong together."""
LEARNT_FROM = 16
"""In training, this many of the most probable parts of a sentence, plus all gold ones, form pairs."""
LOOKED_AT = 64
"""In inference, this many of the most probable parts form pairs."""
PROBABLE, PROBABLE_ENOUGH_TO_LEARN = 0.05, 0.01
"""The minimum probability of a part in inference, and in training."""
THRESHOLDS = [step / 40 for step in range(4, 40)]
"""From 0.1 to 0.975."""


@dataclass(frozen=True)
class JoinedOptions(KindOptions):
    """The model `joined`. The limits in `discontinuous` apply to its mentions, too."""

    threshold: float = key(0.5, "tuned", low=0, high=1)
    """The least probability at which two parts are joined. Training chooses it on dev at the end."""


class PartCandidates(NamedTuple):
    """K parts of each sentence that may belong to mentions, the most probable first; (B, K) each."""

    place: Tensor
    """(start * c + width) * m + type, where the width is the number of words minus one."""
    start: Tensor
    width: Tensor
    kind: Tensor
    probability: Tensor

    @classmethod
    def of(cls, probabilities: Tensor, count: int) -> PartCandidates:
        """(B, n, c, m) -> the most probable, at most `count` of each sentence."""
        _, _, c, m = probabilities.shape
        flat = probabilities.flatten(1)
        value, place = flat.topk(min(count, flat.shape[1]), dim=1)
        span = torch.div(place, m, rounding_mode="floor")
        return cls(place, torch.div(span, c, rounding_mode="floor"), span % c, place % m, value)

    def pairs(self, reach: int, least: float) -> Tensor:
        """(3, pairs): the sentence and both candidates, of the same type and with 1 to `reach` words between them."""
        between = self.start[:, None, :] - (self.start + self.width + 1)[:, :, None]  # (B, K, K)
        good = self.probability > least
        together = good[:, None, :] & good[:, :, None] & (self.kind[:, None, :] == self.kind[:, :, None])
        return ((between >= 1) & (between <= reach) & together).nonzero().T


class SpanRows:
    """Look up span vectors by position."""

    def __init__(self, spans: Spans, words: int, width: int):
        self.states, self.layout = spans
        self.width, self.longest, layout = width, self.layout.longest, self.layout
        rows = torch.arange(len(layout.start), device=self.states.device)
        self.row = rows.new_zeros(words * width).index_put((layout.start * width + layout.width,), rows)

    def __call__(self, sentence: Tensor, start: Tensor, width: Tensor) -> Tensor:
        """(spans,) each, with width = words - 1 -> (spans, 2 hidden)"""
        row = self.row.index_select(0, (sentence * self.longest + start) * self.width + width)
        backward = self.layout.backward_row.index_select(0, row)
        return torch.cat([self.states[row, 0], self.states[backward, 1]], dim=1)


class JoinClassifier(nn.Module):
    """Classifies whether two segments belong to one mention."""

    def __init__(self, spans: int, types: int, reach: int):
        super().__init__()
        self.first = nn.Linear(spans, HIDDEN)
        self.second, self.between = (nn.Linear(spans, HIDDEN, bias=False) for _ in range(2))
        self.gap, self.kind = nn.Embedding(reach, HIDDEN), nn.Embedding(types, HIDDEN)
        self.further, self.last = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, types)
        with torch.no_grad():
            self.last.bias.fill_(INITIAL_MENTION_BIAS)
            self.gap.weight.mul_(0.1)
            self.kind.weight.mul_(0.1)

    def forward(self, found: PartCandidates, pairs: Tensor, vectors: SpanRows) -> Tensor:
        """(3, pairs) -> (pairs,): scores, above 0 for those that belong together."""
        sentence, one, other = pairs
        start, width = found.start, found.width
        kind, end = found.kind[sentence, one], start[sentence, one] + width[sentence, one] + 1
        gap = start[sentence, other] - end  # words between them, 1 or more
        together = (
            self.first(vectors(sentence, start[sentence, one], width[sentence, one]))
            + self.second(vectors(sentence, start[sentence, other], width[sentence, other]))
            + self.between(vectors(sentence, end, gap.clamp(max=vectors.width) - 1))
            + self.gap(gap - 1)
            + self.kind(kind)
        )  # (pairs, hidden)
        scores = self.last(torch.relu(self.further(torch.relu(together))))
        return scores.gather(1, kind[:, None])[:, 0].float()


class Joined(Model):
    """Words → segments by a segmental hypergraph → pairs of them by a classifier → mentions."""

    abilities = Abilities("overlapping in any way, with gaps", spans=True, gaps=True, vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=True)
        self.segments = SegmentalScorer(self.encoder, [*self.labels, *self.labels], config)
        limits, self.types = config.discontinuous, len(self.labels)
        self.reach = (limits.parts - 1) * limits.gap + (limits.parts - 2) * limits.later_width
        """The maximum number of words between two parts of a mention, including other parts."""
        self.join = JoinClassifier(2 * config.encoder.span_hidden, self.types, self.reach)

    @classmethod
    def check(cls, config: Config) -> None:
        given, width = config.discontinuous, config.model.max_width
        if given.parts < 2:
            raise InputError("discontinuous.parts is 1, but model.kind joined joins two parts or more; set it to 2")
        if width != "n" and given.later_width > width:
            raise InputError(
                f"discontinuous.later_width is {given.later_width}, but model.max_width is {width}, and later parts are spans, too; "
                f"set model.max_width = {given.later_width} or more"
            )

    def _limits(self, longest: int) -> Limits:
        given = self.config.discontinuous
        return Limits(given.parts, self.max_width or longest, given.gap, given.later_width)

    def representable(self, mentions: set[AnyMention], longest: int) -> set[AnyMention]:  # type: ignore[override]
        limits = self._limits(longest)
        return {mention for mention in mentions if limits.allow(mention)}

    # -- training
    # -------------------------------------------------------------------------------------------------------

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        kept = [self.representable(mentions, batch.longest) for mentions in gold]  # type: ignore[arg-type]
        spans = self.encoder.spans_of(words, batch)
        scores = self.segments(words, spans, batch)
        wanted = [segments_of(mentions, self.types) for mentions in kept]
        values = self.segments.loss(scores, wanted, batch.lengths).values
        if spans is not None:
            with torch.no_grad():
                segments = SegmentalHypergraph(
                    scores.map(lambda tensor: tensor[..., self.types :].detach()), batch.lengths
                )
                probabilities = segments.marginals
            values = values + self._join_loss(
                probabilities, kept, SpanRows(spans, len(batch.row_of), probabilities.shape[2])
            )
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def _join_loss(self, probabilities: Tensor, gold: Sequence[set[AnyMention]], vectors: SpanRows) -> Tensor:
        """(B, n, c, m), the probabilities of parts -> (B,): the loss of the pairs of each sentence."""
        batch, _, c, m = probabilities.shape

        def place(span: tuple[int, int], kind: int) -> int:
            return (span[0] * c + span[1] - span[0] - 1) * m + kind

        parts = [{place(part, one[2]) for one in mentions for part in fragments_of(one)} for mentions in gold]
        rows = [(sentence, one) for sentence, places in enumerate(parts) for one in places]
        joined = [
            (sentence, place(first, kind), place(second, kind))
            for sentence, mentions in enumerate(gold)
            for kind, (first, second) in pairs_of(mentions)
        ]
        shapes = ((rows, 2), (joined, 3))
        part, pair = self.indices(*(np.array(some, dtype=np.int64).reshape(-1, n).T for some, n in shapes))
        certain = probabilities.flatten(1).index_put((part[0], part[1]), probabilities.new_tensor(2.0))
        found = PartCandidates.of(certain.view_as(probabilities), max(LEARNT_FROM, *map(len, parts)))
        same = [found.place[pair[0]] == one[:, None] for one in pair[1:]]  # (gold pairs, K) each
        target = torch.zeros(batch, *[found.place.shape[1]] * 2, dtype=torch.bool, device=self.device)
        target[pair[0], same[0].int().argmax(1), same[1].int().argmax(1)] = True
        pairs = found.pairs(self.reach, PROBABLE_ENOUGH_TO_LEARN)
        wrong = self._wrong(self.join(found, pairs, vectors), target[tuple(pairs)])
        return wrong.new_zeros(batch).index_add(0, pairs[0], wrong)

    def _wrong(self, scores: Tensor, target: Tensor) -> Tensor:
        """(pairs,): the negative log-likelihood, with the hypergraph's margin if configured."""
        training = self.config.training
        if training.softmax_margin:
            scores = scores + torch.where(target, -training.beta, 1.0)
        return softplus(torch.where(target, -scores, scores))

    # -- inference
    # ------------------------------------------------------------------------------------------------------

    def distribution(self, sentences: Sequence[Sentence]) -> JoinedSets:
        return self._found(sentences).at(self.config.options("joined", JoinedOptions).threshold)

    def _found(self, sentences: Sequence[Sentence]) -> FoundPairs:
        batch = self.collate(sentences)
        words, m = self.encoder(batch)[-1], self.types
        spans = self.encoder.spans_of(words, batch)
        segments = SegmentalHypergraph(self.segments(words, spans, batch), batch.lengths)
        limits, rows, probabilities = self._limits(batch.longest), np.zeros((0, 6), dtype=np.int64), np.zeros(0)
        if spans is not None:
            of_parts = segments.restrict(range(m, 2 * m)).marginals
            found = PartCandidates.of(of_parts, LOOKED_AT)
            pairs = found.pairs(self.reach, PROBABLE)
            vectors = SpanRows(spans, len(batch.row_of), of_parts.shape[2])
            sentence, one, other = pairs
            chosen = [place[sentence, which] for which in (one, other) for place in (found.start, found.width)]
            rows = torch.stack([sentence, *chosen, found.kind[sentence, one]], dim=1).cpu().numpy()
            probabilities = self.join(found, pairs, vectors).sigmoid().cpu().numpy()
        return FoundPairs(segments.restrict(range(m)), limits, rows, probabilities)

    def found_at(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a threshold to the mentions found with it."""
        found = self._found(sentences)
        return lambda threshold: found.at(threshold).argmax()

    def settings(self) -> list[Setting]:
        """The threshold, by the F1 of discontinuous mentions."""
        return [Setting("joined", "threshold", THRESHOLDS, 0.5, self.found_at, of_discontinuous=True)]


class FoundPairs(NamedTuple):
    """The results of both steps for a batch."""

    contiguous: SegmentalHypergraph
    """The distribution over contiguous mentions."""
    limits: Limits
    pairs: np.ndarray  # (pairs, 6): sentence; start and width of both; type
    probabilities: np.ndarray  # (pairs,): whether they belong together

    def at(self, threshold: float) -> JoinedSets:
        """The contiguous mentions of the best sets, and the discontinuous ones whose pairs reach a threshold."""
        found: list[dict[AnyMention, float]] = [{} for _ in self.contiguous.lengths]
        (best,) = self.contiguous.places([None])
        for (sentence, start, end, kind), value in zip(best.rows.tolist(), best.probabilities.tolist(), strict=True):
            found[sentence][start, end, kind] = value
        chosen: dict[tuple[int, int], dict[Pair, float]] = defaultdict(dict)
        kept = self.probabilities >= threshold
        for row, value in zip(self.pairs[kept].tolist(), self.probabilities[kept].tolist(), strict=True):
            sentence, start, width, later, later_width, kind = row
            chosen[sentence, kind][(start, start + width + 1), (later, later + later_width + 1)] = value
        for (sentence, kind), pairs in chosen.items():
            found[sentence].update(joined_mentions(pairs, kind, self.limits))
        return JoinedSets(found, self, threshold)


class JoinedSets(GreedySets):
    """The mentions that both steps found; the probability of a discontinuous one is conditional on its parts."""

    def __init__(self, found: list[dict[AnyMention, float]], pairs: FoundPairs, threshold: float):
        whole = pairs.contiguous
        super().__init__(found, [], whole.lengths, whole.types, whole.scores.close.device)
        self.pairs, self.threshold = pairs, threshold

    @property
    def log_probabilities(self) -> list[float]:
        alone = [{one for one in mentions if not fragments_of(one)} for mentions in self.found]
        values = self.pairs.contiguous.log_prob(alone).double().cpu().numpy()  # type: ignore[arg-type]
        probabilities = self.pairs.probabilities.astype(np.float64)
        decided = np.where(probabilities >= self.threshold, probabilities, 1.0 - probabilities)
        np.add.at(values, self.pairs.pairs[:, 0], np.log(np.maximum(decided, np.finfo(np.float64).tiny)))
        return values.tolist()
