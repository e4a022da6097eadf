"""``hyperspan split``: split a corpus into train, dev and test."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from hyperspan.cli.options import Force, From, Keep, OnError, Options, parse_options
from hyperspan.cli.output import report, report_losses
from hyperspan.corpora.formats import WRITERS
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import (
    DOCUMENT_KEYS,
    USUAL_FRACTIONS,
    Fractions,
    Part,
    PartFiles,
    Split,
    SplitOptions,
    check_fractions,
    open_corpus,
    split_files,
)
from hyperspan.corpora.statistics import printable
from hyperspan.errors import InputError

SplitFractions = Annotated[
    str | None,
    typer.Option(
        "--fractions",
        metavar="80/10/10",
        help="Percentages of train, dev and test; 90/10 for no test part. Default: 80/10/10; "
        "hyperspan init uses 60/20/20 below 300 sentences.",
    ),
]
SplitSeed = Annotated[int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same parts.")]
SplitBy = Annotated[
    Literal["document", "file", "sentence"] | None,
    typer.Option(
        "--by",
        help="The unit that is never split. Default: document; file for a folder whose files list single sentences.",
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="KEY",
        help=f"The metadata key that records of one document share. Default: {', '.join(DOCUMENT_KEYS)}, or the id.",
    ),
]


def split(
    corpus: Annotated[
        str, typer.Argument(help="The corpus: a file, a folder, a gzip or zip archive, or - for standard input.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="The folder for the parts. Default: CORPUS-split, next to CORPUS."
        ),
    ] = None,
    fractions: SplitFractions = None,
    dev: Annotated[float | None, typer.Option(help="The fraction of dev; use instead of --fractions.")] = None,
    test: Annotated[float | None, typer.Option(help="The fraction of test; use instead of --fractions.")] = None,
    seed: SplitSeed = 1,
    by: SplitBy = None,
    group_by: GroupBy = None,
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order", help="Do not shuffle: the first documents become train, the last ones test, as in GENIA."
        ),
    ] = False,
    from_: From = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help=f"The format to write: one of {', '.join(WRITERS)}. Default: that of CORPUS."),
    ] = None,
    lossy: Keep = None,
    on_error: OnError = "raise",
    option: Options = None,
    force: Force = False,
) -> None:
    """Split a corpus into train, dev and test by whole documents, with every label spread over all parts.

    Example: hyperspan split corpus.jsonl --fractions 70/15/15
    """
    wanted = parse_fractions(fractions, dev, test)
    check_fractions(wanted)
    problems = Problems(on_error)
    opened = open_corpus(corpus, from_, problems)
    files = PartFiles.of(opened, output, to)
    files.check_free([part for part, fraction in wanted.items() if fraction], force=force)
    read = opened.read(problems, **parse_options(option))
    found = split_files(opened, read, wanted, SplitOptions(seed, by, group_by, in_order), problems)
    losses = files.write(found.parts, force=force, lossy=lossy, problems=problems)
    report(problems)
    for of_part in losses.values():
        report_losses(of_part)
    print_split(found, files)


def parse_fractions(fractions: str | None, dev: float | None, test: float | None) -> Fractions:
    """Return the fraction of each part, from 80/10/10 or from the fractions of dev and test.

    >>> parse_fractions("90/10", None, None), parse_fractions(None, 0.25, 0.0)
    ({'train': 0.9, 'dev': 0.1}, {'train': 0.75, 'dev': 0.25, 'test': 0.0})
    """
    if fractions is None:
        held_out = {"dev": dev, "test": test}
        for name, given in held_out.items():
            if given is not None and not 0 <= given < 1:
                raise InputError(f"--{name} is {given:g}, but a fraction from 0 to 1 is needed; write 0.1 for a tenth")
        rest = {name: USUAL_FRACTIONS[name] if given is None else given for name, given in held_out.items()}
        return {"train": 1 - sum(rest.values()), **rest}
    if dev is not None or test is not None:
        raise InputError(f"--fractions {fractions} says how large dev and test are; leave out --dev and --test")
    numbers = fractions.split("/")
    if not 2 <= len(numbers) <= 3 or not all(number.replace(".", "", 1).isdecimal() for number in numbers):
        raise InputError(f"--fractions {fractions!r} is not TRAIN/DEV/TEST; write for example 80/10/10, or 90/10")
    values = [float(number) for number in numbers]
    whole = 1 if sum(values) <= 1 + 1e-6 else 100
    return dict(zip(USUAL_FRACTIONS, (value / whole for value in values), strict=False))


def print_split(found: Split, files: PartFiles) -> None:
    """Print on standard error the documents, sentences and mentions of each part, and its path."""
    width = None if sys.stderr.isatty() else max(80, 40 + 12 * len(found.parts))
    Console(stderr=True, width=width, markup=False, emoji=False).print(_table(found.parts))
    for note in found.notes:
        print(f"hyperspan: {note}", file=sys.stderr)
    if files.format != found.format:
        print(f"hyperspan: read as {found.format}, written as {files.format}", file=sys.stderr)
    print(f"hyperspan: wrote {', '.join(str(files.path(part)) for part in found.parts)}", file=sys.stderr)


def _table(parts: Mapping[str, Part]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in (*parts, "all"):
        table.add_column(name, justify="right", no_wrap=True)

    def add(title: str, counts: list[int]) -> None:
        table.add_row(title, *(f"{count:,}" for count in (*counts, sum(counts))))

    held = list(parts.values())
    add("documents", [part.units for part in held])
    add("sentences", [part.sentences for part in held])
    add("mentions", [part.labels.total() for part in held])
    for label in sorted({label for part in held for label in part.labels}):
        add(f"  {printable(label)}", [part.labels[label] for part in held])
    return table
