"""Make mentions of some types less probable, or more, by a bias in the weights of a segmental model.

`model.mention_bias` does the same for all types at once. Here names keep what they learned: a name that is missed
cannot be found by its label, while too many mentions of the ten types were found at even odds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer

from experiments.cli import Output, run_command
from hyperspan.nn import load_model
from hyperspan.nn.folders import save_model
from hyperspan.nn.model import Model
from hyperspan.runtime.folders import copy_model


@torch.no_grad()
def add_bias(model: Model, bias: float) -> None:
    """Add a bias to starting a mention of any type that is not a label of names."""
    present = model.get_parameter("scorer.start.bias").view(2, len(model.labels))[1]
    names = model.config.model.names
    present += torch.tensor([0.0 if label in names else bias for label in model.labels])


def be_cautious(
    model: Annotated[Path, typer.Argument(help="The folder of a segmental model.")],
    output: Output,
    bias: Annotated[float, typer.Option(help="In nats; below 0 for fewer mentions.")],
) -> None:
    """Make mentions of some types less probable, or more.

    Example: python -m experiments.english.caution runs/english -o runs/english-cautious --bias -0.9
    """
    changed = load_model(model)
    add_bias(changed, bias)
    copy_model(model, output)
    save_model(changed, output)


if __name__ == "__main__":
    run_command(be_cautious, "experiments.english.caution")
