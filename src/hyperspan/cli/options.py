"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

ModelName = Annotated[str, typer.Option("--model", "-m", help="A bundled model, or the folder of one.")]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="P|LABEL=P",
        help="All mentions at least this probable, for one label or for the others. Default: the most probable set.",
    ),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=0, help="Also the K most probable sets of each sentence.")]
Labels = Annotated[
    list[str] | None, typer.Option("--type", "-t", help="Only mentions with this label; repeat for more.")
]
TextKey = Annotated[
    str | None,
    typer.Option("--column", "--text-column", help="The column (or key of JSON Lines) with the texts. Default: text."),
]
IdKey = Annotated[str | None, typer.Option("--id-column", help="The one with their names. Default: id.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1 …")]
