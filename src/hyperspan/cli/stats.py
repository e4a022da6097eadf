"""``hyperspan stats``: the statistics of the paper's Table 1 for any corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hyperspan.cli.options import Format, From, OnError, Options, Split, parse_options
from hyperspan.cli.output import print_json, report, with_progress
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import Statistics

ROWS = {
    "sentences": "sentences",
    "sentences_with_overlap": "  with overlapping mentions",
    "tokens": "tokens",
    "mentions": "mentions",
    "overlapping": "  overlapping",
    "same_type": "  overlapping one of the same type",
    "same_type_and_start": "  overlapping one of the same type and first word",
    "longer_than_6": "  longer than 6 words",
    "longest": "  longest, words",
    "crossing_pairs": "crossing pairs",
    "same_span_pairs": "pairs of types on one span",
    "duplicates": "listed twice",
    "discontinuous": "discontinuous",
    "depth": "depth of nesting",
}
PARTIAL_ROWS = {"partial_sentences": "sentences annotated in part", "forbidden": "forbidden spans"}
"""Rows shown only for partially annotated corpora."""


def stats(
    files: Annotated[list[str], typer.Argument(help="The corpora: files, folders, or - for standard input.")],
    from_: From = None,
    format_: Format = "table",
    split: Split = None,
    on_error: OnError = "raise",
    option: Options = None,
) -> None:
    """Count sentences, tokens and mentions, and how mentions overlap, as in the paper's Table 1.

    As in the paper, a mention that is listed twice counts twice; such duplicates are reported.
    """
    problems = Problems(on_error)
    counts: dict[str, Statistics] = {}
    for file in files:
        counts[file] = Statistics()
        for document in with_progress(read_corpus(file, from_, problems, split=split, **parse_options(option)), file):
            counts[file].add(document, problems)
    if format_ == "json":
        print_json({file: vars(found) for file, found in counts.items()})
    else:
        _print_table(counts, markdown=format_ == "markdown")
    report(problems)


def _rows_of_parts(counts: list[Statistics]) -> list[list[str]]:
    """Return the rows on discontinuous mentions: their sentences, parts and gaps, and the widest of each."""
    from hyperspan.evaluation.scores import GAPS, PARTS, group

    rows = [["  sentences with one", *(f"{found.sentences_with_discontinuous:,}" for found in counts)]]
    parts = {name: largest for name, largest in PARTS.items() if largest > 1}
    for title, groups, sizes in (
        ("  parts: {}", parts, [found.parts for found in counts]),
        ("  words in the widest gap: {}", GAPS, [found.gaps for found in counts]),
    ):
        for name in groups:
            sums = [sum(times for size, times in one.items() if group(groups, size) == name) for one in sizes]
            rows.append([title.format(name), *(f"{total:,}" for total in sums)])
    widest = {
        "  widest gap, words": [found.gaps for found in counts],
        "  widest first part of any mention, words": [found.first_widths for found in counts],
        "  widest later part, words": [found.later_widths for found in counts],
    }
    return rows + [[title, *(f"{max(one, default=0):,}" for one in sizes)] for title, sizes in widest.items()]


def _print_table(counts: dict[str, Statistics], *, markdown: bool) -> None:
    labels = sorted({label for found in counts.values() for label in found.types})
    partial = any(found.partial_sentences for found in counts.values())
    shown = ROWS | (PARTIAL_ROWS if partial else {})
    rows: list[list[str]] = []
    for name, title in shown.items():
        rows.append([title, *(f"{getattr(found, name):,}" for found in counts.values())])
        if name == "discontinuous" and any(found.discontinuous for found in counts.values()):
            rows += _rows_of_parts(list(counts.values()))
    rows += [[f"type {label}", *(f"{found.types[label]:,}" for found in counts.values())] for label in labels]
    names = [Path(file).name for file in counts]
    header = ["", *(names if len(set(names)) == len(names) else counts)]
    if markdown:
        lines = [header, ["---", *("---:" for _ in counts)], *([row[0].strip(), *row[1:]] for row in rows)]
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
        return
    table = Table(box=None, pad_edge=False)
    for index, title in enumerate(header):
        table.add_column(title, justify="right" if index else "left", no_wrap=index > 0)
    for row in rows:
        table.add_row(*row)
    console = Console()
    console = console if console.is_terminal else Console(width=max(80, 50 + 24 * len(counts)))
    console.print(table)
