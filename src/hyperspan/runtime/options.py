"""The options of decoding, checked against the labels of a model: types, thresholds, alternatives, candidates.

Also the labels that are found, and those under which names are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import NoneType
from typing import Any

from hyperspan.errors import InputError, LabelError, check_kind

Threshold = float | Mapping[str | None, float] | Mapping[str, float] | None
"""None for the most probable set; or a minimal probability, for all labels or by label (None or "*": all others)."""
ANY_LABEL = "*"
"""Stands for all other labels."""
DEFAULT_THRESHOLD = 0.5
"""The threshold of labels without one; it minimises the expected number of errors."""
PROBABLE = 0.1
"""Words may be skipped (`segmental.skip_margin`) if only mentions of at least this probability are requested."""
MAX_ALTERNATIVES = 10_000
"""The largest `top_k`."""


@dataclass(frozen=True)
class DecodingOptions:
    """The options of decoding; types are indices into the labels of the model."""

    types: tuple[int, ...]
    """The types to find."""
    thresholds: tuple[float, ...] | None = None
    """The minimal probability of each of these types; None for the most probable set."""
    top_k: int = 0
    """How many of the most probable sets to return as well."""
    candidates: float | None = None
    """Also return every mention with at least this probability."""
    pronouns: bool = True
    """Whether to return mentions that are one English pronoun."""
    reported_as: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The labels under which labels of the model are reported, for names; labels that are not listed keep theirs."""
    promise: str = field(default="", repr=False)
    """What the thresholds promise, in words."""

    @property
    def probable_alone(self) -> bool:
        """Whether only best sets or probable mentions are requested.

        >>> DecodingOptions((0,)).probable_alone, DecodingOptions((0,), candidates=0.01).probable_alone
        (True, False)
        """
        least = (*(self.thresholds or ()), *(() if self.candidates is None else (self.candidates,)))
        return not self.top_k and min(least, default=1.0) >= PROBABLE


def decoding_options(
    labels: Sequence[str],
    threshold: Threshold = None,
    types: Iterable[str] | None = None,
    top_k: int = 0,
    candidates: float | None = None,
    pronouns: bool = True,
    reported_as: Mapping[str, str] | None = None,
) -> DecodingOptions:
    """Make the options for a model with these labels; raise an error for invalid ones.

    With `reported_as`, only its labels are found, and they are called by what they are reported as.

    >>> decoding_options(["DNA", "RNA", "protein"], threshold={"DNA": 0.3}, types=["protein", "DNA"])
    DecodingOptions(types=(0, 2), thresholds=(0.3, 0.5), top_k=0, candidates=None, pronouns=True, reported_as={})
    >>> decoding_options(["person", "person-name"], types=["person"], reported_as={"person-name": "person"}).types
    (1,)
    """
    renamed = reported_as or {}
    indices = {
        renamed.get(label, label): index for index, label in enumerate(labels) if not renamed or label in renamed
    }
    labels = list(indices)
    check_kind("types", types, Iterable, NoneType)
    asked = [types] if isinstance(types, str) else list(types) if types is not None else list(labels)
    thresholds = thresholds_by_label(threshold)
    for label in (*asked, *(thresholds or {}).keys() - {ANY_LABEL}):
        if label not in labels:
            raise LabelError(f"the label {label!r} is not among those of the model; it knows {', '.join(labels)}")
    if candidates is not None:
        _check_probability("the least probability of candidates", candidates)
    check_kind("top_k", top_k, Integral)
    if not 0 <= top_k <= MAX_ALTERNATIVES:
        raise InputError(f"the number of alternatives is {top_k}; it must be from 0 to {MAX_ALTERNATIVES:,}")
    check_kind("pronouns", pronouns, bool)
    chosen = [label for label in labels if label in asked]
    least = None
    if thresholds is not None:
        least = tuple(thresholds.get(label, thresholds[ANY_LABEL]) for label in chosen)
    types_found = tuple(indices[label] for label in chosen)
    return DecodingOptions(types_found, least, top_k, candidates, pronouns, renamed)


def parse_thresholds(written: Iterable[str], name: str = "threshold") -> dict[str, float] | None:
    """Parse thresholds P and LABEL=P of command lines and URLs into a dict by label; None if there are none.

    `name` says in messages what they are; promises of recall and precision are written alike.

    >>> parse_thresholds(["0.5", "protein=0.3"])
    {'*': 0.5, 'protein': 0.3}
    """
    thresholds: dict[str, float] = {}
    for one in written:
        label, _, number = one.rpartition("=")
        label = label or ANY_LABEL
        if label in thresholds:
            whose = "the labels that are not named" if label == ANY_LABEL else f"the label {label[:60]!r}"
            raise InputError(f"there are two {name}s for {whose}; give one")
        try:
            thresholds[label] = float(number)
        except ValueError:
            raise InputError(
                f"the {name} {one[:60]!r} is not a probability; write for example 0.5, or protein=0.3 for one label"
            ) from None
    return thresholds or None


def thresholds_by_label(threshold: Threshold) -> dict[str, float] | None:
    """Return the thresholds by label, always with "*"; None for None.

    >>> thresholds_by_label(0.5) == thresholds_by_label({None: 0.5}) == {"*": 0.5}
    True
    >>> thresholds_by_label({"protein": 0.3})
    {'*': 0.5, 'protein': 0.3}
    """
    if threshold is None:
        return None
    by_label = threshold if isinstance(threshold, Mapping) else {ANY_LABEL: threshold}
    result = {ANY_LABEL: DEFAULT_THRESHOLD} | {label or ANY_LABEL: value for label, value in by_label.items()}
    for value in result.values():
        _check_probability("the threshold", value)
    return result


def _check_probability(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) <= 1.0:
        raise InputError(f"{what} is {value!r:.60}; it must be a probability above 0 and at most 1")


def shown_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The labels that are found by default: all but those that mark names.

    >>> shown_labels(["person", "person-name", "place"], {"person-name": "person"})
    ('person', 'place')
    """
    return tuple(label for label in labels if label not in names)


def name_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The labels under which names are reported.

    >>> name_labels(["person", "person-name", "place"], {"person-name": "person"})
    ('person',)
    """
    return tuple(names[label] for label in labels if label in names)
