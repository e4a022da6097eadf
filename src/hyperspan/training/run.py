"""From a configuration to a trained model in a folder: read the data, build or resume, train, write the model card."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from hyperspan.config import Config, keys
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, TrainingError, counted
from hyperspan.evaluation.counts import Score
from hyperspan.evaluation.intervals import Confidence, confidence
from hyperspan.nn import Model, Recognizer, load_model, save_model
from hyperspan.nn.folders import save_config
from hyperspan.nn.validation import validate
from hyperspan.plugins import MODELS
from hyperspan.runtime.tensors import readable
from hyperspan.training.advice import (
    GOOD,
    SAMPLE,
    Adviser,
    EpochScore,
    RunSettings,
    check_data,
    data_notes,
    offset_notes,
)
from hyperspan.training.checks import (
    check_annotated,
    check_can_start,
    check_declared,
    check_files,
    check_folder,
    check_lengths,
    check_one_process,
    check_schedule,
    check_start_stays,
)
from hyperspan.training.data import (
    TrainingData,
    expected_rates,
    read_data,
    read_unlabelled,
    teaches,
)
from hyperspan.training.events import (
    LOG,
    DataNote,
    JsonLinesLog,
    Listener,
    SettingsChosen,
    TensorBoardLog,
    TrainingEvent,
    read_log,
    require_tensorboard,
)
from hyperspan.training.guarantees import measure_set_aside
from hyperspan.training.halves import models_of_halves
from hyperspan.training.loop import CHECKPOINT, Run, Trainer, dev_scores, mention_counts
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.model_card import RunFacts, write_cards
from hyperspan.training.settings import CorpusFacts, as_text_is_read, complete, typical, untuned, usual_steps
from hyperspan.training.start import Beginning, begin
from hyperspan.training.tuning import tune
from hyperspan.types import Sentence


@dataclass(frozen=True)
class TrainingResult:
    """The result of :func:`train`; :func:`hyperspan.load` loads the model of its folder."""

    folder: Path
    """The folder of the model."""
    dev_f1: float | None
    """The F1 of the model on dev; None without a dev corpus."""
    dev_confidence: Confidence | None = None
    """The confidence interval of that F1; its note warns if dev has too few mentions."""


def train(
    config: Config | Mapping[str, Any] | str | Path,
    folder: str | Path,
    *,
    overrides: Iterable[str] = (),
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    force: bool = False,
    listeners: Sequence[Listener] = (),
    tensorboard: bool = False,
    data: TrainingData | None = None,
    small: bool = True,
    set_aside: bool = True,
) -> TrainingResult:
    """Train a model, keep the checkpoint with the best dev F1, and write it to a folder.

    - `config`: a :class:`hyperspan.Config`, a mapping of the same shape, or a TOML file. It is checked before any data
      is read. `overrides` change values, as in ``"training.seed=3"``.
    - `folder`: where the model goes. If it already contains a run, `resume` continues it and `force` starts over;
      without both it is an error.
    - `device`: cpu, cuda, cuda:1, …, or auto for a GPU if available. `threads` is the number of CPU threads
      meanwhile.
    - `data`: the training sentences, if you have them in memory. Default: read the corpora of the configuration.
    - `small`: leave a small folder: numbers of two bytes, one for word vectors, and no checkpoint. If not, numbers have
      four bytes, and `resume` can train a finished run for more epochs.
    - `set_aside`: set half of the dev corpora aside, if 400 sentences or more have mentions, to measure what the model
      can promise (`recall` and `precision` of :class:`hyperspan.Annotator`). It chooses nothing of the model.
    - `listeners`: receive all training events. `tensorboard` also writes logs for TensorBoard.

    >>> import tempfile
    >>> from hyperspan import Document, Mention, load, train, write_corpus
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = write_corpus([Document("Ada left.", [Mention(0, 3, "PER")])], f"{place}/train.jsonl")
    ...     small = {"data": {"train": f"{place}/train.jsonl"}, "encoder": {"hidden": 4, "span_hidden": 4}}
    ...     result = train(small, f"{place}/model", overrides=["training.epochs=1"], device="cpu")
    ...     load(result.folder).labels
    ('PER',)
    """
    config, folder = as_config(config).override(overrides).completed(), Path(folder)
    check_one_process()
    with torch_settings_kept():
        check_can_start(config)
        validate(typical(config))
        check_files(config)
        place = choose_device(device)
        check_folder(folder, begun=(folder / CHECKPOINT).is_file(), resume=resume, force=force)
        if resume:
            given = settings_of(folder / CHECKPOINT).items()
            config = config.with_values({key: value for key, value in given if config.is_auto(key)})
        if tensorboard:
            require_tensorboard()
        if threads is not None:
            torch.set_num_threads(threads)
        if place.type == "cuda":
            torch.set_float32_matmul_precision("high")
        check_start_stays(config, folder)
        prepared = prepare(config, data, place, listeners, set_aside=set_aside)
        with while_there_is_room(folder):
            trainer = Trainer(prepared, folder, listeners)
            if resume:
                trainer.resume()
            trainer.listeners = [*_logs(folder, trainer.epoch, tensorboard), *listeners]
            adviser = _adviser(trainer)
            trainer.listeners = [*trainer.listeners, adviser]
            trainer.run()
            return _finished(trainer, adviser, force=force, small=small)


@contextmanager
def torch_settings_kept() -> Iterator[None]:
    """Leave to the caller the number of threads and the precision of matrix products that it has set."""
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)


@contextmanager
def while_there_is_room(folder: Path) -> Iterator[None]:
    """Turn a full disk into an error that explains how to resume the run."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        hint = "go on with --resume" if (folder / CHECKPOINT).is_file() else "begin again with --force"
        raise TrainingError(
            f"{folder} has no room for what training writes ({error.strerror}), and its files are unharmed; make room, and {hint}"
        ) from None


def settings_of(checkpoint: Path) -> dict[str, Any]:
    """The values that the run of a checkpoint started with, for keys that may be "auto"."""
    with readable(checkpoint), safe_open(checkpoint, framework="pt") as file:
        state = json.loads((file.metadata() or {}).get("state", "{}"))
    return Config.stored(state["config"], str(checkpoint)).values(keys("auto")) if "config" in state else {}


def as_config(given: Config | Mapping[str, Any] | str | Path) -> Config:
    """Convert any form of configuration that :func:`train` accepts."""
    if isinstance(given, Config):
        return given
    return Config.from_mapping(given) if isinstance(given, Mapping) else Config.read(given)


def _teaching(sentences: Sequence[Sentence], config: Config, problems: Problems) -> list[Sentence]:
    """The sentences that have any annotation."""
    found = [sentence for sentence in sentences if teaches(sentence)]
    left_out = sum(map(bool, map(len, sentences))) - len(found)
    if left_out and not found:
        raise InputError(
            f"nothing is annotated in the {counted(left_out, 'sentence')} of {config.data.train_names}; label some of them first"
        )
    if left_out:
        problems.note("training sentence left out because nothing of it is annotated", left_out)
    return found


def prepare(
    config: Config,
    data: TrainingData | None = None,
    place: torch.device | str = "cpu",
    listeners: Sequence[Listener] = (),
    *,
    set_aside: bool = False,
) -> Run:
    """Read the data of a configuration, complete its settings, and make the model and the loss of a run.

    The listeners receive the chosen settings, and what is surprising in the data. `set_aside` is that of :func:`train`.
    """
    problems = Problems()
    config, data = _read(config, data, problems, set_aside)
    config = _completed(config, data.train, listeners)
    new = begin(config, data.train, place)
    check_lengths(new.model, new.train)
    rates = None if new.teachers else expected_rates(config, new.model.labels, data.dev)
    loss, unlabelled = TrainingLoss(new.model, new.teachers, rates), read_unlabelled(config, problems)
    for text in _notes(new, data, problems):
        _emit(DataNote(text), listeners)
    return Run(loss, new.train, data.dev, unlabelled, new.learnt, data.set_aside)


def _read(
    config: Config, data: TrainingData | None, problems: Problems, set_aside: bool
) -> tuple[Config, TrainingData]:
    """The sentences of a run, from which its model can learn, and the configuration with which they were read."""
    from_corpora = data is None
    if from_corpora:
        config = as_text_is_read(config)
    data = data or read_data(config, problems, set_aside=set_aside)
    train, dev = _teaching(data.train, config, problems), data.dev
    if dev:
        config = untuned(config)
    check_schedule(config, dev)
    check_data(config, train, finds_parts=MODELS[config.model.kind].abilities.gaps)
    check_annotated(config, train)
    if from_corpora:
        check_declared(config, train)
    return config.with_values(config.values(["model.tokenizer"])), replace(data, train=train)  # which has cut the text


def _completed(config: Config, train: Sequence[Sentence], listeners: Sequence[Listener]) -> Config:
    """The configuration with what it leaves to the corpus, checked."""
    corpus, left = CorpusFacts.of(train), list(filter(config.is_auto, keys("auto")))
    config = complete(config, corpus)
    validate(config)
    choices = config.values(left)
    if not config.training.start:
        choices.pop("training.start_learning_rate", None)
    if choices:
        _emit(SettingsChosen(corpus.sentences, corpus.english, choices), listeners)
    return config


def _notes(new: Beginning, data: TrainingData, problems: Problems) -> Iterator[str]:
    """What is worth knowing about the data of a run, one sentence each."""
    yield from (f"{times:,} × {what}" for what, times in problems.notes.items())
    distinct = len({id(sentence) for sentence in data.train})
    if distinct < len(data.train):
        yield f"{counted(distinct, 'sentence')}, some more than once: an epoch reads {len(data.train):,}"
    if count := sum(map(len, data.set_aside)):
        yield f"half of dev, {counted(count, 'sentence')}, is set aside to measure what the model can promise (--recall)"
    yield from new.notes
    yield from offset_notes(problems, new.train, data.dev)
    yield from data_notes(new.model, new.train, data.dev)


def _emit(event: TrainingEvent, listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        listener(event)


def _logs(folder: Path, epoch: int, tensorboard: bool) -> list[Listener]:
    """The log listeners of a run that continues after an epoch."""
    folder.mkdir(parents=True, exist_ok=True)
    logs: list[Listener] = [JsonLinesLog(folder / LOG, epoch)]
    if tensorboard:
        logs.append(TensorBoardLog(folder / "tensorboard"))
    return logs


def _adviser(trainer: Trainer) -> Adviser:
    """The adviser that follows a run from its current epoch and gives hints to its listeners.

    If dev has no label of the model, a note has already reported it, and no setting would help.
    """
    train, config = trainer.given.train, trainer.model.config
    in_dev = {mention.label for sentence in trainer.given.dev for mention in sentence.mentions}
    listeners = () if in_dev.isdisjoint(trainer.model.labels) else trainer.listeners
    epochs = [event for event in read_log(trainer.folder / LOG) if event["event"] == "epoch" and event["dev"]]
    before = [EpochScore(event["epoch"], event["dev"]["f1"]) for event in epochs]
    corpus = CorpusFacts.of(train)
    return Adviser(RunSettings(config, corpus.english, usual_steps(config, corpus)), listeners, before)


def _finished(trainer: Trainer, adviser: Adviser, *, force: bool, small: bool) -> TrainingResult:
    """Complete the folder of a finished run, and return how good its model is."""
    folder, dev, device = trainer.folder, trainer.given.dev, trainer.model.device
    model = load_model(folder, device)
    if small:
        save_model(model, folder, half=True)
        model = load_model(folder, device)  # what is tuned is what is left
    best = sure = None
    if dev:
        cross_fit = model.config.training.cross_fit and isinstance(model, Recognizer)
        tune(model, dev, models_of_halves(trainer.given, trainer.best_epoch) if cross_fit else ())
        counts = mention_counts(model, dev)
        scores, sure = Score.total(counts).by_measure, confidence(counts)
        best = scores["f1"]
        save_config(model.config, folder)
        adviser.finish(scores, _train_f1(model, trainer.given.train, len(dev)) if best < GOOD else None)
    seconds = sum(event["seconds"] for event in read_log(folder / LOG) if event["event"] == "epoch")
    name = ", ".join(Path(corpus.path).name for corpus in model.config.data.dev_corpora)
    promised = measure_set_aside(model, trainer.given.set_aside, f"half of {name}")
    facts = RunFacts(best, trainer.best_epoch, trainer.given.train, dev, seconds, promised)
    write_cards(model, folder, facts, force=force)
    if small:
        (folder / CHECKPOINT).unlink()
    return TrainingResult(folder, best, sure)


def _train_f1(model: Model, train: Sequence[Sentence], most: int) -> float:
    """F1 on at most `most` training sentences."""
    step = -(-len(train) // min(most, SAMPLE))
    return dev_scores(model, train[::step])["f1"]


def choose_device(name: str) -> torch.device:
    """Return the device of this name; "auto" is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()  # fails on a device without values, such as meta
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(
            f"the device {name!r} cannot be used here; choose cpu, auto, or a GPU that PyTorch sees"
        ) from None
    return device
