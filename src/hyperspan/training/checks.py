"""All that refuses a run before it begins: settings, files, the folder, and data from which a model cannot learn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hyperspan.config import Config
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.nn import Model
from hyperspan.nn.bundled import BUNDLED
from hyperspan.nn.hub import check_pretrained
from hyperspan.nn.model import Abilities
from hyperspan.nn.validation import check_start, check_warm_start
from hyperspan.plugins import MODELS
from hyperspan.runtime.folders import FILES, folder_of
from hyperspan.training.events import LOG
from hyperspan.training.loop import CHECKPOINT
from hyperspan.types import AnnotationScope, Sentence

MOST_SPANS = 500 * 1000
"""The limit on words × widths of a training sentence."""


def check_one_process() -> None:
    """Raise an error if torchrun, or another program like it, started several processes to train one model."""
    count = os.environ.get("WORLD_SIZE", "")
    if count not in ("", "1"):
        raise InputError(
            f"WORLD_SIZE is {count}, so this process is one of several, but one process trains a model; start it without "
            "torchrun, or unset WORLD_SIZE"
        )


def check_folder(folder: Path, *, begun: bool, resume: bool, force: bool) -> None:
    """Raise an error if a run may not be written to a folder."""
    if resume and not begun:
        if (folder / LOG).is_file():
            raise InputError(
                f"{folder} holds a finished run, which leaves nothing to resume; begin anew with --force, or train another model "
                f"that starts from it with --start {folder}"
            )
        raise InputError(f"{folder} holds no run to resume; check the name, or leave out --resume to begin one")
    held = next((name for name in (CHECKPOINT, LOG, *FILES) if (folder / name).exists()), None)
    if held is not None and not (resume or force):
        hint = "go on with --resume, begin anew with --force" if begun else "overwrite it with --force"
        raise OutputExistsError(f"{folder} holds {held} already; {hint}, or name another folder")


def check_can_start(config: Config) -> None:
    """Raise an InputError unless a model of this configuration can start from the model that it names, if any."""
    if not config.training.start:
        return
    check_warm_start(config)
    try:
        check_start(Config.of_model(folder_of(config.training.start)))
    except InputError as error:
        start = config.training.start
        raise InputError(f"training.start is {start}, which no model can start from: {error}") from None


def check_start_stays(config: Config, folder: Path) -> None:
    """Raise an error if training would overwrite the model that it starts from, which resuming needs."""
    start = config.training.start
    if start and folder.exists() and folder.samefile(folder_of(start)):
        raise InputError(f"{folder} is the model that training.start names; write to another folder with --output")


def check_files(config: Config) -> None:
    """Raise an InputError if a file named in a configuration does not exist."""
    if not config.data.train:
        raise InputError(
            "data.train is empty, but must name a file of annotated sentences; set it, or use --set data.train=FILE"
        )
    missing = {key: path for key, path in _files(config).items() if not Path(path).exists()}
    if missing:
        raise InputError(_about_missing(missing))
    if config.transformer.name:
        check_pretrained(config.transformer.name)
    for model in {config.training.start, *config.distillation.teachers} - {""}:
        folder_of(model)


def _files(config: Config) -> dict[str, str]:
    """The corpora and other files of a configuration, by key; neither models nor what comes with hyperspan."""
    models = ("transformer.name", "training.start", "distillation.teacher")
    bundled = config.words.vectors == BUNDLED
    others = (*models, "words.vectors") if bundled else models
    return {key: path for key, path in config.paths().items() if not key.startswith(others)}


def _about_missing(files: Mapping[str, str]) -> str:
    """Advice on missing files, by the keys that name them."""
    several = len(files) > 1
    what = ", ".join(f"{key} is {path}" for key, path in files.items())
    none = "there are no such files" if several else "there is no such file"
    relative = any(not Path(path).is_absolute() for path in files.values())
    where = f" (relative to the current folder, {Path.cwd()})" if relative else ""
    own = "they do not come with hyperspan: obtain them and " if several else ""
    others = " ".join(f"--set {key}=FILE" for key in files)
    without = (
        "; --set words.vectors=bundled uses those of hyperspan (English), --set words.vectors= does without vectors"
    )
    without = without if "words.vectors" in files else ""
    return f"{what}, but {none}{where}; {own}put {'them' if several else 'it'} there, or use {others}{without}"


def check_lengths(model: Model, sentences: Sequence[Sentence]) -> None:
    """Raise an error for a sentence that would need too much memory in training."""
    for sentence in sentences if model.abilities.spans else ():
        width = min(model.max_width or len(sentence), len(sentence))
        if len(sentence) * width > MOST_SPANS:
            raise InputError(
                f"the training sentence that begins {' '.join(sentence.tokens[:6])[:60]!r} has {len(sentence):,} words, too many for "
                f"mentions of any width: set model.max_width, for example to 30, or break the sentence up"
            )


def check_schedule(config: Config, dev: Sequence[Sentence]) -> None:
    """Raise an error for a schedule that needs dev scores if there are none."""
    if config.training.schedule == "plateau" and not dev:
        raise InputError(
            "training.schedule is plateau, which waits for better dev scores, but there is no dev; set data.dev, or the "
            "schedule to constant or cosine"
        )


def check_declared(config: Config, train: Sequence[Sentence]) -> None:
    """Raise an InputError if corpora declare types that none of their sentences has."""
    labels = {mention.label for sentence in train for mention in sentence.mentions}
    listed = {label for corpus in config.data.train_corpora for label in corpus.annotated}
    if unknown := sorted(listed - labels):
        raise InputError(
            f"data.train says that {', '.join(unknown)} is annotated, but no training corpus has such a mention; the labels are "
            f"{', '.join(sorted(labels))}: correct annotated"
        )


def check_annotated(config: Config, train: Sequence[Sentence]) -> None:
    """Raise an InputError if a model cannot learn from the partial annotation."""
    labels = {mention.label for sentence in train for mention in sentence.mentions}
    kind = config.model.kind
    abilities: Abilities = MODELS[kind].abilities
    if abilities.conditions:
        return
    if any(map(_is_partial_within_types, train)):
        raise InputError(
            f"some sentences of data.train are annotated in part, with regions, forbidden spans or sure mentions alone, but model.kind "
            f"{kind} cannot sum over all that agrees with them; set model.kind to segmental, or annotate these sentences in full"
        )
    sets = {
        sentence.annotated.types for sentence in train if sentence.annotated and sentence.annotated.types is not None
    }
    if any(labels - annotated for annotated in sets) and not abilities.independent_types:
        raise InputError(
            f"the corpora of data.train annotate different types, but the types of model.kind {kind} depend on each other, so that "
            "it cannot sum over those that a corpus leaves out; set model.kind to segmental, or map the labels of all corpora to "
            "the same ones"
        )


def _is_partial_within_types(sentence: Sentence) -> bool:
    """Whether some mentions of a type are known in a sentence and others are not."""
    scope = sentence.annotated or AnnotationScope()
    known = scope.types is None or all(mention.label in scope.types for mention in sentence.mentions)
    return bool(sentence.forbidden) or scope.regions is not None or not known
