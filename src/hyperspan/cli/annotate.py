"""``hyperspan annotate``: find the mentions in raw text, files or a corpus.

Documents that cannot be annotated are left out and reported at the end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperspan.cli.options import (
    Device,
    Force,
    From,
    IdKey,
    Keep,
    Labels,
    ModelName,
    Names,
    OnError,
    Options,
    Pronouns,
    TextKey,
    Thresholds,
    TopK,
    parse_mention,
    parse_options,
)
from hyperspan.cli.output import counting, report, report_losses
from hyperspan.corpora.formats import write_corpus
from hyperspan.corpora.inputs import exists, read_inputs
from hyperspan.corpora.losses import Losses, Lossy
from hyperspan.corpora.outputs import OUTPUTS, choose_output, needs_sentences
from hyperspan.corpora.source import Problems
from hyperspan.corpora.tables import Columns
from hyperspan.errors import HyperspanError, InputError, counted
from hyperspan.files import Target
from hyperspan.render.html import provenance, shown_name
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.domain import DomainTally
from hyperspan.runtime.folders import DEFAULT_MODEL, is_model
from hyperspan.runtime.options import parse_thresholds
from hyperspan.types import Document, Mention

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator


def annotate(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]...",
            help="A text, files, folders of .txt files, or - for standard input. Default: standard input.",
            show_default=False,
        ),
    ] = None,
    model: ModelName = DEFAULT_MODEL,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "--output-format",
            "-f",
            help=f"The output format: one of {', '.join(OUTPUTS)}. Default: by the name of --output, else terminal.",
        ),
    ] = None,
    threshold: Thresholds = None,
    top_k: TopK = 0,
    type_: Labels = None,
    names: Names = False,
    pronouns: Pronouns = True,
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
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write (for brat: the folder); - is standard output.")
    ] = "-",
    force: Force = False,
    lossy: Keep = None,
    device: Device = "cpu",
    from_: From = None,
    on_error: OnError = "raise",
    option: Options = None,
    text_column: TextKey = None,
    id_column: IdKey = None,
    engine: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Find the mentions in a text, in files, or in a corpus.

    A corpus keeps its sentences and words. All input goes into one output; to annotate many files into a folder, use
    hyperspan bulk.

    Example: hyperspan annotate report.txt --threshold 0.3 --output report.html

    Example: hyperspan annotate notes.csv --column note --output notes.jsonl
    """
    if engine is not None:
        raise InputError(
            f"--engine {engine} is an option of hyperspan bulk, which writes a folder; use that, or leave it out"
        )
    inputs = given or []
    if len(inputs) > 1 and is_model(inputs[0]):
        raise InputError(f"{inputs[0]} is a model, but texts and files are annotated; name it with --model {inputs[0]}")
    format_name = choose_output(output, format_, inputs)
    columns = Columns(text_column or Columns.text, id_column or Columns.id) if text_column or id_column else None
    problems = Problems(on_error)
    documents = read_inputs(inputs, from_, columns, problems, parse_options(option))
    thresholds = parse_thresholds(threshold or ())
    constraints = Constraints(_mentions(require, "--require"), _mentions(forbid, "--forbid"))
    from hyperspan.runtime.loading import load

    annotator = load(model, device)
    if annotator.reads_tags:
        documents = _noting_missing_tags(documents)
    tally = DomainTally()
    documents = _judged(documents, annotator, tally, _files_by_id(inputs))
    failures = Failures(problems)
    on_screen = output == "-" and sys.stdout.isatty()
    with nullcontext() if on_screen else counting("annotating", "words") as add_words:
        found = annotator.pipe(
            [(_only(documents), constraints)] if constraints else documents,
            threshold=thresholds,
            types=type_,
            top_k=top_k,
            names=names,
            pronouns=pronouns,
            keep_sentences=needs_sentences(format_name),
            on_error=failures.add,
            on_words=add_words,
        )
        documents, target = failures.without(found), Target(output, force)
        known = len(constraints.require | constraints.forbid)
        about = provenance(model, thresholds, type_ or (), known, names=names, pronouns=pronouns)
        labels = annotator.name_labels if names else annotator.labels
        losses = _write(documents, format_name, target, labels, _title(inputs), about, problems, lossy)
    report(problems)
    if losses is not None:
        report_losses(losses)
    if tally.note:
        print(f"hyperspan: note: {tally.note}", file=sys.stderr)
    if output != "-":
        written = failures.mentions if losses is None else losses.written
        print(f"hyperspan: wrote {counted(written, 'mention')} as {format_name} to {output}", file=sys.stderr)
    failures.check()


def _mentions(given: list[str] | None, option: str) -> list[Mention]:
    return [parse_mention(written, option, "characters") for written in given or []]


def _only(documents: Iterator[str | Document]) -> str | Document:
    first = next(documents, None)
    if first is None or next(documents, None) is not None:
        raise InputError(
            "mentions are required or forbidden by their characters, so give one text, not several or none"
        )
    return first


def _noting_missing_tags(documents: Iterable[str | Document]) -> Iterator[str | Document]:
    """Yield the documents; print a note at the first one without part-of-speech tags."""
    said = False
    for document in documents:
        tagged = isinstance(document, Document) and any(sentence.tags for sentence in document.sentences)
        if not tagged and not said:
            said = True
            print(
                "hyperspan: this model was trained with part-of-speech tags, which raw text has not; expect it to find less",
                file=sys.stderr,
            )
        yield document


def _judged(
    documents: Iterable[str | Document], annotator: Annotator, tally: DomainTally, files: Mapping[str, str]
) -> Iterator[str | Document]:
    """Yield the documents and count those unlike the training text. `files` maps document ids to file names."""
    for document in documents:
        if not tally.is_full:
            name = "" if isinstance(document, str) else files.get(document.id, document.id)
            tally.add(annotator.domain_fit(document), name)
        yield document


def _files_by_id(given: Sequence[str]) -> dict[str, str]:
    """Map document ids to the named files, without ids that several files share."""
    ids = [Path(name.removesuffix(".gz")).stem for name in given]
    counts = Counter(ids)
    return {id_: name for id_, name in zip(ids, given, strict=True) if counts[id_] == 1}


def _title(given: Sequence[str]) -> str:
    return shown_name(given[0]) if len(given) == 1 and given[0] != "-" and exists(given[0]) else "hyperspan"


def _write(
    documents: Iterable[Document],
    format_name: str,
    target: Target,
    labels: Iterable[str],
    title: str,
    about: str,
    problems: Problems,
    lossy: Lossy | None,
) -> Losses | None:
    """Write documents in a format of corpora or, without losses, as a page or for the terminal."""
    if format_name == "terminal":
        from hyperspan.render.terminal import print_documents

        with target.open() as file:
            print_documents(documents, file if target.name != "-" else None, labels)
    elif format_name == "html":
        from hyperspan.render.html import iter_html

        with target.open() as file:
            file.writelines(iter_html(documents, title, labels, about))
    else:
        return write_corpus(documents, target.name, format_name, lossy=lossy, force=target.force, problems=problems)
    return None


class Failures:
    """The documents left out of a stream. With "skip" they are reported like unreadable records and are no error."""

    def __init__(self, problems: Problems):
        self._problems = problems
        self._failed = self._passed = self.mentions = 0
        self._first = ""

    def add(self, given: str | Document, error: BaseException) -> None:
        """Record the error that a document raised."""
        reason = str(error)
        if not isinstance(error, HyperspanError):
            reason = f"{_named(given)} cannot be annotated ({type(error).__name__}: {' '.join(reason.split())[:200]})"
        if self._problems.on_error == "skip":
            self._problems.skipped.append(reason)
        self._failed += 1
        self._first = self._first or reason

    def without(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents and count their mentions; raise if all documents failed, so that nothing is written."""
        for document in documents:
            self._passed += 1
            self.mentions += len(document.mentions)
            yield document
        if self._failed and not self._passed:
            self.check()

    def check(self) -> None:
        """Raise an error if documents failed and `on_error` is "raise"."""
        total = self._failed + self._passed
        if self._failed and self._problems.on_error == "raise":
            if total == 1:
                raise InputError(self._first)
            raise InputError(
                f"{self._failed:,} of {total:,} documents are left out, as they cannot be annotated, the first because "
                f"{self._first}"
            )


def _named(given: str | Document) -> str:
    document = Document(given) if isinstance(given, str) else given
    return f"document {document.id!r}" if document.id else f"the text that begins {document.text[:40]!r}"
