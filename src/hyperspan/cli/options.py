"""Options that several commands share."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from hyperspan.corpora.registry import READERS
from hyperspan.errors import InputError, SpanError
from hyperspan.types import Mention

ModelName = Annotated[
    str, typer.Option("--model", "-m", help="A bundled model (hyperspan models lists them), or the folder of one.")
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="P|LABEL=P",
        help="All mentions at least this probable, for one label or for the others. Default: the most probable set.",
    ),
]
TopK = Annotated[int, typer.Option("--top-k", "-k", min=0, help="Also the K most probable sets of each sentence.")]
Labels = Annotated[
    list[str] | None, typer.Option("--type", "-t", help="Only mentions with this label; repeat for more.")
]
TextKey = Annotated[
    str | None,
    typer.Option("--column", "--text-column", help="The column (or key of JSON Lines) with the texts. Default: text."),
]
IdKey = Annotated[str | None, typer.Option("--id-column", help="The one with their names. Default: id.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1 …")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Replace a value of the configuration; repeat for more."),
]
TrainingDevice = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:1, …, or auto: a GPU where there is one.")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="CPU threads. Default: all cores.")]

# -- corpora and scores ------------------------------------------------------------------------------------------------

_KNOWN = ", ".join(READERS)
From = Annotated[
    str | None, typer.Option("--from", help=f"The format of the input. Default: recognised. One of {_KNOWN}.")
]
OnError = Annotated[
    Literal["raise", "skip"],
    typer.Option("--on-error", help="Stop at what is wrong in the input, or leave it out and count it."),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="What a format understands besides, e.g. repair=true; repeat for more."
    ),
]
Keep = Annotated[
    Literal["outermost", "innermost"] | None,
    typer.Option(
        "--lossy",
        help="Where the format cannot hold all mentions: which to keep. Default: write nothing and say how many.",
    ),
]
Split = Annotated[
    str | None, typer.Option("--split", metavar="FILE", help="Of a folder of ACE, the documents that this file lists.")
]
PredictionsFrom = Annotated[str | None, typer.Option("--predictions-from", help="The same as --from, for predictions.")]
PredictionsOptions = Annotated[
    list[str] | None,
    typer.Option("--predictions-option", metavar="NAME=VALUE", help="The same as --option, for predictions."),
]
Format = Annotated[
    Literal["table", "json", "markdown"],
    typer.Option("--format", help="How to print the figures; json has fractions where tables have percents."),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Of the random samples; the same seed gives the same figures.")
]


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE pairs; true, false, none and whole numbers become what they say.

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
    """The names of an option that may be repeated, or separated by commas.

    >>> split_names(["DNA,RNA", "protein"])
    ['DNA', 'RNA', 'protein']
    """
    return [name.strip() for group in given or [] for name in group.split(",") if name.strip()]


def parse_mention(written: str, option: str = "--mention", counted: str = "words") -> Mention:
    """START:END:LABEL, as it was given with an option, as a mention; with commas between the parts of a discontinuous
    one.

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
