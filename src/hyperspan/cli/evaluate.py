"""``hyperspan evaluate``: precision, recall and F1 of overlapping mentions, overall and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import (
    ErrorsFile,
    Force,
    InferenceGroup,
    ReadingGroup,
    ReportingGroup,
    Seed,
    SelectionGroup,
    output_option,
    split_names,
)
from hyperspan.cli.output import SHOWN, counting, say
from hyperspan.corpora.formats import format_for, write_corpus
from hyperspan.corpora.outputs import FOLDERS
from hyperspan.corpora.statistics import printable
from hyperspan.errors import InputError, counted, require_plots
from hyperspan.files import Target
from hyperspan.render.html import chosen_by, shown_name
from hyperspan.runtime.folders import bundled_models
from hyperspan.types import Document

if TYPE_CHECKING:
    from hyperspan.evaluation import ErrorReport, Report
    from hyperspan.evaluation.guarantees import KeptPromise
    from hyperspan.evaluation.tables import Section
    from hyperspan.runtime.annotator import Annotator
    from hyperspan.runtime.guarantees import Promise

Samples = Annotated[int, typer.Option(min=0, help="Bootstrap samples for confidence intervals; 0 for no intervals.")]


def evaluate(
    data: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="The gold corpus: files, folders, or - for standard input."),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model to score: a bundled one, or the folder of a model.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option("--predictions", "-p", metavar="FILE", help="Score these predictions instead of a model."),
    ] = None,
    output: Annotated[
        str | None, output_option("Also write the predictions, in the format of the file name.", "FILE")
    ] = None,
    errors: ErrorsFile = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Also draw a calibration plot, as PNG.")] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Print all tables: also by width, depth and overlap, confusions and calibration."
        ),
    ] = False,
    samples: Samples = 1000,
    seed: Seed = 0,
    force: Force = False,
    *,
    selection: SelectionGroup,
    reading: ReadingGroup,
    reporting: ReportingGroup,
    compute: InferenceGroup,
) -> None:
    """Score a model or predictions against a gold corpus, by exact match of span and type.

    Only mentions with the labels of --labels are scored; "gold" stands for the labels of the corpus.

    Example: hyperspan evaluate test.data --model runs/mine --errors errors.html

    Example: hyperspan evaluate test.data --predictions predicted.jsonl --json
    """
    _check_task(data, model, predictions, output, selection)
    _check_targets(output, plot, force)
    check_error_file(errors, force)
    corpus = [document for name in data for document in reading.corpus(name)]
    scoring = ScoringOptions(split_names(selection.labels), samples, seed)
    if predictions is not None:
        task = _score_predictions(corpus, list(reading.corpus(predictions)), scoring, reading)
    else:
        annotator = compute.load_model(str(model))
        task = _score_model(annotator, selection, corpus, scoring, reading)
        if output is not None:
            write_corpus(task.documents, output, format_for(output), force=force, problems=reading.problems)
            say(f"wrote predictions to {output}")
    if plot is not None:
        _draw(task.scores, plot, force)
    if errors is not None:
        about = {"model": model, "predictions": predictions, "gold": ", ".join(data)}
        about |= _shown(selection, task.promise) if model else {}
        about |= {"labels": ", ".join(task.labels)} if task.labels else {}
        system, gold = shown_name(model or str(predictions)), ", ".join(map(shown_name, data))
        named = {key: value for key, value in about.items() if value}
        write_error_file(task.find_errors(), errors, force, f"Errors of {system} on {gold}", named, [system])
    advice = _advice(task.scores, of_model=model is not None and task.promise is None)
    _show(task, reporting, None if verbose else advice)
    reading.report()


class ScoringOptions(NamedTuple):
    """What is scored, and how sure."""

    labels: list[str]
    """Those of --labels."""
    samples: int
    seed: int


class EvaluationTask(NamedTuple):
    """The scores of a task and what was predicted, with a function that finds its errors."""

    scores: Report
    documents: Iterable[Document]
    find_errors: Callable[[], ErrorReport]
    labels: list[str] | None
    promise: EvaluatedPromise | None = None


class EvaluatedPromise(NamedTuple):
    """A promise that was asked for, and how it was kept."""

    given: Promise
    kept: list[KeptPromise]

    @property
    def values(self) -> dict[str, Any]:
        """As JSON."""
        promise = self.given
        about = {"measure": promise.measure, "words": promise.words, "unit": promise.unit}
        return {**about, "kept": [asdict(one) for one in self.kept]}


def _shown(selection: SelectionGroup, promise: EvaluatedPromise | None) -> dict[str, str]:
    """How a model annotates, for people: what is not the default."""
    return {
        "mentions found": chosen_by(selection.thresholds if promise is None else promise.given.thresholds),
        **({} if promise is None else {"promise": promise.given.words}),
        **({"mentions": "names alone"} if selection.names else {}),
        **({} if selection.pronouns else {"pronouns": "left out"}),
    }


def _check_task(
    data: Sequence[str], model: str | None, predictions: str | None, output: str | None, selection: SelectionGroup
) -> None:
    """Raise an error if the arguments do not say what to score."""
    check_no_model("evaluate {data} --model {model}", [*data, *([predictions] if predictions else ())])
    if (model is None) == (predictions is None):
        raise InputError("it is not clear what to score; give either a model with --model, or --predictions FILE")
    if [*data, predictions].count("-") > 1:
        raise InputError(
            "standard input is given more than once; name a file for all but one of DATA and --predictions"
        )
    if model is not None and Path(model).is_file() and model not in bundled_models():
        raise InputError(
            f"{model} is a file, but a model is a folder or the name of a bundled one; to score what a file predicts, use "
            f"--predictions {model}"
        )
    for_model = {"--threshold": selection.threshold, "--output": output, "--names": selection.names}
    for_model |= {"--no-pronouns": not selection.pronouns, "--recall": selection.recall}
    for_model["--precision"] = selection.precision
    if predictions is not None and (name := next((name for name, value in for_model.items() if value), None)):
        raise InputError(f"{name} is for a model, but --predictions are made already; leave it out")


def _check_targets(output: str | None, plot: str | None, force: bool) -> None:
    """Raise errors before the work that would otherwise occur after it."""
    if output is not None and (format_for(output) not in FOLDERS or Path(output).is_file()):
        Target(output, force).check()
    if plot is not None:
        require_plots("drawing calibration")
        Target(plot, force).check()


def _score_predictions(
    gold: list[Document], predicted: list[Document], scoring: ScoringOptions, reading: ReadingGroup
) -> EvaluationTask:
    from hyperspan.evaluation import align
    from hyperspan.evaluation import evaluate as score
    from hyperspan.evaluation.errors import error_report

    known, scored = labels_of(predicted), ScoredLabels(scoring.labels, gold)
    labels = scored.among(known)
    aligned = align(gold, predicted, problems=reading.problems)
    aligned = aligned if labels is None else aligned.with_labels(labels)
    scored.note_others(known, predicted)
    scores = score(aligned.gold, aligned.systems[0], samples=scoring.samples, seed=scoring.seed)
    return EvaluationTask(scores, predicted, lambda: error_report(aligned), labels)


def _score_model(
    annotator: Annotator,
    selection: SelectionGroup,
    gold: list[Document],
    scoring: ScoringOptions,
    reading: ReadingGroup,
) -> EvaluationTask:
    from hyperspan.evaluation import evaluate_model
    from hyperspan.evaluation.guarantees import kept_promises
    from hyperspan.evaluation.models import gold_asked_for, model_errors, without_pronouns

    if selection.names:
        annotator.options(names=True)  # which refuses a model that marks no names
        _note_no_names(gold, annotator)
    known = annotator.name_labels if selection.names else annotator.labels
    gold = gold_asked_for(gold, annotator.model.names, only_names=selection.names)
    if not selection.pronouns:
        gold = without_pronouns(gold)
    scored = ScoredLabels(scoring.labels, gold)
    labels = scored.among(known)
    _note_no_common_label(known, scored.in_gold)
    types = [label for label in known if labels is None or label in labels]
    promise = selection.promise(annotator, types)
    with counting("scoring", "words") as add_words:
        found = evaluate_model(
            annotator,
            gold,
            threshold=selection.thresholds if promise is None else promise.thresholds,
            samples=scoring.samples,
            seed=scoring.seed,
            labels=labels,
            problems=reading.problems,
            on_words=add_words,
            names=selection.names,
            pronouns=selection.pronouns,
        )
    scored.note_others(known, found.documents)

    def errors() -> ErrorReport:
        return model_errors(found, annotator, annotator.options(types=types, names=selection.names))

    kept = None if promise is None else EvaluatedPromise(promise, kept_promises(found.aligned, promise))
    return EvaluationTask(found.report, found.documents, errors, labels, kept)


def _note_no_names(gold: Iterable[Document], annotator: Annotator) -> None:
    """Print a note on standard error if a corpus marks no names but has labels of mentions that are none."""
    labels = {mention.label for document in gold for mention in document.mentions}
    others = set(annotator.labels) - set(annotator.name_labels)
    if labels & others and labels.isdisjoint(annotator.model.names):
        say(
            f"the corpus marks no names ({', '.join(sorted(annotator.model.names))}), so that all of its mentions "
            "count as names; if it has descriptions and pronouns, leave out --names"
        )


def _note_no_common_label(known: Collection[str], labels: Collection[str]) -> None:
    """Print a note on standard error if the model and the corpus have no label in common."""
    if labels and set(labels).isdisjoint(known):
        say(
            f"the model and the corpus have no label in common ({', '.join(known)}; in the corpus "
            f"{', '.join(sorted(labels)[:SHOWN])}{', …' if len(labels) > SHOWN else ''}), so no mention can be right"
        )


def _draw(scores: Report, plot: str, force: bool) -> None:
    from hyperspan.render.plots import draw_calibration

    if not scores.calibration:
        raise InputError(
            "the predictions carry no probabilities, so their calibration cannot be drawn; leave out --plot, "
            "or give predictions in a format that keeps them, such as jsonl"
        )
    draw_calibration(scores.calibration, Target(plot, force))
    say(f"wrote {plot}")


NOTED = 0.05
"""Precision and recall that differ by more than this are a reason for another threshold."""


def _advice(scores: Report, *, of_model: bool) -> str:
    """What to do next."""
    micro = scores.micro
    steps = ["--errors errors.html shows every error, worst first"]
    if of_model and micro.precision - micro.recall > NOTED:
        steps.append("--threshold 0.3 finds more, of which fewer are right")
    elif of_model and micro.recall - micro.precision > NOTED:
        steps.append("--threshold 0.7 finds fewer, of which more are right")
    return f"next: {'; '.join(steps)}; --verbose prints all tables"


def _show(task: EvaluationTask, reporting: ReportingGroup, advice: str | None) -> None:
    """Print the scores: a summary with advice, or all tables, and how a promise was kept."""
    from hyperspan.evaluation.guarantees import promise_section
    from hyperspan.evaluation.tables import report_sections, summary_sections

    scores, promise = task.scores, task.promise
    values = scores.to_dict() | ({} if promise is None else {"promise": promise.values})

    def sections() -> Iterator[Section]:
        if promise is not None:
            yield promise_section(*promise)
        yield from report_sections(scores) if advice is None else summary_sections(scores, advice)

    reporting.show(values, sections)


PAGES, RECORDS = (".html", ".htm"), (".jsonl", ".ndjson")


def check_error_file(name: str | None, force: bool) -> None:
    """Raise errors before the work that would otherwise occur after it."""
    if name is None:
        return
    if not name.removesuffix(".gz").endswith((*PAGES, *RECORDS)):
        raise InputError(f"--errors {name} is neither a page nor JSON Lines; let the name end in .html or .jsonl")
    Target(name, force).check()
    if name.removesuffix(".gz").endswith(PAGES):
        from hyperspan.render.html import today

        today()  # an error if the environment gives a day that is none


def write_error_file(
    found: ErrorReport, name: str, force: bool, title: str, about: Mapping[str, str], systems: Sequence[str]
) -> None:
    """Write the errors in the format of the file name; `about` describes the evaluation, `systems` are their names."""
    from hyperspan import __version__

    with Target(name, force).open() as file:
        if name.removesuffix(".gz").endswith(PAGES):
            from hyperspan.render.errors_page import iter_errors_page
            from hyperspan.render.html import today

            made = {"hyperspan": __version__, "date": today()}
            file.writelines(iter_errors_page(found, title, {**about, **made}, systems))
        else:
            from hyperspan.evaluation.errors import error_lines

            file.writelines(error_lines(found.errors))
    differences = sum(found.counts.values())
    sentences = counted(len(found.errors), "sentence")
    say(f"wrote {counted(differences, 'difference')} in {sentences} to {name}")


GOLD = "gold"
"""The value of --labels that means all labels of the corpus."""


class ScoredLabels:
    """The labels given with --labels; all labels without it."""

    def __init__(self, named: list[str], gold: list[Document]):
        self.in_gold = labels_of(gold)
        if named == [GOLD] and not self.in_gold:
            raise InputError(f"--labels {GOLD} are the labels of the corpus, but it has no mention; name the labels")
        self._named = sorted(self.in_gold) if named == [GOLD] else named

    def among(self, known: Collection[str]) -> list[str] | None:
        """Return the labels to score, None for all; InputError for labels unknown to predictions and corpus."""
        unknown = [label for label in self._named if label not in known and label not in self.in_gold]
        if unknown:
            raise InputError(
                f"--labels names {', '.join(unknown)}, but the labels of predictions and corpus are "
                f"{', '.join(sorted({*known, *self.in_gold}))}; name some of these, or {GOLD} for those of the corpus"
            )
        return self._named or None

    def note_others(self, known: Collection[str], predicted: Iterable[Document]) -> None:
        """Print how many predictions count as wrong because their labels do not occur in the corpus."""
        times = Counter(mention.label for document in predicted for mention in document.mentions)
        others = {label: count for label, count in times.most_common() if label not in self.in_gold}
        if self._named or not others or self.in_gold.isdisjoint(known):
            return
        shown = ", ".join(f"{count:,} {printable(label)}" for label, count in list(others.items())[:SHOWN])
        say(
            f"{counted(sum(others.values()), 'prediction')} with a label that never occurs in the corpus count "
            f"as wrong ({shown}{', …' if len(others) > SHOWN else ''}); if it does not annotate them, score only its own "
            f"labels with --labels {GOLD}"
        )


def labels_of(documents: Iterable[Document]) -> set[str]:
    """Return the labels that occur in the documents."""
    return {mention.label for document in documents for mention in document.mentions}
