"""What a kind of models, and a kind of encoders, can do: values on their classes. The defaults are the least."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Abilities:
    """What a model, or the scorer of one, can do."""

    mentions: str = "overlapping in any way"
    """A description of the mentions that a sentence may have."""
    spans: bool = False
    """Whether it scores spans, so that `model.max_width` applies and long sentences need much memory."""
    gaps: bool = False
    """Whether it finds discontinuous mentions."""
    vectors: bool = False
    """Whether it needs an encoder whose words are vectors."""
    independent_types: bool = False
    """Whether it can learn from sentences annotated with only some of its types."""
    conditions: bool = False
    """Whether it can learn from any partial annotation, by summing over all sets that agree with it."""
    calibrates: bool = False
    """Whether each type can have its own temperature and bias."""
    distils: bool = False
    """Whether its distributions have a cross-entropy with those of a teacher of the same kind."""
    large_batches: bool = False
    """Whether scores and structure need memory linear in sentences × words × widths, so that GPU batches may be
    large."""


@dataclass(frozen=True)
class EncoderAbilities:
    """What an encoder can do."""

    vectors: bool = False
    """Whether words are vectors of `dimension` numbers."""
    contextual: bool = False
    """Whether the representation of a word depends on its neighbours, and that of a span on all its words."""
    spans: bool = False
    """Whether it also encodes spans."""
    warm_start: bool = False
    """Whether it can begin with what a trained encoder knows, by `prepare_from` and `copy_from`."""
