"""Scores of mentions that begin at the same word and depend on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, Outputs, Spans
from hyperspan.nn.model import Abilities
from hyperspan.nn.segmental import SegmentalScorer
from hyperspan.runtime.kinds import KINDS, groups_of
from hyperspan.structures import JointScores, JointSegmentalHypergraph
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.mentions import Mention
from hyperspan.types import Sentence

RANK = 8
"""The rank of the scores of pairs of types from span vectors."""
MOST_LABELS = 5
"""The most labels of a group that training chooses. The cost is 4 to the power of this."""


class PairScorer(nn.Module):
    """Scores of pairs of types at a span: constants, optionally plus a low-rank linear function of its vector."""

    def __init__(self, encoder: Encoder, types: int, rank: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(types, types))
        self.down = encoder.span_layer(Outputs([f"factor {factor}" for factor in range(rank)])) if rank else None
        self.up = nn.Parameter(torch.randn(rank, types, types) / max(rank, 1) ** 0.5) if rank else None
        if self.down is not None:
            with torch.no_grad():
                for parameter in self.down.parameters():
                    parameter.zero_()

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch, like: Tensor) -> Tensor:
        """(B, n, c, m, m), where `like` is (B, n, c, m)"""
        shape = (*like.shape, like.shape[3])
        if self.down is None or self.up is None or spans is None:
            return self.bias.expand(shape)
        rows = spans.by_width(self.down(words, spans, batch).float())  # (B, n, c, rank)
        return torch.tensordot(rows, self.up, 1) + self.bias


class JointScorer(SegmentalScorer):
    """The segmental hypergraph with scores of pairs of mentions that begin at the same word."""

    abilities = Abilities(spans=True, conditions=True, large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        given = config.joint
        self.groups = groups_of(config, labels)
        self.together = (
            PairScorer(encoder, self.types, _rank(config, given.together)) if given.together != "none" else None
        )
        self.within = PairScorer(encoder, self.types, _rank(config, given.within)) if given.within != "none" else None

    @classmethod
    def check(cls, config: Config) -> None:
        KINDS["joint"].check(config)

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        unknown = [label for group in config.joint.groups for label in group if label not in labels]
        if unknown:
            raise InputError(
                f"joint.groups has {unknown[0]}, but the training sentences have no such label; they have {', '.join(labels)}"
            )
        if config.joint.groups:
            return config
        groups = choose_groups(labels, sentences, MOST_LABELS)
        return replace(config, joint=replace(config.joint, groups=groups))

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> JointScores:  # type: ignore[override]
        edges = super().forward(words, spans, batch)
        pairs = {
            name: scorer(words, spans, batch, edges.close)
            for name, scorer in (("together", self.together), ("within", self.within))
            if scorer is not None
        }
        return JointScores(edges, **pairs)

    def add_mention_bias(self, scores: JointScores, bias: float) -> JointScores:  # type: ignore[override]
        return replace(scores, edges=super().add_mention_bias(scores.edges, bias))

    def distribution(self, scores: JointScores, lengths: Sequence[int]) -> JointSegmentalHypergraph:  # type: ignore[override]
        return JointSegmentalHypergraph(scores, lengths, self.groups)

    def with_margin(  # type: ignore[override]
        self, scores: JointScores, gold: Sequence[set[Mention]], lengths: Sequence[int], marks: PartialMarks | None
    ) -> JointScores:
        return (
            scores
            if marks is not None
            else replace(scores, edges=super().with_margin(scores.edges, gold, lengths, None))
        )


def _rank(config: Config, how: str) -> int:
    return RANK if how == "spans" else 0


def choose_groups(labels: Sequence[str], sentences: Sequence[Sentence], size: int) -> tuple[tuple[str, ...], ...]:
    """Group labels that co-occur most, at most `size` per group: on mentions that begin at the same word, and on the
    same words in another place of the corpus.

    The second case covers labels that a model confuses, though gold has only one of them.

    >>> from hyperspan.types import Mention
    >>> words = Sentence(["Old", "Bo"], [Mention(0, 2, "PER"), Mention(0, 1, "AGE"), Mention(1, 2, "GPE")])
    >>> choose_groups(["AGE", "GPE", "PER"], [words], size=2)
    (('AGE', 'PER'), ('GPE',))
    """
    if len(labels) <= size:
        return (tuple(labels),)
    meet = _meetings(sentences)
    groups: list[tuple[str, ...]] = [(label,) for label in labels]
    while True:
        pairs = [
            (sum(meet[k, l] for k in one for l in other), one, other)  # noqa: E741
            for one, other in combinations(groups, 2)
            if len(one) + len(other) <= size
        ]
        count, one, other = max(pairs, key=lambda pair: pair[0]) if pairs else (0, (), ())
        if count == 0:
            return tuple(sorted(groups))
        groups = [group for group in groups if group not in (one, other)] + [tuple(sorted(one + other))]


def _meetings(sentences: Sequence[Sentence]) -> Counter[Any]:
    """How often two labels co-occur, in both orders."""
    meet: Counter[Any] = Counter()
    named: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in sentences:
        for one, other in combinations(sentence.mentions, 2):
            if one.start == other.start and one.label != other.label:
                meet[one.label, other.label] += 1
                meet[other.label, one.label] += 1
        for mention in sentence.mentions:
            words = tuple(token.lower() for token in sentence.tokens[mention.start : mention.end])
            named.setdefault(words, Counter())[mention.label] += 1
    for labels in named.values():
        for one, other in combinations(labels, 2):
            meet[one, other] += min(labels[one], labels[other])
            meet[other, one] += min(labels[one], labels[other])
    return meet
