"""``hyperspan suggest``: choose what to label next."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hyperspan.cli.options import Device, Force, From, IdKey, OnError, Options, TextKey, parse_options
from hyperspan.cli.output import counting, report
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.corpora.inputs import read_inputs
from hyperspan.corpora.source import Problems
from hyperspan.corpora.tables import Columns
from hyperspan.errors import counted
from hyperspan.types import Document, Sentence

if TYPE_CHECKING:
    from hyperspan.labelling.suggestions import Suggestion


def suggest(
    model: Annotated[str, typer.Argument(help="The model to improve: a bundled model or a folder.")],
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]...",
            help="The texts to choose from: any input of hyperspan annotate. Default: standard input.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, help="How many to suggest. Default: 100, or as many as --budget-words allows."
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="The measure of uncertainty: mix or entropy.")] = "mix",
    budget_words: Annotated[int | None, typer.Option(min=1, help="Maximum number of words in total.")] = None,
    unit: Annotated[Literal["sentence", "document"], typer.Option(help="The unit to suggest.")] = "sentence",
    labelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="A labelled corpus whose sentences are not suggested again; repeat for more."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The JSON Lines file to write; - is standard output.")
    ] = "-",
    force: Force = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed, which breaks ties between equal scores.")] = 0,
    device: Device = "cpu",
    from_: From = None,
    on_error: OnError = "raise",
    option: Options = None,
    text_column: TextKey = None,
    id_column: IdKey = None,
) -> None:
    """Rank sentences or documents by the model's uncertainty, without near duplicates.

    Writes JSON Lines, the most uncertain first, with the model's mentions as a draft to correct.

    Example: hyperspan suggest genia abstracts.jsonl --budget-words 5000 -o next.jsonl
    """
    columns = Columns(text_column or Columns.text, id_column or Columns.id) if text_column or id_column else None
    problems = Problems(on_error)
    documents = read_inputs(given or [], from_, columns, problems, parse_options(option))
    from hyperspan.labelling.suggestions import DEFAULT_COUNT, criterion_of, rank
    from hyperspan.runtime.loading import load

    criterion = criterion_of(by)
    annotator, totals = load(model, device), SuggestionTotals()
    with counting("ranking", "words") as add_words:
        suggestions = rank(
            annotator,
            documents,
            by=criterion,
            count=count or (None if budget_words else DEFAULT_COUNT),
            budget_words=budget_words,
            unit=unit,
            labelled=_sentences(labelled or (), problems),
            seed=seed,
            on_words=add_words,
            on_error=(lambda _, error: problems.skipped.append(str(error))) if on_error == "skip" else None,
        )
        write_corpus(totals.drafts(suggestions), output, "jsonl", force=force, problems=problems)
    report(problems)
    amount = f"{counted(totals.suggestions, unit)} of {counted(totals.words, 'word')}"
    none = "" if totals.suggestions else "; all that has words is labelled already or exceeds --budget-words"
    print(f"hyperspan: suggested {amount}{none}", file=sys.stderr)


class SuggestionTotals:
    """Counts the suggestions and their words."""

    def __init__(self) -> None:
        self.suggestions = self.words = 0

    def drafts(self, suggestions: Iterable[Suggestion]) -> Iterator[Document]:
        for one in suggestions:
            self.suggestions += 1
            self.words += one.words
            yield one.draft


def _sentences(corpora: Iterable[str], problems: Problems) -> Iterator[Sentence]:
    """Yield the labelled sentences of the corpora, without sentences whose annotation is unknown."""
    for name in corpora:
        for document in read_corpus(name, None, problems):
            for sentence in with_sentences(document, problems).sentences:
                if sentence.mentions or sentence.forbidden or not (sentence.annotated and sentence.annotated.is_empty):
                    yield sentence
