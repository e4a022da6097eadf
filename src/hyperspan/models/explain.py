"""What a model with handcrafted attributes goes by: those with the largest weights, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hyperspan.encoders.handcrafted import AttributeEncoder
from hyperspan.errors import InputError, LabelError
from hyperspan.models.base import Model
from hyperspan.models.recognizer import Recognizer
from hyperspan.structures.mention_separators import LABELS

Columns = tuple[Tensor, bool, list[str]]
"""Weights (attributes + 1, roles * m), whether they are of spans and not of words, and what each m columns stand for."""


@dataclass(frozen=True)
class Telling:
    """An attribute and its weight in one role for one label."""

    label: str
    role: str
    attribute: str
    weight: float


def _segmental(scorer: Any) -> list[Columns]:
    steps = ["ends"] + ["goes on"] * scorer.interactions + ["ends and goes on"] * (not scorer.tied)
    return [
        (scorer.start.weight, False, ["starts after it", "starts"]),
        (scorer.parts.words.weight, False, [*steps, *(f"{step} before it" for step in steps)]),
        (scorer.parts.span.weight, True, steps),
    ]


def _linear_chain(scorer: Any) -> list[Columns]:
    by_type = scorer.emit.weight[:, 1:].unflatten(1, (-1, 4)).transpose(1, 2).flatten(1)
    return [(by_type, False, ["begins", "is inside", "ends", "is alone"])]


def _cascaded(scorer: Any) -> list[Columns]:
    by_role = scorer.emit.weight.unflatten(1, (-1, 5)).transpose(1, 2).flatten(1)
    return [(by_role, False, ["is outside", "begins", "is inside", "ends", "is alone"])]


def _segments(scorer: Any) -> list[Columns]:
    return [
        (scorer.segment.words.weight, False, ["begins after it", "begins", "is inside", "ends", "ends before it"]),
        (scorer.segment.span.weight, True, ["is a mention"]),
    ]


def _mention_hypergraph(scorer: Any) -> list[Columns]:
    roles = ["starts", "goes on", "ends", "ends and goes on"]
    return [(scorer.edges.weight, False, roles[: scorer.edges.weight.shape[1] // scorer.types])]


def _mention_separators(scorer: Any) -> list[Columns]:
    return [(scorer.gaps.weight, False, [f"{label} {side}" for side in ("after", "before") for label in LABELS[1:]])]


ROLES: dict[str, Callable[[Any], list[Columns]]] = {
    "segmental": _segmental,
    "linear-chain": _linear_chain,
    "cascaded": _cascaded,
    "semi-markov": _segments,
    "tree": _segments,
    "mention-hypergraph": _mention_hypergraph,
    "mention-separators": _mention_separators,
}


def telling(model: Model, labels: list[str] | None = None, top: int = 10) -> Iterator[Telling]:
    """For each label and role so many attributes that speak for it, and so many that speak against it, by falling weight."""
    if not isinstance(model, Recognizer) or not isinstance(model.words, AttributeEncoder):
        raise InputError(
            f"the model is neural (encoder.kind = {model.config.encoder.kind!r}), and its numbers have no names; "
            "explain takes one that was trained with encoder.kind = 'handcrafted'"
        )
    for label in labels or ():
        if label not in model.labels:
            raise LabelError(f"the label {label!r} is not among those of the model; it knows {', '.join(model.labels)}")
    m = len(model.labels)
    for weights, of_spans, roles in ROLES[model.config.model.kind](model.scorer):
        names = model.vocabulary.span_attributes if of_spans else model.vocabulary.attributes
        by_role = weights.detach()[1:].unflatten(1, (len(roles), m))  # row 0 is of attributes that are not known
        for place, role in enumerate(roles):
            for kind, label in enumerate(model.labels):
                if labels is None or label in labels:
                    own = by_role[:, place, kind]
                    order = own.argsort(descending=True).tolist()
                    for index in [*order[:top], *order[max(len(order) - top, top) :]]:
                        if own[index]:
                            yield Telling(label, role, names[index], float(own[index]))
