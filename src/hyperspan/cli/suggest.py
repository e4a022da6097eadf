"""``hyperspan suggest``: choose what to label next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import typer

from hyperspan.cli.guesses import check_no_model, check_not_one_word
from hyperspan.cli.options import GivenTexts, ModelGroup, OutputGroup, TextsGroup
from hyperspan.cli.output import counting, say
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import counted
from hyperspan.types import Sentence


def suggest(
    given: GivenTexts = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, help="How many to suggest. Default: 100, or as many as --budget-words allows."
        ),
    ] = None,
    budget_words: Annotated[int | None, typer.Option(min=1, help="Maximum number of words in total.")] = None,
    unit: Annotated[Literal["sentence", "document"], typer.Option(help="The unit to suggest.")] = "sentence",
    labelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="A labelled corpus whose sentences are not suggested again; repeat for more."
        ),
    ] = None,
    *,
    model: ModelGroup,
    texts: TextsGroup,
    output: OutputGroup,
) -> None:
    """Rank sentences or documents by the model's uncertainty, without near duplicates.

    Writes JSON Lines, the most uncertain first, with the model's mentions as a draft to correct.

    Example: hyperspan suggest abstracts.jsonl --model genia --budget-words 5000 -o next.jsonl
    """
    check_no_model("suggest {data} --model {model}", given or (), "texts.jsonl", least=2)
    check_not_one_word(given or ())
    documents, problems = texts.inputs(given or []), texts.problems
    from hyperspan.labelling.suggestions import DEFAULT_COUNT, rank

    output.target.check()  # errors before the model is loaded
    annotator = model.load()
    with counting("ranking", "words") as add_words:
        suggestions = list(
            rank(
                annotator,
                documents,
                count=count or (None if budget_words else DEFAULT_COUNT),
                budget_words=budget_words,
                unit=unit,
                labelled=_sentences(labelled or (), problems),
                on_words=add_words,
                on_error=(lambda _, error: problems.skipped.append(str(error))) if texts.on_error == "skip" else None,
            )
        )
    drafts = (one.draft for one in suggestions)
    write_corpus(drafts, output.output, "jsonl", force=output.force, problems=problems)
    texts.report()
    amount = f"{counted(len(suggestions), unit)} of {counted(sum(one.words for one in suggestions), 'word')}"
    none = "" if suggestions else "; all that has words is labelled already or exceeds --budget-words"
    say(f"suggested {amount}{none}")


def _sentences(corpora: Iterable[str], problems: Problems) -> Iterator[Sentence]:
    """Yield the labelled sentences of the corpora, without sentences whose annotation is unknown."""
    for name in corpora:
        for document in read_corpus(name, None, problems):
            for sentence in with_sentences(document, problems).sentences:
                if sentence.mentions or sentence.forbidden or not (sentence.annotated and sentence.annotated.is_empty):
                    yield sentence
