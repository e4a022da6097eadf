"""Make a smaller copy of a model for sharing: fewer words, fewer labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from hyperspan.errors import InputError
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.nn.weights import fixed_names


def compact(model: Model, pretrained_words: int | None = None, labels: Collection[str] | None = None) -> Model:
    """Copy a model with only the first `pretrained_words` (None: all) of the words that come only from its pretrained
    vectors.

    Vector files begin with the most frequent words. All words of the training data stay. With `labels`, the copy finds
    only these; where labels are independent, the probabilities of their mentions stay the same. File paths in the
    configuration are shortened to file names.
    """
    old = model.vocabulary
    kept = old.words if pretrained_words is None else old.words[: old.trained + pretrained_words]
    found = model.labels if labels is None else _labels_kept(model, labels)
    vocabulary = replace(old, words=kept, labels=list(found))
    config = model.config.with_paths(_shortened)
    config = replace(
        config,
        calibration=config.calibration.restrict(found),
        model=replace(config.model, names=_names_kept(config.model.names, found)),
    )
    small = type(model)(config, vocabulary)
    tensors = model.state_dict()
    for name in fixed_names(model):
        tensors[name] = tensors[name][: len(kept) - old.trained]
    if found != model.labels:
        tensors |= _scorer_tensors(model, small)
    with torch.no_grad():
        small.load_state_dict(tensors)
    return small.to(model.device).eval()


def _labels_kept(model: Model, labels: Collection[str]) -> tuple[str, ...]:
    """The labels to keep, in the model's order."""
    if unknown := sorted(set(labels) - set(model.labels)):
        raise InputError(f"the model has no label {', '.join(unknown)}; it has {', '.join(model.labels)}")
    kept = tuple(label for label in model.labels if label in labels)
    if not kept:
        raise InputError(f"no label would be left; keep at least one of {', '.join(model.labels)}")
    config = model.config
    independent = model.abilities.independent_types and model.encoder.abilities.warm_start
    if kept != model.labels and not independent:
        raise InputError(
            f"a model of model.kind {config.model.kind} and encoder.kind {config.encoder.kind} cannot leave labels out; only neural "
            "models whose labels are independent can, such as segmental ones: ask for some types in inference instead"
        )
    return kept


def _names_kept(names: Mapping[str, str], kept: Collection[str]) -> dict[str, str]:
    """`model.names` for the kept labels; labels of names are ordinary ones where no other is left."""
    return {label: kind for label, kind in names.items() if label in kept} if set(kept) - set(names) else {}


def _scorer_tensors(model: Model, small: Model) -> dict[str, Tensor]:
    """The scorer's part of the state of `small`, which has fewer labels, by names in that state."""
    assert isinstance(model, Recognizer) and isinstance(small, Recognizer), "others have no independent labels"
    chosen = torch.tensor([[float(old == new) for old in model.labels] for new in small.labels])
    small.scorer.copy_from(model.scorer.state_dict(), chosen.to(model.device))
    return {f"scorer.{name}": tensor for name, tensor in small.scorer.state_dict().items()}


def _shortened(key: str, path: str) -> str:
    """The last part of a path; names of encoders on the hub have two parts."""
    on_hub = key == "transformer.name" and path.count("/") == 1 and not path.startswith(("/", "."))
    return path if on_hub else path.rstrip("/").rpartition("/")[2]
