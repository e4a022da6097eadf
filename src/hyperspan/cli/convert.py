"""``hyperspan convert``: convert a corpus between formats, without loss or with reported losses."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hyperspan.cli.options import Force, From, Keep, OnError, Options, Split, parse_options
from hyperspan.cli.output import report, report_losses, with_progress
from hyperspan.corpora.formats import WRITERS, format_for, read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import counted


def convert(
    source: Annotated[
        str, typer.Argument(help="The corpus: a file, a folder, a gzip or zip archive, or - for standard input.")
    ],
    target: Annotated[
        str, typer.Argument(help="The file or folder to write, or - for standard output; a name in .gz is compressed.")
    ],
    from_: From = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help=f"The format to write: one of {', '.join(WRITERS)}. Default: by TARGET's name."),
    ] = None,
    lossy: Keep = None,
    split: Split = None,
    on_error: OnError = "raise",
    option: Options = None,
    write_option: Annotated[
        list[str] | None,
        typer.Option("--write-option", metavar="NAME=VALUE", help="An option of the output format; repeat for more."),
    ] = None,
    force: Force = False,
) -> None:
    """Convert a corpus from one format to another.

    Example: hyperspan convert dev.data dev.jsonl
    """
    problems = Problems(on_error)
    documents = with_progress(read_corpus(source, from_, problems, split=split, **parse_options(option)), "converting")
    wanted = to or format_for(target, ", or name the format with --to")
    losses = write_corpus(
        documents, target, wanted, lossy=lossy, force=force, problems=problems, **parse_options(write_option)
    )
    report(problems)
    report_losses(losses)
    print(f"hyperspan: wrote {counted(losses.written, 'mention')} as {wanted} to {target}", file=sys.stderr)
