"""Detect texts that are unlike the training text of a model.

A text is foreign to a model if it is in another language than the model's card names, if its words are more surprising
than 99% of the model's held-out text, or if the profile of another bundled model explains it much better than the
profile of this bundled model. The score, which ranks texts, also counts a slightly better explanation.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from hyperspan.errors import CardWarning, InputError
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import DEFAULT_MODEL, bundled_models, folder_of
from hyperspan.text.language import other_language
from hyperspan.text.profile import WINDOW, TextProfile, WordCounts, excerpt, words_of

SHORT = 30
"""A text with fewer words and signs is foreign only if nearly all words are unknown or it is in another language."""
SHORTEST = 8
"""The alphabetic words that every verdict on words needs."""
NEARLY_ALL = 0.8
"""A short text is foreign from this share of unknown words, counted in lower-case words: names are often unknown."""
_LEAST_LOWER = 5
"""The lower-case words that this verdict needs."""
MARGIN = 10.0
"""The log-likelihood ratio of 100 words under another profile from which the score is 1."""
CHANCE = 30.0
"""Added to the margin of a specialised model, to allow for chance in 100 words: ordinary first-person English is often
a little more like novels than like English of many genres."""
_SCALE = 50.0
"""The additional evidence that adds 1 to the score."""
ENOUGH = 200
"""A tally is full after this many texts."""
OWN_SHARE = 0.07
"""An upper bound on the share of a model's own texts that count as foreign; measured: at most 5.2%, of english."""
_OTHER_LANGUAGE = 0.02
"""An upper bound on the share of texts that are taken for another language; measured: at most 1.4%, of tweets."""
_UNLIKELY = 0.02
"""A note on several texts needs a smaller probability than this under chance."""
_MORE = 1.5
"""Unknown words are named as the reason from this multiple of their usual share."""


@dataclass(frozen=True)
class DomainFit:
    """How well a text fits a model; `foreign` if it is unlike the training text."""

    score: float
    """Higher is less usual; from 1, less usual than 99% of the model's own text, or slightly more like another
    model's."""
    unknown: float
    """The share of its words that do not occur in the training text."""
    usual_unknown: float
    """The same share in held-out text of the model's domain."""
    reason: str = ""
    """For a foreign text: the reason, as the end of a sentence."""
    better_model: str = ""
    """The bundled model that fits a foreign text clearly better, or ""."""
    language: str = ""
    """The language of a text that is in another one than the model's card names, or ""."""

    @property
    def foreign(self) -> bool:
        """Whether the text is unlike the training text."""
        return bool(self.reason)

    @property
    def note(self) -> str:
        """A message for users; empty for a text that is not foreign."""
        return f"this text {self.reason}; {_advice(self.better_model)}" if self.foreign else ""


class DomainCheck:
    """Compares texts with the profile of a model and those of the other bundled models.

    >>> check = DomainCheck.of(ModelCard.read(folder_of("genia")))
    >>> fit = check(
    ...     "The company said on Tuesday that it will open three new offices in Seattle next year. Its managers "
    ...     "expect more than 400 jobs, and the mayor of the city welcomed the decision."
    ... )
    >>> fit.foreign, fit.better_model
    (True, 'english')
    """

    def __init__(self, card: ModelCard, profile: TextProfile):
        self._card, self._profile = card, profile

    @classmethod
    def of(cls, card: ModelCard) -> DomainCheck | None:
        """Make the check of a model; None without a profile, an InputError for an invalid one."""
        profile = TextProfile.from_table(card.profile)
        return None if profile is None else cls(card, profile)

    @classmethod
    def of_or_warn(cls, card: ModelCard) -> DomainCheck | None:
        """The same, but None and a warning for an invalid profile, as a model works without it."""
        try:
            return cls.of(card)
        except InputError as error:
            warnings.warn(f"{error}; texts are not compared with it", CardWarning, stacklevel=3)
            return None

    def __call__(self, text: str) -> DomainFit | None:
        """Return how well a text fits; None if it has too few words."""
        read = excerpt(text)
        counts = WordCounts.of(words_of(read))
        language = other_language(read, self._card.language)
        if counts.letters < SHORTEST and not language:
            return None
        fit = DomainFit(round(self.score(counts), 3), self._profile.unknown(counts), self._profile.usual_unknown)
        if language:
            reason = f"looks like {language}, but {self._named} was trained on {self._card.language}"
            return replace(fit, score=max(fit.score, 1.0), reason=reason, language=language)
        if not (self._is_extreme(read, counts) if counts.total < SHORT else self.is_foreign(counts)):
            return fit
        better = self._better(counts) if counts.total >= SHORT else None
        return replace(fit, reason=self._reason(counts), better_model=better.title if better else "")

    def score(self, counts: WordCounts) -> float:
        """Return how unusual a text is, to rank texts."""
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
        """The log-likelihood ratio of a text under each other profile, scaled to 100 words at most."""
        own, share = self._profile.nats_of(counts), min(1.0, WINDOW / counts.total)
        return [(own - other._profile.nats_of(counts)) * share for other in self._others]

    @cached_property
    def _others(self) -> list[DomainCheck]:
        return [DomainCheck(card, other) for card, other in bundled_profiles() if other != self._profile]

    @property
    def _is_bundled(self) -> bool:
        """Whether other bundled models count as evidence: they may fit the text of a small model better than itself."""
        return len(self._others) < len(bundled_profiles())

    def _margin(self, counts: WordCounts) -> float:
        """The evidence for this model that makes a text foreign to another; chance matters less in longer texts."""
        is_general = self._card.title == DEFAULT_MODEL
        return MARGIN + (0 if is_general else CHANCE * math.sqrt(WINDOW / max(WINDOW, counts.total)))

    def _rival(self, counts: WordCounts) -> DomainCheck | None:
        """The bundled model whose profile explains a text much better than that of this bundled model."""
        if not (self._is_bundled and self._others):
            return None
        found = zip(self._evidence(counts), self._others, strict=True)
        nats, rival = max(found, key=lambda pair: pair[0] - pair[1]._margin(counts))
        return rival if nats >= rival._margin(counts) else None

    def _better(self, counts: WordCounts) -> ModelCard | None:
        """The bundled model to use for a foreign text: one that fits it, the general model before others."""
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
        perhaps = ", as in another language" if unknown >= NEARLY_ALL else ""
        return (
            f"looks unlike what {self._named} was trained on: {unknown:.0%} of its words are new to it, {usual:.0%} in text of its own "
            f"kind{perhaps}"
        )


class DomainTally:
    """Counts the verdicts on several texts; has a note once more texts are foreign than chance explains.

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
        """The models that fit the foreign texts better; "" if none does."""
        self.languages = Counter[str]()
        """How many of the foreign texts are in each language that the model was not trained on."""

    @property
    def is_full(self) -> bool:
        """Whether enough texts were judged; more would cost time without more information."""
        return self.texts >= ENOUGH

    def add(self, fit: DomainFit | None, name: str = "") -> None:
        """Count a verdict, if there is one; a text without a name is named by its number."""
        self._given += 1
        if fit is None:
            return
        self.texts += 1
        if fit.foreign:
            self.foreign += 1
            self._better.add(fit.better_model)
            self.languages.update([fit.language] if fit.language else [])
            if self.foreign == 1 or fit.score > self._worst.score:
                self._worst, self._name = fit, name or f"text {self._given:,}"

    @property
    def note(self) -> str:
        """A message for users; empty while too few texts are foreign. It names a better model if all texts share it."""
        if not more_than_chance(self.foreign, self.texts, self.languages.total()):
            return ""
        if self._given == 1:
            return self._worst.note
        advice = _advice(self._worst.better_model if len(self._better) == 1 else "")
        which = f"s foreign: {self._name}" if self.foreign == 1 else f" foreign; the most foreign one, {self._name},"
        return f"{self.foreign:,} of {self.texts:,} texts look{which} {self._worst.reason}; {advice}"


def _advice(better_model: str) -> str:
    named = next((_named(card) for card, _ in bundled_profiles() if card.title == better_model), better_model)
    return f"expect more errors, or try {named}" if better_model else "expect more errors"


def more_than_chance(foreign: int, texts: int, elsewhere: int = 0) -> bool:
    """Whether more texts are foreign, or are so by being in another language, than chance explains; a single text
    counts by itself.

    >>> [more_than_chance(*counts) for counts in ((1, 1), (1, 2), (2, 3), (3, 10), (4, 10), (1, 40, 1), (1, 60, 1))]
    [True, False, True, False, True, True, False]
    """
    if texts <= 1 or elsewhere > _OTHER_LANGUAGE * texts:
        return foreign > 0
    if foreign < 2 or foreign <= OWN_SHARE * texts:
        return False
    every, own, other = math.lgamma(texts + 1), math.log(OWN_SHARE), math.log1p(-OWN_SHARE)
    fewer = math.fsum(
        math.exp(every - math.lgamma(k + 1) - math.lgamma(texts - k + 1) + k * own + (texts - k) * other)
        for k in range(foreign)
    )
    return 1 - fewer < _UNLIKELY


def foreign_note(card: ModelCard, foreign: int, judged: int, languages: Mapping[str, int] | None = None) -> str:
    """A message on how many texts are foreign to a model, and in which language most of them are; empty if chance
    explains their number.

    >>> foreign_note(ModelCard("zoo", domain="animals"), 7, 10, {"German": 5})  # doctest: +ELLIPSIS
    '7 of 10 documents that were looked at look unlike what zoo (animals) was trained on (...): 5 look like German; ...'
    """
    if not more_than_chance(foreign, judged, sum((languages or {}).values())):
        return ""
    which = ""
    if languages:
        most = max(languages, key=languages.__getitem__)
        which = f": {languages[most]:,} look like {most}"
    return (
        f"{foreign:,} of {judged:,} documents that were looked at look unlike what {_named(card)} was trained on (by chance, about "
        f"1 in 20 does){which}; expect more errors there"
    )


@cache
def bundled_profiles() -> tuple[tuple[ModelCard, TextProfile], ...]:
    """The cards, titled with the models' names, and the profiles of the bundled models."""
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
