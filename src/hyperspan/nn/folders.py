"""Models as folders: config.toml, vocabulary.json, words.txt, model.safetensors, and a README.md (model card)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.kernels.encode import check_dtype
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.nn.scorer import Scorer
from hyperspan.nn.validation import validate
from hyperspan.nn.weights import load_weights, vector_names
from hyperspan.plugins import ENCODERS, MODELS
from hyperspan.runtime.tensors import quantized, write_tensors
from hyperspan.text.vocabulary import Vocabulary, check_labels, check_names, check_names_of
from hyperspan.types import Sentence


def new_model(config: Config, sentences: Sequence[Sentence]) -> Model:
    """An untrained model for the words and labels of the training sentences; its parameters depend only on the seed.

    The configuration must pass :func:`hyperspan.nn.validation.validate`.
    """
    config = config.settled().completed()
    vocabulary, resources = ENCODERS[config.encoder.kind].prepare(config, sentences)
    check_learnable(vocabulary, config)
    config = MODELS[config.model.kind].settled(config, vocabulary.labels, sentences)
    torch.manual_seed(config.training.seed)
    model = built(config, vocabulary)
    model.encoder.initialise(resources)
    return model


def built(config: Config, vocabulary: Vocabulary) -> Model:
    """A model of the kind that a configuration names, with random parameters."""
    kind: type[Model] | type[Scorer] = MODELS[config.model.kind]
    return kind(config, vocabulary) if issubclass(kind, Model) else Recognizer(config, vocabulary)


def check_learnable(vocabulary: Vocabulary, config: Config) -> None:
    """Raise an InputError if the training sentences have no labels, or labels that no model can have."""
    if not vocabulary.labels:
        raise InputError(
            f"{config.data.train_names} holds no mentions to learn from; name annotated sentences in data.train"
        )
    try:
        check_labels(vocabulary.labels)
    except ValueError as error:
        raise InputError(
            f"{config.data.train_names} cannot be learnt from: {error}; rename the labels in data.train"
        ) from None
    try:
        check_names(config.model.names, vocabulary.labels)
    except ValueError as error:
        raise InputError(f"{error}; correct model.names, or the labels in {config.data.train_names}") from None


def save_model(model: Model, folder: Path, *, half: bool = False) -> None:
    """Write a model to a folder; with `half`, in two bytes per number instead of four, and one byte for word
    vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    save_config(model.config, folder)
    model.vocabulary.save(folder)
    tensors = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    write_tensors(quantized(tensors, vector_names(model)) if half else tensors, folder / "model.safetensors")


def save_config(config: Config, folder: Path) -> None:
    """Write the configuration of the model in a folder."""
    with Target(str(folder / "config.toml"), force=True).open() as file:
        file.write(config.to_toml())


def load_model(
    folder: str | Path, device: str | torch.device = "cpu", *, dtype: str = "float32", skip: float | None = None
) -> Model:
    """Load the model of a folder, ready for inference; for `dtype` and `skip` see :func:`hyperspan.load`."""
    folder = Path(folder)
    check_dtype(dtype, torch.device(device).type)
    config = Config.of_model(folder)
    try:
        validate(config)
    except InputError as error:
        raise InputError(f"{folder / 'config.toml'}: {error}") from None
    vocabulary = Vocabulary.load(folder)
    check_names_of(folder, config, vocabulary)
    model = load_weights(folder, lambda: built(config, vocabulary)).to(device)
    return model.for_inference(dtype, skip)
