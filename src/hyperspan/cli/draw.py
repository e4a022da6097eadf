"""``hyperspan draw``: draw a sentence's hypergraph and the hyperpath of its mentions as SVG, PNG or PDF."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Annotated, Literal

import typer

from hyperspan.cli.options import OutputGroup, parse_mention, split_names
from hyperspan.cli.output import say
from hyperspan.errors import InputError
from hyperspan.files import Target


def draw(
    text: Annotated[
        str, typer.Argument(metavar="SENTENCE", help="The sentence, with spaces between words; - reads standard input.")
    ],
    mention: Annotated[
        list[str] | None,
        typer.Option(
            "--mention",
            metavar="START:END:LABEL",
            help="A mention at words START to END (END exclusive, from 0); repeat for more. "
            "Separate the parts of a discontinuous mention with commas: 0:1,3:4:LABEL.",
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
        int | None,
        typer.Option("--max-width", "-c", help="Maximum mention width in words (the paper's c). Default: no limit."),
    ] = None,
    show: Annotated[
        Literal["both", "graph", "path"],
        typer.Option(help="What to draw: the hypergraph (graph), the hyperpath (path), or both."),
    ] = "both",
    *,
    output: OutputGroup,
) -> None:
    """Draw the hypergraph of a sentence and the hyperpath that encodes its mentions.

    With a discontinuous mention, it is the hypergraph of discontinuous mentions.

    Example: hyperspan draw "Israeli UN Ambassador Danny" --mention 0:3:PER --mention 1:2:ORG -o path.svg

    The output is an .svg, .png or .pdf file; the last two need the extra pictures.
    """
    from hyperspan.render.hypergraph import draw_hypergraph

    if PurePath(output.output).suffix.lower() not in ("", ".svg", ".png", ".pdf"):
        raise InputError(f"{output.output} cannot be drawn; let its name end in .svg, .png or .pdf")
    words = (sys.stdin.read() if text == "-" else text).split()
    mentions = [parse_mention(written) for written in mention or []]
    structure = "discontinuous" if any(one.fragments for one in mentions) else "segmental"
    picture = draw_hypergraph(
        words, mentions, types=split_names(labels) or None, max_width=max_width, show=show, structure=structure
    )
    write_picture(picture, output.target)
    if output.output != "-":
        say(f"wrote {output.output}")


def write_picture(picture: str, target: Target) -> None:
    """Write a picture as SVG, or as what the name of the file says."""
    from hyperspan.render.hypergraph import convert_svg

    kind = PurePath(target.name).suffix.lower().removeprefix(".")
    content = convert_svg(picture, kind) if kind == "png" or kind == "pdf" else f"{picture}\n".encode()
    with target.open_binary() as file:
        file.write(content)
