"""Classify the differences between the gold and the predicted mentions of a sentence.

A missed gold mention and a wrong predicted one are paired if one stands for the other: the best pairs first, each
mention in at most one pair. So every missed and every wrong mention is in exactly one difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from hyperspan.config import DiscontinuousConfig
from hyperspan.corpora.overlaps import places, widest_gap, words_of
from hyperspan.structures.mentions import too_large
from hyperspan.types import Mention

DIFFERENCES = {
    "missed": "a gold mention that is not predicted",
    "inner missed": "the same, and it lies inside a gold or predicted mention",
    "outer missed": "the same, and a gold or predicted mention lies inside it",
    "type missed": "a predicted mention has these words, but this type of several is missing",
    "too wide": "a gold mention with more words, in all or in a later part, than the model can find",
    "too many parts": "a gold mention with more parts than the model can find",
    "gap too wide": "a gold mention with more words between two parts than the model can find",
    "unknown type": "a gold mention of a type that the model does not have",
    "discontinuous": "a gold mention with gaps, where the model finds contiguous ones",
    "not whole words": "a gold mention that begins or ends inside a word of the model, or leaves its sentence",
    "wrong type": "the right words, another type",
    "wrong left boundary": "the right type and end, but another first word",
    "wrong right boundary": "the right type and beginning, but another last word",
    "wrong boundaries": "the right type, but another first and another last word",
    "wrong fragments": "the right type, first and last word, but other gaps",
    "wrong type and boundary": "another type, and at least half of the words in common",
    "spurious": "a predicted mention that is not gold",
    "inner spurious": "the same, and it lies inside a gold or predicted mention",
    "outer spurious": "the same, and a gold or predicted mention lies inside it",
    "type spurious": "a gold mention has these words, but not this type too",
}
"""The kinds of differences, in the order of reports."""
HALF = 0.5
"""The minimum share of common words for some pairs."""


@dataclass(frozen=True)
class ModelLimits:
    """The mentions that a model can find at all; without arguments, every mention."""

    labels: frozenset[str] | None = None
    max_width: int | None = None
    contiguous: bool = False
    discontinuous: DiscontinuousConfig | None = None
    """The discontinuous mentions it can find; None for all, or for none with `contiguous`."""

    def reason(self, mention: Mention) -> str | None:
        """The kind of difference that explains why a gold mention cannot be found; None if it can.

        >>> ModelLimits(frozenset(["PER"]), max_width=2).reason(Mention(0, 3, "PER"))
        'too wide'
        """
        if self.labels is not None and mention.label not in self.labels:
            return "unknown type"
        if self.contiguous and mention.fragments:
            return "discontinuous"
        if mention.fragments and self.discontinuous is None:
            return None
        if not too_large(mention.parts, self.max_width, self.discontinuous):
            return None
        if self.discontinuous and len(mention.parts) > self.discontinuous.parts:
            return "too many parts"
        return "gap too wide" if self.discontinuous and widest_gap(mention) > self.discontinuous.gap else "too wide"


NO_LIMITS = ModelLimits()


@dataclass(frozen=True)
class MentionDifference:
    """A missed gold mention, a wrong predicted one, or a pair of them, with the model's probabilities if available."""

    kind: str
    """One of :data:`DIFFERENCES`."""
    gold: Mention | None
    predicted: Mention | None
    depth: int
    """The nesting depth of `mention` in its set; 1 is outermost."""
    systems: tuple[int, ...] = (0,)
    """The indices of the systems that have it, of one or two."""
    others_right: bool = False
    """With two systems: whether the other one is right here."""

    @property
    def mention(self) -> Mention:
        """The gold mention, or else the predicted one; its type, width and depth are those of the difference."""
        mention = self.gold or self.predicted
        assert mention is not None
        return mention

    @property
    def width(self) -> int:
        """The number of words from the first to the last of `mention`."""
        return self.mention.end - self.mention.start

    @property
    def cost(self) -> float:
        """How confident the model is in its error.

        1 - p of the missed mention plus p of the wrong one; without p, 1 for each.

        >>> gold, predicted = Mention(0, 1, "A", probability=0.25), Mention(0, 1, "B", probability=0.5)
        >>> MentionDifference("wrong type", gold, predicted, 1).cost
        1.25
        """
        missed = 0.0 if self.gold is None else 1.0 - (self.gold.probability or 0.0)
        wrong = 0.0
        if self.predicted is not None:
            wrong = 1.0 if self.predicted.probability is None else self.predicted.probability
        return missed + wrong


def mention_differences(
    gold: Set[Mention], predicted: Set[Mention], limits: ModelLimits = NO_LIMITS
) -> list[MentionDifference]:
    """The differences between two sets of mentions, in text order; empty if they are equal.

    Missed and wrong mentions that share a word are paired, the best pairs first: those with the same words; then those
    of the same type, more shared words first; then those of different types that share at least half of their words. A
    mention strictly inside another of the same type, with no common boundary, is its counterpart only if they share
    half of their words.

    >>> gold, predicted = {Mention(0, 5, "PER"), Mention(3, 5, "ORG")}, {Mention(1, 5, "PER")}
    >>> [(one.kind, one.gold, one.predicted) for one in mention_differences(gold, predicted)]
    [('wrong left boundary', Mention(0, 5, 'PER'), Mention(1, 5, 'PER')), ('inner missed', Mention(3, 5, 'ORG'), None)]
    """
    missed, wrong = gold - predicted, predicted - gold
    if not missed and not wrong:
        return []
    pairs = _pairs(missed, wrong)
    alone = missed - {one for one, _ in pairs}, wrong - {other for _, other in pairs}
    every = gold | predicted
    found: list[tuple[str, Mention | None, Mention | None]] = [
        *((limits.reason(one) or _pair_kind(one, other), one, other) for one, other in pairs),
        *((limits.reason(one) or _unpaired_kind(one, predicted, every, "missed"), one, None) for one in alone[0]),
        *((_unpaired_kind(one, gold, every, "spurious"), None, one) for one in alone[1]),
    ]
    depths = [{mention: place.depth for mention, place in places(side).items()} for side in (gold, predicted)]
    made = [
        MentionDifference(kind, one, other, depths[0][one] if one else depths[1][other])  # type: ignore[index]
        for kind, one, other in found
    ]
    return sorted(made, key=lambda one: (one.mention.start, -one.mention.end, one.mention, one.gold is None))


def _pairs(missed: Iterable[Mention], wrong: Iterable[Mention]) -> list[tuple[Mention, Mention]]:
    """Pair missed with wrong mentions greedily, best pair first."""
    ranked: list[tuple[int, float, Mention, Mention]] = []
    for gold in missed:
        for predicted in wrong:
            ours, theirs = words_of(gold), words_of(predicted)
            shared = (ours & theirs).bit_count() / (ours | theirs).bit_count()
            if ours == theirs and gold.label != predicted.label:
                ranked.append((0, -shared, gold, predicted))
            elif shared and gold.label == predicted.label and (shared >= HALF or not _is_within(gold, predicted)):
                ranked.append((1, -shared, gold, predicted))
            elif shared >= HALF and gold.label != predicted.label:
                ranked.append((2, -shared, gold, predicted))
    taken: set[tuple[str, Mention]] = set()
    pairs: list[tuple[Mention, Mention]] = []
    for _, _, gold, predicted in sorted(ranked):
        if taken.isdisjoint({("gold", gold), ("predicted", predicted)}):
            taken |= {("gold", gold), ("predicted", predicted)}
            pairs.append((gold, predicted))
    return pairs


def _is_within(one: Mention, other: Mention) -> bool:
    """Whether one of two mentions lies inside the other without a common boundary."""
    return (one.start - other.start) * (one.end - other.end) < 0


def _pair_kind(gold: Mention, predicted: Mention) -> str:
    if gold.label != predicted.label:
        return "wrong type" if words_of(gold) == words_of(predicted) else "wrong type and boundary"
    match gold.start == predicted.start, gold.end == predicted.end:
        case True, True:
            return "wrong fragments"
        case False, True:
            return "wrong left boundary"
        case True, False:
            return "wrong right boundary"
    return "wrong boundaries"


def _unpaired_kind(mention: Mention, others: Set[Mention], every: Set[Mention], name: str) -> str:
    """The kind of a mention without a counterpart, by its place among the `others` and among all."""
    words = words_of(mention)
    if any(words_of(other) == words for other in others):
        return f"type {name}"
    around = [words_of(other) for other in every]
    if any(words & other == words != other for other in around):
        return f"inner {name}"
    if any(words & other == other != words for other in around):
        return f"outer {name}"
    return name
