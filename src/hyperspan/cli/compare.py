"""``hyperspan compare``: test whether one system is better than another, and list what each one misses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.evaluate import check_error_file, write_error_file
from hyperspan.cli.options import (
    Force,
    Format,
    From,
    OnError,
    Options,
    PredictionsFrom,
    PredictionsOptions,
    Seed,
    Split,
    parse_options,
)
from hyperspan.cli.output import print_json, report, with_progress
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.runtime.folders import is_model


def compare(
    a: Annotated[str, typer.Argument(help="Predictions of system A: a file, a folder, or - for standard input.")],
    b: Annotated[str, typer.Argument(help="Predictions of system B for the same texts.")],
    gold: Annotated[str, typer.Option("--gold", "-g", metavar="FILE", help="The gold corpus.")],
    format_: Format = "table",
    rounds: Annotated[int, typer.Option(min=1, help="Resampling rounds of each test.")] = 10_000,
    seed: Seed = 0,
    differences: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write the errors of both systems: a page (.html) or records (.jsonl)."),
    ] = None,
    from_: From = None,
    predictions_from: PredictionsFrom = None,
    split: Split = None,
    on_error: OnError = "raise",
    option: Options = None,
    predictions_option: PredictionsOptions = None,
    force: Force = False,
) -> None:
    """Compare the predictions of two systems with paired tests on micro precision, recall and F1.

    Example: hyperspan compare baseline.jsonl better.jsonl --gold test.data --differences differences.html
    """
    from hyperspan.evaluation import align
    from hyperspan.evaluation import compare as test
    from hyperspan.evaluation.errors import error_report
    from hyperspan.evaluation.tables import comparison_sections, print_sections

    if (a, b, gold).count("-") > 1:
        raise InputError("standard input is given more than once; name a file for all but one of A, B and --gold")
    if (model := next(filter(is_model, (a, b)), None)) is not None:
        raise InputError(
            f"{model} is a model, but files of predictions are compared; write them with hyperspan annotate --model {model} first"
        )
    check_error_file(differences, "--differences", force)
    problems = Problems(on_error)
    truth = with_progress(read_corpus(gold, from_, problems, split=split, **parse_options(option)), gold)
    options = parse_options(predictions_option)
    systems = [with_progress(read_corpus(name, predictions_from, problems, **options), name) for name in (a, b)]
    aligned = align(truth, *systems, problems=problems)
    found = test(aligned.gold, *aligned.systems, rounds=rounds, seed=seed)
    names = (Path(a).name, Path(b).name) if Path(a).name != Path(b).name else (a, b)
    if differences is not None:
        title, about = f"{names[0]} and {names[1]} on {Path(gold).name}", {"A": a, "B": b, "gold": gold}
        write_error_file(error_report(aligned), differences, force, title, about, names)
    if format_ == "json":
        print_json(found.to_dict())
    else:
        print_sections(comparison_sections(found, *names), markdown=format_ == "markdown")
    report(problems)
