"""``hyperspan model …``: calibrate a trained model, make it smaller, add a profile of its text, or list its weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import (
    ComputeGroup,
    Force,
    Labels,
    ModelName,
    ReadingGroup,
    ReportingGroup,
    output_option,
    split_names,
)
from hyperspan.cli.output import counting, say
from hyperspan.config import CorpusConfig
from hyperspan.errors import InputError, LabelError, counted, require_torch
from hyperspan.files import Target
from hyperspan.runtime.cards import CARD, README, TEXTS, Figures, ModelCard, with_section
from hyperspan.runtime.folders import copy_model, folder_of, target_of
from hyperspan.runtime.guarantees import LONGEST_NAME
from hyperspan.text.profile import TextProfile

if TYPE_CHECKING:
    from hyperspan.evaluation.tables import Section
    from hyperspan.nn.model import Model
    from hyperspan.nn.recognizer import Recognizer
    from hyperspan.runtime.annotator import Annotator
    from hyperspan.runtime.guarantees import Guarantees
    from hyperspan.training.calibration import CalibrationFit


@dataclass(frozen=True, kw_only=True)
class ChangeGroup:
    """A model, and where it is written once it is changed."""

    title = "Model"
    model: ModelName
    output: Annotated[
        Path | None,
        output_option("The folder for the changed model. Without it, --force changes MODEL in place.", "FOLDER"),
    ] = None
    force: Force = False

    def folders(self) -> tuple[Path, Path]:
        """The folder of the model, and the one to write to."""
        return folder_of(self.model), target_of(self.model, self.output, self.force)


# -- calibrate ---------------------------------------------------------------------------------------------------------

FEW = 50
"""Calibration changes little with fewer mentions than this."""


def calibrate(
    data: Annotated[
        list[str],
        typer.Argument(metavar="DATA...", help="Annotated files or folders that the model was not trained on."),
    ],
    guarantees_only: Annotated[
        bool,
        typer.Option("--guarantees-only", help="Keep the probabilities; store alone what the model can promise."),
    ] = False,
    *,
    change: ChangeGroup,
    reading: ReadingGroup,
    reporting: ReportingGroup,
    compute: ComputeGroup,
) -> None:
    """Calibrate a model's probabilities on a dev corpus: of the mentions with probability 0.8, 80% should be right.

    hyperspan train calibrates at its end, so this is for other data. It fits temperatures and biases of labels.
    The model finds the same mentions as before.

    It also stores what the model can promise with --recall and --precision: each half of the sentences is measured with
    what the other half chooses. With --guarantees-only, all of DATA measures the model as it is.

    Example: hyperspan model calibrate dev.data --model runs/mine --force

    Example: hyperspan model calibrate dev.data --model genia --output my-genia
    """
    check_no_model("model calibrate {data} --model {model}", data)
    source, target = change.folders()
    card = ModelCard.read(source)
    compute.use_threads()
    if guarantees_only:
        _store_guarantees(data, card, source, target, reading, reporting, compute)
        return
    require_torch("calibrating a model")
    from hyperspan.nn import load_model
    from hyperspan.nn.recognizer import Recognizer
    from hyperspan.training.data import read_as_annotated
    from hyperspan.training.guarantees import CrossFitted
    from hyperspan.training.tuning import tune_calibration

    found, problems = load_model(source, compute.device), reading.problems
    if not isinstance(found, Recognizer):
        raise InputError(
            f"{source} is a model of kind {found.config.model.kind}, whose probabilities cannot be calibrated"
        )
    corpora = [CorpusConfig(path, format=reading.from_ or "") for path in data]
    sentences = [
        one for corpus in corpora for one in read_as_annotated(corpus, found.config, problems, **reading.options)
    ]
    mentions = sum(mention.label in found.labels for sentence in sentences for mention in sentence.mentions)
    if not mentions:
        raise InputError(
            f"{', '.join(data)} has no mention of {', '.join(found.labels)}; give annotated text with labels of the model"
        )
    start = found.config
    fit = tune_calibration(found, sentences)
    try:
        annotator = CrossFitted(found, sentences, tune_calibration, start)
        given = _measured(annotator, data, ReadingGroup(reading.from_, reading.option, "skip"))
    except InputError as error:
        given = None
        say(f"{error}; hyperspan model calibrate --guarantees-only can use other data")
    _write_calibrated(found, source, target)
    replace(card, guarantees={} if given is None else given.to_table()).write(target)
    used = f"{', '.join(Path(path).name for path in data)} ({counted(mentions, 'mention')})"
    _write_readme(source, target, used)
    _show_calibration(found, fit, given, reporting)
    if mentions < FEW:
        say(
            f"{', '.join(data)} has only {counted(mentions, 'mention')}, so that the calibration stays near what the model "
            "had; give more annotated text for another one"
        )
    reading.report()


def _measured(annotator: Annotator, data: Sequence[str], reading: ReadingGroup) -> Guarantees:
    """What a model can promise by these corpora."""
    from hyperspan.evaluation.guarantees import measure_guarantees
    from hyperspan.evaluation.models import gold_asked_for

    documents = [document for name in data for document in reading.documents(name)]
    gold = gold_asked_for(documents, annotator.model.names)
    name = ", ".join(Path(path).name for path in data)[:LONGEST_NAME]
    with counting("measuring", "words") as add_words:
        return measure_guarantees(annotator, gold, name, annotator.labels, reading.problems, add_words)


def _store_guarantees(
    data: Sequence[str],
    card: ModelCard,
    source: Path,
    target: Path,
    reading: ReadingGroup,
    reporting: ReportingGroup,
    compute: ComputeGroup,
) -> None:
    """Measure a model as it is, and write what it can promise to its card."""
    from hyperspan.evaluation.guarantees import guarantee_sections, summary
    from hyperspan.runtime.loading import load

    given = _measured(load(source, compute.device), data, reading)
    copy_model(source, target)
    replace(card, guarantees=given.to_table()).write(target)
    say(f"wrote {target}")
    reporting.show({"guarantees": [asdict(one) for one in summary(given)]}, lambda: guarantee_sections(given))
    reading.report()


def _write_calibrated(model: Recognizer, source: Path, target: Path) -> None:
    """Copy the model with the new configuration; all other files stay unchanged."""
    copy_model(source, target)
    with Target(str(target / "config.toml"), force=True).open() as file:
        file.write(model.config.to_toml())
    say(f"wrote {target}")


def _write_readme(source: Path, target: Path, dev: str) -> None:
    """Say in the calibration section of the model's README.md what its probabilities were calibrated on."""
    if not (source / README).is_file():
        return
    text = f"Calibrated by `hyperspan model calibrate` on {dev}. Other figures of calibration in this file are older."
    readme = (source / README).read_text(encoding="utf-8", errors="replace")
    with Target(str(target / README), force=True).open() as file:
        file.write(with_section(readme, "Calibration", text))


def _show_calibration(
    model: Recognizer, fit: CalibrationFit | None, given: Guarantees | None, reporting: ReportingGroup
) -> None:
    from hyperspan.evaluation.guarantees import summary

    temperature, chosen = model.config.model.temperature, model.config.calibration
    if fit is None:
        say(f"a model of kind {model.config.model.kind} has one temperature: {temperature}")
        return
    measured = {"one temperature": fit.before, "calibrated": fit.after, "calibrated, held out": fit.held_out}
    parts = {name.replace(", ", "_").replace(" ", "_"): asdict(found) for name, found in measured.items()}
    values: dict[str, Any] = {"temperature": temperature, **asdict(chosen), "predicted_mentions": parts}
    values["guarantees"] = [] if given is None else [asdict(one) for one in summary(given)]

    def sections() -> list[Section]:
        from hyperspan.evaluation.guarantees import guarantee_sections
        from hyperspan.evaluation.tables import Section, calibration_section

        errors = [(name, f"{found.ece:.4f}", f"{found.brier:.4f}") for name, found in measured.items()]
        of_labels = [(name, f"{chosen.temperatures[name]:.4f}", f"{chosen.biases[name]:.3f}") for name in model.labels]
        if model.abilities.gaps:
            of_labels.append(("discontinuous", "", f"{chosen.discontinuous:.3f}"))
        return [
            Section("Predicted mentions of dev", ("", "ECE", "Brier"), errors, f"{fit.after.count:,} mentions"),
            Section("Chosen", ("label", "temperature", "bias"), of_labels),
            calibration_section("Held out, by probability", fit.held_out),
            *(() if given is None else guarantee_sections(given)),
        ]

    reporting.show(values, sections)


# -- compact -----------------------------------------------------------------------------------------------------------


def compact(
    words: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many words to keep of those that only the pretrained vectors contain. Default: all."
        ),
    ] = None,
    labels: Labels = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="The labels to remove, like --labels; use instead of it."),
    ] = None,
    *,
    change: ChangeGroup,
) -> None:
    """Write a smaller copy of a model: 16-bit weights and, if you choose, fewer words or labels.

    Removing labels does not change the probabilities of the others.

    To measure the effect on F1, run hyperspan evaluate with both models.

    Example: hyperspan model compact --model runs/mine --output small
    """
    if labels and drop:
        raise InputError("--labels and --drop are given, but the one follows from the other; leave one of them out")
    source, target = change.folders()
    require_torch("making a model compact")
    from hyperspan.nn import load_model, save_model
    from hyperspan.nn.folders import compact as made_compact

    whole = load_model(source)
    small = made_compact(whole, words, _kept(whole.labels, split_names(labels), split_names(drop)))
    save_model(small, target, half=True)
    _write_cards(source, target, whole.labels, small.labels)
    size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
    say(f"wrote {target}, {size:.1f} MB")


def _write_cards(source: Path, target: Path, whole: Sequence[str], kept: Sequence[str]) -> None:
    """Copy card.toml and README.md; if labels are removed, both say so and the card loses its figures."""
    card, name = ModelCard.read_or_warn(source), source.resolve().name
    lost = ", ".join(label for label in whole if label not in kept)
    if lost:
        labels = {label: meaning for label, meaning in card.labels.items() if label in kept}
        text = f"Finds {', '.join(kept)}: the model {name} without {lost}."
        description = text if len(text) <= TEXTS["description"] else f"The model {name} without some of its labels."
        card = replace(card, description=description, labels=labels, figures=Figures())
    if card.guarantees:
        say("the smaller model makes no promises, as its probabilities are others; run hyperspan model calibrate")
        card = replace(card, guarantees={})
    if (source / CARD).is_file():
        card.write(target)
    if (source / README).is_file():
        note = f"This is the model {name} without the labels {lost}. What follows, with all figures, is about the whole model.\n\n"
        readme = (source / README).read_bytes()
        with Target(str(target / README), force=True).open_binary() as file:
            file.write((note if lost else "").encode() + readme)


def _kept(known: Sequence[str], labels: Sequence[str], drop: Sequence[str]) -> list[str] | None:
    """Return the labels to keep; None for all."""
    if unknown := sorted(set(drop) - set(known)):
        raise InputError(f"--drop names {', '.join(unknown)}, but the model has the labels {', '.join(known)}")
    return list(labels) or ([label for label in known if label not in drop] if drop else None)


# -- profile -----------------------------------------------------------------------------------------------------------


def profile(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="The corpora that the model was trained on.")],
    dev: Annotated[
        list[str] | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Held-out text of the same domain; repeat for more. Default: a tenth of the training text.",
        ),
    ] = None,
    *,
    change: ChangeGroup,
    reading: ReadingGroup,
) -> None:
    """Store a profile of the training text in a model's card.toml, to warn about texts unlike it.

    hyperspan train does this by default. The profile contains hashed words and their counts, no text.

    Example: hyperspan model profile train.jsonl --dev dev.jsonl --model runs/mine --force
    """
    check_no_model("model profile {data} --model {model}", data)
    source, target = change.folders()
    card = ModelCard.read(source)
    found = TextProfile.of(_texts(data, reading), _texts(dev or (), reading))
    copy_model(source, target)
    replace(card, profile=found.to_table()).write(target)
    say(
        f"{target} now knows {counted(len(found.counts), 'word')} of its training text; {found.usual_unknown:.1%} of the "
        "words of other text of its kind are new to it"
    )
    reading.report()


def _texts(names: Iterable[str], reading: ReadingGroup) -> Iterator[str]:
    return (document.text for name in names for document in reading.documents(name))


# -- weights -----------------------------------------------------------------------------------------------------------


def weights(
    model: ModelName,
    labels: Labels = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            min=1,
            help="How many features to list with positive weight, and how many with negative, per label and role.",
        ),
    ] = 10,
    *,
    reporting: ReportingGroup,
) -> None:
    """List the features with the largest positive and negative weights for each label.

    For models trained with encoder.kind=handcrafted. Weights are listed for mentions that start, continue or end at a
    word. Feature names have the form layer[offsets] symbols: "word[-1] with" is true if the previous word is "with".

    Example: hyperspan model weights --model runs/crf --labels protein --top 5
    """
    require_torch("explaining a model with handcrafted features")
    from hyperspan.nn import load_model

    loaded = load_model(folder_of(model))
    found = list(feature_weights(loaded, split_names(labels) or None, top))
    parameters = sum(parameter.numel() for parameter in loaded.parameters())
    features = len(loaded.vocabulary.features) + len(loaded.vocabulary.span_features)
    say(f"{loaded.config.model.kind}: {features:,} features, {parameters:,} parameters")
    reporting.show([vars(one) for one in found], lambda: _weight_sections(found))


@dataclass(frozen=True)
class FeatureWeight:
    """A feature and its weight in one role for one label."""

    label: str
    role: str
    feature: str
    weight: float


def feature_weights(model: Model, labels: list[str] | None = None, top: int = 10) -> Iterator[FeatureWeight]:
    """For each label and role, the `top` features with the highest and the `top` with the lowest weights, in descending
    order."""
    columns = model.weight_columns()
    if not columns:
        raise InputError(
            f"the model is neural (encoder.kind = {model.config.encoder.kind!r}), and its numbers have no names; "
            "weights are those of one that was trained with encoder.kind = 'handcrafted'"
        )
    for label in labels or ():
        if label not in model.labels:
            raise LabelError(f"the label {label!r} is not among those of the model; it knows {', '.join(model.labels)}")
    for weights, outputs, of_spans in columns:
        names = model.vocabulary.span_features if of_spans else model.vocabulary.features
        by_role = outputs.by_role(weights.detach()[1:])
        for place, role in enumerate(outputs.roles):
            for kind, label in enumerate(model.labels):
                if labels is None or label in labels:
                    own = by_role[:, place, kind]
                    order = own.argsort(descending=True).tolist()
                    for index in [*order[:top], *order[max(len(order) - top, top) :]]:
                        if own[index]:
                            yield FeatureWeight(label, role, names[index], float(own[index]))


def _weight_sections(found: Sequence[FeatureWeight]) -> Iterator[Section]:
    """A table for each label."""
    from hyperspan.evaluation.tables import Section

    for label in dict.fromkeys(one.label for one in found):
        own = sorted((one for one in found if one.label == label), key=lambda one: (one.role, -one.weight))
        yield Section(label, ("feature", "role", "weight"), [(o.feature, o.role, f"{o.weight:+.3f}") for o in own])
