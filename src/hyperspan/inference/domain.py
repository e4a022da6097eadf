"""Whether a text looks like what a model was trained on, so that front ends can say when it does not.

A text is foreign to a model if its words are more surprising than 99% of the model's own held-out text, or if the training text of
another bundled model explains it better than that of this bundled model does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache, cached_property

from hyperspan.cards import ModelCard
from hyperspan.errors import CardWarning, InputError
from hyperspan.model_folders import bundled_models, folder_of
from hyperspan.text.profile import WINDOW, TextProfile, WordCounts, excerpt, words_of

SHORT = 30
"""Words of a text below which it is only foreign if most of its words are unknown."""
SHORTEST = 8
"""Words of letters that every verdict needs."""
MOSTLY = 0.7
"""The share of unknown words from which on a short text is foreign."""
MARGIN = 10.0
"""The logarithm of how many times as probable 100 words are under another profile, from which on they are taken for its text."""
_SCALE = 50.0
"""How much more evidence adds 1 to the score."""
ENOUGH = 200
"""Texts after which a tally is full."""
_SHARE = 0.1
"""The share of foreign texts from which on a set of texts is worth a note."""


@dataclass(frozen=True)
class DomainFit:
    """How well a text fits a model. With a `score` of 1 or more it is `foreign`: unlike what the model was trained on."""

    score: float
    unknown: float
    """The share of its words that the training text has not."""
    usual_unknown: float
    """The same of held-out text of the model's own kind."""
    reason: str = ""
    """Of a foreign text, the rest of a sentence about it, for people."""
    better_model: str = ""
    """The name of a bundled model that fits it better, if there is one."""

    @property
    def foreign(self) -> bool:
        return self.score >= 1

    @property
    def note(self) -> str:
        """A sentence for people; empty for a text that is not foreign."""
        return f"this text {self.reason}" if self.reason else ""


class DomainCheck:
    """Compares texts with what a model was trained on, and with the texts of the other bundled models.

    >>> check = DomainCheck.of(ModelCard.read(folder_of("genia")))
    >>> fit = check("The captain walked slowly down to the harbour, where his wife was waiting for him in the rain with a letter "
    ...     "from London. She had not slept, and she said nothing until he had read it twice.")
    >>> fit.foreign, fit.better_model
    (True, 'litbank')
    """

    def __init__(self, card: ModelCard, profile: TextProfile):
        self._card, self._profile = card, profile

    @classmethod
    def of(cls, card: ModelCard) -> DomainCheck | None:
        """None for a model without a profile; an InputError for one with a wrong profile."""
        profile = TextProfile.from_table(card.profile)
        return None if profile is None else cls(card, profile)

    @classmethod
    def of_or_warn(cls, card: ModelCard) -> DomainCheck | None:
        """The same; None and a warning for a wrong profile, since a model works without it."""
        try:
            return cls.of(card)
        except InputError as error:
            warnings.warn(f"{error}; texts are not compared with it", CardWarning, stacklevel=3)
            return None

    def __call__(self, text: str) -> DomainFit | None:
        """How well a text fits; None for one of too few words to tell."""
        counts = WordCounts.of(words_of(excerpt(text)))
        if counts.letters < SHORTEST:
            return None
        own = self._profile
        score, unknown = round(self.score(counts), 3), own.unknown(counts)
        if score < 1:
            return DomainFit(score, unknown, own.usual_unknown)
        better = self._better(counts)
        reason = self._reason(better, unknown, by_words=own.deviation(counts) >= own.limit)
        return DomainFit(score, unknown, own.usual_unknown, reason, better.title if better else "")

    def score(self, counts: WordCounts) -> float:
        """1 or more if a text is foreign."""
        own = self._profile
        distance = own.deviation(counts) / own.limit
        if counts.total < SHORT:
            return distance if own.unknown(counts) >= MOSTLY else min(distance, 0.99)
        rivals = self._evidence(counts) if self._is_bundled else ()
        return max([distance, *(1 + (nats - MARGIN) / _SCALE for nats in rivals)])

    def _evidence(self, counts: WordCounts) -> list[float]:
        """The logarithm of how many times as probable each other profile makes a text, of 100 words at most."""
        own, share = self._profile.nats_of(counts), min(1.0, WINDOW / counts.total)
        return [(own - other.nats_of(counts)) * share for _, other in self._others]

    @cached_property
    def _others(self) -> list[tuple[ModelCard, TextProfile]]:
        return [(card, other) for card, other in bundled_profiles() if other != self._profile]

    @property
    def _is_bundled(self) -> bool:
        """Whether the other bundled models can show a text to be foreign: they may know more of the text of a small model than itself."""
        return len(self._others) < len(bundled_profiles())

    def _better(self, counts: WordCounts) -> ModelCard | None:
        """The bundled model that fits best, if it fits at all."""
        if counts.total < SHORT:
            return None
        pairs = zip(self._evidence(counts), self._others, strict=True)
        found = [(nats, card) for nats, (card, other) in pairs if other.deviation(counts) < other.limit]
        nats, card = max(found, key=lambda pair: pair[0], default=(0.0, None))
        return card if nats >= MARGIN else None

    def _reason(self, better: ModelCard | None, unknown: float, *, by_words: bool) -> str:
        own, usual = _named(self._card), self._profile.usual_unknown
        if better is not None and not by_words:
            return (
                f"looks more like what {_named(better)} was trained on than like what {own} was; expect more errors, or use "
                f"{better.title}"
            )
        advice = f", or use {_named(better)}" if better else ""
        return (
            f"looks unlike what {own} was trained on: {unknown:.0%} of its words are new to it, {usual:.0%} in text of its own "
            f"kind; expect more errors{advice}"
        )


class DomainTally:
    """Verdicts on several texts, of which some are foreign by chance: a note is due once a tenth of them are.

    >>> tally = DomainTally()
    >>> for score, reason in ((0.2, ""), (1.5, "looks odd"), (0.4, "")):
    ...     tally.add(DomainFit(score, 0.1, 0.1, reason))
    >>> tally.note
    '1 of 3 texts look foreign; the most foreign one looks odd'
    """

    def __init__(self) -> None:
        self.texts = self.foreign = 0
        self._worst: DomainFit | None = None

    @property
    def is_full(self) -> bool:
        """Whether enough texts were judged; judging all of a long run would cost time and tell no more."""
        return self.texts >= ENOUGH

    def add(self, fit: DomainFit | None) -> None:
        """Counts a verdict, if there is one."""
        if fit is None:
            return
        self.texts += 1
        if fit.foreign:
            self.foreign += 1
            self._worst = fit if self._worst is None or fit.score > self._worst.score else self._worst

    @property
    def note(self) -> str:
        """A sentence for people; empty as long as too few are foreign."""
        if self._worst is None or self.foreign < _SHARE * self.texts:
            return ""
        if self.texts == 1:
            return self._worst.note
        return f"{self.foreign:,} of {self.texts:,} texts look foreign; the most foreign one {self._worst.reason}"


def foreign_note(card: ModelCard, foreign: int, judged: int) -> str:
    """How many of many texts are foreign to a model, for people.

    >>> foreign_note(ModelCard("zoo", domain="animals"), 7, 10)
    '7 of 10 documents that were looked at look unlike what zoo (animals) was trained on (by chance, 1 in 100 does); expect more errors there'
    """
    return (
        f"{foreign:,} of {judged:,} documents that were looked at look unlike what {_named(card)} was trained on (by chance, 1 in 100 "
        "does); expect more errors there"
    )


@cache
def bundled_profiles() -> tuple[tuple[ModelCard, TextProfile], ...]:
    """The cards, titled with their names, and the profiles of the bundled models."""
    found: list[tuple[ModelCard, TextProfile]] = []
    for name in bundled_models():
        card = ModelCard.read(folder_of(name))
        try:
            profile = TextProfile.from_table(card.profile)
        except InputError:
            continue
        if profile is not None:
            found.append((replace(card, title=name), profile))
    return tuple(found)


def _named(card: ModelCard) -> str:
    title = card.title or "this model"
    return f"{title} ({card.domain})" if card.domain else title
