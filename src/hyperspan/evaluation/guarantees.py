"""Measure on annotated text what a model can promise, and how well it keeps a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import Aligned
from hyperspan.evaluation.intervals import proportion_interval
from hyperspan.evaluation.models import SentenceRecognizer, candidates_of
from hyperspan.evaluation.tables import NO_VALUE, Section
from hyperspan.runtime.guarantees import Guarantees, Promise
from hyperspan.runtime.options import ANY_LABEL
from hyperspan.structures.guarantees import (
    LEAST,
    RiskCurve,
    most_precision,
    most_recall,
    precision_threshold,
    recall_threshold,
)
from hyperspan.types import Document

ENOUGH_DOCUMENTS = 100
"""From this number of documents with mentions on, the units are documents; with fewer, they are sentences."""
LEVEL = 0.95
"""The level of the intervals of what was achieved."""


class JudgedMention(NamedTuple):
    """A mention that is gold or was found, and where it is."""

    document: int
    sentence: int
    label: str
    probability: float
    """0 if it was not found."""
    is_gold: bool


def judged_mentions(aligned: Aligned) -> Iterator[JudgedMention]:
    """The mentions of gold and of a system that gold can judge; without a probability, a found one is certain."""
    for number, (gold, found, place) in enumerate(zip(aligned.gold, aligned.systems[0], aligned.places, strict=True)):
        probabilities = {one: 1.0 if one.probability is None else one.probability for one in found.mentions}
        for one in sorted(gold.mentions | probabilities.keys()):
            probability = probabilities.get(one, 0.0)
            yield JudgedMention(place.document, number, one.label, probability, one in gold.mentions)


def unit_of(mentions: Iterable[JudgedMention]) -> str:
    """What is exchangeable: documents if there are enough of several sentences, else sentences."""
    places = {(one.document, one.sentence) for one in mentions if one.is_gold}
    documents = len({document for document, _ in places})
    return "document" if ENOUGH_DOCUMENTS <= documents < len(places) else "sentence"


def curve_of(mentions: Sequence[JudgedMention], unit: str) -> RiskCurve:
    """The losses of units at all thresholds."""
    probabilities, right = [one.probability for one in mentions], [one.is_gold for one in mentions]
    return RiskCurve.of([getattr(one, unit) for one in mentions], probabilities, right)


def measure_guarantees(
    model: SentenceRecognizer,
    gold: Sequence[Document],
    data: str,
    labels: Sequence[str],
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
) -> Guarantees:
    """What a model with these labels can promise, from documents that chose nothing of it; `data` is their name.

    >>> from hyperspan import Mention, load
    >>> gold = [Document(f"IL-{k} binds.", [Mention(0, 3 + len(str(k)), "protein")]) for k in range(2, 40)]
    >>> model = load("genia")
    >>> found = measure_guarantees(model, gold, "made.jsonl", model.labels)
    >>> found.unit, sorted(found.curves), found.promise("recall", 0.9, ["protein"]).shares
    ('sentence', ['*', 'protein'], {'*': 0.9})
    """
    return guarantees_of(candidates_of(model, gold, LEAST, problems, on_words), data, labels)


def guarantees_of(aligned: Aligned, data: str, labels: Sequence[str]) -> Guarantees:
    """The same, from gold sentences aligned with all mentions of at least the probability :data:`LEAST`."""
    known = {mention.label for sentence in aligned.gold for mention in sentence.mentions} & set(labels)
    if not known:
        raise InputError(f"{data} has no mention of {', '.join(labels)}; give annotated text with labels of the model")
    mentions = [one for one in judged_mentions(aligned) if one.label in known]
    unit, by_label = unit_of(mentions), {label: [one for one in mentions if one.label == label] for label in known}
    parts = {ANY_LABEL: mentions, **{label: by_label[label] for label in labels if label in known}}
    return Guarantees(unit, data, {label: curve_of(part, unit) for label, part in parts.items()})


@dataclass(frozen=True)
class KeptPromise:
    """What was promised for a label, or for all together ("*"), and what was achieved."""

    label: str
    promised: float
    achieved: float | None
    """The mean over units; None without any."""
    interval: tuple[float, float]
    units: int
    threshold: float


def kept_promises(aligned: Aligned, promise: Promise) -> list[KeptPromise]:
    """What a system achieved of a promise, in the units of the promise.

    The interval is that of a proportion of as many units, and so rather wide: the share of a unit varies less than one
    that is 0 or 1.
    """
    mentions, found = list(judged_mentions(aligned)), list[KeptPromise]()
    for label, promised in promise.shares.items():
        shares = _shares([one for one in mentions if label in (ANY_LABEL, one.label)], promise)
        achieved = float(shares.mean()) if len(shares) else None
        interval = proportion_interval(shares, np.ones(len(shares), dtype=np.int64), LEVEL)
        found.append(KeptPromise(label, promised, achieved, interval, len(shares), promise.thresholds[label]))
    return found


def _shares(mentions: Sequence[JudgedMention], promise: Promise) -> np.ndarray:
    """(units,): the share of gold mentions that are found in each unit, or of found ones that are gold."""
    counts: dict[int, list[bool]] = {}
    for one in mentions:
        found = one.probability > 0
        if one.is_gold if promise.measure == "recall" else found:
            counts.setdefault(getattr(one, promise.unit), []).append(found and one.is_gold)
    return np.array([sum(right) / len(right) for right in counts.values()])


# -- for people --------------------------------------------------------------------------------------------------------

SHOWN = (0.8, 0.9, 0.95, 0.99)
"""The promises that are shown as examples."""


@dataclass(frozen=True)
class LabelGuarantees:
    """What can be promised of a label, or of all together ("*")."""

    label: str
    units: int
    price: float
    """1 / (n + 1): what the finite number of units takes from any promise of recall."""
    most_recall: float
    most_precision: float | None
    recall: dict[str, float | None]
    """The thresholds of some promises; None where none keeps it."""
    precision: dict[str, float | None]


def summary(given: Guarantees) -> list[LabelGuarantees]:
    """What can be promised, for all labels together and for each."""
    return [
        LabelGuarantees(
            label,
            curve.units,
            1 / (curve.units + 1),
            max(most_recall(curve), 0.0),
            most_precision(curve),
            {f"{share:g}": recall_threshold(curve, share) for share in SHOWN},
            {f"{share:g}": precision_threshold(curve, share) for share in SHOWN},
        )
        for label, curve in given.curves.items()
    ]


def guarantee_sections(given: Guarantees) -> Iterator[Section]:
    """The same as tables."""
    rows = summary(given)
    header = ("label", f"{given.unit}s", "price", *(f"{share:.0%}" for share in SHOWN), "at most")
    for title, thresholds, most in (
        ("Promises of recall, and from which probability on", "recall", "most_recall"),
        ("Promises of precision, and from which probability on", "precision", "most_precision"),
    ):
        yield Section(
            title,
            header if thresholds == "recall" else (*header[:2], *header[3:]),
            [
                (
                    "all" if row.label == ANY_LABEL else row.label,
                    f"{row.units:,}",
                    *((f"{row.price:.2%}",) if thresholds == "recall" else ()),
                    *(NO_VALUE if least is None else f"{least:g}" for least in getattr(row, thresholds).values()),
                    NO_VALUE if getattr(row, most) is None else f"{getattr(row, most):.1%}",
                )
                for row in rows
            ],
        )


def promise_section(promise: Promise, found: Sequence[KeptPromise]) -> Section:
    """What was promised and what was achieved."""
    rows = [
        (
            "all" if one.label == ANY_LABEL else one.label,
            f"{one.threshold:g}",
            f"{one.promised:.1%}",
            NO_VALUE if one.achieved is None else f"{one.achieved:.1%}",
            "–".join(f"{end:.1%}" for end in one.interval),
            f"{one.units:,}",
        )
        for one in found
    ]
    header = ("label", "from probability", "promised", "achieved", f"{LEVEL:.0%} interval", f"{promise.unit}s")
    return Section(f"Promise of {promise.measure}", header, rows, promise.words)
