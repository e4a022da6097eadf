"""``hyperspan evaluate``: precision, recall and F1 of overlapping mentions, and where they come from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperspan.cli.options import (
    Device,
    Force,
    Format,
    From,
    OnError,
    Options,
    PredictionsFrom,
    PredictionsOptions,
    Seed,
    Split,
    parse_options,
)
from hyperspan.cli.output import SHOWN, counting, print_json, report, with_progress
from hyperspan.corpora.registry import format_for, read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.files import Target
from hyperspan.model_folders import bundled_models
from hyperspan.types import Document

if TYPE_CHECKING:
    from hyperspan.evaluation import Report


def evaluate(
    model: Annotated[str | None, typer.Argument(help="A model: the name of one, or its folder.")] = None,
    data: Annotated[
        str | None, typer.Argument(help="The corpus to score it on: a file, a folder, or - for standard input.")
    ] = None,
    predictions: Annotated[
        str | None, typer.Option("--predictions", "-p", metavar="FILE", help="Instead of a model, what one predicted.")
    ] = None,
    gold: Annotated[
        str | None, typer.Option("--gold", "-g", metavar="FILE", help="With --predictions: the right mentions.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Score all mentions that a model gives this probability. Default: its most probable set."),
    ] = None,
    format_: Format = "table",
    samples: Annotated[int, typer.Option(min=0, help="Bootstrap samples for confidence intervals; 0 for none.")] = 1000,
    seed: Seed = 0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write what the model predicts, as the name says."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also draw how probabilities are calibrated, as PNG.")
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
    """Score a model, or predictions, against annotated text: exact matches of span and type.

    Example: hyperspan evaluate my-model test.data

    Example: hyperspan evaluate --predictions predicted.jsonl --gold test.data --format json
    """
    truth = _check_task(model, data, predictions, gold, threshold, output)
    _check_targets(output, plot, force)
    problems = Problems(on_error)
    corpus = list(with_progress(read_corpus(truth, from_, problems, split=split, **parse_options(option)), truth))
    if predictions is not None:
        found = read_corpus(predictions, predictions_from, problems, **parse_options(predictions_option))
        scores = _score_predictions(corpus, list(with_progress(found, predictions)), samples, seed, problems)
    else:
        scores = _score_model(str(model), device, corpus, threshold, samples, seed, problems, output, force)
    if plot is not None:
        _draw(scores, plot, force)
    _show(scores, format_)
    report(problems)


def _check_task(
    model: str | None,
    data: str | None,
    predictions: str | None,
    gold: str | None,
    threshold: float | None,
    output: str | None,
) -> str:
    """Where the right mentions are; InputError unless it is clear what to score."""
    if predictions is None and gold is None and model is not None and data is not None:
        if Path(model).is_file():
            _check_is_model(model, data)
        return data
    if predictions is None or gold is None or model is not None or data is not None:
        raise InputError(
            "it is not clear what to score; give a model and a corpus, or --predictions FILE and --gold FILE"
        )
    if threshold is not None or output is not None:
        name = "--output" if threshold is None else "--threshold"
        raise InputError(f"{name} is for a model, but --predictions are made already; leave it out")
    if predictions == gold == "-":
        raise InputError("--predictions and --gold are both standard input; name a file for one of them")
    return gold


def _check_is_model(file: str, data: str) -> None:
    """Raises an error for a file where a model is expected, unless a bundled model has its name."""
    if file not in bundled_models():
        raise InputError(
            f"{file} is a file, but a model is a folder or the name of a bundled one; to score what a file predicts, use "
            f"--predictions {file} --gold {data}"
        )


def _check_targets(output: str | None, plot: str | None, force: bool) -> None:
    """What would fail after all the work fails before."""
    if output is not None:
        format_for(output)
    if plot is not None:
        from hyperspan.evaluation.calibration import require_plots

        require_plots()
    for name in (output, plot):
        if name is not None and Path(name).is_file() and not force:
            raise OutputExistsError(f"{name} exists; choose another name or overwrite it with --force")


def _score_predictions(
    gold: list[Document], predicted: list[Document], samples: int, seed: int, problems: Problems
) -> Report:
    from hyperspan.evaluation import align
    from hyperspan.evaluation import evaluate as score

    aligned = align(gold, predicted, problems=problems)
    return score(aligned.gold, aligned.systems[0], samples=samples, seed=seed)


def _score_model(
    name: str,
    device: str,
    gold: list[Document],
    threshold: float | None,
    samples: int,
    seed: int,
    problems: Problems,
    output: str | None,
    force: bool,
) -> Report:
    from hyperspan.evaluation import evaluate_model
    from hyperspan.inference.loading import load

    annotator = load(name, device)
    _note_other_labels(annotator.labels, gold)
    with counting("scoring", "words") as add_words:
        found = evaluate_model(
            annotator,
            gold,
            threshold=threshold,
            samples=samples,
            seed=seed,
            tokenizer=annotator.model.tokenizer,
            problems=problems,
            on_words=add_words,
        )
    if output is not None:
        write_corpus(found.documents, output, format_for(output), force=force, problems=problems)
        print(f"hyperspan: wrote predictions to {output}", file=sys.stderr)
    return found.report


def _note_other_labels(known: Sequence[str], gold: list[Document]) -> None:
    """Says on standard error that the model and the corpus have no label in common, where that is so."""
    labels = {mention.label for document in gold for mention in document.mentions}
    if labels and labels.isdisjoint(known):
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
