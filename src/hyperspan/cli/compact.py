"""``hyperspan compact``: write a trained model in fewer bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.options import Force, split_names
from hyperspan.errors import InputError, OutputExistsError, require_torch
from hyperspan.files import Target
from hyperspan.runtime.cards import CARD, README, TEXTS, Figures, ModelCard
from hyperspan.runtime.folders import FILES, folder_of


def compact(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    output: Annotated[Path, typer.Argument(help="The folder for the compact model.")],
    words: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many words to keep of those that only the pretrained vectors contain. Default: all."
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(help="The labels to keep, repeated or separated by commas. Default: all."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="The labels to remove; use instead of --labels.")] = None,
    force: Force = False,
) -> None:
    """Write a smaller copy of a model: 16-bit weights and, if you choose, fewer words or labels.

    Removing labels does not change the probabilities of the others.

    To measure the effect on F1, compare hyperspan evaluate MODEL DATA with hyperspan evaluate OUTPUT DATA.
    """
    if labels and drop:
        raise InputError("--labels and --drop are given, but the one follows from the other; leave one of them out")
    source = folder_of(model)
    require_torch("making a model compact")
    from hyperspan.nn import load_model, save_model
    from hyperspan.nn.compact import compact as made_compact

    held = next((name for name in FILES if (output / name).exists()), None)
    if held is not None and not force:
        raise OutputExistsError(f"{output} holds {held} already; choose another folder or overwrite it with --force")
    whole = load_model(source)
    small = made_compact(whole, words, _kept(whole.labels, split_names(labels), split_names(drop)))
    save_model(small, output, half=True)
    _write_cards(source, output, whole.labels, small.labels)
    size = sum(file.stat().st_size for file in output.iterdir()) / 1e6
    print(f"hyperspan: wrote {output}, {size:.1f} MB", file=sys.stderr)


def _write_cards(source: Path, output: Path, whole: Sequence[str], kept: Sequence[str]) -> None:
    """Copy card.toml and README.md; if labels are removed, both say so and the card loses its figures."""
    card, name = ModelCard.read_or_warn(source), source.resolve().name
    lost = ", ".join(label for label in whole if label not in kept)
    if lost:
        labels = {label: meaning for label, meaning in card.labels.items() if label in kept}
        text = f"Finds {', '.join(kept)}: the model {name} without {lost}."
        description = text if len(text) <= TEXTS["description"] else f"The model {name} without some of its labels."
        card = replace(card, description=description, labels=labels, figures=Figures())
    if (source / CARD).is_file():
        card.write(output)
    if (source / README).is_file():
        note = f"This is the model {name} without the labels {lost}. What follows, with all figures, is about the whole model.\n\n"
        with Target(str(output / README), force=True).open_binary() as file:
            file.write((note if lost else "").encode() + (source / README).read_bytes())


def _kept(known: Sequence[str], labels: Sequence[str], drop: Sequence[str]) -> list[str] | None:
    """Return the labels to keep; None for all."""
    if unknown := sorted(set(drop) - set(known)):
        raise InputError(f"--drop names {', '.join(unknown)}, but the model has the labels {', '.join(known)}")
    return list(labels) or ([label for label in known if label not in drop] if drop else None)
