"""Learning curves: runs on growing parts of a corpus, recorded as they finish, so that a killed job can resume.

For one seed, a smaller part is contained in every larger one. The folder has the finished runs and their settings.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hyperspan import __version__
from hyperspan.config import Config, DataConfig, first_difference
from hyperspan.errors import InputError, OutputExistsError, TrainingError, counted
from hyperspan.files import Target
from hyperspan.nn.validation import validate
from hyperspan.plugins import MODELS
from hyperspan.training.advice import check_data
from hyperspan.training.checks import (
    check_annotated,
    check_can_start,
    check_declared,
    check_files,
    check_one_process,
)
from hyperspan.training.data import TrainingData, fingerprint, read_dev, read_train, teaches
from hyperspan.training.events import LOG, Listener, PartFinished, PartStarted, TrainingEvent, read_log
from hyperspan.training.forecast import Forecast, forecast
from hyperspan.training.loop import CHECKPOINT
from hyperspan.training.run import as_config, choose_device, train
from hyperspan.training.settings import as_text_is_read, typical
from hyperspan.types import Sentence

RESULTS, SETTINGS, RUNS = "results.jsonl", "settings.json", "runs"
"""The files in the folder of a curve: a line per finished run, the common settings, and the runs in progress."""
PICTURES = ("curve.json", "curve.png", "curve.svg")


@dataclass(frozen=True)
class CurveRun:
    """A finished run."""

    size: int
    seed: int
    sentences: int
    """The number of training sentences."""
    mentions: int
    """The number of mentions in the training sentences."""
    f1: float
    """The F1 on dev."""
    epochs: int
    seconds: float
    """The training time, including dev evaluation."""


def read_runs(folder: Path) -> list[CurveRun]:
    """The finished runs of a curve."""
    path = folder / RESULTS
    if not path.exists():
        return []
    try:
        return [CurveRun(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, TypeError):
        raise InputError(
            f"{path} is not what hyperspan curve wrote; begin anew with --force, or name another folder"
        ) from None


def write_runs(folder: Path, runs: Iterable[CurveRun]) -> None:
    """Record finished runs atomically: a kill leaves either the old or the new file."""
    with Target(str(folder / RESULTS), force=True).open() as stream:
        stream.writelines(json.dumps(asdict(run)) + "\n" for run in runs)


Settings = dict[str, str]
"""What determines a run besides its size and seed: the version, fingerprints of the corpora, the configuration."""


def settings_of(config: Config, corpus: Sequence[Sentence], dev: Sequence[Sentence]) -> Settings:
    """The settings of the runs of a curve."""
    same = config.left_out(["training.seed", "training.micro_batch_size"])
    own = {"hyperspan": __version__, "data.train": fingerprint(corpus), "data.dev": fingerprint(dev)}
    return {**own, "config": replace(same, data=DataConfig()).to_toml()}


def open_folder(folder: Path, settings: Settings, *, force: bool) -> None:
    """Prepare the folder; raise an error if it holds another curve or other files."""
    before = _read_settings(folder)
    if before is not None and not force:
        if changed := _difference(before, settings, str(folder / SETTINGS)):
            raise OutputExistsError(
                f"{folder} holds a curve with another {changed}; go on with what it was begun with, begin anew with --force, or "
                "name another folder with --output"
            )
        return
    if before is not None:
        for name in (RESULTS, SETTINGS, *PICTURES):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / RUNS, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with Target(str(folder / SETTINGS), force=True).open() as stream:
        json.dump(settings, stream, indent=2)


def _read_settings(folder: Path) -> Settings | None:
    """The settings of the curve in a folder; None if the folder does not exist or holds only hidden files."""
    if not folder.exists() or (folder.is_dir() and all(file.name.startswith(".") for file in folder.iterdir())):
        return None
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        if not all(isinstance(settings[key], str) for key in ("hyperspan", "data.train", "data.dev", "config")):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Not even with --force: this command never deletes other files.
        raise OutputExistsError(
            f"{folder} holds other files than those of a curve; name a new folder with --output"
        ) from None
    return settings


def _difference(one: Settings, other: Settings, place: str) -> str | None:
    """The first key in which two settings differ."""
    if changed := next((key for key in other if key != "config" and one[key] != other[key]), None):
        return changed
    before, now = (Config.stored(settings["config"], place) for settings in (one, other))
    return first_difference(before, now, but=["tuned"])


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
    config = as_text_is_read(config)
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
            overrides=[f"training.seed={seed}", *(() if self.keep else ["training.cross_fit=false"])],
            device=self.device,
            threads=self.threads,
            resume=begun,
            force=not begun,
            listeners=self.listeners,
            data=TrainingData(part, self.dev),
        )
        epochs = [event for event in read_log(place / LOG) if event["event"] == "epoch"]
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


def _check(config: Config, seeds: int) -> None:
    """Raise an error for mistakes that can be detected before data is read."""
    if seeds < 1:
        raise InputError(f"--seeds is {seeds}, but a curve needs at least one run of each size; give 1 or more")
    check_can_start(config)
    validate(typical(config))
    check_files(config)
    if not config.data.dev:
        raise InputError(
            "data.dev is empty, but all runs of a curve are scored on it; set it, or use --set data.dev=FILE, and hyperspan "
            "convert --fractions takes some documents off a corpus for it"
        )
    check_one_process()


FEW_DOCUMENTS = 10
"""With fewer documents than this, parts are samples of sentences: one document out of three is not representative."""
SMALLEST, LARGEST_RATIO = 15, 10**0.5
"""For default sizes: the smallest size, and the largest ratio of consecutive sizes."""


class Parts:
    """Parts of a corpus with a given number of sentences: the first sentences of the documents in random order.

    So a part is what an annotator would produce who takes one document after the other. If documents are single
    sentences, or few, a part is a random sample of sentences.

    >>> zoo = [[Sentence(["Ada", "left"])], [Sentence(["Bo", "stayed"])], [Sentence(["Why", "?"])]]
    >>> parts = Parts(zoo)
    >>> set(parts.part(1, seed=1)) < set(parts.part(2, seed=1)), parts.part(3, seed=1)
    (True, [0, 1, 2])
    """

    def __init__(self, documents: Sequence[Sequence[Sentence]]):
        self.largest = sum(map(len, documents))
        """The largest possible size."""
        numbers = iter(range(self.largest))
        self._units = [[next(numbers) for _ in document] for document in documents]
        if len(documents) < FEW_DOCUMENTS:
            self._units = [[number] for number in range(self.largest)]

    def limit(self) -> str:
        """A clause on why there is no larger size."""
        return f"data.train has {counted(self.largest, 'sentence')}"

    def part(self, size: int, seed: int) -> list[int]:
        """The sentence indices of a part, in corpus order."""
        units = list(self._units)
        random.Random(seed).shuffle(units)
        return sorted([number for unit in units for number in unit][:size])


def default_sizes(largest: int) -> list[int]:
    """About five sizes up to the largest, each a multiple of the one before.

    >>> [default_sizes(largest) for largest in (60, 300, 15_022)]
    [[15, 30, 60], [15, 32, 67, 140, 300], [150, 480, 1500, 4800, 15022]]
    """
    smallest = min(SMALLEST, max(1, largest // 4))
    steps = max(1, min(4, (-(-largest // smallest) - 1).bit_length()))  # at most doublings
    ratio = min(LARGEST_RATIO, (largest / smallest) ** (1 / steps))
    sizes = (largest / ratio**step for step in range(steps, 0, -1))
    return sorted({*(max(1, _rounded(size)) for size in sizes), largest})


def check_sizes(given: Sequence[int], parts: Parts) -> list[int]:
    """Return the sizes in order, without duplicates; raise an error for impossible sizes."""
    sizes = sorted(set(given))
    if parts.largest < 2:
        raise InputError(f"{parts.limit()}, but a curve needs parts of at least two sizes; annotate more")
    if len(sizes) < 2:
        raise InputError(
            f"--sizes {','.join(map(str, sizes))} is fewer than two sizes, but a curve needs at least two, and three to be "
            f"fitted; write for example --sizes 30,100,300"
        )
    if sizes[0] < 1:
        raise InputError(f"--sizes {sizes[0]} is no size; the smallest is 1")
    if sizes[-1] > parts.largest:
        raise InputError(
            f"--sizes {sizes[-1]} is larger than the corpus: {parts.limit()}; ask for at most {parts.largest}"
        )
    return sizes


def _rounded(size: float) -> int:
    """Round to two significant digits, which are easier to read."""
    return int(float(f"{size:.1e}"))
