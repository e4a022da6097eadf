"""``hyperspan compare``: test whether one system is better than another, or measure how far two annotators agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.evaluate import check_error_file, write_error_file
from hyperspan.cli.options import ErrorsFile, Force, ReadingGroup, ReportingGroup, Seed
from hyperspan.cli.output import say
from hyperspan.errors import InputError
from hyperspan.runtime.folders import is_model
from hyperspan.types import Document


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A corpus: predictions of system A, or work of annotator A.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same texts by system or annotator B.")],
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", "-g", metavar="FILE", help="The gold corpus, to compare systems. Without it: two annotators."
        ),
    ] = None,
    errors: ErrorsFile = None,
    samples: Annotated[int, typer.Option(min=1, help="Resampling rounds of each test.")] = 10_000,
    seed: Seed = 0,
    force: Force = False,
    *,
    reading: ReadingGroup,
    reporting: ReportingGroup,
) -> None:
    """Compare two systems on a gold corpus with paired tests, or two annotators of the same texts.

    Of systems: micro precision, recall and F1. Of annotators, where no --gold is given: exact F1, F1 by type and of
    spans alone, and Cohen's kappa; if annotation is partial, only spans and labels that both annotated are compared.

    Example: hyperspan compare baseline.jsonl better.jsonl --gold test.data --errors differences.html

    Example: hyperspan compare ann.jsonl bob.jsonl
    """
    if [a, b, gold].count("-") > 1:
        raise InputError("standard input is given more than once; name a file for all but one of A, B and --gold")
    if (model := next(filter(is_model, (a, b)), None)) is not None:
        raise InputError(
            f"{model} is a model, but files of predictions are compared; write them with hyperspan annotate --model {model} first"
        )
    check_error_file(errors, force)
    if gold is None and errors is not None:
        raise InputError("--errors are those of systems, which a gold corpus shows; name it with --gold")
    names = (Path(a).name, Path(b).name) if Path(a).name != Path(b).name else (a, b)
    corpora = reading.corpus(a), reading.corpus(b)
    if gold is None:
        say(f"{a} and {b} are two annotators; to compare systems, name a gold corpus with --gold")
        _compare_annotators(*corpora, names, reading, reporting)
        return
    from hyperspan.evaluation import align
    from hyperspan.evaluation import compare as test
    from hyperspan.evaluation.errors import error_report
    from hyperspan.evaluation.tables import comparison_sections

    truth = reading.corpus(gold)
    say(f"{a} and {b} are two systems, compared on {gold}")
    aligned = align(truth, *corpora, problems=reading.problems)
    found = test(aligned.gold, *aligned.systems, rounds=samples, seed=seed)
    if errors is not None:
        title, about = f"{names[0]} and {names[1]} on {Path(gold).name}", {"A": a, "B": b, "gold": gold}
        write_error_file(error_report(aligned), errors, force, title, about, names)
    reporting.show(found.to_dict(), lambda: comparison_sections(found, *names))
    reading.report()


def _compare_annotators(
    a: Iterator[Document],
    b: Iterator[Document],
    names: tuple[str, str],
    reading: ReadingGroup,
    reporting: ReportingGroup,
) -> None:
    from hyperspan.evaluation.agreement import agreement
    from hyperspan.evaluation.tables import agreement_sections

    found = agreement(a, b, reading.problems)
    reporting.show(found.to_dict(), lambda: agreement_sections(found, *names))
    reading.report()
