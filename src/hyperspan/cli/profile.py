"""``hyperspan profile``: store a profile of the training text in a model's folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.options import Force
from hyperspan.cli.output import report
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import counted
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import copy_model, folder_of, target_of
from hyperspan.text.profile import TextProfile


def profile(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    train: Annotated[list[Path], typer.Argument(help="The corpora that the model was trained on.")],
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Held-out text of the same domain; repeat for more. Default: a tenth of the training text."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the model with its profile. Without it, --force changes MODEL in place.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Store a profile of the training text in a model's card.toml, to warn about texts unlike it.

    hyperspan train does this by default. The profile contains hashed words and their counts, no text.

    Example: hyperspan profile runs/mine mine-split/train.jsonl --dev mine-split/dev.jsonl --force
    """
    source, target = folder_of(model), target_of(model, output, force)
    card = ModelCard.read(source)
    problems = Problems()
    found = TextProfile.of(_texts(train, problems), _texts(dev or [], problems))
    copy_model(source, target)
    replace(card, profile=found.to_table()).write(target)
    print(
        f"hyperspan: {target} now knows {counted(len(found.counts), 'word')} of its training text; {found.usual_unknown:.1%} of the "
        "words of other text of its kind are new to it",
        file=sys.stderr,
    )
    report(problems)


def _texts(paths: Sequence[Path], problems: Problems) -> Iterator[str]:
    return (document.text for path in paths for document in read_corpus(path, problems=problems))
