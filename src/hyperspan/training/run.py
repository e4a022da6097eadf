"""From a configuration to a trained model in a folder: reads the data, builds or resumes, trains, writes the model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from hyperspan import __version__
from hyperspan.config import Config
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.registry import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.files import Target
from hyperspan.models import MODELS, Recognizer, load_model, new_model, save_model
from hyperspan.text.tokenize import TOKENIZERS
from hyperspan.training.log import JsonLinesLog, TensorBoardLog
from hyperspan.training.loop import CHECKPOINT, Listener, Trainer
from hyperspan.training.temperature import best_temperature
from hyperspan.types import Sentence


def train_model(
    config: Config,
    folder: Path,
    *,
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    force: bool = False,
    listeners: Sequence[Listener] = (),
    tensorboard: bool = False,
) -> float:
    """Trains as the configuration says and returns the best F1 on dev. What can be refused is refused before data is read."""
    check(config)
    place = choose_device(device)
    begun = (folder / CHECKPOINT).is_file()
    if begun and not (resume or force):
        raise OutputExistsError(
            f"{folder} holds a run already; go on with --resume, begin anew with --force, or name another folder"
        )
    if threads is not None:
        torch.set_num_threads(threads)
    if place.type == "cuda":
        torch.set_float32_matmul_precision("high")
    train, dev = read_sentences(config.data.train), read_sentences(config.data.dev) if config.data.dev else []
    train = [sentence for sentence in train if len(sentence)]
    if not train:
        raise InputError(f"{config.data.train} holds no sentences; name annotated sentences in data.train")
    folder.mkdir(parents=True, exist_ok=True)
    model = new_model(config, train).to(place)
    trainer = Trainer(model, train, dev, folder)
    if resume and begun:
        trainer.resume()
    logs: list[Listener] = [JsonLinesLog(folder / "log.jsonl", trainer.epoch)]
    if tensorboard:
        logs.append(TensorBoardLog(folder / "tensorboard"))
    trainer.listeners = [*logs, *listeners]
    best = trainer.run()
    model = load_model(folder, place)
    if dev:
        temperature = best_temperature(model, dev)
        model.config = replace(config, model=replace(config.model, temperature=temperature))
        save_model(model, folder)
    with Target(str(folder / "README.md"), force=True).open() as file:
        file.write(model_card(model, best, trainer.best_epoch, len(train)))
    return best


def model_card(model: Recognizer, best: float, epoch: int, sentences: int) -> str:
    """What there is to say about a model just trained; its maker may say more."""
    config = model.config
    width = "no limit" if model.max_width is None else f"at most {model.max_width} words"
    parameters = sum(parameter.numel() for parameter in model.parameters())
    dev = (
        f"F1 {100 * best:.2f} on `{Path(config.data.dev).name}`, after epoch {epoch}"
        if config.data.dev
        else "not measured"
    )
    return f"""# A hyperspan model

| | |
|---|---|
| finds | {", ".join(model.labels)} |
| mentions | overlapping in any way, {width} |
| trained on | `{Path(config.data.train).name}`, {sentences:,} sentences |
| dev | {dev} |
| parameters | {parameters:,} |
| tokenizer for raw text | `{model.tokenizer}` |
| seed | {config.training.seed} |
| made by | hyperspan {__version__}, torch {torch.__version__} |

`config.toml` says how it was trained. Before others use it, write here where its data come from and under which licence,
what it is meant for, and where it fails.
"""


def check(config: Config) -> None:
    """Raises an error for what a configuration alone shows to be wrong, and for files that are not there."""
    if config.model.kind not in MODELS:
        raise InputError(f"model.kind is {config.model.kind!r}, but must be one of {', '.join(MODELS)}")
    if config.model.tokenizer not in TOKENIZERS:
        raise InputError(f"model.tokenizer is {config.model.tokenizer!r}, but must be one of {', '.join(TOKENIZERS)}")
    if not config.data.train:
        raise InputError(
            "data.train is empty, but must name a file of annotated sentences; set it, or use --set data.train=FILE"
        )
    for name, path in (
        ("data.train", config.data.train),
        ("data.dev", config.data.dev),
        ("words.vectors", config.words.vectors),
        ("words.clusters", config.words.clusters),
    ):
        if path and not Path(path).exists():
            raise InputError(f"{name} is {path}, but there is no such file; correct it, or use --set {name}=FILE")


def choose_device(name: str) -> torch.device:
    """The device of this name; "auto" is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(
            f"the device {name!r} cannot be used here; choose cpu, auto, or a GPU that PyTorch sees"
        ) from None
    return device


def read_sentences(path: str) -> list[Sentence]:
    """All sentences of a corpus; its mentions by tokens."""
    problems = Problems()
    return [sentence for document in read_corpus(path) for sentence in with_sentences(document, problems).sentences]
