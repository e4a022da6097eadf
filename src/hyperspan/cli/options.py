"""Options that several commands share."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from hyperspan.corpora.formats import READERS
from hyperspan.errors import InputError, SpanError
from hyperspan.types import Mention

ModelName = Annotated[
    str, typer.Option("--model", "-m", help="A bundled model (see hyperspan models), or the folder of a model.")
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="P|LABEL=P",
        help="Find every mention with at least this probability; LABEL=P applies to one label, P to all others. "
        "Repeat for more labels. Default: the most probable set of mentions.",
    ),
]
TopK = Annotated[
    int, typer.Option("--top-k", "-k", min=0, help="Also output the K most probable mention sets of each sentence.")
]
Labels = Annotated[
    list[str] | None, typer.Option("--type", "-t", help="Find only mentions with this label; repeat for more labels.")
]
Names = Annotated[
    bool,
    typer.Option(
        "--names", help="Find names alone, under the types that they are names of, with a model that marks them."
    ),
]
Pronouns = Annotated[
    bool, typer.Option("--pronouns/--no-pronouns", help="Whether to show mentions that are one English pronoun.")
]
TextKey = Annotated[
    str | None,
    typer.Option("--column", "--text-column", help="The column (in JSON Lines: the key) with the text. Default: text."),
]
IdKey = Annotated[str | None, typer.Option("--id-column", help="The column or key with the document ids. Default: id.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1, …")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a value of the configuration; repeat for more."),
]
TrainingDevice = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, …, or auto: a GPU if available.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Number of CPU threads. Default: all cores.")]

# -- corpora and scores ------------------------------------------------------------------------------------------------

_KNOWN = ", ".join(READERS)
From = Annotated[str | None, typer.Option("--from", help=f"The input format: one of {_KNOWN}. Default: detected.")]
OnError = Annotated[
    Literal["raise", "skip"],
    typer.Option("--on-error", help="On invalid input: raise stops, skip leaves it out and counts it."),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the input format, such as repair=true; repeat for more."
    ),
]
Keep = Annotated[
    Literal["outermost", "innermost"] | None,
    typer.Option(
        "--lossy",
        help="Which mentions to keep if the format cannot represent all of them. Default: write nothing and report "
        "how many do not fit.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option("--split", metavar="FILE", help="For an ACE folder: read only the documents that this file lists."),
]
PredictionsFrom = Annotated[
    str | None, typer.Option("--predictions-from", help="The format of the predictions, like --from.")
]
PredictionsOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--predictions-option", metavar="NAME=VALUE", help="An option of the predictions' format, like --option."
    ),
]
Format = Annotated[
    Literal["table", "json", "markdown"],
    typer.Option("--format", help="How to print the results; tables show percentages, json fractions."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same results.")]


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """Parse NAME=VALUE pairs; true, false, none and integers become Python values.

    >>> parse_options(["repair=true", "layers=4", "types=raw"])
    {'repair': True, 'layers': 4, 'types': 'raw'}
    """
    words = {"true": True, "false": False, "none": None}
    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--option {pair!r} is not NAME=VALUE; write for example --option repair=true")
        whole = value.removeprefix("-").isdecimal() and len(value) < 10
        options[name.replace("-", "_")] = int(value) if whole else words.get(value.lower(), value)
    return options


def split_names(given: list[str] | None) -> list[str]:
    """Return the names of an option that may be repeated or comma-separated.

    >>> split_names(["DNA,RNA", "protein"])
    ['DNA', 'RNA', 'protein']
    """
    return [name.strip() for group in given or [] for name in group.split(",") if name.strip()]


def parse_mention(written: str, option: str = "--mention", counted: str = "words") -> Mention:
    """Parse START:END:LABEL into a mention; commas separate the parts of a discontinuous one.

    >>> parse_mention("0:3:PER"), parse_mention("0:1,3:4:cell")
    (Mention(0, 3, 'PER'), Mention(0, 4, 'cell', fragments=((0, 1), (3, 4))))
    """
    found = re.fullmatch(r"((?:[0-9]{1,9}:[0-9]{1,9},)*[0-9]{1,9}:[0-9]{1,9}):(.+)", written, re.DOTALL)
    if found is None:
        raise InputError(
            f"{option} {written!r} is not START:END:LABEL; write for example 0:3:PER for the first three {counted}, or "
            "0:1,3:4:PER for the first and the fourth"
        )
    ends = [(int(start), int(end)) for start, end in (part.split(":") for part in found[1].split(","))]
    try:
        return Mention(min(ends)[0], max(end for _, end in ends), found[2], ends)
    except SpanError as error:
        raise SpanError(f"{option} {written!r}: {error}") from None
