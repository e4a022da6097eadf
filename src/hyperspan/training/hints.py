"""Hints for runs that do not go well: one sentence each, from the run's settings and epochs.

A run whose dev F1 is fine gets no hint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hyperspan.config import Config
from hyperspan.training.events import EpochFinished, Hint, Listener, RunEnded, TrainingEvent
from hyperspan.training.settings import START, can_start

GOOD = 0.8
"""No hints at or above this dev F1."""
LOW = 0.5
"""Below this dev F1, suggest other settings."""
GAP = 0.2
"""The largest acceptable gap between train F1 and dev F1."""
RISE = 0.01
"""The gain in the last quarter of a run above which it looks unfinished."""
RISE_TO_ZERO = 0.03
"""The same for a learning rate that decays to zero, which raises scores at the end of any run."""
SAMPLE = 300
"""The maximum number of training sentences for measuring train F1."""
DROPOUT = 0.5
"""The dropout to suggest against overfitting."""


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run."""

    config: Config
    english: bool
    usual: Mapping[str, float]
    """The default size and number of steps for the corpus, by key."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    stopped: str
    """The reason: "epochs", "patience" or "plateau"."""
    dev: Mapping[str, float]
    """Precision, recall and F1 of the best model."""
    train_f1: float | None
    """F1 of the same model on training sentences; None if not measured."""


@dataclass(frozen=True)
class EpochScore:
    """The F1 on dev after an epoch."""

    epoch: int
    f1: float


class Adviser:
    """Follows the epochs of a run, and gives hints during it and at its end."""

    def __init__(self, settings: RunSettings, listeners: Sequence[Listener], before: Sequence[EpochScore] = ()):
        """`before` are earlier epochs of a resumed run."""
        self._settings, self._listeners = settings, listeners
        self._scores = list(before)
        self._ended: RunEnded | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunEnded):
            self._ended = event
        elif isinstance(event, EpochFinished) and event.dev is not None:
            self._scores.append(EpochScore(event.epoch, event.dev["f1"]))
            self._give(event.epoch, early_hints(self._settings, self._scores))

    def finish(self, dev: Mapping[str, float], train_f1: float | None) -> None:
        """Give the final hints, by the scores of the best model."""
        if self._ended is not None:
            outcome = RunOutcome(self._ended.stopped, dev, train_f1)
            self._give(self._ended.epoch, final_hints(self._settings, self._scores, outcome))

    def _give(self, epoch: int, texts: Iterator[str]) -> None:
        for text in texts:
            for listener in self._listeners:
                listener(Hint(epoch, text))


def early_hints(settings: RunSettings, scores: Sequence[EpochScore]) -> Iterator[str]:
    """The hint after an epoch: given only once, a third into the run, if no prediction has been correct by then."""
    epochs = settings.config.training.epochs
    passed = [score.epoch >= epochs / 3 for score in scores]
    if passed.count(True) == 1 and passed[-1] and not any(score.f1 for score in scores):
        last = scores[-1].epoch
        if last < epochs:
            tries = ", ".join((*_settings(settings), *_resources(settings), _MORE_DATA))
            yield f"nothing on dev is right after {last:,} of {epochs:,} epochs; if it stays so, try in this order: {tries}"


def final_hints(settings: RunSettings, scores: Sequence[EpochScore], outcome: RunOutcome) -> Iterator[str]:
    """The hints at the end of a run.

    >>> settings = RunSettings(Config().override(["training.epochs=20", "training.schedule=constant"]), False, {})
    >>> scores = [EpochScore(epoch, 0.03 * epoch) for epoch in range(1, 21)]
    >>> outcome = RunOutcome("epochs", {"precision": 0.6, "recall": 0.6, "f1": 0.6}, train_f1=0.7)
    >>> list(final_hints(settings, scores, outcome))  # doctest: +ELLIPSIS
    ['dev F1 still rose at the end, from 45.0 to 60.0 in the last 5 epochs; train longer: --set training.epochs=40 ...']
    """
    f1 = outcome.dev["f1"]
    if f1 >= GOOD:
        return
    yield from _about_length(settings, scores, outcome)
    if outcome.train_f1 is not None and outcome.train_f1 - f1 >= GAP:
        tries = ", ".join((*_resources(settings), *_dropout(settings.config), _MORE_DATA))
        yield (
            f"dev F1 {_percent(f1)} is far below train F1 {_percent(outcome.train_f1)}, so the model knows its training sentences "
            f"by heart; try in this order: {tries}"
        )
    elif f1 < LOW:
        tries = ", ".join((*_settings(settings), *_resources(settings), *_recall(settings, outcome), _MORE_DATA))
        what = f"dev F1 {_percent(f1)} is low" if f1 else "nothing on dev is right"
        yield f"{what}; try in this order: {tries}"


_MORE_DATA = "annotate more (hyperspan curve CONFIG says what twice as many sentences would bring)"


def _about_length(settings: RunSettings, scores: Sequence[EpochScore], outcome: RunOutcome) -> Iterator[str]:
    """Whether more epochs may help."""
    training = settings.config.training
    if outcome.stopped == "patience":
        if outcome.dev["f1"] < LOW:
            yield (
                f"the run stopped after {scores[-1].epoch:,} of {training.epochs:,} epochs, {training.patience:,} without a better dev "
                f"F1; wait longer with --set training.patience={2 * training.patience} --force"
            )
        return
    if outcome.stopped == "plateau":
        if outcome.dev["f1"] < LOW:
            yield (
                f"the run stopped after {scores[-1].epoch:,} of {training.epochs:,} epochs, as dev F1 no longer rose; lower the "
                f"learning rate once more with --set training.plateau_reductions={training.plateau_reductions + 1} --force"
            )
        return
    last = -(-len(scores) // 4)
    before, after = scores[:-last], scores[-last:]
    if len(before) < 2:
        return
    lower, higher = (max(score.f1 for score in part) for part in (before, after))
    falls = training.schedule == "cosine"
    if higher - lower < (RISE_TO_ZERO if falls else RISE):
        return
    span = after[-1].epoch - before[-1].epoch
    yield (
        f"dev F1 still rose at the end, from {_percent(lower)} to {_percent(higher)} in the last {span:,} epochs; train longer: "
        f"--set training.epochs={2 * training.epochs} --force"
    )


def _settings(settings: RunSettings) -> Iterator[str]:
    """Steps that differ much from the defaults for the corpus: too large, too small or too few."""
    now = settings.config.values(settings.usual)
    for key, usual in settings.usual.items():
        larger, smaller = now[key] >= 2 * usual, now[key] <= usual / 2
        if {"training.batch_size": larger, "training.epochs": smaller}.get(key, larger or smaller):
            yield f"--set {key}={usual:g} (now {now[key]:g})"


def _resources(settings: RunSettings) -> Iterator[str]:
    """Pretrained resources that could help."""
    config = settings.config
    if config.encoder.kind != "neural" or config.transformer.name or config.distillation.teachers:
        return
    if not config.training.start and settings.english and can_start(config):
        yield f"--start {START}"
    if not config.training.start and not config.words.vectors:
        yield (
            "--set words.vectors=bundled"
            if settings.english
            else "--set words.vectors=FILE (fastText has 157 languages)"
        )
    if not config.training.start and config.characters.encoder == "none":
        yield "--set characters.encoder=lstm"


def _dropout(config: Config) -> Iterator[str]:
    if config.encoder.input_dropout < DROPOUT:
        yield f"--set encoder.input_dropout={DROPOUT:g} (now {config.encoder.input_dropout:g})"


def _recall(settings: RunSettings, outcome: RunOutcome) -> Iterator[str]:
    """Recall that is much lower than precision."""
    if outcome.dev["recall"] < outcome.dev["precision"] / 2 and not settings.config.training.tune_mention_bias:
        yield "--set training.tune_mention_bias=true (recall is far below precision)"


def _percent(score: float) -> str:
    return f"{100 * score:.1f}"
