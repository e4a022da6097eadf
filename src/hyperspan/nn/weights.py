"""The weights of a model's folder. They are untrusted: they are checked before memory is allocated.

A safetensors file begins with the names, types and shapes of its tensors. The model that config.toml and
vocabulary.json describe is first built without values (torch's "meta" device); building stops once it has far more
parameters than the file has tensors. Only a file that fits is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from hyperspan.errors import HyperspanError, InputError
from hyperspan.nn.model import Model
from hyperspan.runtime.tensors import TensorFile, floats, unfit

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
