"""``hyperspan view``: show annotated sentences in the terminal, or count what corpora contain."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import ReadingGroup, ReportingGroup
from hyperspan.cli.output import say
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.overlaps import overlaps
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import Statistics
from hyperspan.errors import InputError, counted
from hyperspan.render.layout import Colours
from hyperspan.render.terminal import render_sentence
from hyperspan.types import Document, Sentence

if TYPE_CHECKING:
    from hyperspan.evaluation.tables import Section

ROWS = {
    "sentences": "sentences",
    "sentences_with_overlap": "  with overlapping mentions",
    "tokens": "tokens",
    "mentions": "mentions",
    "overlapping": "  overlapping",
    "same_type": "  … one of the same type",
    "same_type_and_start": "  … one of the same type and first word",
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


def view(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="The corpora: files, folders, or - for standard input.")
    ],
    first: Annotated[int, typer.Option("--first", min=1, help="The number of the first sentence to show.")] = 1,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=0, help="How many sentences to show. Default: all.")
    ] = None,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Show only sentences with overlapping mentions.")
    ] = False,
    width: Annotated[int | None, typer.Option(min=20, help="Width in columns. Default: that of the terminal.")] = None,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats", help="Count sentences, tokens and mentions, and how mentions overlap; a column for each corpus."
        ),
    ] = False,
    *,
    reading: ReadingGroup,
    reporting: ReportingGroup,
) -> None:
    """Show annotated sentences in the terminal, or count what corpora contain.

    Each mention is a bar under its words. The counts are those of the paper's Table 1: as there, a mention that is
    listed twice counts twice; such duplicates are reported.

    Example: hyperspan view dev.data --overlapping --count 5

    Example: hyperspan view train.data dev.data --stats
    """
    check_no_model("info {model}", data)
    if stats:
        _count(data, reading, reporting)
        return
    if reporting.json_ or reporting.markdown:
        raise InputError(
            "--json and --markdown print counts; add --stats, or write the sentences with hyperspan convert DATA - "
            "--format jsonl"
        )
    colours = Colours()
    documents = itertools.chain.from_iterable(reading.documents(name) for name in data)
    sentences = _sentences(documents, reading.problems, colours)
    if overlapping:
        sentences = (sentence for sentence in sentences if overlaps(sentence.mentions))
    passed = itertools.count()
    sentences = (sentence for sentence, _ in zip(sentences, passed, strict=False))
    end = None if count is None else first - 1 + count
    console = Console(width=width, highlight=False)
    shown = 0
    for sentence in itertools.islice(sentences, first - 1, end):
        console.print(render_sentence(sentence, console.width, colours.styles), soft_wrap=True)
        console.print()
        shown += 1
    reading.report()
    if not shown and count != 0:
        what = f"{counted(next(passed), 'sentence')}{' with overlapping mentions' if overlapping else ''}"
        verb = "have" if len(data) > 1 else "has"
        say(f"nothing to show from sentence {first} on: {' and '.join(data)} {verb} {what}")


def _sentences(documents: Iterable[Document], problems: Problems, colours: Colours) -> Iterator[Sentence]:
    """The sentences of documents; the labels of each document get the next colours, as on a page."""
    for document in documents:
        sentences = with_sentences(document, problems).sentences
        colours.add(sorted({mention.label for sentence in sentences for mention in sentence.mentions}))
        yield from sentences


def _count(data: Sequence[str], reading: ReadingGroup, reporting: ReportingGroup) -> None:
    counts: dict[str, Statistics] = {}
    for name in data:
        counts[name] = Statistics()
        for document in reading.corpus(name):
            counts[name].add(document, reading.problems)
    reporting.show({name: vars(found) for name, found in counts.items()}, lambda: [_section(counts)])
    reading.report()


def _section(counts: dict[str, Statistics]) -> Section:
    """A column for each corpus."""
    from hyperspan.evaluation.tables import Section

    every = list(counts.values())
    shown = ROWS | (PARTIAL_ROWS if any(found.partial_sentences for found in every) else {})
    rows: list[list[str]] = []
    for name, title in shown.items():
        rows.append([title, *(f"{getattr(found, name):,}" for found in every)])
        if name == "discontinuous" and any(found.discontinuous for found in every):
            rows += _rows_of_parts(every)
    labels = sorted({label for found in every for label in found.types})
    rows += [[f"type {label}", *(f"{found.types[label]:,}" for found in every)] for label in labels]
    names = [Path(name).name for name in counts]
    return Section("Sentences and mentions", ["", *(names if len(set(names)) == len(names) else counts)], rows)


def _rows_of_parts(counts: Sequence[Statistics]) -> list[list[str]]:
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
