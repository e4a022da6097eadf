"""``hyperspan draw``: a sentence's hypergraph, in any structure, and the hyperpath of its mentions, as SVG, PNG or PDF."""

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
"""How many of the other mention sets that a picture stands for are listed; there may be thousands."""


def draw(
    text: Annotated[
        str, typer.Argument(help="The sentence, words separated by spaces; - reads it from standard input.")
    ],
    mention: Annotated[
        list[str] | None,
        typer.Option(
            "--mention",
            "-m",
            metavar="START:END:LABEL",
            help="A mention from word START to before word END, counted from 0; repeat for more. "
            "Commas separate the parts of a discontinuous one: 0:1,3:4:LABEL.",
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--types", "-t", help="The mention types, repeated or separated by commas. Default: the mentions' labels."
        ),
    ] = None,
    max_width: Annotated[
        int | None,
        typer.Option("--max-width", "-c", help="The most words in a mention (the paper's c). Default: no limit."),
    ] = None,
    structure: Annotated[
        str,
        typer.Option(
            "--structure", "-s", help=f"The structure, of this or of an earlier system: one of {', '.join(DIAGRAMS)}."
        ),
    ] = "segmental",
    show: Annotated[
        Literal["both", "graph", "path"],
        typer.Option(help="The hypergraph with the hyperpath in it, the hypergraph, or the hyperpath."),
    ] = "both",
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .svg, or .png or .pdf (extra pictures); - is standard output, as SVG.",
        ),
    ] = "-",
    force: Force = False,
) -> None:
    """Draw the hypergraph of a sentence and the hyperpath that encodes its mentions.

    Mention hypergraphs and separators are ambiguous: what else the hyperpath stands for is listed on standard error.

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
        print(f"wrote {output}", file=sys.stderr)
    if show != "graph":
        list_readings(words, mentions, structure)


def _write(picture: str, target: Target) -> None:
    kind = PurePath(target.name).suffix.lower().removeprefix(".")
    content = convert_svg(picture, kind) if kind == "png" or kind == "pdf" else f"{picture}\n".encode()
    with target.open_binary() as file:
        file.write(content)


def list_readings(words: Sequence[str], mentions: Sequence[Mention], structure: str) -> None:
    """Lists the other mention sets that the hyperpath stands for, if any, on standard error."""
    from hyperspan.render.hypergraph_svg import other_readings

    found = list(islice(other_readings(mentions, structure), READINGS + 1))
    if found:
        print("the same hyperpath also stands for these mention sets:", file=sys.stderr)
    for name, others in found[:READINGS]:
        listed = ", ".join(f"{' '.join(words[m.start : m.end])} ({m.start}:{m.end}:{m.label})" for m in others)
        print(f"{name:>8}: {listed}", file=sys.stderr)
    if len(found) > READINGS:
        print(f"{'':>8}  and more", file=sys.stderr)
