"""``hyperspan view``: show annotated sentences in the terminal."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.console import Console

from hyperspan.cli.options import ReadingGroup
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.overlaps import overlaps
from hyperspan.corpora.source import Problems
from hyperspan.errors import counted
from hyperspan.render.layout import Colours
from hyperspan.render.terminal import render_sentence
from hyperspan.types import Document, Sentence


def view(
    file: Annotated[str, typer.Argument(help="The corpus: a file, a folder, or - for standard input.")],
    first: Annotated[int, typer.Option("--first", min=1, help="The number of the first sentence to show.")] = 1,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=0, help="How many sentences to show. Default: all.")
    ] = None,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Show only sentences with overlapping mentions.")
    ] = False,
    width: Annotated[int | None, typer.Option(min=20, help="Width in columns. Default: that of the terminal.")] = None,
    *,
    reading: ReadingGroup,
) -> None:
    """Show annotated sentences in the terminal, with each mention as a bar under its words."""
    documents = read_corpus(file, reading.from_, reading.problems, **reading.options)
    colours = Colours()
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
        print(f"hyperspan: nothing to show from sentence {first} on: {file} has {what}", file=sys.stderr)


def _sentences(documents: Iterable[Document], problems: Problems, colours: Colours) -> Iterator[Sentence]:
    """The sentences of documents; the labels of each document get the next colours, as on a page."""
    for document in documents:
        sentences = with_sentences(document, problems).sentences
        colours.add(sorted({mention.label for sentence in sentences for mention in sentence.mentions}))
        yield from sentences
