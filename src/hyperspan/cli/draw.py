"""``hyperspan draw``: draw a sentence's hypergraph and the hyperpath of its mentions as SVG, PNG or PDF."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import PurePath
from typing import Annotated, Literal

import typer

from hyperspan.cli.options import Force, parse_mention, split_names
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.render.hypergraphs import DIAGRAMS
from hyperspan.render.raster import convert_svg
from hyperspan.types import Mention

READINGS = 8
"""How many other mention sets of the same hyperpath are listed; there may be thousands."""


def draw(
    text: Annotated[str, typer.Argument(help="The sentence, with spaces between words; - reads standard input.")],
    mention: Annotated[
        list[str] | None,
        typer.Option(
            "--mention",
            "-m",
            metavar="START:END:LABEL",
            help="A mention at words START to END (END exclusive, from 0); repeat for more. "
            "Separate the parts of a discontinuous mention with commas: 0:1,3:4:LABEL.",
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--types",
            "-t",
            help="The mention types, repeated or separated by commas. Default: the labels of the mentions.",
        ),
    ] = None,
    max_width: Annotated[
        int | None,
        typer.Option("--max-width", "-c", help="Maximum mention width in words (the paper's c). Default: no limit."),
    ] = None,
    structure: Annotated[
        str,
        typer.Option("--structure", "-s", help=f"The structure to draw: one of {', '.join(DIAGRAMS)}."),
    ] = "segmental",
    show: Annotated[
        Literal["both", "graph", "path"],
        typer.Option(help="What to draw: the hypergraph (graph), the hyperpath (path), or both."),
    ] = "both",
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .svg, .png or .pdf (the last two need the extra pictures); - is standard output.",
        ),
    ] = "-",
    force: Force = False,
) -> None:
    """Draw the hypergraph of a sentence and the hyperpath that encodes its mentions.

    In ambiguous structures (mention-hypergraph, mention-separators), standard error lists the other mention sets with
    the same hyperpath.

    Example: hyperspan draw "Israeli UN Ambassador Danny" -m 0:3:PER -m 0:4:PER -m 1:2:ORG -o path.svg
    """
    from hyperspan.render.hypergraph_svg import draw_hypergraph

    if PurePath(output).suffix.lower() not in ("", ".svg", ".png", ".pdf"):
        raise InputError(f"{output} cannot be drawn; let its name end in .svg, .png or .pdf")
    words = (sys.stdin.read() if text == "-" else text).split()
    labels = split_names(types)
    mentions = [parse_mention(written) for written in mention or []]
    picture = draw_hypergraph(
        words, mentions, types=labels or None, max_width=max_width, show=show, structure=structure
    )
    _write(picture, Target(output, force))
    if output != "-":
        print(f"hyperspan: wrote {output}", file=sys.stderr)
    if show != "graph":
        list_readings(words, mentions, structure)


def _write(picture: str, target: Target) -> None:
    kind = PurePath(target.name).suffix.lower().removeprefix(".")
    content = convert_svg(picture, kind) if kind == "png" or kind == "pdf" else f"{picture}\n".encode()
    with target.open_binary() as file:
        file.write(content)


def list_readings(words: Sequence[str], mentions: Sequence[Mention], structure: str) -> None:
    """Print the other mention sets of the same hyperpath, if any, on standard error."""
    from hyperspan.render.hypergraph_svg import other_readings

    found = list(islice(other_readings(mentions, structure), READINGS + 1))
    if found:
        print("hyperspan: the same hyperpath also stands for these mention sets:", file=sys.stderr)
    for name, others in found[:READINGS]:
        listed = ", ".join(f"{' '.join(words[m.start : m.end])} ({m.start}:{m.end}:{m.label})" for m in others)
        print(f"{name:>8}: {listed}", file=sys.stderr)
    if len(found) > READINGS:
        print(f"{'':>8}  and more", file=sys.stderr)
