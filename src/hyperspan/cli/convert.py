"""``hyperspan convert``: a corpus from one format into another, without loss or with a loss that is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from hyperspan.cli.options import Force, From, Keep, OnError, Options, Split, parse_options
from hyperspan.cli.output import report, report_losses, with_progress
from hyperspan.corpora.registry import WRITERS, format_for, read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import in_order
from hyperspan.errors import InputError, counted
from hyperspan.types import Document


def convert(
    source: Annotated[
        str, typer.Argument(help="A file, a folder, or - for standard input; gzip and zip are unpacked.")
    ],
    target: Annotated[
        str, typer.Argument(help="The file or folder to write, or - for standard output; .gz is packed.")
    ],
    from_: From = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help=f"The format to write. Default: what TARGET's name says. One of {', '.join(WRITERS)}."
        ),
    ] = None,
    lossy: Keep = None,
    split: Split = None,
    part: Annotated[
        Literal["train", "dev", "test"] | None,
        typer.Option(help="Only the first 80, next 10 or last 10 percent of the sentences, as GENIA is split."),
    ] = None,
    on_error: OnError = "raise",
    option: Options = None,
    write_option: Annotated[
        list[str] | None,
        typer.Option("--write-option", metavar="NAME=VALUE", help="The same for the format that is written."),
    ] = None,
    force: Force = False,
) -> None:
    """Convert a corpus from one format into another.

    Example: hyperspan convert dev.data dev.jsonl
    """
    problems = Problems(on_error)
    options = parse_options(option)

    def read(noted: Problems) -> Iterator[Document]:
        return read_corpus(source, from_, noted, split=split, **options)

    if part is not None and source == "-":
        raise InputError("--part reads its input twice, which standard input cannot be; name a file")
    documents = with_progress(read(problems) if part is None else in_order(read, part, problems), "converting")
    wanted = to or format_for(target, ", or name the format with --to")
    losses = write_corpus(
        documents, target, wanted, lossy=lossy, force=force, problems=problems, **parse_options(write_option)
    )
    report(problems)
    report_losses(losses)
    print(f"hyperspan: wrote {counted(losses.written, 'mention')} as {wanted} to {target}", file=sys.stderr)
