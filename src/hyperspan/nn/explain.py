"""The handcrafted features of a model with the largest weights, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hyperspan.errors import InputError, LabelError
from hyperspan.nn.model import Model


@dataclass(frozen=True)
class FeatureWeight:
    """A feature and its weight in one role for one label."""

    label: str
    role: str
    feature: str
    weight: float


def feature_weights(model: Model, labels: list[str] | None = None, top: int = 10) -> Iterator[FeatureWeight]:
    """For each label and role, the `top` features with the highest and the `top` with the lowest weights, in descending
    order."""
    columns = model.weight_columns()
    if not columns:
        raise InputError(
            f"the model is neural (encoder.kind = {model.config.encoder.kind!r}), and its numbers have no names; "
            "weights are those of one that was trained with encoder.kind = 'handcrafted'"
        )
    for label in labels or ():
        if label not in model.labels:
            raise LabelError(f"the label {label!r} is not among those of the model; it knows {', '.join(model.labels)}")
    for weights, outputs, of_spans in columns:
        names = model.vocabulary.span_features if of_spans else model.vocabulary.features
        by_role = outputs.by_role(weights.detach()[1:])
        for place, role in enumerate(outputs.roles):
            for kind, label in enumerate(model.labels):
                if labels is None or label in labels:
                    own = by_role[:, place, kind]
                    order = own.argsort(descending=True).tolist()
                    for index in [*order[:top], *order[max(len(order) - top, top) :]]:
                        if own[index]:
                            yield FeatureWeight(label, role, names[index], float(own[index]))
