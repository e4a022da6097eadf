"""``hyperspan convert``: convert a corpus between formats, without loss or with reported losses."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hyperspan.cli.options import Force, FormattingGroup, ReadingGroup
from hyperspan.cli.output import report_losses
from hyperspan.corpora.formats import format_for
from hyperspan.errors import counted
from hyperspan.files import Target


def convert(
    source: Annotated[
        str, typer.Argument(help="The corpus: a file, a folder, a gzip or zip archive, or - for standard input.")
    ],
    target: Annotated[
        str, typer.Argument(help="The file or folder to write, or - for standard output; a name in .gz is compressed.")
    ],
    force: Force = False,
    *,
    reading: ReadingGroup,
    formatting: FormattingGroup,
) -> None:
    """Convert a corpus from one format to another.

    Example: hyperspan convert dev.data dev.jsonl
    """
    documents = reading.corpus(source, "converting")
    wanted = formatting.format_ or format_for(target, ", or name the format with --format")
    losses = formatting.write(documents, Target(target, force), wanted, reading.problems)
    reading.report()
    report_losses(losses)
    print(f"hyperspan: wrote {counted(losses.written, 'mention')} as {wanted} to {target}", file=sys.stderr)
