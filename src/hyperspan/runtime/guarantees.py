"""The promises that a model can make about recall and precision, from the table `guarantees` of its card.

Cards are untrusted input. What a promise means is in :mod:`hyperspan.structures.guarantees`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from hyperspan.errors import CONTROL_CHARACTERS, InputError, counted
from hyperspan.runtime.options import ANY_LABEL, DEFAULT_THRESHOLD
from hyperspan.structures.guarantees import (
    CONFIDENCE,
    THRESHOLDS,
    RiskCurve,
    most_precision,
    most_recall,
    precision_threshold,
    recall_threshold,
)
from hyperspan.toml import shown

Asked = float | Mapping[str, float] | None
"""A promise that is asked for: for all mentions together, or by label ("*": each label that is not named)."""
Measure = Literal["recall", "precision"]
UNITS = ("sentence", "document")
PARTS = 100_000
"""Shares are written as whole numbers of this."""
LONGEST_NAME = 200
MOST_KEPT = 64
"""So many promises are kept, since sentence after sentence asks for the same."""
MOST_LABELS = 10_000


class Promise(NamedTuple):
    """What is promised, for units of text like those of calibration, and the thresholds that keep it."""

    measure: Measure
    unit: str
    shares: Mapping[str, float]
    """By label; "*" is for all mentions together."""
    thresholds: dict[str, float]
    words: str


@dataclass(frozen=True, eq=False)
class Guarantees:
    """What a model missed and found wrongly in text that chose nothing of it, for all labels together and for each.

    >>> curve = RiskCurve.of(range(40), [0.4] * 20 + [0.9] * 20, [True] * 40)
    >>> given = Guarantees("sentence", "zoo.jsonl", {"*": curve, "animal": curve})
    >>> given.promise("recall", 0.9, ["animal"]).words
    'at least 90% of mentions are found, expected; calibrated on 40 sentences of zoo.jsonl'
    >>> Guarantees.from_table(given.to_table()).promise("recall", {"animal": 0.9}, ["animal"]).thresholds
    {'*': 0.5, 'animal': 0.3913}
    >>> given.promise("recall", 0.99, ["animal"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: no threshold keeps the promise that at least 99% of mentions are found, ...97.5%; ...
    """

    unit: str
    """What is exchangeable: sentences or documents."""
    data: str
    """The name of the calibration data."""
    curves: Mapping[str, RiskCurve]
    """By label; "*" is for all of them together."""
    _made: dict[object, Promise] = field(default_factory=dict, repr=False)

    def promise(self, measure: Measure, asked: Asked, labels: Sequence[str], every: bool = True) -> Promise:
        """The thresholds that keep a promise for these labels, which are all that the model has if `every`.

        A single number is for all labels together if there is nothing else, and otherwise for each label.
        """
        by_label: dict[str, Any] = dict(asked) if isinstance(asked, Mapping) else {ANY_LABEL: asked}
        if not by_label or not labels:
            raise InputError(f"{measure} is asked for no label; give a share, such as 0.95, and labels of the model")
        for label, share in by_label.items():
            _check(measure, label, share, labels)
        key = measure, tuple(by_label.items()), tuple(labels), every
        if key not in self._made:
            if len(self._made) >= MOST_KEPT:  # clients of a server may ask for any share
                self._made.clear()
            together = every and list(by_label) == [ANY_LABEL]
            self._made[key] = (self._together if together else self._apart)(_MEASURES[measure], by_label, labels)
        return self._made[key]

    def _together(self, measure: _Measure, by_label: Mapping[str, float], labels: Sequence[str]) -> Promise:
        covered = [label for label in labels if label in self.curves]
        what = measure.what if len(covered) == len(labels) else f"{measure.what} of {', '.join(covered)}"
        share = by_label[ANY_LABEL]
        least = self._threshold(measure, share, ANY_LABEL, what)
        data = f"{self._size(ANY_LABEL)} of {self.data}"
        words = f"{measure.says(f'{_percent(share)} of {what}')}; calibrated on {data}"
        return Promise(measure.name, self.unit, by_label, {ANY_LABEL: least}, words)

    def _apart(self, measure: _Measure, by_label: Mapping[str, float], labels: Sequence[str]) -> Promise:
        asked = {label: by_label.get(label, by_label.get(ANY_LABEL)) for label in labels}
        given = {label: share for label, share in asked.items() if share is not None}
        thresholds = {ANY_LABEL: DEFAULT_THRESHOLD}
        thresholds |= {label: self._threshold(measure, share, label, label) for label, share in given.items()}
        parts = [f"{_percent(share)} of {label} ({self._size(label)})" for label, share in given.items()]
        words = f"{measure.says(', '.join(parts))}; calibrated on {self.data}"
        return Promise(measure.name, self.unit, given, thresholds, words)

    def _threshold(self, measure: _Measure, share: float, label: str, what: str) -> float:
        curve = self.curves.get(label)
        if curve is None:
            raise InputError(
                f"nothing can be promised of {what}, since {self.data} has no such mention; leave it out, or run hyperspan "
                "model calibrate with data that have some"
            )
        threshold = measure.threshold(curve, share)
        if threshold is None:
            best = measure.most(curve) or 0.0
            most = f"at most {math.floor(1000 * best) / 10:g}%" if best > 0 else "nothing"
            raise InputError(
                f"no threshold keeps the promise that {measure.says(f'{_percent(share)} of {what}')}: {self._size(label)} of "
                f"{self.data} can promise {most}; ask for less, or calibrate with more text"
            )
        return threshold

    def _size(self, label: str) -> str:
        return counted(self.curves[label].units, self.unit)

    # -- a table of card.toml --------------------------------------------------------------------------------------

    def to_table(self) -> dict[str, Any]:
        """The table that :meth:`from_table` reads. Shares are rounded up, against the model."""
        return {
            "unit": self.unit,
            "data": self.data,
            "curves": {label: _written(curve) for label, curve in self.curves.items()},
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Guarantees:
        """Read the guarantees of an untrusted model card; raise an InputError if there are none or they are invalid."""
        if not table:
            raise InputError(
                "this model has no data to make promises about recall and precision; run hyperspan model calibrate with "
                "annotated text that it was not trained on"
            )
        try:
            unit, data, curves = table["unit"], table["data"], table["curves"]
            if unit not in UNITS or not isinstance(data, str) or not 0 < len(data) <= LONGEST_NAME:
                raise ValueError
            if CONTROL_CHARACTERS.search(data) or not 0 < len(curves) <= MOST_LABELS:
                raise ValueError
            return cls(unit, data, {str(label): _read(curve) for label, curve in curves.items()})
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise InputError(
                f"the guarantees of the model card are {shown(dict(table))}, which hyperspan did not write; make them again "
                "with hyperspan model calibrate"
            ) from None


class _Measure(NamedTuple):
    """A promise of recall or precision: of what, its words, and by which thresholds it is kept."""

    name: Measure
    what: str
    verb: str
    threshold: Callable[[RiskCurve, float], float | None]
    most: Callable[[RiskCurve], float | None]

    def says(self, shares: str) -> str:
        return f"at least {shares} are {self.verb}"


_MEASURES: dict[Measure, _Measure] = {
    "recall": _Measure("recall", "mentions", "found, expected", recall_threshold, most_recall),
    "precision": _Measure(
        *(
            "precision",
            "mentions found",
            f"right, with {CONFIDENCE:.0%} confidence",
            precision_threshold,
            most_precision,
        )
    ),
}


def _check(measure: str, label: str, share: object, labels: Sequence[str]) -> None:
    if label != ANY_LABEL and label not in labels:
        raise InputError(
            f"{measure} is asked for {label!r:.80}, but the labels are {', '.join(labels)}; name one of them"
        )
    if not isinstance(share, float | int) or isinstance(share, bool) or not 0 < share < 1:
        raise InputError(f"{measure} is {share!r:.80}; it must be a share above 0 and below 1, such as 0.95")


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _written(curve: RiskCurve) -> dict[str, Any]:
    shares = {name: np.ceil(getattr(curve, name) * PARTS - 1e-6).astype(int) for name in ("missed", "wrong")}
    texts = {name: " ".join(map(str, row.tolist())) for name, row in {**shares, "found": curve.found}.items()}
    return {"units": curve.units, **texts}


def _read(given: Mapping[str, Any]) -> RiskCurve:
    """A curve of an untrusted table; ValueError, TypeError or KeyError if it is invalid."""
    missed, wrong, found = (_numbers(given[name]) for name in ("missed", "wrong", "found"))
    units = given["units"]
    if type(units) is not int or not 0 <= units < 2**31 or len(given) != 4:
        raise ValueError
    if (np.diff(missed) < 0).any() or (np.diff(found) > 0).any() or max(missed[-1], wrong.max()) > PARTS:
        raise ValueError
    return RiskCurve(units, missed / PARTS, found, wrong / PARTS)


def _numbers(text: str) -> np.ndarray:
    """(T,): the whole numbers of a text."""
    words = text.split(" ", len(THRESHOLDS))
    if len(words) != len(THRESHOLDS) or not all(
        word.isdecimal() and word.isascii() and len(word) < 10 for word in words
    ):
        raise ValueError
    return np.array(words, dtype=np.int64)
