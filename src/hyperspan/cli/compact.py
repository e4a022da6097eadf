"""``hyperspan compact``: a trained model in a smaller folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cards import CARD
from hyperspan.cli.options import Force
from hyperspan.errors import OutputExistsError, require_torch
from hyperspan.files import Target
from hyperspan.model_folders import FILES, folder_of


def compact(
    model: Annotated[str, typer.Argument(help="The folder of a model that hyperspan train wrote, or a bundled one.")],
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    words: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the words that only the pretrained vectors know are kept. Default: all."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a model in few bytes, and with fewer words if asked, to send it to others.

    Measure what that costs: hyperspan evaluate MODEL DATA, hyperspan evaluate OUTPUT DATA.
    """
    source = folder_of(model)
    require_torch("making a model compact")
    from hyperspan.models import load_model, save_model
    from hyperspan.models.compact import compact as made_compact

    held = next((name for name in FILES if (output / name).exists()), None)
    if held is not None and not force:
        raise OutputExistsError(f"{output} holds {held} already; choose another folder or overwrite it with --force")
    save_model(made_compact(load_model(source), words), output, half=True)
    for name in ("README.md", CARD):
        if (source / name).is_file():
            with Target(str(output / name), force=True).open_binary() as file:
                file.write((source / name).read_bytes())
    size = sum(file.stat().st_size for file in output.iterdir()) / 1e6
    print(f"hyperspan: wrote {output}, {size:.1f} MB", file=sys.stderr)
