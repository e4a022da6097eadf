"""Write the model card: card.toml for programs, README.md for people. The author of the model completes both."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hyperspan import __version__
from hyperspan.config import CorpusConfig
from hyperspan.errors import CardWarning, InputError, counted
from hyperspan.files import Target
from hyperspan.nn import Model
from hyperspan.runtime.cards import CARD, HEADINGS, Figures, ModelCard
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.runtime.options import ANY_LABEL, name_labels, shown_labels
from hyperspan.text.profile import TextProfile
from hyperspan.training.settings import CorpusFacts
from hyperspan.types import Sentence


@dataclass(frozen=True)
class RunFacts:
    """The facts about a finished run."""

    dev_f1: float | None
    """None if there is no dev."""
    best_epoch: int
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    seconds: float
    """The duration of all epochs."""
    guarantees: Guarantees | None = None
    """What the model can promise; None if it was not measured."""


def write_cards(model: Model, folder: Path, facts: RunFacts, *, force: bool) -> None:
    """Write both files. The author's changes stay unless `force` starts over; figures and profile in card.toml are
    updated."""
    dev = None if facts.dev_f1 is None else round(100 * facts.dev_f1, 2)
    new = ModelCard.for_labels(
        folder.resolve().name, model.labels, Figures(", ".join(_names(model.config.data.dev_corpora)), dev)
    )
    try:
        card = new if force or not (folder / CARD).exists() else replace(ModelCard.read(folder), figures=new.figures)
    except InputError as error:
        warnings.warn(f"{error}; it stays as it is", CardWarning, stacklevel=2)
    else:
        train, held_out = ((" ".join(sentence.tokens) for sentence in part) for part in (facts.train, facts.dev))
        promised = {} if facts.guarantees is None else facts.guarantees.to_table()
        replace(card, profile=TextProfile.of(train, held_out).to_table(), guarantees=promised).write(folder)
    if force or not (folder / "README.md").exists():
        with Target(str(folder / "README.md"), force=True).open() as file:
            file.write(readme(model, facts))


def readme(model: Model, facts: RunFacts) -> str:
    """The model card for people, with the usual headings: known facts, and prompts for the author."""
    sections = dict(zip(HEADINGS, _sections(model, facts), strict=True))
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    # The first paragraph, which the page of a server shows.
    found = f"Finds {', '.join(shown_labels(model.labels, model.names))}."
    if model.names:
        found += f" On request, it finds only the names of {', '.join(name_labels(model.labels, model.names))}."
    return f"# A hyperspan model\n\n{found}\n\nSay here what that means, in which texts, and complete card.toml.\n\n{body}\n"


def _sections(model: Model, facts: RunFacts) -> tuple[str, ...]:
    """For each heading, the known facts, or a prompt for the author."""
    config = model.config
    if facts.dev_f1 is None:
        evaluation = "F1 was not measured, since the run had no dev set."
    else:
        dev = f"F1 {100 * facts.dev_f1:.2f} on {_quoted(config.data.dev_corpora)}, after epoch {facts.best_epoch}."
        evaluation = f"{dev} The version with the best F1 was kept, so this figure is a little too high: `hyperspan evaluate` scores others."
    return (
        _details(model),
        "Say what it is meant for.",
        "Say what it must not be used for, and for which texts another model is better.",
        f"{_quoted(config.data.train_corpora)}, {_sentences(facts.train)}. Say where the texts come from, who annotated them, and under "
        "which licences; choose a licence for the model.",
        evaluation,
        "Say where it fails, and whom or what the texts do not speak of.",
        f"{_calibration(model, facts)} `hyperspan evaluate` measures calibration. {_guarantees(facts)}",
        f"{facts.seconds:,.0f} seconds on {_machine(model.device)}, without the runs before it. Times the watts of the machine, that is "
        "the energy.",
        f"`hyperspan train config.toml`, with the data and seed {config.training.seed}; hyperspan {__version__}, torch {torch.__version__}.",
        "Name the authors of the data and of the model.",
    )


def _sentences(train: Sequence[Sentence]) -> str:
    distinct = CorpusFacts.of(train).sentences
    repeated = "" if distinct == len(train) else f", some more than once: an epoch read {len(train):,}"
    return counted(distinct, "sentence") + repeated


def _calibration(model: Model, facts: RunFacts) -> str:
    """The calibration chosen on dev."""
    config = model.config
    if not facts.dev:
        return f"Temperature {config.model.temperature:g}, not calibrated, since the run had no dev set."
    mentions = counted(sum(len(sentence.mentions) for sentence in facts.dev), "mention")
    given = config.calibration
    if given.is_empty:
        return f"Temperature {config.model.temperature:g}, chosen on the {mentions} of dev."
    shared = len({*given.temperatures.values()}) == len({*given.biases.values()}) == 1
    chosen = "One temperature and one bias for all labels" if shared else "A temperature and a bias for each label"
    return f"{chosen} were chosen on the {mentions} of dev (`calibration` in `config.toml`)."


def _guarantees(facts: RunFacts) -> str:
    """From what promises of recall and precision were measured."""
    if facts.guarantees is None:
        return "It makes no promises of recall and precision: `hyperspan model calibrate` measures them on other data."
    every = facts.guarantees.curves[ANY_LABEL]
    return (
        f"What it can promise of recall and precision was measured on {facts.guarantees.data}, "
        f"{counted(every.units, facts.guarantees.unit)} with mentions that chose nothing else."
    )


def _details(model: Model) -> str:
    config = model.config
    width = "no limit" if model.max_width is None else f"at most {model.max_width} words"
    if model.discontinuous:
        limits = config.discontinuous
        width = (
            f"{'any number of' if model.max_width is None else f'at most {model.max_width}'} words in the first part, "
            f"at most {limits.later_width} in each later one; at most {limits.parts} parts, with at most {limits.gap} words in a gap"
        )
    encoder = config.transformer.name.rstrip("/")
    pretrained = f", some of which began as those of `{encoder.rpartition('/')[2]}`" if encoder else ""
    start = config.training.start.rstrip("/").rpartition("/")[2]
    rows = {
        "mentions": f"{model.abilities.mentions}, {width}",
        "started from": f"`{start}`" if start else "",
        "parameters": f"{sum(parameter.numel() for parameter in model.parameters()):,}{pretrained}",
        "tokenizer for raw text": f"`{model.tokenizer.name}`",
        "all settings": "`config.toml`",
    }
    return "\n".join(("| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items() if value)))


def _names(corpora: Sequence[CorpusConfig]) -> list[str]:
    return [Path(corpus.path).name for corpus in corpora]


def _quoted(corpora: Sequence[CorpusConfig]) -> str:
    return ", ".join(f"`{name}`" for name in _names(corpora))


def _machine(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"a {device.type.upper()}"
