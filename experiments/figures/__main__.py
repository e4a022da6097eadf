"""Draw the structure of a sentence, with the hyperpath of its mentions, for the docs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.cli import Force, Output, run_command
from experiments.figures import FIGURES, draw_figure
from experiments.figures.readings import other_readings
from hyperspan.cli.draw import write_picture
from hyperspan.cli.options import parse_mention, split_names
from hyperspan.files import Target
from hyperspan.types import Mention

READINGS = 8
"""How many other mention sets of the same hyperpath are listed; there may be thousands."""


def draw(
    structure: Annotated[str, typer.Argument(help=f"One of {', '.join(FIGURES)}.")],
    text: Annotated[str, typer.Argument(help="The sentence, with spaces between words.")],
    mention: Annotated[
        list[str] | None,
        typer.Option(
            "--mention",
            "-m",
            metavar="START:END:LABEL",
            help="A mention at words START to END (END exclusive, from 0); repeat for more.",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="A,B",
            help="The mention labels, repeated or separated by commas. Default: the labels of the mentions.",
        ),
    ] = None,
    max_width: Annotated[
        int | None, typer.Option("--max-width", "-c", help="Maximum mention width in words. Default: no limit.")
    ] = None,
    show: Annotated[Literal["both", "graph", "path"], typer.Option(help="What to draw.")] = "both",
    output: Output = Path("-"),
    force: Force = False,
) -> None:
    """Draw the structure of a sentence, with the hyperpath of its mentions, as .svg, .png or .pdf.

    Without --output it is written to standard output.

    Example: python -m experiments.figures tree "A B C D" -m 1:3:X -m 0:4:X --show path -o structure-tree.svg
    """
    words, mentions = text.split(), [parse_mention(written) for written in mention or ()]
    picture = draw_figure(structure, words, mentions, types=split_names(labels) or None, max_width=max_width, show=show)
    write_picture(picture, Target(str(output), force))
    if str(output) != "-":
        print(f"wrote {output}", file=sys.stderr)
    if show != "graph" and FIGURES[structure].is_ambiguous:
        _list_readings(words, mentions)


def _list_readings(words: Sequence[str], mentions: Sequence[Mention]) -> None:
    """Print the other mention sets of the same hyperpath, if any, on standard error."""
    found = list(islice(other_readings(mentions), READINGS + 1))
    if found:
        print("the same hyperpath also stands for these mention sets:", file=sys.stderr)
    for name, others in found[:READINGS]:
        listed = ", ".join(f"{' '.join(words[m.start : m.end])} ({m.start}:{m.end}:{m.label})" for m in others)
        print(f"{name:>8}: {listed}", file=sys.stderr)
    if len(found) > READINGS:
        print(f"{'':>8}  and more", file=sys.stderr)


if __name__ == "__main__":
    run_command(draw, "experiments.figures")
