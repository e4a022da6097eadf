"""``hyperspan evaluate``: precision, recall and F1 of overlapping mentions, overall and by group."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hyperspan.cli.options import (
    Device,
    Force,
    Format,
    From,
    Names,
    OnError,
    Options,
    PredictionsFrom,
    PredictionsOptions,
    Pronouns,
    Seed,
    Split,
    parse_options,
    split_names,
)
from hyperspan.cli.output import SHOWN, counting, print_json, report, with_progress
from hyperspan.corpora.formats import format_for, read_corpus, write_corpus
from hyperspan.corpora.outputs import FOLDERS
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import printable
from hyperspan.errors import InputError, counted, require_plots
from hyperspan.files import Target
from hyperspan.render.html import shown_name
from hyperspan.runtime.folders import bundled_models
from hyperspan.types import Document

if TYPE_CHECKING:
    from hyperspan.evaluation import ErrorReport, Evaluated, Report
    from hyperspan.runtime.annotator import Annotator


def evaluate(
    model: Annotated[str | None, typer.Argument(help="A bundled model, or the folder of a model.")] = None,
    data: Annotated[
        str | None, typer.Argument(help="The gold corpus: a file, a folder, or - for standard input.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            "--predictions", "-p", metavar="FILE", help="Score these predictions instead of a model; needs --gold."
        ),
    ] = None,
    gold: Annotated[
        str | None, typer.Option("--gold", "-g", metavar="FILE", help="The gold corpus for --predictions.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Score every mention with at least this probability. Default: the most probable set."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Score only these labels, repeated or separated by commas; gold means the labels of the corpus. "
            "Default: all."
        ),
    ] = None,
    names: Names = False,
    pronouns: Pronouns = True,
    format_: Format = "table",
    samples: Annotated[
        int, typer.Option(min=0, help="Bootstrap samples for confidence intervals; 0 for no intervals.")
    ] = 1000,
    seed: Seed = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Also write the predictions, in the format of the file name."
        ),
    ] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Also draw a calibration plot, as PNG.")] = None,
    errors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also write every error with its kind and probability: a page (.html) or records (.jsonl).",
        ),
    ] = None,
    from_: From = None,
    predictions_from: PredictionsFrom = None,
    split: Split = None,
    on_error: OnError = "raise",
    option: Options = None,
    predictions_option: PredictionsOptions = None,
    force: Force = False,
    device: Device = "cpu",
) -> None:
    """Score a model or predictions against a gold corpus, by exact match of span and type.

    Example: hyperspan evaluate my-model test.data

    Example: hyperspan evaluate my-model test.data --errors errors.html

    Example: hyperspan evaluate --predictions predicted.jsonl --gold test.data --format json
    """
    truth = _check_task(model, data, predictions, gold, threshold, output, names, pronouns)
    _check_targets(output, plot, force)
    check_error_file(errors, "--errors", force)
    problems = Problems(on_error)
    corpus = list(with_progress(read_corpus(truth, from_, problems, split=split, **parse_options(option)), truth))
    named = split_names(labels)
    if predictions is not None:
        found = read_corpus(predictions, predictions_from, problems, **parse_options(predictions_option))
        task = _score_predictions(corpus, list(with_progress(found, predictions)), named, samples, seed, problems)
    else:
        options = ModelOptions(str(model), device, threshold, names, pronouns)
        task = _score_model(options, corpus, named, samples, seed, problems, output, force)
    if plot is not None:
        _draw(task.scores, plot, force)
    if errors is not None:
        about = {"model": model, "predictions": predictions, "gold": truth}
        about |= ModelOptions(model, device, threshold, names, pronouns).shown if model else {}
        about |= {"labels": ", ".join(task.labels)} if task.labels else {}
        named = {key: value for key, value in about.items() if value}
        system = shown_name(model or str(predictions))
        title = f"Errors of {system} on {shown_name(truth)}"
        write_error_file(task.find_errors(), errors, force, title, named, [system])
    _show(task.scores, format_)
    report(problems)


class ModelOptions(NamedTuple):
    """A model to score, and how it annotates."""

    name: str
    device: str
    threshold: float | None
    names: bool
    pronouns: bool

    @property
    def shown(self) -> dict[str, str]:
        """What is not the default, for people."""
        return {
            "threshold": "the most probable set" if self.threshold is None else f"{self.threshold:g}",
            **({"mentions": "names alone"} if self.names else {}),
            **({} if self.pronouns else {"pronouns": "left out"}),
        }


class EvaluationTask(NamedTuple):
    """The scores of a task, with a function that finds its errors."""

    scores: Report
    find_errors: Callable[[], ErrorReport]
    labels: list[str] | None


def _check_task(
    model: str | None,
    data: str | None,
    predictions: str | None,
    gold: str | None,
    threshold: float | None,
    output: str | None,
    names: bool,
    pronouns: bool,
) -> str:
    """Return the gold corpus; InputError if the arguments do not say what to score."""
    if predictions is None and gold is None and model is not None and data is not None:
        if Path(model).is_file():
            _check_is_model(model, data)
        return data
    if predictions is None or gold is None or model is not None or data is not None:
        raise InputError(
            "it is not clear what to score; give a model and a corpus, or --predictions FILE and --gold FILE"
        )
    given_for_model = {"--threshold": threshold, "--output": output, "--names": names or None}
    given_for_model["--no-pronouns"] = None if pronouns else True
    if name := next((name for name, value in given_for_model.items() if value is not None), None):
        raise InputError(f"{name} is for a model, but --predictions are made already; leave it out")
    if predictions == gold == "-":
        raise InputError("--predictions and --gold are both standard input; name a file for one of them")
    return gold


def _check_is_model(file: str, data: str) -> None:
    """Raise an error if a file is given as the model, unless a bundled model has its name."""
    if file not in bundled_models():
        raise InputError(
            f"{file} is a file, but a model is a folder or the name of a bundled one; to score what a file predicts, use "
            f"--predictions {file} --gold {data}"
        )


def _check_targets(output: str | None, plot: str | None, force: bool) -> None:
    """Raise errors before the work that would otherwise occur after it."""
    if output is not None and (format_for(output) not in FOLDERS or Path(output).is_file()):
        Target(output, force).check()
    if plot is not None:
        require_plots("drawing calibration")
        if plot != "-":
            Target(plot, force).check()


def _score_predictions(
    gold: list[Document],
    predicted: list[Document],
    named: list[str],
    samples: int,
    seed: int,
    problems: Problems,
) -> EvaluationTask:
    from hyperspan.evaluation import align
    from hyperspan.evaluation import evaluate as score
    from hyperspan.evaluation.errors import error_report

    known, scored = labels_of(predicted), ScoredLabels(named, gold)
    labels = scored.among(known)
    aligned = align(gold, predicted, problems=problems)
    aligned = aligned if labels is None else aligned.with_labels(labels)
    scored.note_others(known, predicted)
    scores = score(aligned.gold, aligned.systems[0], samples=samples, seed=seed)
    return EvaluationTask(scores, lambda: error_report(aligned), labels)


def _score_model(
    options: ModelOptions,
    gold: list[Document],
    named: list[str],
    samples: int,
    seed: int,
    problems: Problems,
    output: str | None,
    force: bool,
) -> EvaluationTask:
    from hyperspan.evaluation import evaluate_model
    from hyperspan.evaluation.gold_names import gold_asked_for, without_pronouns
    from hyperspan.evaluation.models import RecognizerOptions
    from hyperspan.runtime.labels import check_marks_names
    from hyperspan.runtime.loading import load

    annotator = load(options.name, options.device)
    if options.names:
        check_marks_names(annotator.model.names)
    known = annotator.name_labels if options.names else annotator.labels
    if options.names:
        _note_no_names(gold, annotator)
    gold = gold_asked_for(gold, annotator.model.names, only_names=options.names)
    if not options.pronouns:
        gold = without_pronouns(gold)
    scored = ScoredLabels(named, gold)
    labels = scored.among(known)
    _note_no_common_label(known, scored.in_gold)
    with counting("scoring", "words") as add_words:
        found = evaluate_model(
            RecognizerOptions(annotator, options.names, options.pronouns),
            gold,
            threshold=options.threshold,
            samples=samples,
            seed=seed,
            labels=labels,
            problems=problems,
            on_words=add_words,
        )
    scored.note_others(known, found.documents)
    if output is not None:
        write_corpus(found.documents, output, format_for(output), force=force, problems=problems)
        print(f"hyperspan: wrote predictions to {output}", file=sys.stderr)
    return EvaluationTask(found.report, lambda: _model_errors(found, annotator, labels, options.names), labels)


def _model_errors(found: Evaluated, annotator: Annotator, labels: list[str] | None, names: bool) -> ErrorReport:
    from hyperspan.evaluation.models import model_errors

    known = annotator.name_labels if names else annotator.labels
    types = [label for label in known if labels is None or label in labels]
    return model_errors(found, annotator, annotator.options(types=types, names=names))


def _note_no_names(gold: Iterable[Document], annotator: Annotator) -> None:
    """Print a note on standard error if a corpus marks no names but has labels of mentions that are none."""
    labels = {mention.label for document in gold for mention in document.mentions}
    others = set(annotator.labels) - set(annotator.name_labels)
    if labels & others and labels.isdisjoint(annotator.model.names):
        print(
            f"hyperspan: the corpus marks no names ({', '.join(sorted(annotator.model.names))}), so that all of its mentions "
            "count as names; if it has descriptions and pronouns, leave out --names",
            file=sys.stderr,
        )


def _note_no_common_label(known: Collection[str], labels: Collection[str]) -> None:
    """Print a note on standard error if the model and the corpus have no label in common."""
    if labels and set(labels).isdisjoint(known):
        print(
            f"hyperspan: the model and the corpus have no label in common ({', '.join(known)}; in the corpus "
            f"{', '.join(sorted(labels)[:SHOWN])}{', …' if len(labels) > SHOWN else ''}), so no mention can be right",
            file=sys.stderr,
        )


def _draw(scores: Report, plot: str, force: bool) -> None:
    from hyperspan.evaluation import draw_calibration

    if not scores.calibration:
        raise InputError(
            "the predictions carry no probabilities, so their calibration cannot be drawn; leave out --plot, "
            "or give predictions in a format that keeps them, such as jsonl"
        )
    draw_calibration(scores.calibration, Target(plot, force))
    print(f"hyperspan: wrote {plot}", file=sys.stderr)


def _show(scores: Report, format_: str) -> None:
    from hyperspan.evaluation.tables import print_sections, report_sections

    if format_ == "json":
        print_json(scores.to_dict())
    else:
        print_sections(report_sections(scores), markdown=format_ == "markdown")


PAGES, RECORDS = (".html", ".htm"), (".jsonl", ".ndjson")


def check_error_file(name: str | None, option: str, force: bool) -> None:
    """Raise errors before the work that would otherwise occur after it."""
    if name is None:
        return
    if not name.removesuffix(".gz").endswith((*PAGES, *RECORDS)):
        raise InputError(f"{option} {name} is neither a page nor JSON Lines; let the name end in .html or .jsonl")
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
    print(f"hyperspan: wrote {counted(differences, 'difference')} in {sentences} to {name}", file=sys.stderr)


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
        print(
            f"hyperspan: {counted(sum(others.values()), 'prediction')} with a label that never occurs in the corpus count "
            f"as wrong ({shown}{', …' if len(others) > SHOWN else ''}); if it does not annotate them, score only its own "
            f"labels with --labels {GOLD}",
            file=sys.stderr,
        )


def labels_of(documents: Iterable[Document]) -> set[str]:
    """Return the labels that occur in the documents."""
    return {mention.label for document in documents for mention in document.mentions}
