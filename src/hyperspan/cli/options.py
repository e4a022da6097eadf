"""Options of commands: each is declared once, in a group that also does its work.

How groups become options is in :mod:`hyperspan.cli.grouping`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hyperspan.cli.output import print_json, report, with_progress
from hyperspan.config import Config
from hyperspan.corpora.formats import READERS, WRITERS, read_corpus, write_corpus
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.source import Losses, Problems
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError, SpanError
from hyperspan.files import Target
from hyperspan.kernels.threads import use_threads
from hyperspan.runtime.folders import DEFAULT_MODEL
from hyperspan.runtime.options import parse_thresholds
from hyperspan.types import Document, Mention

if TYPE_CHECKING:
    from hyperspan.evaluation.tables import Section
    from hyperspan.runtime.annotator import Annotator
    from hyperspan.runtime.guarantees import Promise


# -- options that several commands have, some of experiments too -------------------------------------------------------

GivenTexts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT|FILE|-]...",
        help="A text, files, folders of .txt files, or - for standard input. Default: standard input.",
        show_default=False,
    ),
]
ErrorsFile = Annotated[
    str | None,
    typer.Option(
        "--errors",
        metavar="FILE",
        help="Also write every error with its kind and probability: a page (.html) or records (.jsonl).",
    ),
]
ModelName = Annotated[
    str, typer.Option("--model", "-m", help="A bundled model (see hyperspan info), or the folder of a model.")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="A,B",
        help="Only mentions with these labels, repeated or separated by commas. Default: all.",
    ),
]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1, …")]
TrainingDevice = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, …, or auto: a GPU if available.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Number of CPU threads. Default: all cores.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override a value of the configuration; repeat for more."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same results.")]
TopK = Annotated[
    int, typer.Option("--top-k", "-k", min=0, help="Also output the K most probable mention sets of each sentence.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def output_option(help_text: str, metavar: str | None = None) -> Any:
    """The option --output of a command whose output is not any file or folder."""
    return typer.Option("--output", "-o", metavar=metavar, help=help_text)


# -- groups ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComputeGroup:
    """Where a model runs."""

    title = "Compute"
    device: Device = "cpu"
    threads: Threads = None

    def use_threads(self) -> None:
        """Limit this process to the threads; called before anything is computed."""
        if self.threads is not None:
            use_threads(self.threads)


@dataclass(frozen=True)
class InferenceGroup(ComputeGroup):
    """Where and how a model annotates."""

    dtype: Annotated[
        Literal["float32", "bfloat16"],
        typer.Option("--dtype", help="The type of the model's numbers; bfloat16 is faster on processors that have it."),
    ] = "float32"

    def load_model(self, name: str) -> Annotator:
        from hyperspan.runtime.loading import load

        self.use_threads()
        return load(name, self.device, self.dtype)


@dataclass(frozen=True)
class ModelGroup(InferenceGroup):
    """A model, and where it runs."""

    title = "Model"
    model: ModelName = DEFAULT_MODEL

    def load(self) -> Annotator:
        return self.load_model(self.model)


@dataclass(frozen=True)
class TrainingGroup:
    """A run of training: its configuration, and where it runs."""

    title = "Training"
    overrides: Overrides = None
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER|none", help="Warm start from a bundled model or a folder; none trains from scratch."
        ),
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Random seed; short for --set training.seed=N.")] = (
        None
    )
    device: TrainingDevice = "auto"
    threads: Threads = None

    def config(self, path: str) -> Config:
        """The configuration in a file, with what these options override."""
        seed = [f"training.seed={self.seed}"] if self.seed is not None else []
        config = Config.read(path, [*(self.overrides or ()), *seed])
        if self.start is None:
            return config
        start = "" if self.start == "none" else self.start
        return replace(config, training=replace(config.training, start=start))


@dataclass(frozen=True)
class ReadingGroup:
    """How corpora are read."""

    title = "Reading"
    from_: Annotated[
        str | None,
        typer.Option("--from", help=f"The input format: one of {', '.join(READERS)}. Default: detected."),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of the input format, such as repair=true; repeat for more.",
        ),
    ] = None
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option("--on-error", help="On invalid input: raise stops, skip leaves it out and counts it."),
    ] = "raise"

    @cached_property
    def problems(self) -> Problems:
        """What was repaired or skipped so far."""
        return Problems(self.on_error)

    @property
    def options(self) -> dict[str, Any]:
        return parse_options(self.option)

    def documents(self, name: str) -> Iterator[Document]:
        """The documents of a corpus."""
        return read_corpus(name, self.from_, self.problems, **self.options)

    def corpus(self, name: str, doing: str = "") -> Iterator[Document]:
        """The documents of a corpus, counted on standard error as they pass."""
        return with_progress(self.documents(name), doing or name)

    def report(self) -> None:
        """Print on standard error what was repaired or skipped."""
        report(self.problems)


@dataclass(frozen=True)
class ColumnGroup:
    """Which columns of a table, or keys of JSON Lines, are read."""

    title = "Reading"
    column: Annotated[
        str | None,
        typer.Option("--column", help="The column (in JSON Lines: the key) with the text. Default: text."),
    ] = None
    id_column: Annotated[
        str | None, typer.Option("--id-column", help="The column or key with the document ids. Default: id.")
    ] = None

    @property
    def columns(self) -> Columns | None:
        """The columns; None if none is named."""
        if self.column is None and self.id_column is None:
            return None
        return Columns(self.column or Columns.text, self.id_column or Columns.id)


@dataclass(frozen=True)
class TextsGroup(ColumnGroup, ReadingGroup):
    """How texts to annotate are read."""

    def inputs(self, given: Sequence[str]) -> Iterator[str | Document]:
        """Texts and documents: those of files and folders, of standard input ("-"), or the texts themselves."""
        return read_inputs(given, self.from_, self.columns, self.problems, self.options)


@dataclass(frozen=True)
class SelectionGroup:
    """Which mentions are found."""

    title = "Selection"
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="P|LABEL=P",
            help="Find every mention with at least this probability; LABEL=P applies to one label, P to all others. "
            "Repeat for more labels. Default: the most probable set of mentions.",
        ),
    ] = None
    recall: Annotated[
        list[str] | None,
        typer.Option(
            "--recall",
            metavar="P|LABEL=P",
            help="Find at least this share of the mentions, expected over texts like those that the model was calibrated "
            "on, such as 0.95; LABEL=P for one label. See hyperspan model calibrate.",
        ),
    ] = None
    precision: Annotated[
        list[str] | None,
        typer.Option(
            "--precision",
            metavar="P|LABEL=P",
            help="Find as much as possible of which at least this share is right, with 90% confidence.",
        ),
    ] = None
    labels: Labels = None
    names: Annotated[
        bool,
        typer.Option(
            "--names", help="Find names alone, under the types that they are names of, with a model that marks them."
        ),
    ] = False
    pronouns: Annotated[
        bool,
        typer.Option("--pronouns/--no-pronouns", help="Whether to show mentions that are one English pronoun."),
    ] = True

    @property
    def thresholds(self) -> dict[str, float] | None:
        return parse_thresholds(self.threshold or ())

    @property
    def types(self) -> list[str] | None:
        """The labels to find; None for all."""
        return split_names(self.labels) or None

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of an annotator."""
        found = {"threshold": self.thresholds, "types": self.types}
        found |= {name: parse_thresholds(getattr(self, name) or (), name) for name in ("recall", "precision")}
        return {**found, "names": self.names, "pronouns": self.pronouns}

    def promise(self, annotator: Annotator, types: Sequence[str] | None = None) -> Promise | None:
        """The promise that is asked of an annotator, if any; for these types, if they are others."""
        given = self.options
        if types is not None:
            given["types"] = types
        threshold, promise = given.pop("threshold"), annotator.promise(**given)
        if threshold is not None and promise is not None:
            raise InputError("--threshold is given with a promise, which chooses its own; leave one of them out")
        return promise


@dataclass(frozen=True)
class OutputGroup:
    """Where results are written."""

    title = "Output"
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file or folder to write; - is standard output.")
    ] = "-"
    force: Force = False

    @property
    def target(self) -> Target:
        return Target(self.output, self.force)


@dataclass(frozen=True)
class FormattingGroup:
    """The format of what is written."""

    title = "Output"
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help=f"The output format: one of {', '.join(WRITERS)}; hyperspan annotate also has terminal and html. "
            "Default: by its name.",
        ),
    ] = None
    write_option: Annotated[
        list[str] | None,
        typer.Option("--write-option", metavar="NAME=VALUE", help="An option of the output format; repeat for more."),
    ] = None
    lossy: Annotated[
        Literal["outermost", "innermost"] | None,
        typer.Option(
            "--lossy",
            help="Which mentions to keep if the format cannot represent all of them. Default: write nothing and report "
            "how many do not fit.",
        ),
    ] = None

    def write(self, documents: Iterable[Document], target: Target, format_name: str, problems: Problems) -> Losses:
        """Write documents in a format of corpora."""
        options = parse_options(self.write_option, "--write-option")
        return write_corpus(
            documents, target.name, format_name, lossy=self.lossy, force=target.force, problems=problems, **options
        )


@dataclass(frozen=True)
class ReportingGroup:
    """How results are printed."""

    title = "Results"
    json_: Annotated[bool, typer.Option("--json", help="Print JSON; scores are fractions.")] = False
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables in Markdown.")] = False

    def show(self, values: object, sections: Callable[[], Iterable[Section]]) -> None:
        """Print results: the values as JSON, or tables."""
        if self.json_:
            print_json(values)
        else:
            from hyperspan.evaluation.tables import print_sections

            print_sections(sections(), markdown=self.markdown)


# -- values of options -------------------------------------------------------------------------------------------------


def parse_options(given: list[str] | None, option: str = "--option") -> dict[str, Any]:
    """Parse NAME=VALUE pairs; true, false, none and integers become Python values.

    >>> parse_options(["repair=true", "layers=4", "types=raw"])
    {'repair': True, 'layers': 4, 'types': 'raw'}
    """
    words = {"true": True, "false": False, "none": None}
    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"{option} {pair!r} is not NAME=VALUE; write for example {option} repair=true")
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
