"""``hyperspan view``: show annotated sentences in the terminal."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer
from rich.console import Console

from hyperspan.cli.options import From, OnError, Options, parse_options
from hyperspan.cli.output import report
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.overlaps import overlaps
from hyperspan.corpora.registry import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.render.layout import colours
from hyperspan.render.terminal import render_sentence


def view(
    file: Annotated[str, typer.Argument(help="The corpus: a file, a folder, or - for standard input.")],
    from_: From = None,
    first: Annotated[int, typer.Option("--first", min=1, help="The number of the first sentence to show.")] = 1,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=0, help="How many sentences to show. Default: all.")
    ] = None,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Show only sentences with overlapping mentions.")
    ] = False,
    width: Annotated[int | None, typer.Option(min=20, help="Width in columns. Default: that of the terminal.")] = None,
    on_error: OnError = "raise",
    option: Options = None,
) -> None:
    """Show annotated sentences in the terminal, with each mention as a bar under its words."""
    problems = Problems(on_error)
    documents = read_corpus(file, from_, problems, **parse_options(option))
    sentences = (sentence for document in documents for sentence in with_sentences(document, problems).sentences)
    if overlapping:
        sentences = (sentence for sentence in sentences if overlaps(sentence.mentions))
    end = None if count is None else first - 1 + count
    console = Console(width=width, highlight=False)
    styles: dict[str, str] = {}
    for sentence in itertools.islice(sentences, first - 1, end):
        if not {mention.label for mention in sentence.mentions} <= styles.keys():
            styles = colours([*styles, *(mention.label for mention in sentence.mentions)])
        console.print(render_sentence(sentence, console.width, styles), soft_wrap=True)
        console.print()
    report(problems)
