"""``hyperspan bulk``: annotate many files into a folder of shards; a job resumes after a crash."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Annotated, Literal

import typer

from hyperspan.bulk import JobSummary, Progress, annotate_files
from hyperspan.bulk.inputs import Kind
from hyperspan.bulk.shards import OutputFormat
from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import ColumnGroup, ModelGroup, SelectionGroup, TopK, output_option
from hyperspan.cli.output import counting, say
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError, counted


def bulk(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Files, folders or URLs of JSON Lines, Parquet, CSV, TSV or text."),
    ],
    output: Annotated[str, output_option("The folder for the shards: a new one, or that of a job to resume.")],
    format_: Annotated[OutputFormat, typer.Option("--format", "-f", help="The format of the shards.")] = "jsonl",
    top_k: TopK = 0,
    from_: Annotated[
        Kind | None, typer.Option("--from", help="The format of the inputs. Default: by their file names.")
    ] = None,
    engine: Annotated[
        Literal["plain", "ray"], typer.Option(help="plain runs on this machine, ray also on a cluster.")
    ] = "plain",
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of processes with a model each; 0: none but this one. Default for plain: 1 with all CPUs, or as "
            "many as fit on a GPU. Default for ray: one per CPU, or 8 per GPU.",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT|auto",
            help="The address of a running Ray cluster. Default: $RAY_ADDRESS, or a new local cluster.",
        ),
    ] = None,
    shard_records: Annotated[int, typer.Option(min=1, help="Maximum number of records per shard.")] = 10_000,
    shard_megabytes: Annotated[float, typer.Option(help="Maximum MB of text per shard.")] = 4.0,
    force: Annotated[bool, typer.Option("--force", help="Start over if the folder already contains a job.")] = False,
    *,
    model: ModelGroup,
    selection: SelectionGroup,
    columns: ColumnGroup,
) -> None:
    """Annotate many files into a folder of shards, or resume the job in that folder.

    After a crash, run the same command again: it does only the missing shards. Records that cannot be annotated go to
    OUTPUT/rejected, with the reason.

    Example: hyperspan bulk abstracts/ more.jsonl.gz --model genia --output mentions --threshold 0.5

    Example: hyperspan bulk s3://bucket/texts -o mentions --format parquet --engine ray --workers 8
    """
    if not 0 < shard_megabytes < math.inf:
        raise InputError(f"--shard-megabytes is {shard_megabytes:g}; give a number above 0")
    check_no_model("bulk {data} --model {model}", inputs, "texts.jsonl --output found")
    chosen, named = selection.options, columns.columns or Columns()
    model.use_threads()
    try:
        with counting("annotating", "words") as add_words, redirect_stdout(sys.stderr):  # Ray prints what has died
            words = 0

            def show(progress: Progress) -> None:
                nonlocal words
                add_words(progress.words - words, f"annotated {progress.shards:,} of {progress.total:,} shards")
                words = progress.words

            summary = annotate_files(
                inputs,
                output,
                model=model.model,
                **chosen,
                top_k=top_k,
                format=format_,
                kind=from_,
                text_column=named.text,
                id_column=named.id,
                shard_records=shard_records,
                shard_bytes=round(shard_megabytes * 1e6),
                engine=engine,
                workers=workers,
                ray_address=ray_address,
                device=model.device,
                dtype=model.dtype,
                force=force,
                on_progress=show,
            )
    except KeyboardInterrupt:
        say("stopped; finished shards are kept, and the same command goes on")
        raise
    for line in _lines(summary, output):
        say(line)


def _lines(summary: JobSummary, output: str) -> Iterator[str]:
    """Yield the lines that sum up a finished job."""
    yield from summary.notes
    before = f", {summary.resumed:,} of them before" if summary.resumed else ""
    yield (
        f"{output} holds {counted(summary.mentions, 'mention')} in {counted(summary.documents, 'document')} "
        f"({counted(summary.shards, 'shard')}{before})"
    )
    if summary.rejected:
        total = summary.documents + summary.rejected
        where = f"{output.rstrip('/')}/rejected"
        yield f"{summary.rejected:,} of {total:,} records were rejected; {where} says which and why"
