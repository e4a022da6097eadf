"""Models as folders: config.toml, vocabulary.json, model.safetensors, and a README.md about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from hyperspan.config import Config
from hyperspan.encoders.handcrafted import AttributeEncoder, collect
from hyperspan.encoders.hub import read_pretrained
from hyperspan.encoders.resources import read_clusters, read_vectors
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.kernels.encoder import check_precision
from hyperspan.models.base import Model
from hyperspan.models.fofe import Fofe
from hyperspan.models.katiyar_cardie import KatiyarCardie
from hyperspan.models.layered import Layered
from hyperspan.models.recognizer import Recognizer
from hyperspan.models.scorers import SCORERS
from hyperspan.models.transition import Transition
from hyperspan.models.weights import FIXED, SCALE, load_weights
from hyperspan.plugins import PluginTable
from hyperspan.text.tokenize import TOKENIZERS
from hyperspan.training.checkpoint import write_tensors
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary, check_labels

_BUILT_IN: dict[str, type[Model]] = {
    **dict.fromkeys(SCORERS.built_in, Recognizer),
    "fofe": Fofe,
    "katiyar-cardie": KatiyarCardie,
    "layered": Layered,
    "transition": Transition,
}
MODELS = PluginTable("models", _BUILT_IN, Model)
"""By the name that a configuration has under model.kind; plug-ins add to the group ``hyperspan.models``."""


def model_class(kind: str) -> type[Model]:
    """The class of a model: one of MODELS, or an encoder, a scorer and a structure, where SCORERS have the name."""
    if kind in MODELS:
        return MODELS[kind]
    if kind in SCORERS:
        return Recognizer
    names = dict.fromkeys((*MODELS, *SCORERS))
    raise InputError(f"model.kind is {kind!r}, but must be one of {', '.join(names)}")


def new_model(config: Config, sentences: Sequence[Sentence]) -> Model:
    """An untrained model for the words and labels of the training sentences; its parameters depend on the seed alone."""
    words = config.words
    clusters = read_clusters(words.clusters) if words.clusters else None
    vectors = read_vectors(words.vectors) if words.vectors else None
    if vectors is not None and vectors.vectors.shape[1] != words.dimension:
        raise InputError(
            f"{words.vectors} holds vectors of dimension {vectors.vectors.shape[1]}, but words.dimension is {words.dimension}; set it to that"
        )
    vocabulary = Vocabulary.of(sentences, config, vectors.words if vectors else (), clusters)
    if not vocabulary.labels:
        raise InputError(f"{config.data.train} holds no mentions to learn from; name annotated sentences in data.train")
    try:
        check_labels(vocabulary.labels)
    except ValueError as error:
        raise InputError(
            f"{config.data.train} cannot be learnt from: {error}; rename the labels in data.train"
        ) from None
    known = None
    if config.encoder.kind == "handcrafted":
        vocabulary, *known = collect(sentences, config, vocabulary)
    pretrained = None
    if config.transformer.name:
        vocabulary.transformer, pretrained = read_pretrained(config.transformer.name)
    torch.manual_seed(config.training.seed)
    model = model_class(config.model.kind)(config, vocabulary)
    if isinstance(model.words, AttributeEncoder):
        model.words.initialise(*known or ())
        return model
    if vectors is not None:
        model.words.words.initialise(vocabulary, vectors.words, vectors.vectors)
    if pretrained is not None:
        model.words.transformer.initialise(pretrained)
    return model


FILES = ("config.toml", "vocabulary.json", "model.safetensors", "README.md")
"""What a model's folder holds."""


def save_model(model: Model, folder: Path, *, half: bool = False) -> None:
    """Writes a model to a folder; with `half`, in two bytes a number instead of four, and one for the fixed word vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    with Target(str(folder / "config.toml"), force=True).open() as file:
        file.write(model.config.to_toml())
    model.vocabulary.save(folder / "vocabulary.json")
    tensors = model.state_dict()
    if half:
        fixed = tensors.pop(FIXED, None)
        tensors = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        if fixed is not None:
            scale = fixed.float().abs().amax(1, keepdim=True).clamp(min=1e-6) / 127
            tensors |= {FIXED: (fixed.float() / scale).round().to(torch.int8), SCALE: scale}
    write_tensors(tensors, folder / "model.safetensors")


def load_model(
    folder: str | Path, device: str | torch.device = "cpu", *, precision: str = "float32", skip: float = math.inf
) -> Model:
    """The model in a folder, ready for use; :func:`hyperspan.load` says what precision and skip are."""
    folder = Path(folder)
    check_precision(precision, torch.device(device).type)
    if not (folder / "config.toml").exists():
        raise InputError(f"{folder} holds no model (no config.toml); name a folder that hyperspan train wrote")
    try:
        config = Config.read(folder / "config.toml")
    except OSError as error:
        raise InputError(
            f"{folder / 'config.toml'} cannot be read ({error.strerror}); it must be a file that hyperspan train wrote and that you "
            "may read"
        ) from None
    try:
        check_names(config)
    except InputError as error:
        raise InputError(f"{folder / 'config.toml'}: {error}") from None
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    model = load_weights(folder, lambda: model_class(config.model.kind)(config, vocabulary)).to(device)
    return model.for_inference(precision, skip)


def check_names(config: Config) -> None:
    """Raises an error where a configuration names a model or a tokenizer that is not there, or what a model has no use for."""
    model = config.model
    model_class(model.kind)
    if config.encoder.kind == "handcrafted" and model.kind not in SCORERS:
        raise InputError(
            f"model.kind {model.kind} reads vectors of words, but encoder.kind is handcrafted; set it to neural, "
            f"or choose one of {', '.join(SCORERS)}"
        )
    _check_encoder(config)
    if model.kind == "fofe" and config.training.lm_loss_weight:
        raise InputError(
            f"training.lm_loss_weight is {config.training.lm_loss_weight:g}, but model.kind fofe has no LSTM that could guess them; set it to 0"
        )
    if model.tokenizer not in TOKENIZERS:
        raise InputError(f"model.tokenizer is {model.tokenizer!r}, but must be one of {', '.join(TOKENIZERS)}")
    if (known := TOKENIZERS[model.tokenizer][0]) != model.tokenizer_version:
        raise InputError(
            f"the model was trained with version {model.tokenizer_version} of the tokenizer {model.tokenizer}, and this is version "
            f"{known}, which cuts text differently; train it again, or use the hyperspan that it was trained with"
        )


def _check_encoder(config: Config) -> None:
    """Raises an error where a pretrained encoder, or having no LSTM, does not go with the rest."""
    model, name, neighbours = config.model, config.transformer.name, config.training.lm_loss_weight
    if config.encoder.kind == "handcrafted" and (config.words.vectors or config.characters.encoder != "none"):
        unused = "words.vectors" if config.words.vectors else "characters.encoder"
        raise InputError(
            f"{unused} is set, but encoder.kind is handcrafted, which reads no vectors; leave it out, or set encoder.kind to neural"
        )
    if name and config.encoder.kind == "handcrafted":
        raise InputError(
            f"transformer.name is {name}, but encoder.kind is handcrafted, which reads no vectors; set encoder.kind to neural"
        )
    if config.encoder.kind == "neural" and config.encoder.layers == 0 and model.kind in ("fofe", "layered"):
        raise InputError(
            f"encoder.layers is 0, but model.kind {model.kind} is made of such layers; set it to 1 or more"
        )
    if neighbours and (name or config.encoder.layers == 0):
        why = f"{name} has read the words to be guessed" if name else "with encoder.layers = 0 no LSTM could guess them"
        raise InputError(f"training.lm_loss_weight is {neighbours:g}, but {why}; set it to 0")
