"""Models as folders: config.toml, vocabulary.json, words.txt, model.safetensors, and a README.md (model card).

Also smaller copies for sharing, with fewer words and fewer labels. Weights are untrusted: they are checked before
memory is allocated. A safetensors file begins with the names, types and shapes of its tensors. The model that
config.toml and vocabulary.json describe is first built without values (torch's "meta" device); building stops once it
has far more parameters than the file has tensors. Only a file that fits is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from hyperspan.config import Config
from hyperspan.errors import HyperspanError, InputError
from hyperspan.files import Target
from hyperspan.kernels.encode import check_dtype
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer, Scorer
from hyperspan.nn.validation import validate
from hyperspan.plugins import ENCODERS, MODELS
from hyperspan.runtime.tensors import TensorFile, floats, quantized, unfit, write_tensors
from hyperspan.text.vocabulary import Vocabulary, check_labels, check_names, check_names_of
from hyperspan.types import Sentence


def new_model(config: Config, sentences: Sequence[Sentence], labels: Iterable[str] = ()) -> Model:
    """An untrained model for the words and labels of the training sentences; its parameters depend only on the seed.

    It also has the given labels, which the sentences may lack. The configuration must pass
    :func:`hyperspan.nn.validation.validate`.
    """
    config = config.settled().completed()
    vocabulary, resources = ENCODERS[config.encoder.kind].prepare(config, sentences)
    vocabulary = replace(vocabulary, labels=sorted({*vocabulary.labels, *labels}))
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


SLACK = 1_000
"""A model may create this many parameters that it drops again, such as those of an encoder's unused layers."""
M = TypeVar("M", bound=Model)


def load_weights(folder: Path, build: Callable[[], M]) -> M:
    """Load the model of a folder with its weights; `build` creates it, untrained, from config.toml and
    vocabulary.json."""
    file = TensorFile(folder / "model.safetensors")
    with torch.device("meta"), _SkipInitialisation(), _at_most(2 * len(file.entries) + SLACK, file.path):
        untrained = _built(folder, build)
        wanted, vectors = untrained.state_dict(), vector_names(untrained)
    expected = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    file.check(expected, vectors, [name for name, tensor in wanted.items() if not tensor.is_floating_point()])
    model, arrays = build(), file.read()
    found = {name: floats(arrays, name) if name in vectors else arrays[name] for name in expected}
    model.load_state_dict({name: torch.from_numpy(array) for name, array in found.items()})
    return model


def fixed_names(model: Model) -> list[str]:
    """The names of the frozen vectors in the model's state."""
    fixed = model.encoder.pretrained_rows
    return [name for name, buffer in model.named_buffers() if any(buffer is one for one in fixed)]


def vector_names(model: Model) -> list[str]:
    """The names of the word vectors in the model's state."""
    vectors = model.encoder.word_vectors
    return [name for name, tensor in model.state_dict(keep_vars=True).items() if any(tensor is one for one in vectors)]


class _SkipInitialisation(TorchFunctionMode):
    """Skip random initialisation: for tensors without values, torch would load its compiler first."""

    SKIPPED = (nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_, Tensor.uniform_, Tensor.normal_)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.SKIPPED:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def _at_most(parameters: int, path: Path) -> Iterator[None]:
    """Abort building a model in this thread once it has more than `parameters` parameters."""
    thread, count = threading.get_ident(), 0

    def counted(module: nn.Module, name: str, parameter: object) -> None:
        nonlocal count
        if threading.get_ident() == thread:
            count += 1
            if count > parameters:
                unfit(path, "they describe a model with many more parameters")

    handle = register_module_parameter_registration_hook(counted)
    try:
        yield
    finally:
        handle.remove()


def _built(folder: Path, build: Callable[[], Model]) -> Model:
    try:
        return build()
    except HyperspanError as error:
        raise error if str(folder) in str(error) else InputError(f"{folder}: {error}") from None
    except Exception as error:  # sizes that torch cannot take, descriptions of encoders that transformers cannot
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        raise InputError(
            f"{folder} holds no model that can be built ({reason}); its config.toml or its vocabulary.json is damaged, "
            "so train the model again"
        ) from None


def compact(model: Model, pretrained_words: int | None = None, labels: Collection[str] | None = None) -> Model:
    """Copy a model with only the first `pretrained_words` (None: all) of the words that come only from its pretrained
    vectors.

    Vector files begin with the most frequent words. All words of the training data stay. With `labels`, the copy finds
    only these; where labels are independent, the probabilities of their mentions stay the same. File paths in the
    configuration are shortened to file names.
    """
    old = model.vocabulary
    kept = old.words if pretrained_words is None else old.words[: old.trained + pretrained_words]
    found = model.labels if labels is None else _labels_kept(model, labels)
    vocabulary = replace(old, words=kept, labels=list(found))
    config = model.config.with_paths(_shortened)
    config = replace(
        config,
        calibration=config.calibration.restrict(found),
        model=replace(config.model, names=_names_kept(config.model.names, found)),
    )
    small = type(model)(config, vocabulary)
    tensors = model.state_dict()
    for name in fixed_names(model):
        tensors[name] = tensors[name][: len(kept) - old.trained]
    if found != model.labels:
        tensors |= _scorer_tensors(model, small)
    with torch.no_grad():
        small.load_state_dict(tensors)
    return small.to(model.device).eval()


def _labels_kept(model: Model, labels: Collection[str]) -> tuple[str, ...]:
    """The labels to keep, in the model's order."""
    if unknown := sorted(set(labels) - set(model.labels)):
        raise InputError(f"the model has no label {', '.join(unknown)}; it has {', '.join(model.labels)}")
    kept = tuple(label for label in model.labels if label in labels)
    if not kept:
        raise InputError(f"no label would be left; keep at least one of {', '.join(model.labels)}")
    config = model.config
    independent = model.abilities.independent_types and model.encoder.abilities.warm_start
    if kept != model.labels and not independent:
        raise InputError(
            f"a model of model.kind {config.model.kind} and encoder.kind {config.encoder.kind} cannot leave labels out; only neural "
            "models whose labels are independent can, such as segmental ones: ask for some types in inference instead"
        )
    return kept


def _names_kept(names: Mapping[str, str], kept: Collection[str]) -> dict[str, str]:
    """`model.names` for the kept labels; labels of names are ordinary ones where no other is left."""
    return {label: kind for label, kind in names.items() if label in kept} if set(kept) - set(names) else {}


def _scorer_tensors(model: Model, small: Model) -> dict[str, Tensor]:
    """The scorer's part of the state of `small`, which has fewer labels, by names in that state."""
    assert isinstance(model, Recognizer) and isinstance(small, Recognizer), "others have no independent labels"
    chosen = torch.tensor([[float(old == new) for old in model.labels] for new in small.labels])
    small.scorer.copy_from(model.scorer.state_dict(), chosen.to(model.device))
    return {f"scorer.{name}": tensor for name, tensor in small.scorer.state_dict().items()}


def _shortened(key: str, path: str) -> str:
    """The last part of a path; names of encoders on the hub have two parts."""
    on_hub = key == "transformer.name" and path.count("/") == 1 and not path.startswith(("/", "."))
    return path if on_hub else path.rstrip("/").rpartition("/")[2]
