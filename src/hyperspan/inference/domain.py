"""Whether a text looks like what a model was trained on, so that front ends can say when it does not.

A text is foreign to a model if its words are more surprising than 99% of the model's own held-out text, or if the
training text of another bundled model explains it much better than that of this bundled model does. The score, by which
texts can be ranked, also counts a slightly better explanation.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cache, cached_property

from hyperspan.cards import ModelCard
from hyperspan.errors import CardWarning, InputError
from hyperspan.model_folders import DEFAULT_MODEL, bundled_models, folder_of
from hyperspan.text.language import has_words_of_another_language, is_mostly_latin
from hyperspan.text.profile import WINDOW, TextProfile, WordCounts, excerpt, words_of

SHORT = 30
"""Words of a text below which it is only foreign if nearly all of its words are unknown, or it is in another
language."""
SHORTEST = 8
"""Words of letters that every verdict needs, but for one on the script."""
NEARLY_ALL = 0.8
"""The share of unknown words, of those in lower case, from which on a short text is foreign: names are often
unknown."""
_LEAST_LOWER = 5
"""Words in lower case that a short text needs for that."""
MARGIN = 10.0
"""The logarithm of how many times as probable 100 words are under another profile, from which on the score is 1."""
CHANCE = 30.0
"""What is added to the margin of a specialised model for the chance of 100 words, before a text is foreign: ordinary
English of the first person is often a little more like novels than like English of many genres."""
_SCALE = 50.0
"""How much more evidence adds 1 to the score."""
ENOUGH = 200
"""Texts after which a tally is full."""
OWN_SHARE = 0.07
"""The share of a model's own texts that is taken for foreign, and a little more: at most 5.2% were, of english."""
_UNLIKELY = 0.02
"""A note on several texts is due if as many of a model's own were foreign less often than this."""
_MORE = 1.5
"""Times the usual share of unknown words, from which on it is a reason."""


@dataclass(frozen=True)
class DomainFit:
    """How well a text fits a model. It is `foreign` if it is unlike what the model was trained on."""

    score: float
    """The higher, the less usual: with 1 less than 99% of the model's own text, or slightly more like that of another
    model."""
    unknown: float
    """The share of its words that the training text has not."""
    usual_unknown: float
    """The same of held-out text of the model's own kind."""
    reason: str = ""
    """Of a foreign text, the rest of a sentence about it, for people."""
    better_model: str = ""
    """The name of a bundled model that fits a foreign text clearly better, if there is one."""

    @property
    def foreign(self) -> bool:
        return bool(self.reason)

    @property
    def note(self) -> str:
        """A sentence for people; empty for a text that is not foreign."""
        return f"this text {self.reason}; {_advice(self.better_model)}" if self.foreign else ""


class DomainCheck:
    """Compares texts with what a model was trained on, and with the texts of the other bundled models.

    >>> check = DomainCheck.of(ModelCard.read(folder_of("genia")))
    >>> fit = check("The company said on Tuesday that it will open three new offices in Seattle next year. Its managers expect more "
    ...     "than 400 jobs, and the mayor of the city welcomed the decision.")
    >>> fit.foreign, fit.better_model
    (True, 'english')
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
        read = excerpt(text)
        counts = WordCounts.of(words_of(read))
        language = self._card.language
        other_script = language == "English" and not is_mostly_latin(read)
        if counts.letters < SHORTEST and not other_script:
            return None
        fit = DomainFit(round(self.score(counts), 3), self._profile.unknown(counts), self._profile.usual_unknown)
        if other_script or (language == "English" and counts.total < SHORT and has_words_of_another_language(read)):
            reason = f"looks like another language than the {language} that {self._named} was trained on"
            return replace(fit, score=max(fit.score, 1.0), reason=reason)
        if not (self._is_extreme(read, counts) if counts.total < SHORT else self.is_foreign(counts)):
            return fit
        better = self._better(counts) if counts.total >= SHORT else None
        return replace(fit, reason=self._reason(counts), better_model=better.title if better else "")

    def score(self, counts: WordCounts) -> float:
        """How unusual a text is, to rank texts by."""
        rivals = self._evidence(counts) if self._is_bundled and counts.total >= SHORT else ()
        return max([self._distance(counts), *(1 + (nats - MARGIN) / _SCALE for nats in rivals)])

    def is_foreign(self, counts: WordCounts) -> bool:
        """Whether a text of 30 words or more is foreign."""
        return self._distance(counts) >= 1 or self._rival(counts) is not None

    def _is_extreme(self, text: str, counts: WordCounts) -> bool:
        """Whether a short text is foreign."""
        lower = WordCounts.of(words_of(" ".join(word for word in text.split() if word[0].islower())))
        unknown = self._profile.unknown(lower)
        return lower.letters >= _LEAST_LOWER and unknown >= NEARLY_ALL and self._distance(counts) >= 1

    def _distance(self, counts: WordCounts) -> float:
        return self._profile.deviation(counts) / self._profile.limit

    def _evidence(self, counts: WordCounts) -> list[float]:
        """The logarithm of how many times as probable each other profile makes a text, of 100 words at most."""
        own, share = self._profile.nats_of(counts), min(1.0, WINDOW / counts.total)
        return [(own - other._profile.nats_of(counts)) * share for other in self._others]

    @cached_property
    def _others(self) -> list[DomainCheck]:
        return [DomainCheck(card, other) for card, other in bundled_profiles() if other != self._profile]

    @property
    def _is_bundled(self) -> bool:
        """Whether the other bundled models can show a text to be foreign: they may know more of the text of a small
        model than itself."""
        return len(self._others) < len(bundled_profiles())

    def _margin(self, counts: WordCounts) -> float:
        """The evidence for this bundled model that makes a text foreign to another; chance matters less in a longer
        text."""
        is_general = self._card.title == DEFAULT_MODEL
        return MARGIN + (0 if is_general else CHANCE * math.sqrt(WINDOW / max(WINDOW, counts.total)))

    def _rival(self, counts: WordCounts) -> DomainCheck | None:
        """The bundled model whose training text explains a text much better than that of this bundled one."""
        if not (self._is_bundled and self._others):
            return None
        found = zip(self._evidence(counts), self._others, strict=True)
        nats, rival = max(found, key=lambda pair: pair[0] - pair[1]._margin(counts))
        return rival if nats >= rival._margin(counts) else None

    def _better(self, counts: WordCounts) -> ModelCard | None:
        """The bundled model to use for a foreign text: one to which it is not foreign, the general one before the
        others."""
        fitting = [
            (other._card.title == DEFAULT_MODEL, nats, other._card)
            for nats, other in zip(self._evidence(counts), self._others, strict=True)
            if nats >= (0 if other._card.title == DEFAULT_MODEL else other._margin(counts))
            and not other.is_foreign(counts)
        ]
        return max(fitting, key=lambda found: found[:2])[2] if fitting else None

    @property
    def _named(self) -> str:
        return _named(self._card)

    def _reason(self, counts: WordCounts) -> str:
        rival = self._rival(counts) if self._distance(counts) < 1 else None
        if rival is not None:
            return f"looks more like what {rival._named} was trained on than like what {self._named} was"
        unknown, usual = self._profile.unknown(counts), self._profile.usual_unknown
        if unknown < _MORE * usual:
            return f"looks unlike what {self._named} was trained on: its words are rarer there than in text of its own kind"
        return (
            f"looks unlike what {self._named} was trained on: {unknown:.0%} of its words are new to it, {usual:.0%} in text of its own "
            "kind"
        )


class DomainTally:
    """Verdicts on several texts, of which some are foreign by chance: a note is due once more of them are than chance
    explains.

    >>> tally = DomainTally()
    >>> for score, reason in ((1.2, "looks odd"), (1.5, "looks odder"), (0.4, "")):
    ...     tally.add(DomainFit(score, 0.1, 0.1, reason))
    >>> tally.note
    '2 of 3 texts look foreign; the most foreign one, text 2, looks odder; expect more errors'
    """

    def __init__(self) -> None:
        self.texts = self.foreign = 0
        self._given = 0
        self._worst, self._name = DomainFit(0.0, 0.0, 0.0), ""
        self._better: set[str] = set()
        """The models that fit the foreign texts better; "" for a text that none does."""

    @property
    def is_full(self) -> bool:
        """Whether enough texts were judged; judging all of a long run would cost time and tell no more."""
        return self.texts >= ENOUGH

    def add(self, fit: DomainFit | None, name: str = "") -> None:
        """Counts a verdict, if there is one; a text without a name is called by its number."""
        self._given += 1
        if fit is None:
            return
        self.texts += 1
        if fit.foreign:
            self.foreign += 1
            self._better.add(fit.better_model)
            if self.foreign == 1 or fit.score > self._worst.score:
                self._worst, self._name = fit, name or f"text {self._given:,}"

    @property
    def note(self) -> str:
        """A sentence for people; empty as long as too few are foreign. It names a better model if that is one for all
        of them."""
        if not more_than_chance(self.foreign, self.texts):
            return ""
        if self._given == 1:
            return self._worst.note
        advice = _advice(self._worst.better_model if len(self._better) == 1 else "")
        which = f"s foreign: {self._name}" if self.foreign == 1 else f" foreign; the most foreign one, {self._name},"
        return f"{self.foreign:,} of {self.texts:,} texts look{which} {self._worst.reason}; {advice}"


def _advice(better_model: str) -> str:
    named = next((_named(card) for card, _ in bundled_profiles() if card.title == better_model), better_model)
    return f"expect more errors, or try {named}" if better_model else "expect more errors"


def more_than_chance(foreign: int, texts: int) -> bool:
    """Whether more texts are foreign than of a model's own by chance; a single text is judged by itself.

    >>> more_than_chance(1, 1), more_than_chance(1, 2), more_than_chance(2, 3), more_than_chance(3, 10), more_than_chance(4, 10)
    (True, False, True, False, True)
    """
    if texts <= 1:
        return foreign > 0
    if foreign < 2 or foreign <= OWN_SHARE * texts:
        return False
    every, own, other = math.lgamma(texts + 1), math.log(OWN_SHARE), math.log1p(-OWN_SHARE)
    fewer = math.fsum(
        math.exp(every - math.lgamma(k + 1) - math.lgamma(texts - k + 1) + k * own + (texts - k) * other)
        for k in range(foreign)
    )
    return 1 - fewer < _UNLIKELY


def foreign_note(card: ModelCard, foreign: int, judged: int) -> str:
    """How many of many texts are foreign to a model, for people; empty if chance explains it.

    >>> foreign_note(ModelCard("zoo", domain="animals"), 7, 10)
    '7 of 10 documents that were looked at look unlike what zoo (animals) was trained on (by chance, about 1 in 20 does); expect more errors there'
    """
    if not more_than_chance(foreign, judged):
        return ""
    return (
        f"{foreign:,} of {judged:,} documents that were looked at look unlike what {_named(card)} was trained on (by chance, about "
        "1 in 20 does); expect more errors there"
    )


@cache
def bundled_profiles() -> tuple[tuple[ModelCard, TextProfile], ...]:
    """The cards, titled with their names, and the profiles of the bundled models."""
    found: list[tuple[ModelCard, TextProfile]] = []
    for name in bundled_models():
        try:
            card = ModelCard.read(folder_of(name))
            profile = TextProfile.from_table(card.profile)
        except InputError:
            continue
        if profile is not None:
            found.append((replace(card, title=name), profile))
    return tuple(found)


def _named(card: ModelCard) -> str:
    title = card.title or "this model"
    return f"{title} ({card.domain})" if card.domain else title
