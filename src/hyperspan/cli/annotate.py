"""``hyperspan annotate``: the mentions of raw text, of files, or of a corpus."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from hyperspan.bulk.plan import Columns
from hyperspan.cli.bulk import (
    Engine,
    IdKey,
    RayAddress,
    ShardMegabytes,
    ShardRecords,
    TextKey,
    Workers,
    annotate_in_bulk,
)
from hyperspan.cli.corpora import From, OnError, Options, parse_options, report
from hyperspan.cli.draw import parse_mention
from hyperspan.cli.failures import Failures
from hyperspan.cli.inputs import TEXTS, documents, exists
from hyperspan.cli.outputs import check_output, is_bulk
from hyperspan.corpora.registry import WRITERS, format_for, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.progress import every_minute
from hyperspan.types import Document, Mention

if TYPE_CHECKING:
    from hyperspan.inference.annotator import Annotator

_FORMATS = ("terminal", "html", *WRITERS)


def annotate(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]...",
            help="A text; or files, folders of .txt files, or - for standard input, which is read if nothing is given. "
            "For bulk jobs also URLs.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A bundled model, or the folder of one.")] = "genia",
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "--output-format",
            "-f",
            help=f"One of {', '.join(_FORMATS)}. Default: what the name of --output says, or terminal. For bulk jobs: "
            "jsonl or parquet.",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P|LABEL=P",
            help="All mentions at least this probable, for one label or for the others. Default: the most probable set.",
        ),
    ] = None,
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", min=0, help="Also the K most probable sets of each sentence.")
    ] = 0,
    type_: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only mentions with this label; repeat for more.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="START:END:LABEL",
            help="A mention that the text has, from character START to before END, counted from 0; repeat for more.",
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(metavar="START:END:LABEL", help="A mention that it has not; repeat for more.")
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file or folder to write; - is standard output. A name that ends in / is the folder of a bulk job.",
        ),
    ] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1 …")] = "cpu",
    from_: From = None,
    on_error: OnError = "raise",
    option: Options = None,
    engine: Engine = None,
    workers: Workers = None,
    ray_address: RayAddress = None,
    text_column: TextKey = None,
    id_column: IdKey = None,
    shard_records: ShardRecords = 10_000,
    shard_megabytes: ShardMegabytes = 4.0,
) -> None:
    """Find the mentions in a text, in files, or in a corpus, whose sentences and words are then kept.

    Example: hyperspan annotate abstracts.txt --threshold 0.3 --output abstracts.html

    Example: hyperspan annotate notes.csv --column note --output notes.jsonl

    Bulk jobs are cut into shards, resumed after a crash by the same command, and leave bad records aside:

    Example: hyperspan annotate texts/ s3://bucket/more.parquet --format parquet --output found/ --engine ray
    """
    check_output(output, format_, bulk := is_bulk(output, format_, engine or workers or ray_address), given or [])
    if bulk:
        if require or forbid or option or on_error != "raise":
            raise InputError(
                "--require, --forbid, --option and --on-error are for single texts and corpora, not for a bulk job, which always "
                "sets bad records aside"
            )
        if not 0 < shard_megabytes < math.inf:
            raise InputError(f"--shard-megabytes is {shard_megabytes:g}; give a number above 0")
        annotate_in_bulk(
            given or [],
            output,
            model=model,
            threshold=_thresholds(threshold),
            types=type_,
            top_k=top_k,
            format=format_ or "jsonl",
            kind=from_,
            text_column=text_column or Columns.text,
            id_column=id_column or Columns.id,
            shard_records=shard_records,
            shard_bytes=round(shard_megabytes * 1e6),
            engine=engine or "plain",
            workers=workers,
            ray_address=ray_address,
            device=device,
            force=force,
        )
        return
    columns = Columns(text_column or Columns.text, id_column or Columns.id) if text_column or id_column else None
    format_name = _format(format_, output)
    problems = Problems(on_error)
    inputs = documents(given or [], from_, columns, problems, parse_options(option))
    thresholds = _thresholds(threshold)
    required, forbidden = _mentions(require, "--require"), _mentions(forbid, "--forbid")
    from hyperspan.inference.annotator import load

    annotator = load(model, device)
    if annotator.reads_tags:
        inputs = _telling_of_tags(inputs)
    wanted: dict[str, Any] = {"threshold": thresholds, "types": type_, "top_k": top_k}
    by_sentence = format_name not in ("html", "jsonl", "brat")  # the other formats need no sentences
    failures = Failures(problems)
    if require or forbid:
        found = iter([annotator(_only(inputs), **wanted, require=required, forbid=forbidden)])
    else:
        found = failures.without(annotator.pipe(inputs, **wanted, keep_sentences=by_sentence, on_error=failures.add))
    annotated = _Counted(found if output == "-" and sys.stdout.isatty() else _with_words(found, annotator))
    target = Target(output, force)
    if format_name == "terminal":
        _write_terminal(annotated, target, annotator.labels)
    elif format_name == "html":
        _write_html(annotated, target, _title(given or []), annotator.labels)
    else:
        write_corpus(annotated, output, format_name, force=force, problems=problems)
    report(problems)
    if output != "-":
        print(f"hyperspan: wrote {annotated.mentions:,} mentions as {format_name} to {output}", file=sys.stderr)
    failures.check()


def _mentions(given: list[str] | None, option: str) -> list[Mention]:
    return [parse_mention(written, option, "characters") for written in given or []]


def _only(documents: Iterator[str | Document]) -> str | Document:
    first = next(documents, None)
    if first is None or next(documents, None) is not None:
        raise InputError(
            "mentions are required or forbidden by their characters, so give one text, not several or none"
        )
    return first


def _telling_of_tags(documents: Iterable[str | Document]) -> Iterator[str | Document]:
    """The documents; when the first comes that has no part-of-speech tags, it is said what that means."""
    told = False
    for document in documents:
        tagged = isinstance(document, Document) and any(sentence.tags for sentence in document.sentences)
        if not tagged and not told:
            told = True
            print(
                "hyperspan: this model was trained with part-of-speech tags, which raw text has not; expect it to find less",
                file=sys.stderr,
            )
        yield document


def _with_words(documents: Iterable[Document], annotator: Annotator) -> Iterator[Document]:
    """The documents, with the words done so far on standard error: always on a terminal, else every minute."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("annotating {task.completed:,} words"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("annotating", total=None)
        annotator.on_words = lambda words: progress.advance(task, words)
        with every_minute(lambda: f"hyperspan: annotated {progress.tasks[0].completed:,} words", console):
            yield from documents


class _Counted:
    """Documents that pass, and how many mentions they had."""

    def __init__(self, documents: Iterable[Document]):
        self.documents, self.mentions = documents, 0

    def __iter__(self) -> Iterator[Document]:
        for document in self.documents:
            self.mentions += len(document.mentions)
            yield document


def _thresholds(given: list[str] | None) -> dict[str, float] | None:
    """P and LABEL=P as thresholds by label.

    >>> _thresholds(["0.5", "protein=0.3"])
    {'*': 0.5, 'protein': 0.3}
    """
    thresholds: dict[str, float] = {}
    for written in given or []:
        label, _, number = written.rpartition("=")
        try:
            thresholds[label or "*"] = float(number)
        except ValueError:
            raise InputError(
                f"--threshold {written!r} is no probability; write for example 0.5, or protein=0.3 for one label"
            ) from None
    return thresholds or None


# -- what to write -----------------------------------------------------------------------------------------------------


def _format(format_name: str | None, output: str) -> str:
    if format_name is None and output != "-":
        plain = output.removesuffix(".gz")
        if plain.endswith((".html", ".htm", *TEXTS)):
            return "terminal" if plain.endswith(TEXTS) else "html"
        try:
            return format_for(output)
        except InputError:
            raise InputError(
                f"the name {output} does not say its format; name it with --format, one of {', '.join(_FORMATS)}, or let it end "
                "in / for a folder"
            ) from None
    if format_name not in (None, *_FORMATS):
        raise InputError(f"there is no format {format_name!r} to write; choose one of {', '.join(_FORMATS)}")
    if format_name == "brat" and output == "-":
        raise InputError("brat is a folder of files, which standard output cannot be; name one with --output")
    return format_name or "terminal"


def _title(given: Sequence[str]) -> str:
    return Path(given[0]).name if len(given) == 1 and given[0] != "-" and exists(given[0]) else "hyperspan"


def _write_html(documents: Iterable[Document], target: Target, title: str, labels: Iterable[str]) -> None:
    from hyperspan.render.html import html_pieces

    with target.open() as file:
        for piece in html_pieces(documents, title, labels):
            file.write(piece)


def _write_terminal(documents: Iterable[Document], target: Target, labels: Iterable[str]) -> None:
    with target.open() as file:
        _print(documents, file if target.name != "-" else None, labels)


def _print(documents: Iterable[Document], file: IO[str] | None, labels: Iterable[str]) -> None:
    """Sentences with their bars, and below each its alternatives where there are any."""
    from hyperspan.inference.assembly import ALTERNATIVES
    from hyperspan.render.layout import colours
    from hyperspan.render.terminal import render_sentence

    console = Console(file=file, highlight=False)
    styles = colours(labels)
    for document in documents:
        if document.id:
            console.print(Text(document.id, style="bold"), end="\n\n")
        alternatives = iter(document.metadata.get(ALTERNATIVES, []))
        for sentence in document.sentences:
            console.print(render_sentence(sentence, console.width, styles), soft_wrap=True)
            for ranked in next(alternatives, {"sets": []})["sets"] if sentence.tokens else []:
                console.print(_alternative(ranked, document.text, styles, console))
            console.print()


def _alternative(ranked: dict[str, Any], text: str, styles: dict[str, str], console: Console) -> Text:
    """One of the best sets: its probability, and its mentions, on as many lines as they need."""
    mentions = Text("" if ranked["mentions"] else "no mentions", style="" if ranked["mentions"] else "italic")
    for index, mention in enumerate(ranked["mentions"]):
        words = " ".join(text[mention["start"] : mention["end"]].split())
        mentions.append(" | " if index else "").append(f"{words} ").append(
            mention["label"], style=styles[mention["label"]]
        )
    margin = f"  {ranked['probability']:.3f}  "
    lines = mentions.wrap(console, max(console.width - len(margin), 1))
    for line in lines:
        line.rstrip()
    return Text("\n").join(Text(" " * len(margin) if index else margin) + line for index, line in enumerate(lines))
