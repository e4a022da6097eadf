"""``hyperspan profile``: what a model's training text looks like, kept in its folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cards import ModelCard
from hyperspan.cli.options import Force
from hyperspan.corpora.registry import read_corpus
from hyperspan.errors import counted
from hyperspan.model_folders import copy_model, folder_of, target_of
from hyperspan.text.profile import TextProfile


def profile(
    model: Annotated[str, typer.Argument(help="The folder of a model, or a bundled one.")],
    train: Annotated[list[Path], typer.Argument(help="The corpora that it was trained on.")],
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Held-out text of the same kind; repeat for more. Default: a tenth of the training text."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder for the model with its profile. Default: with --force, its own."),
    ] = None,
    force: Force = False,
) -> None:
    """Keep in a model's card.toml what its training text looks like, so that annotating says when a text is unlike it.

    hyperspan train does so too. The card holds hashed words and their counts, no text.

    Example: hyperspan profile runs/mine mine-split/train.jsonl --dev mine-split/dev.jsonl --force
    """
    source, target = folder_of(model), target_of(model, output, force)
    card = ModelCard.read(source)
    found = TextProfile.of(_texts(train), _texts(dev or []))
    copy_model(source, target)
    replace(card, profile=found.to_table()).write(target)
    print(
        f"hyperspan: {target} now knows {counted(len(found.counts), 'word')} of its training text; {found.usual_unknown:.1%} of the "
        "words of other text of its kind are new to it",
        file=sys.stderr,
    )


def _texts(paths: Sequence[Path]) -> Iterator[str]:
    return (document.text for path in paths for document in read_corpus(path))
