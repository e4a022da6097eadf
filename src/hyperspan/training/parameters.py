"""Parameters in groups that learn alike: at which rate at most, and with how much weight decay."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from hyperspan.encoders.words import WordVectors
from hyperspan.models.base import Model

WORD_VECTORS = "model.words.words."
ENCODER = "model.words.transformer.encoder."


@dataclass
class Group:
    """Parameters with their names."""

    rate: float
    """The highest one, which the schedule reaches once."""
    weight_decay: float
    names: list[str] = field(default_factory=list)
    parameters: list[nn.Parameter] = field(default_factory=list)


def parameter_groups(whole: nn.Module, model: Model) -> list[Group]:
    """The parameters to be learnt of a module that has the model under the name "model", those of the word vectors last.

    Weight decay is not for vectors of words or pieces, of which the rare ones would forget what they mean, nor for biases and
    norms of a pretrained encoder.
    """
    training = model.config.training
    groups: dict[tuple[bool, float, float], Group] = {}
    transformer = model.words.transformer if isinstance(model.words, WordVectors) else None
    for name, parameter in whole.named_parameters():
        if not parameter.requires_grad:
            continue
        rate, vectors, decays = training.learning_rate, name.startswith(WORD_VECTORS), True
        if transformer is not None and name.startswith(ENCODER):
            rate = transformer.rate_of(name.removeprefix(ENCODER))
            decays = parameter.dim() > 1 and "embedding" not in name
        decay = training.weight_decay if decays and not vectors else 0.0
        group = groups.setdefault((vectors, rate, decay), Group(rate, decay))
        group.names.append(name)
        group.parameters.append(parameter)
    return [group for _, group in sorted(groups.items(), key=lambda item: item[0][0])]
