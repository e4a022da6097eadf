"""``hyperspan convert``: convert a corpus between formats, or split it into train, dev and test.

Losses of a format are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import Force, FormattingGroup, ReadingGroup, Seed, parse_options
from hyperspan.cli.output import report_losses, say
from hyperspan.corpora.formats import format_for
from hyperspan.corpora.outputs import check_folder_name
from hyperspan.corpora.splits import (
    DOCUMENT_KEYS,
    USUAL_FRACTIONS,
    Fractions,
    Part,
    PartFiles,
    Split,
    check_fractions,
    open_corpus,
    split_files,
)
from hyperspan.corpora.statistics import printable
from hyperspan.errors import InputError, counted
from hyperspan.files import Target

if TYPE_CHECKING:
    from hyperspan.evaluation.tables import Section


@dataclass(frozen=True)
class SplitGroup:
    """How a corpus is split; without fractions it is not."""

    title = "Splitting"
    fractions: Annotated[
        str | None,
        typer.Option(
            "--fractions",
            metavar="80/10/10",
            help="Split into train, dev and test of these percentages, in the folder TARGET; 90/10 for no test part.",
        ),
    ] = None
    by: Annotated[
        Literal["document", "file", "sentence"] | None,
        typer.Option(
            "--by",
            help="The unit that is never split. Default: document; file for a folder whose files list single sentences.",
        ),
    ] = None
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            metavar="KEY",
            help=f"The metadata key that records of one document share. Default: {', '.join(DOCUMENT_KEYS)}, or the id.",
        ),
    ] = None
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order", help="Do not shuffle: the first documents become train, the last ones test, as in GENIA."
        ),
    ] = False
    seed: Seed = 1

    def check(self) -> None:
        """Raise an error for options of splitting without fractions."""
        given = {"--by": self.by, "--group-by": self.group_by, "--in-order": self.in_order}
        if name := next((name for name, value in given.items() if value), None):
            raise InputError(f"{name} says how a corpus is split; add --fractions 80/10/10 to split it")


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="The corpus: a file, a folder, a gzip or zip archive, or - for standard input."
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="The file or folder to write, or - for standard output; a name in .gz is compressed. With --fractions: "
            "the folder for the parts.",
        ),
    ],
    force: Force = False,
    *,
    formatting: FormattingGroup,
    reading: ReadingGroup,
    splitting: SplitGroup,
) -> None:
    """Convert a corpus from one format to another, or split it into train, dev and test.

    A corpus is split by whole documents, with every label spread over all parts.

    Example: hyperspan convert dev.data dev.jsonl

    Example: hyperspan convert corpus.jsonl parts --fractions 70/15/15
    """
    check_no_model("info {model}", [source])
    if splitting.fractions is not None:
        _split(source, target, force, formatting, reading, splitting)
        return
    splitting.check()
    documents = reading.corpus(source, "converting")
    wanted = formatting.format_ or format_for(target, ", or name the format with --format")
    check_folder_name(target, wanted)
    losses = formatting.write(documents, Target(target, force), wanted, reading.problems)
    reading.report()
    report_losses(losses)
    say(f"wrote {counted(losses.written, 'mention')} as {wanted} to {target}")


def _split(
    source: str, folder: str, force: bool, formatting: FormattingGroup, reading: ReadingGroup, splitting: SplitGroup
) -> None:
    """Write the parts of a corpus, all of them or none."""
    if folder == "-":
        raise InputError("the parts are several files, which standard output cannot hold; name a folder")
    wanted, problems = parse_fractions(str(splitting.fractions)), reading.problems
    check_fractions(wanted)
    opened = open_corpus(source, reading.from_, problems)
    files = PartFiles.of(opened, folder, formatting.format_)
    files.check_free([part for part, fraction in wanted.items() if fraction], force=force)
    read = opened.read(problems, **reading.options)
    found = split_files(
        opened,
        read,
        wanted,
        problems,
        seed=splitting.seed,
        by=splitting.by,
        group_by=splitting.group_by,
        in_order=splitting.in_order,
    )
    of_format = parse_options(formatting.write_option, "--write-option")
    losses = files.write(found.parts, force=force, lossy=formatting.lossy, problems=problems, **of_format)
    reading.report()
    for of_part in losses.values():
        report_losses(of_part)
    print_split(found, files)


def parse_fractions(fractions: str) -> Fractions:
    """Return the fraction of each part.

    >>> parse_fractions("90/10"), parse_fractions("0.75/0.25/0")
    ({'train': 0.9, 'dev': 0.1}, {'train': 0.75, 'dev': 0.25, 'test': 0.0})
    """
    numbers = fractions.split("/")
    if not 2 <= len(numbers) <= 3 or not all(number.replace(".", "", 1).isdecimal() for number in numbers):
        raise InputError(f"--fractions {fractions!r} is not TRAIN/DEV/TEST; write for example 80/10/10, or 90/10")
    values = [float(number) for number in numbers]
    whole = 1 if sum(values) <= 1 + 1e-6 else 100
    return dict(zip(USUAL_FRACTIONS, (value / whole for value in values), strict=False))


def print_split(found: Split, files: PartFiles) -> None:
    """Print on standard error the documents, sentences and mentions of each part, and its path."""
    from hyperspan.evaluation.tables import print_sections

    print_sections([_section(found.parts)], on_stderr=True)
    for note in found.notes:
        say(note)
    if files.format != found.format:
        say(f"read as {found.format}, written as {files.format}")
    say(f"wrote {', '.join(str(files.path(part)) for part in found.parts)}")


def _section(parts: Mapping[str, Part]) -> Section:
    """A column for each part, and one for all."""
    from hyperspan.evaluation.tables import Section

    held = list(parts.values())
    counts = {
        "documents": [part.units for part in held],
        "sentences": [part.sentences for part in held],
        "mentions": [part.labels.total() for part in held],
    }
    for label in sorted({label for part in held for label in part.labels}):
        counts[f"  {printable(label)}"] = [part.labels[label] for part in held]
    rows = [(title, *(f"{number:,}" for number in (*row, sum(row)))) for title, row in counts.items()]
    return Section("", ("", *parts, "all"), rows)
