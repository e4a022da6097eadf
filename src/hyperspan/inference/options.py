"""What is asked of an annotator, checked against the labels of its model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hyperspan.errors import InputError, LabelError
from hyperspan.inference.thresholds import (
    OTHERS,
    Threshold,
    check_probability,
    least_probabilities,
    thresholds_by_label,
)

MAX_ALTERNATIVES = 10_000
"""The largest `top_k`."""


@dataclass(frozen=True)
class DecodingOptions:
    """What to decode; types are indices into the labels of the model."""

    types: tuple[int, ...]
    """The only types to look for."""
    thresholds: tuple[float, ...] | None = None
    """For each of these types the least probability; None for the most probable set."""
    top_k: int = 0
    """Also so many of the most probable sets."""
    candidates: float | None = None
    """Also every mention that is at least this probable."""


def decoding_options(
    labels: Sequence[str],
    threshold: Threshold = None,
    types: Iterable[str] | None = None,
    top_k: int = 0,
    candidates: float | None = None,
) -> DecodingOptions:
    """The options for a model with these labels, or an error that says what it cannot do.

    >>> decoding_options(["DNA", "RNA", "protein"], threshold={"DNA": 0.3}, types=["protein", "DNA"])
    DecodingOptions(types=(0, 2), thresholds=(0.3, 0.5), top_k=0, candidates=None)
    """
    asked = [types] if isinstance(types, str) else list(types) if types is not None else list(labels)
    thresholds = thresholds_by_label(threshold)
    for label in (*asked, *thresholds.keys() - {OTHERS}):
        if label not in labels:
            raise LabelError(f"the label {label!r} is not among those of the model; it knows {', '.join(labels)}")
    if candidates is not None:
        check_probability("the least probability of candidates", candidates)
    if not 0 <= top_k <= MAX_ALTERNATIVES:
        raise InputError(f"the number of alternatives is {top_k}; it must be from 0 to {MAX_ALTERNATIVES:,}")
    chosen = tuple(index for index, label in enumerate(labels) if label in asked)
    least = None if threshold is None else least_probabilities(thresholds, [labels[index] for index in chosen])
    return DecodingOptions(chosen, least, top_k, candidates)
