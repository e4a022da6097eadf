"""A linear-chain CRF over BIOHD tags (Tang et al. 2013; Metke-Jimenez & Karimi 2015), one chain per type: discontinuous
mentions, and those that overlap them, in one tag per word.

All chains share one encoder and are independent of each other. Each has its own scores of tags and of steps between
them. The chains of all types and sentences are computed together.

B and I are the words of a contiguous mention. BD and ID are words of a segment that belongs to one mention with a gap,
or to one that shares words with such a mention. BH and IH are words of a segment that several of these share: their
head. This describes one type; each type has its own tags, so types may overlap.

*From tags to mentions.* A segment of B and I is a mention. A D segment belongs to the nearest head, if there are no
more words between them than a gap may have, and both are a mention: of one part, if no word is between them. D segments
without a head are joined with the next ones in order, as far as gaps allow: up to P of them are one mention, more are
pairs. A segment with nothing to join is not a mention.

*From mentions to tags.* Not every set can be encoded. Three encodings are tried, and the one that decodes to the set
with the fewest errors is used: all mentions as above; without contiguous mentions that share words with a discontinuous
one; and only contiguous mentions. In each, only the outermost of overlapping contiguous mentions is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.baselines.greedy import GreedySets
from hyperspan.baselines.linear_chain import TagScores, TagSteps, outermost
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import in_float64
from hyperspan.nn import ENCODERS, Abilities, Batch, Model, Outputs, Setting
from hyperspan.structures import (
    AnyMention,
    Limits,
    Loss,
    Mention,
    MentionSet,
    Parts,
    fragments_of,
    parts_of,
    with_parts,
)
from hyperspan.structures.graphs import Values, highest, log_partition, posteriors
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

# -- tags --------------------------------------------------------------------------------------------------------------

TAGS = ("O", "B", "I", "BD", "ID", "BH", "IH")
OUTSIDE, BEGIN, BEGIN_D, BEGIN_H = 0, 1, 3, 5
"""A continuing tag is one higher than its beginning tag."""
OF_PARTS = range(BEGIN_D, len(TAGS))
"""The tags of discontinuous mentions, and of mentions that share words with them."""
Span = tuple[int, int]


def may_follow(tag: int, following: int) -> bool:
    """Whether a tag may follow another; a continuing tag needs its beginning tag before it.

    >>> may_follow(BEGIN_D, BEGIN_D + 1), may_follow(OUTSIDE, BEGIN_D + 1)
    (True, False)
    """
    return following in (OUTSIDE, BEGIN, BEGIN_D, BEGIN_H) or tag in (following, following - 1)


def tags_of_parts(mentions: Iterable[AnyMention], length: int, limits: Limits) -> list[int]:
    """The tags of a sentence that best encode these mentions of one type.

    >>> limits = Limits(parts=2, width=9, gap=3, later_width=9)
    >>> both = {(0, 4, 0, ((0, 1), (3, 4))), (2, 4, 0)}  # left … ventricle, right ventricle
    >>> [TAGS[tag] for tag in tags_of_parts(both, 4, limits)]
    ['BD', 'O', 'BD', 'BH']
    """
    given = {with_parts(parts_of(one), 0) for one in mentions}
    longer = [one for one in given if fragments_of(one)]
    alone = {(one[0], one[1], 0) for one in given if not fragments_of(one)}
    if not longer:
        return _tags((), alone, length)
    words = {word for one in longer for word in _words(one)}
    beside = {one for one in alone if not words.isdisjoint(_words(one))}
    ways = [
        _tags([*longer, *beside], alone - beside, length),
        _tags(longer, alone - beside, length),
        _tags((), alone, length),
    ]
    return min(ways, key=lambda tags: len(given ^ mentions_of_parts(tags, 0, limits)))


def _words(mention: AnyMention) -> Iterator[int]:
    return (word for start, end in parts_of(mention) for word in range(start, end))


def _tags(together: Sequence[AnyMention], alone: Iterable[Mention], length: int) -> list[int]:
    """The tags with some mentions as D and H, and those of the others that overlap nothing."""
    tags = [OUTSIDE] * length
    owners: list[set[int]] = [set() for _ in range(length)]
    starts: set[int] = set()
    for number, mention in enumerate(together):
        starts |= {start for start, _ in parts_of(mention)}
        for word in _words(mention):
            owners[word].add(number)
    for word, own in enumerate(owners):
        if own:
            begins = word == 0 or word in starts or own != owners[word - 1]
            tags[word] = (BEGIN_H if len(own) > 1 else BEGIN_D) + (not begins)
    for start, end, _ in outermost(alone)[0]:
        if not any(owners[start:end]):
            tags[start:end] = [BEGIN, *[BEGIN + 1] * (end - start - 1)]
    return tags


def segments_of_tags(tags: Sequence[int]) -> dict[int, list[Span]]:
    """The segments by the tag that they begin with, in order.

    >>> segments_of_tags((0, 3, 4, 1, 3))
    {1: [(3, 4)], 3: [(1, 3), (4, 5)], 5: []}
    """
    found: dict[int, list[Span]] = {BEGIN: [], BEGIN_D: [], BEGIN_H: []}
    for word, tag in enumerate(tags):
        if tag in found:
            found[tag].append((word, word + 1))
        elif tag != OUTSIDE:
            found[tag - 1][-1] = (found[tag - 1][-1][0], word + 1)
    return found


def mentions_of_parts(tags: Sequence[int], kind: int, limits: Limits) -> set[AnyMention]:
    """The mentions of a type that a valid tag sequence encodes.

    >>> sorted(mentions_of_parts((3, 0, 3, 5), 1, Limits(parts=2, width=9, gap=3, later_width=9)))
    [(0, 4, 1, ((0, 1), (3, 4))), (2, 4, 1)]
    """
    found = segments_of_tags(tags)
    mentions: set[AnyMention] = {(start, end, kind) for start, end in found[BEGIN]}
    heads, apart = found[BEGIN_H], list[Span]()
    for part in found[BEGIN_D]:
        nearest = min(heads, key=lambda head: _between(part, head), default=None)
        if nearest is None or _between(part, nearest) > limits.gap:
            apart.append(part)
        else:
            mentions.add(_joined([part, nearest], kind))
    return mentions | {_joined(parts, kind) for parts in _in_order(apart, limits)}


def _between(one: Span, other: Span) -> int:
    """The words between two segments that share none."""
    return max(one[0] - other[1], other[0] - one[1])


def _joined(parts: Sequence[Span], kind: int) -> AnyMention:
    """The mention of these segments; those without a word between them are one part."""
    merged: list[Span] = []
    for start, end in sorted(parts):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    whole: Parts = tuple(merged)
    return with_parts(whole, kind)


def _in_order(segments: Sequence[Span], limits: Limits) -> Iterator[list[Span]]:
    """Segments with no more words between them than a gap may have, in groups of up to P; longer runs in pairs."""
    near: list[list[Span]] = []
    for segment in segments:
        if near and _between(near[-1][-1], segment) <= limits.gap:
            near[-1].append(segment)
        else:
            near.append([segment])
    for run in near:
        if len(run) <= limits.parts:
            yield from [run] if len(run) > 1 else []
        else:
            yield from (run[place : place + 2] for place in range(0, len(run) - 1, 2))


# -- chains, and the model ---------------------------------------------------------------------------------------------


STEPS = TagSteps(np.array([[may_follow(tag, following) for following in range(len(TAGS))] for tag in range(len(TAGS))]))


class TypeChains:
    """Chains of tags over the words of each sentence, one for each of m types, which share no scores of steps.

    `emit` is (B, n, m, t), `step` (m, t, t) and `first` (m, t). Steps that are not legal are impossible.
    """

    def __init__(self, emit: Tensor, step: Tensor, first: Tensor, lengths: Sequence[int]):
        batch, n, m, t = self.shape = emit.shape
        rows = emit.transpose(1, 2).reshape(batch * m, n, t)  # types of one sentence after the other
        own = TagScores(rows, step.repeat(batch, 1, 1), first.repeat(batch, 1), first.new_zeros(batch * m, t))
        self.graph = STEPS.graph(n)
        self.scores = STEPS.scores(own, [length for length in lengths for _ in range(m)])  # (steps, B m)

    def _by_type(self, values: Tensor) -> Tensor:
        """(B m,) -> (B, m)"""
        return values.view(self.shape[0], self.shape[2])

    @property
    def log_partition(self) -> Tensor:
        """(B, m)"""
        return self._by_type(log_partition(self.graph, self.scores)[0])

    def score(self, tags: np.ndarray) -> Tensor:
        """(B, n, m) -> (B, m): the scores of tags, which are outside in padding."""
        slots = STEPS.slots_of(tags.transpose(0, 2, 1).reshape(-1, self.shape[1]))  # (B m, n + 1)
        taken = self.scores.gather(0, torch.from_numpy(slots.T).to(self.scores.device))
        return self._by_type(taken.sum(0))

    def posteriors(self) -> np.ndarray:
        """(B, n, m, t): the probability of each tag."""
        batch, n, m, t = self.shape
        steps = posteriors(self.graph, self.scores).view(n + 1, len(STEPS.before), batch * m)
        found = STEPS.by_tag(steps)[:n]  # (n, t, B m)
        return found.view(n, t, batch, m).permute(2, 0, 3, 1).numpy(force=True)

    def best(self) -> np.ndarray:
        """(B, n, m): the best tags; ties go to the first. In padding they are outside."""
        batch, n, m, _ = self.shape
        values = Values(self.graph, in_float64(self.scores).numpy(force=True), highest)
        tags = [STEPS.tags_of(values.best(row)) for row in range(batch * m)]
        return np.array(tags, dtype=np.int64).reshape(batch, m, n).transpose(0, 2, 1)


class Biohd(Model):
    """Words → scores of tags → a chain for each type → mentions, by rules."""

    abilities = Abilities("with gaps; of one type none overlapping but at a head", gaps=True, vectors=True)

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=False)
        m, t = len(self.labels), len(TAGS)
        self.emit = self.encoder.word_layer(Outputs(TAGS, m, by_type=True))
        self.step, self.first = nn.Parameter(torch.zeros(m, t, t)), nn.Parameter(torch.zeros(m, t))
        given = config.discontinuous
        self.limits = Limits(given.parts, 0, given.gap, 0)
        """The limits on gaps and parts; chains do not limit widths."""

    @classmethod
    def check(cls, config: Config) -> None:
        if config.discontinuous.parts < 2:
            raise InputError("discontinuous.parts is 1, but model.kind biohd joins two parts or more; set it to 2")

    def _chains(self, words: Tensor, batch: Batch, bias: float = 0.0) -> TypeChains:
        """(N, d) -> chains; the batch has a word. The bias is added to the tags of discontinuous mentions."""
        shape = (len(batch.lengths), batch.longest, len(self.labels), len(TAGS))
        emit = self.emit(words).float().index_select(0, batch.row_of).view(shape)
        emit = emit + bias * emit.new_tensor([tag in OF_PARTS for tag in range(len(TAGS))])
        return TypeChains(emit, self.step, self.first, batch.lengths)

    def _tags(self, mentions: set[AnyMention], length: int) -> dict[int, list[int]]:
        """The tags of each type that has mentions."""
        by_type: dict[int, list[AnyMention]] = {}
        for one in mentions:
            by_type.setdefault(one[2], []).append(one)
        return {kind: tags_of_parts(own, length, self.limits) for kind, own in by_type.items()}

    def _mentions(self, tags: dict[int, list[int]]) -> set[AnyMention]:
        return {one for kind, own in tags.items() for one in mentions_of_parts(own, kind, self.limits)}

    def representable(self, mentions: set[AnyMention], longest: int) -> set[AnyMention]:  # type: ignore[override]
        return mentions & self._mentions(self._tags(mentions, longest))

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        """The negative log-likelihood of all chains of a sentence together."""
        if batch.longest == 0:
            return Loss(words.new_zeros(len(gold)), (0,) * len(gold))
        tags = np.zeros((len(gold), batch.longest, len(self.labels)), dtype=np.int64)
        left_out: list[int] = []
        for sentence, (mentions, length) in enumerate(zip(gold, batch.lengths, strict=True)):
            own = self._tags(mentions, length)  # type: ignore[arg-type]
            left_out.append(len(mentions - self._mentions(own)))  # type: ignore[arg-type]
            for kind, listed in own.items():
                tags[sentence, :length, kind] = listed
        chains = self._chains(words, batch)
        return Loss((chains.log_partition - chains.score(tags)).sum(1).clamp(min=0.0), tuple(left_out))

    def settings(self) -> list[Setting]:
        """The bias of the tags of discontinuous mentions."""
        return [Setting.discontinuous_bias(self.found_at)]

    def found_at(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a bias to the mentions found with it."""
        batch = self.collate(sentences)
        words = self.encoder(batch)[-1]
        return lambda bias: self._sets(words, batch, bias).argmax()

    def distribution(self, sentences: Sequence[Sentence]) -> GreedySets:
        """The mentions that the best tags encode. The probability of a mention is that of its least probable tag, an
        upper bound."""
        batch = self.collate(sentences)
        return self._sets(self.encoder(batch)[-1], batch, self.config.discontinuous.bias)

    def _sets(self, words: Tensor, batch: Batch, bias: float) -> GreedySets:
        m, sentences = len(self.labels), range(len(batch.lengths))
        if batch.longest == 0:
            return GreedySets([{} for _ in sentences], [0.0] * len(sentences), batch.lengths, m, self.device)
        chains = self._chains(words, batch, bias)
        tags = chains.best()  # (B, n, m)
        probable = np.take_along_axis(chains.posteriors(), tags[..., None], 3)[..., 0].clip(max=1.0)
        values = (chains.score(tags) - chains.log_partition).sum(1).clamp(max=0.0).tolist()
        found: list[dict[AnyMention, float]] = [{} for _ in sentences]
        for sentence, kind in np.argwhere((tags != OUTSIDE).any(1)).tolist():
            for one in mentions_of_parts(tags[sentence, :, kind].tolist(), kind, self.limits):
                covered = [word for start, end in parts_of(one) for word in range(start, end)]
                found[sentence][one] = float(probable[sentence, covered, kind].min())
        return GreedySets(found, values, batch.lengths, m, self.device)
