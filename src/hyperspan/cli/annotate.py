"""``hyperspan annotate``: find the mentions in raw text, files or a corpus.

Documents that cannot be annotated are left out and reported at the end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import (
    FormattingGroup,
    GivenTexts,
    ModelGroup,
    OutputGroup,
    SelectionGroup,
    TextsGroup,
    TopK,
    parse_mention,
)
from hyperspan.cli.output import counting, report_losses, say
from hyperspan.corpora.inputs import exists
from hyperspan.corpora.outputs import choose_output, needs_sentences
from hyperspan.corpora.source import Losses, Problems
from hyperspan.errors import InputError, counted
from hyperspan.files import Target
from hyperspan.render.html import provenance, shown_name
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.notes import Notes
from hyperspan.types import Document, Mention


def annotate(
    given: GivenTexts = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="START:END:LABEL",
            help="A mention that must be found, at characters START to END (END exclusive, from 0); repeat for more. "
            "Separate the parts of a discontinuous mention with commas: 0:4,15:20:LABEL.",
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="START:END:LABEL", help="A mention that must not be found; repeat for more."),
    ] = None,
    top_k: TopK = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON Lines; short for --format jsonl.")] = False,
    *,
    model: ModelGroup,
    selection: SelectionGroup,
    texts: TextsGroup,
    output: OutputGroup,
    formatting: FormattingGroup,
) -> None:
    """Find the mentions in a text, in files, or in a corpus.

    A corpus keeps its sentences and words. All input goes into one output; to annotate many files into a folder, use
    hyperspan bulk.

    Example: hyperspan annotate report.txt --threshold 0.3 --output report.html

    Example: hyperspan annotate notes.csv --column note --output notes.jsonl
    """
    inputs = given or []
    check_no_model("annotate {data} --model {model}", inputs, "report.txt", least=2)
    format_name = choose_output(output.output, _format(formatting, json_), inputs)
    documents = texts.inputs(inputs)
    chosen = selection.options
    constraints = Constraints(_mentions(require, "--require"), _mentions(forbid, "--forbid"))
    annotator = model.load()
    promise = selection.promise(annotator)
    words = "" if promise is None else promise.words
    notes, files = Notes(annotator, words, texts.problems), _files_by_id(inputs)
    documents = notes.seen(documents, lambda document: files.get(document.id, document.id))
    on_screen = output.output == "-" and sys.stdout.isatty()
    with nullcontext() if on_screen else counting("annotating", "words") as add_words:
        found = annotator.pipe(
            [(_only(documents), constraints)] if constraints else documents,
            **chosen,
            top_k=top_k,
            keep_sentences=needs_sentences(format_name),
            on_error=notes.fail,
            on_words=add_words,
        )
        known = len(constraints.require | constraints.forbid)
        threshold = chosen["threshold"] if promise is None else promise.thresholds
        about = provenance(
            *(model.model, threshold, selection.types, known),
            names=selection.names,
            pronouns=selection.pronouns,
            promise=words,
        )
        labels = annotator.name_labels if selection.names else annotator.labels
        page = PageOptions(_title(inputs), labels, about)
        losses = _write(notes.annotated(found), format_name, output.target, page, formatting, texts.problems)
    texts.report()
    if losses is not None:
        report_losses(losses)
    for note in notes.lines:
        say(f"note: {note}")
    if output.output != "-":
        written = notes.mentions if losses is None else losses.written
        say(f"wrote {counted(written, 'mention')} as {format_name} to {output.output}")
    notes.check()


def _format(formatting: FormattingGroup, json_: bool) -> str | None:
    """The format that is named, if any; --json is short for one."""
    if json_ and formatting.format_ not in (None, "jsonl"):
        raise InputError(
            f"--json is short for --format jsonl, but --format {formatting.format_} is given; leave one out"
        )
    return "jsonl" if json_ else formatting.format_


def _mentions(given: list[str] | None, option: str) -> list[Mention]:
    return [parse_mention(written, option, "characters") for written in given or []]


def _only(documents: Iterator[str | Document]) -> str | Document:
    first = next(documents, None)
    if first is None or next(documents, None) is not None:
        raise InputError(
            "mentions are required or forbidden by their characters, so give one text, not several or none"
        )
    return first


def _files_by_id(given: Sequence[str]) -> dict[str, str]:
    """Map document ids to the named files, without ids that several files share."""
    ids = [Path(name.removesuffix(".gz")).stem for name in given]
    counts = Counter(ids)
    return {id_: name for id_, name in zip(ids, given, strict=True) if counts[id_] == 1}


def _title(given: Sequence[str]) -> str:
    return shown_name(given[0]) if len(given) == 1 and given[0] != "-" and exists(given[0]) else "hyperspan"


class PageOptions(NamedTuple):
    """What a page says beside its documents."""

    title: str
    labels: Iterable[str]
    about: str


def _write(
    documents: Iterable[Document],
    format_name: str,
    target: Target,
    page: PageOptions,
    formatting: FormattingGroup,
    problems: Problems,
) -> Losses | None:
    """Write documents in a format of corpora or, without losses, as a page or for the terminal."""
    if format_name == "terminal":
        from hyperspan.render.terminal import print_documents

        with target.open() as file:
            print_documents(documents, file if target.name != "-" else None, page.labels)
    elif format_name == "html":
        from hyperspan.render.html import iter_html

        with target.open() as file:
            file.writelines(iter_html(documents, page.title, page.labels, page.about))
    else:
        return formatting.write(documents, target, format_name, problems)
    return None
