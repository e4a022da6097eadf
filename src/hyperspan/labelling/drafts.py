"""What a model drafts for a sentence, given what was decided about it already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set

from attrs import frozen

from hyperspan.errors import HyperspanError
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.assembly import SentencePrediction
from hyperspan.inference.constraints import Constraints
from hyperspan.labelling.queue import QueueItem
from hyperspan.types import Mention

CANDIDATES = 0.05
"""The least probability of a mention that is offered beside the draft."""


@frozen
class Draft:
    """What is likely, in the tokens of a sentence, each with its probability where the model has one."""

    mentions: tuple[Mention, ...]
    candidates: tuple[Mention, ...]


NO_DRAFT = Draft((), ())


@frozen
class Drafter:
    """Drafts with a model, or offers the mentions that came with the texts and lets the model judge them."""

    name: str
    annotator: Annotator
    offers_given: bool = False

    def draft(self, item: QueueItem, labels: Collection[str], required: Set[Mention], forbidden: Set[Mention]) -> Draft:
        """The best set of mentions given those that are there and those that are not, without either."""
        found = self._predicted(item, labels, required, forbidden)
        decided = required | forbidden
        probable = {mention: mention for mention in (*found.candidates, *found.mentions)}
        if self.offers_given:
            offered = [probable.get(mention, mention) for mention in item.given if mention.label in labels]
        else:
            offered = found.mentions
        drafted = {mention for mention in offered if mention not in decided}
        others = (mention for mention in probable.values() if mention not in decided and mention not in drafted)
        return Draft(_in_order(drafted), _in_order(others))

    def _predicted(
        self, item: QueueItem, labels: Collection[str], required: Set[Mention], forbidden: Set[Mention]
    ) -> SentencePrediction:
        """What the model finds; where it cannot have all that is required, what it finds with less, or nothing."""
        known = [label for label in self.annotator.labels if label in labels]
        if not known or not self.annotator.can_take(item.words):
            return SentencePrediction()
        options = self.annotator.options(types=known, candidates=CANDIDATES)
        forbid = frozenset(mention for mention in forbidden if self._represents(mention))
        require = frozenset(mention for mention in required if self._represents(mention))
        for constraints in (Constraints(require, forbid), Constraints((), forbid), Constraints()):
            try:
                return self.annotator.find([item.words], options, {0: constraints} if constraints else {})[0]
            except HyperspanError:  # impossible together, or the model cannot be conditioned
                continue
        return SentencePrediction()

    def _represents(self, mention: Mention) -> bool:
        """Whether the model can have such a mention at all; what it cannot have tells it nothing."""
        width = self.annotator.model.max_width
        return mention.label in self.annotator.labels and (width is None or mention.end - mention.start <= width)


def _in_order(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    return tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.label)))
