"""The least probability of a mention: one for all labels, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hyperspan.errors import InputError

Threshold = float | Mapping[str | None, float] | Mapping[str, float] | None
"""None for the most probable set; or the least probability, for all labels or by label (None or "*": the others)."""
OTHERS = "*"
"""The name of all labels that are not named."""
USUAL = 0.5
"""For labels that are not named, where no threshold is given for the others: the fewest errors are expected."""


def parse_thresholds(written: Iterable[str]) -> dict[str, float] | None:
    """P and LABEL=P, as command lines and addresses have them, by label; None where there are none.

    >>> parse_thresholds(["0.5", "protein=0.3"])
    {'*': 0.5, 'protein': 0.3}
    """
    thresholds: dict[str, float] = {}
    for one in written:
        label, _, number = one.rpartition("=")
        try:
            thresholds[label or OTHERS] = float(number)
        except ValueError:
            raise InputError(
                f"the threshold {one[:60]!r} is no probability; write for example 0.5, or protein=0.3 for one label"
            ) from None
    return thresholds or None


def thresholds_by_label(threshold: Threshold) -> dict[str, float]:
    """A threshold by label, or an error that says why it is none.

    >>> thresholds_by_label(0.3), thresholds_by_label({"DNA": 0.2, None: 0.4})
    ({'*': 0.3}, {'DNA': 0.2, '*': 0.4})
    """
    by_label = threshold if isinstance(threshold, Mapping) else {} if threshold is None else {OTHERS: threshold}
    result = {label or OTHERS: value for label, value in by_label.items()}
    for value in result.values():
        check_probability("the threshold", value)
    return result


def least_probabilities(thresholds: Mapping[str, float], labels: Sequence[str]) -> tuple[float, ...]:
    """The threshold of each of these labels."""
    return tuple(thresholds.get(label, thresholds.get(OTHERS, USUAL)) for label in labels)


def check_probability(what: str, value: object) -> None:
    if not isinstance(value, (int, float)) or not 0.0 < value <= 1.0:
        raise InputError(f"{what} is {value!r}; it must be a probability above 0 and at most 1")
