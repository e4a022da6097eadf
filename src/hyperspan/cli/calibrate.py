"""``hyperspan calibrate``: calibrate the probabilities of a trained model on a dev corpus."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperspan.cli.options import Device, Force, Format, From
from hyperspan.cli.output import print_json, report
from hyperspan.config import CorpusConfig
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, counted, require_torch
from hyperspan.files import Target
from hyperspan.runtime.cards import README, with_section
from hyperspan.runtime.folders import copy_model, folder_of, target_of

if TYPE_CHECKING:
    from hyperspan.nn.recognizer import Recognizer
    from hyperspan.training.calibration import CalibrationFit


FEW = 50
"""Calibration changes little with fewer mentions than this."""


def calibrate(
    model: Annotated[str, typer.Argument(help="A bundled model, or the folder of a model.")],
    dev: Annotated[list[str], typer.Argument(help="Annotated files or folders that the model was not trained on.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder for the calibrated model. Without it, --force changes MODEL in place."
        ),
    ] = None,
    from_: From = None,
    format_: Format = "table",
    device: Device = "cpu",
    force: Force = False,
) -> None:
    """Calibrate a model's probabilities on a dev corpus: of the mentions with probability 0.8, 80% should be right.

    hyperspan train calibrates at its end, so this is for other data. It fits temperatures and biases of labels.
    The model finds the same mentions as before.

    Example: hyperspan calibrate runs/mine dev.data --force

    Example: hyperspan calibrate genia dev.data --output my-genia
    """
    source, target = folder_of(model), target_of(model, output, force)
    require_torch("calibrating a model")
    from hyperspan.nn import load_model
    from hyperspan.nn.recognizer import Recognizer
    from hyperspan.training.data import read_as_annotated
    from hyperspan.training.tuning import tune_calibration

    found, problems = load_model(source, device), Problems()
    if not isinstance(found, Recognizer):
        raise InputError(
            f"{source} is a model of kind {found.config.model.kind}, whose probabilities cannot be calibrated"
        )
    corpora = [CorpusConfig(path, format=from_ or "") for path in dev]
    sentences = [one for corpus in corpora for one in read_as_annotated(corpus, found.config, problems)]
    mentions = sum(mention.label in found.labels for sentence in sentences for mention in sentence.mentions)
    if not mentions:
        raise InputError(
            f"{', '.join(dev)} has no mention of {', '.join(found.labels)}; give annotated text with labels of the model"
        )
    fit = tune_calibration(found, sentences)
    _write(found, source, target)
    _write_readme(source, target, fit, f"{', '.join(Path(path).name for path in dev)} ({counted(mentions, 'mention')})")
    _show(found, fit, format_)
    if mentions < FEW:
        print(
            f"hyperspan: {', '.join(dev)} has only {counted(mentions, 'mention')}, so that the calibration stays near what the model "
            "had; give more annotated text for another one",
            file=sys.stderr,
        )
    report(problems)


def _write(model: Recognizer, source: Path, target: Path) -> None:
    """Copy the model with the new configuration; all other files stay unchanged."""
    copy_model(source, target)
    with Target(str(target / "config.toml"), force=True).open() as file:
        file.write(model.config.to_toml())
    print(f"hyperspan: wrote {target}", file=sys.stderr)


def _write_readme(source: Path, target: Path, fit: CalibrationFit | None, dev: str) -> None:
    """Write the new results into the calibration section of the model's README.md."""
    if not (source / README).is_file():
        return
    text = f"`hyperspan calibrate` chose one temperature on {dev}."
    if fit is not None:
        chosen = (
            "a temperature and a bias for each label" if fit.by_type else "one temperature and one bias for all labels"
        )
        text = (
            f"`hyperspan calibrate` chose {chosen} on {dev}. Expected calibration error there, over the "
            f"mentions that it finds: {fit.before.ece:.3f} with one temperature, {fit.after.ece:.3f} calibrated, {fit.held_out.ece:.3f} "
            "held out (docs/how-to/evaluate.md). Other figures of calibration in this file are older."
        )
    readme = (source / README).read_text(encoding="utf-8", errors="replace")
    with Target(str(target / README), force=True).open() as file:
        file.write(with_section(readme, "Calibration", text))


def _show(model: Recognizer, fit: CalibrationFit | None, format_: str) -> None:
    from hyperspan.evaluation.tables import Section, calibration_section, print_sections

    temperature, chosen = model.config.model.temperature, model.config.calibration
    if fit is None:
        print(
            f"hyperspan: a model of kind {model.config.model.kind} has one temperature: {temperature}", file=sys.stderr
        )
        return
    measured = {"one temperature": fit.before, "calibrated": fit.after, "calibrated, held out": fit.held_out}
    if format_ == "json":
        parts = {name.replace(", ", "_").replace(" ", "_"): asdict(found) for name, found in measured.items()}
        print_json({"temperature": temperature, **asdict(chosen), "predicted_mentions": parts})
        return
    errors = [(name, f"{found.ece:.4f}", f"{found.brier:.4f}") for name, found in measured.items()]
    values = [(label, f"{chosen.temperatures[label]:.4f}", f"{chosen.biases[label]:.3f}") for label in model.labels]
    if model.abilities.gaps:
        values.append(("discontinuous", "", f"{chosen.discontinuous:.3f}"))
    sections = [
        Section("Predicted mentions of dev", ("", "ECE", "Brier"), errors, f"{fit.after.count:,} mentions"),
        Section("Chosen", ("label", "temperature", "bias"), values),
        calibration_section("Held out, by probability", fit.held_out),
    ]
    print_sections(sections, markdown=format_ == "markdown")
