"""Draft the mentions of a sentence with a model, given the decisions so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set

from attrs import evolve, frozen

from hyperspan.errors import HyperspanError
from hyperspan.labelling.texts import QueueItem
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.decoding import predict
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.options import DecodingOptions
from hyperspan.structures.mentions import too_large
from hyperspan.types import Mention, Sentence, longest_first

CANDIDATES = 0.05
"""The minimum probability of a mention offered in addition to the draft."""

PART = 100
"""The number of tokens per part of a sentence that is too long for the model; more would take seconds per decision."""


@frozen
class Drafter:
    """Draft with a model, or offer the mentions given with the texts and let the model score them."""

    name: str
    annotator: Annotator
    offers_given: bool = False

    def draft(
        self, item: QueueItem, labels: Collection[str], required: Set[Mention], forbidden: Set[Mention]
    ) -> SentencePrediction:
        """The undecided mentions of the best set, given the required and the forbidden ones; and other likely ones."""
        found = self._predicted(item, labels, required, forbidden)
        decided = required | forbidden
        probable = {mention: mention for mention in (*found.candidates, *found.mentions)}
        if self.offers_given:
            offered = [probable.get(mention, mention) for mention in item.given if mention.label in labels]
        else:
            offered = found.mentions
        drafted = {mention for mention in offered if mention not in decided}
        others = (mention for mention in probable.values() if mention not in decided and mention not in drafted)
        return SentencePrediction(sorted(drafted, key=longest_first), candidates=sorted(others, key=longest_first))

    def _predicted(
        self, item: QueueItem, labels: Collection[str], required: Set[Mention], forbidden: Set[Mention]
    ) -> SentencePrediction:
        """The model's prediction; a sentence that is too long is predicted in parts."""
        known = [label for label in self.annotator.labels if label in labels]
        found = SentencePrediction()
        if not known:
            return found
        options = self.annotator.options(types=known, candidates=CANDIDATES)
        size = item.size if self.annotator.can_take(item.words) else PART
        for first in range(0, item.size, size):
            words = item.words if size == item.size else _part(item.words, first, first + size)
            if not self.annotator.can_take(words):
                continue
            part = self._found(
                words, options, self._inside(required, words, first), self._inside(forbidden, words, first)
            )
            found.mentions.extend(_moved(part.mentions, first))
            found.candidates.extend(_moved(part.candidates, first))
        return found

    def _found(
        self, words: Sentence, options: DecodingOptions, require: frozenset[Mention], forbid: frozenset[Mention]
    ) -> SentencePrediction:
        """The model's prediction; if it cannot satisfy all constraints, with fewer."""
        for constraints in (Constraints(require, forbid), Constraints((), forbid)):
            try:
                return predict(self.annotator.model, [words], options, {0: constraints})[0]
            except HyperspanError:  # contradictory, or the model does not support conditioning
                continue
        return predict(self.annotator.model, [words], options)[0]

    def _inside(self, mentions: Set[Mention], words: Sentence, first: int) -> frozenset[Mention]:
        """The mentions that the model can represent in a part of a sentence, in the tokens of the part."""
        last = first + len(words)
        inside = [m for m in mentions if first <= m.start and m.end <= last and self._represents(m)]
        return frozenset(_moved(inside, -first))

    def _represents(self, mention: Mention) -> bool:
        """Whether the model can represent a mention; one that it cannot is no constraint."""
        annotator = self.annotator
        too_much = too_large(mention.parts, annotator.model.max_width, annotator.discontinuous)
        return mention.label in annotator.labels and not too_much


def _part(sentence: Sentence, first: int, last: int) -> Sentence:
    return Sentence(sentence.tokens[first:last], tags=sentence.tags[first:last])


def _moved(mentions: Iterable[Mention], by: int) -> list[Mention]:
    return [_moved_one(mention, by) for mention in mentions]


def _moved_one(mention: Mention, by: int) -> Mention:
    parts = [(start + by, end + by) for start, end in mention.parts]
    return evolve(mention, start=parts[0][0], end=parts[-1][1], fragments=parts)
