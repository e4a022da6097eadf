"""The runs of a learning curve: one per size and seed, recorded as they finish, so that a killed job can resume."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hyperspan.config import AUTO, Config
from hyperspan.errors import InputError, TrainingError
from hyperspan.nn.validation import validate
from hyperspan.plugins import MODELS
from hyperspan.training.checkpoint import CHECKPOINT
from hyperspan.training.curve.fit import Forecast, forecast
from hyperspan.training.curve.parts import Parts, check_sizes, default_sizes
from hyperspan.training.curve.records import RUNS, CurveRun, open_folder, read_runs, settings_of, write_runs
from hyperspan.training.data import TrainingData, check_annotated, check_declared, read_dev, read_train, teaches
from hyperspan.training.data_checks import check_data
from hyperspan.training.defaults import typical
from hyperspan.training.events import Listener, TrainingEvent
from hyperspan.training.log import read_log
from hyperspan.training.run import (
    as_config,
    check_files,
    check_one_process,
    choose_device,
    train,
)
from hyperspan.training.warm_start import inherited, read_start
from hyperspan.types import Sentence


@dataclass(frozen=True)
class PartStarted(TrainingEvent):
    """The run on a part starts or resumes, with its index among the remaining runs."""

    name = "part"
    size: int
    seed: int
    number: int
    of: int


@dataclass(frozen=True)
class PartFinished(TrainingEvent):
    """A run has ended and is recorded."""

    name = "part finished"
    run: CurveRun
    number: int
    of: int


@dataclass(frozen=True)
class LearningCurve:
    """F1 on dev by size."""

    runs: Sequence[CurveRun]
    """By size and seed."""
    forecast: Forecast
    failed: Sequence[str] = ()
    """The runs that failed, with reasons."""

    @property
    def sizes(self) -> list[int]:
        return sorted({run.size for run in self.runs})

    def of_size(self, size: int) -> list[CurveRun]:
        return [run for run in self.runs if run.size == size]

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        runs = [asdict(run) for run in self.runs]
        return {"runs": runs, "forecast": self.forecast.to_dict(), "failed": list(self.failed)}


def learning_curve(
    config: Config | Mapping[str, Any] | str | Path,
    folder: str | Path,
    *,
    sizes: Sequence[int] = (),
    seeds: int = 3,
    overrides: Iterable[str] = (),
    device: str = "auto",
    threads: int | None = None,
    force: bool = False,
    keep: bool = False,
    listeners: Sequence[Listener] = (),
) -> LearningCurve:
    """Train on growing parts of the training corpus, with several seeds each, and fit a curve to their dev F1.

    `sizes` count sentences; without them there are about five sizes up to the whole corpus. The first seed is
    ``training.seed``; a seed determines the part and the training run. Finished runs in the folder are not repeated,
    and interrupted ones resume; `force` starts over. Models are deleted after scoring unless `keep`.

    >>> curve = learning_curve("mine.toml", "runs/curve", sizes=[30, 100, 300])  # doctest: +SKIP
    >>> curve.forecast.sentence  # doctest: +SKIP
    'Twice the data (600 sentences) would bring 4.1 points of F1, to 63.0; 90% interval of the gain: 2.9 to 5.2.'
    """
    config, folder = as_config(config).override(overrides).completed(), Path(folder)
    _check(config, seeds)
    choose_device(device)
    config = _with_tokenizer_of_start(config)
    documents = [[sentence for sentence in text if len(sentence)] for text in read_train(config)]
    dev = read_dev(config)
    corpus = [sentence for document in documents for sentence in document]
    check_data(config, corpus, finds_parts=MODELS[config.model.kind].abilities.gaps)
    check_declared(config, corpus)
    check_annotated(config, corpus)
    if not any(sentence.mentions for sentence in dev):
        raise InputError(
            f"{config.data.dev_names} holds no mentions, so every F1 would be 0; name annotated text in data.dev"
        )
    parts = Parts(documents)
    chosen = check_sizes(sizes or default_sizes(parts.largest), parts)
    settings = settings_of(config, corpus, dev)
    open_folder(folder, settings, force=force)
    jobs = _Jobs(config, folder, corpus, dev, parts, device, threads, keep, listeners)
    first = config.training.seed
    runs, failed = jobs.finish([(size, seed) for seed in range(first, first + seeds) for size in chosen])
    if not runs:
        raise TrainingError(f"no run could be trained: {'; '.join(failed)}")
    return LearningCurve(runs, forecast([run.size for run in runs], [run.f1 for run in runs]), failed)


@dataclass(frozen=True)
class _Jobs:
    """The common state of all runs of a curve."""

    config: Config
    folder: Path
    corpus: Sequence[Sentence]
    dev: Sequence[Sentence]
    parts: Parts
    device: str
    threads: int | None
    keep: bool
    listeners: Sequence[Listener]

    def finish(self, wanted: Sequence[tuple[int, int]]) -> tuple[list[CurveRun], list[str]]:
        """The runs of these sizes and seeds, trained if not finished; and the failures."""
        finished = {(run.size, run.seed): run for run in read_runs(self.folder)}
        if not self.keep:  # a kill may have come after recording a run
            self._delete_finished(finished)
        failed: list[str] = []
        waiting = [key for key in wanted if key not in finished]
        for number, (size, seed) in enumerate(waiting, start=1):
            self._emit(PartStarted(size, seed, number, len(waiting)))
            try:
                run = self._train(size, seed)
            except TrainingError as error:  # the others may still do well
                failed.append(f"{size:,} sentences, seed {seed}: {error}")
                continue
            finished[size, seed] = run
            write_runs(self.folder, finished.values())
            if not self.keep:
                self._delete_finished([(size, seed)])
            self._emit(PartFinished(run, number, len(waiting)))
        return [finished[key] for key in sorted(wanted) if key in finished], failed

    def _delete_finished(self, finished: Iterable[tuple[int, int]]) -> None:
        """Delete the models of finished runs, and the folder of all runs once it is empty."""
        for size, seed in finished:
            shutil.rmtree(self._place(size, seed), ignore_errors=True)
        with suppress(OSError):
            (self.folder / RUNS).rmdir()

    def _train(self, size: int, seed: int) -> CurveRun:
        """Train one run; resume it if its folder has a checkpoint."""
        part = [self.corpus[number] for number in self.parts.part(size, seed)]
        mentions = sum(len(sentence.mentions) for sentence in part)
        if not self._can_learn_from(part):  # its model finds nothing
            return CurveRun(size, seed, len(part), mentions, 0.0, 0, 0.0)
        place = self._place(size, seed)
        begun = (place / CHECKPOINT).is_file()
        result = train(
            self.config,
            place,
            overrides=[f"training.seed={seed}"],
            device=self.device,
            threads=self.threads,
            resume=begun,
            force=not begun,
            listeners=self.listeners,
            data=TrainingData(part, self.dev),
        )
        epochs = [event for event in read_log(place / "log.jsonl") if event["event"] == "epoch"]
        seconds = round(sum(event["seconds"] for event in epochs), 3)
        return CurveRun(size, seed, len(part), mentions, result.dev_f1 or 0.0, len(epochs), seconds)

    def _can_learn_from(self, part: Sequence[Sentence]) -> bool:
        """Whether a part of the corpus has something to learn, as the whole corpus has."""
        finds_parts = MODELS[self.config.model.kind].abilities.gaps
        try:
            check_data(self.config, part, finds_parts=finds_parts)
        except InputError:
            return False
        return any(map(teaches, part))

    def _place(self, size: int, seed: int) -> Path:
        return self.folder / RUNS / f"{size}-seed-{seed}"

    def _emit(self, event: TrainingEvent) -> None:
        for listener in self.listeners:
            listener(event)


def _with_tokenizer_of_start(config: Config) -> Config:
    """Use the tokenizer of the start model, as each run would: text is read once for all runs."""
    if config.training.start in ("", AUTO):
        return config
    tokenizer = inherited(config, read_start(config).config).model.tokenizer
    return config.with_values({"model.tokenizer": tokenizer})


def _check(config: Config, seeds: int) -> None:
    """Raise an error for mistakes that can be detected before data is read."""
    if seeds < 1:
        raise InputError(f"--seeds is {seeds}, but a curve needs at least one run of each size; give 1 or more")
    validate(typical(config))
    check_files(config)
    if not config.data.dev:
        raise InputError(
            "data.dev is empty, but all runs of a curve are scored on it; set it, or use --set data.dev=FILE, and hyperspan split "
            "takes some documents off a corpus for it"
        )
    check_one_process()
