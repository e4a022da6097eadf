"""``hyperspan compact``: a trained model in a smaller folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.errors import OutputExistsError


def compact(
    model: Annotated[Path, typer.Argument(help="The folder of a model that hyperspan train wrote.")],
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    words: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the words that only the pretrained vectors know are kept. Default: all."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the model in OUTPUT.")] = False,
) -> None:
    """Write a model in few bytes, and with fewer words if asked, to send it to others.

    Measure what that costs: hyperspan evaluate MODEL DATA, hyperspan evaluate OUTPUT DATA.
    """
    if (output / "config.toml").exists() and not force:
        raise OutputExistsError(f"{output} holds a model already; choose another folder or overwrite it with --force")
    from hyperspan.models import load_model, save_model
    from hyperspan.models.compact import compact as made_compact

    save_model(made_compact(load_model(model), words), output, half=True)
    card = model / "README.md"
    if card.is_file() and not (output / "README.md").exists():
        (output / "README.md").write_text(card.read_text(encoding="utf-8"), encoding="utf-8")
    size = sum(file.stat().st_size for file in output.iterdir()) / 1e6
    print(f"hyperspan: wrote {output}, {size:.1f} MB", file=sys.stderr)
