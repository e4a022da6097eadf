"""``hyperspan explain``: list the strongest features of a model with handcrafted features."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan.errors import require_torch
from hyperspan.runtime.folders import folder_of


def explain(
    model: Annotated[str, typer.Argument(help="The folder of a model trained with encoder.kind=handcrafted.")],
    types: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Show only this label; repeat for more. Default: all.")
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            "-n",
            min=1,
            help="How many features to list with positive weight, and how many with negative, per label and role.",
        ),
    ] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List the features with the largest positive and negative weights for each label.

    Weights are listed for mentions that start, continue or end at a word. Feature names have the form layer[offsets]
    symbols: "word[-1] with" is true if the previous word is "with".
    """
    require_torch("explaining a model with handcrafted features")
    from hyperspan.nn import load_model
    from hyperspan.nn.explain import feature_weights

    loaded = load_model(folder_of(model))
    found = list(feature_weights(loaded, types, top))
    if as_json:
        for one in found:
            print(json.dumps(vars(one), ensure_ascii=False))
        return
    console = Console()
    parameters = sum(parameter.numel() for parameter in loaded.parameters())
    features = len(loaded.vocabulary.features) + len(loaded.vocabulary.span_features)
    console.print(f"{loaded.config.model.kind}: {features:,} features, {parameters:,} parameters", highlight=False)
    for label in dict.fromkeys(one.label for one in found):
        table = Table(title=Text(label), title_justify="left", title_style="bold", box=None, pad_edge=False)
        for name in ("role", "weight", "feature"):
            table.add_column(name, justify="right" if name == "weight" else "left")
        own = sorted((one for one in found if one.label == label), key=lambda one: (one.role, -one.weight))
        for one in own:
            table.add_row(one.role, f"{one.weight:+.3f}", Text(one.feature), style="green" if one.weight > 0 else "red")
        console.print(table, "")
