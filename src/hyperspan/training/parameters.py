"""Parameters in groups with the same learning rate and weight decay."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from hyperspan.encoders.base import ParameterOptions
from hyperspan.models.base import Model


@dataclass
class ParameterGroup:
    """Parameters with their names."""

    options: ParameterOptions
    names: list[str] = field(default_factory=list)
    parameters: list[nn.Parameter] = field(default_factory=list)


def parameter_groups(whole: nn.Module, model: Model) -> list[ParameterGroup]:
    """The parameters to be learnt of a module that holds the model; the encoder says which have options of their own."""
    training = model.config.training
    usual, own = (
        ParameterOptions(training.learning_rate, training.weight_decay),
        model.encoder.parameter_options(training),
    )
    groups: dict[ParameterOptions, ParameterGroup] = {}
    for name, parameter in whole.named_parameters():
        if parameter.requires_grad:
            options = own.get(parameter, usual)
            group = groups.setdefault(options, ParameterGroup(options))
            group.names.append(name)
            group.parameters.append(parameter)
    return list(groups.values())
