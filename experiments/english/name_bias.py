"""Make names more probable, or less, by a bias in the weights of a segmental model.

`model.mention_bias` does the same for all types at once. Here the other types keep what they learned.
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
    """Add a bias to starting a mention of any label of names."""
    present = model.get_parameter("scorer.start.bias").view(2, len(model.labels))[1]
    names = model.config.model.names
    present += torch.tensor([bias if label in names else 0.0 for label in model.labels])


def bias_names(
    model: Annotated[Path, typer.Argument(help="The folder of a segmental model.")],
    output: Output,
    bias: Annotated[float, typer.Option(help="In nats; above 0 for more names.")],
) -> None:
    """Make names more probable, or less.

    Example: python -m experiments.english.name_bias runs/english-plain -o runs/english-named --bias 0.3
    """
    changed = load_model(model)
    add_bias(changed, bias)
    part = output.with_name(f"{output.name}.part")
    copy_model(model, part)
    save_model(changed, part)
    part.rename(output)


if __name__ == "__main__":
    run_command(bias_names, "experiments.english.name_bias")
