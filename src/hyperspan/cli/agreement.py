"""``hyperspan agreement``: measure how far two annotators agree on the same texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperspan.cli.options import Format, From, OnError, Options, parse_options
from hyperspan.cli.output import print_json, report, with_progress
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError


def agreement(
    a: Annotated[str, typer.Argument(help="The corpus of annotator A: a file, a folder, or - for standard input.")],
    b: Annotated[str, typer.Argument(help="The same texts, labelled by annotator B.")],
    format_: Format = "table",
    from_: From = None,
    on_error: OnError = "raise",
    option: Options = None,
) -> None:
    """Measure the agreement of two annotators: exact F1, F1 by type and of spans alone, and Cohen's kappa.

    If annotation is partial, only spans and labels that both annotated are compared.

    Example: hyperspan agreement ann.jsonl bob.jsonl
    """
    from hyperspan.evaluation.agreement import agreement as compare
    from hyperspan.evaluation.tables import agreement_sections, print_sections

    if (a, b).count("-") > 1:
        raise InputError("standard input is given twice; name a file for one of A and B")
    problems = Problems(on_error)
    options = parse_options(option)
    of_a, of_b = (with_progress(read_corpus(name, from_, problems, **options), name) for name in (a, b))
    found = compare(of_a, of_b, problems)
    if format_ == "json":
        print_json(found.to_dict())
    else:
        names = (Path(a).name, Path(b).name) if Path(a).name != Path(b).name else (a, b)
        print_sections(agreement_sections(found, *names), markdown=format_ == "markdown")
    report(problems)
