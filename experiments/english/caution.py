"""Make mentions of some types less probable, or more, by a bias in the weights of a segmental model.

    python -m experiments.english.caution runs/english runs/english-cautious --bias -0.9

`model.mention_bias` does the same for all types at once. Here names keep what they learned: a name that is missed
cannot be found by its label, while too many mentions of the ten types were found at even odds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--bias", type=float, required=True, help="in nats; below 0 for fewer mentions")
    given = parser.parse_args()
    model = load_model(given.model)
    add_bias(model, given.bias)
    copy_model(given.model, given.output)
    save_model(model, given.output)


if __name__ == "__main__":
    main()
