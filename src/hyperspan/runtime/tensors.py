"""Tensors in safetensors files: check, read, quantise and write them, as NumPy arrays. A file is untrusted.

It begins with the names, types and shapes of its tensors, which are checked before memory is allocated. It is not
memory-mapped: if another program truncates a mapped file, for example by copying over it, the process crashes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hyperspan.errors import InputError
from hyperspan.files import check_regular

LARGEST = 1_000_000
"""The largest plausible weight."""
TRAINED, FIXED = "encoder.words.trained", "encoder.words.fixed"
"""The word vectors: of the training words, and of other words."""
SCALE = "_scale"
"""The name suffix of the row scales of an integer tensor."""
FLOATS = {"F64", "F32", "F16"}
"""The names of the supported floating-point dtypes in safetensors, which has more."""


class Entry(NamedTuple):
    """A tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]


def unfit(path: Path, why: str) -> NoReturn:
    """Raise the error for weights that do not match the model in their folder."""
    raise InputError(
        f"{path} does not fit config.toml and vocabulary.json beside it ({why}): it is damaged, or an earlier version of hyperspan "
        "wrote it; train the model again"
    ) from None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn any error in reading a safetensors file into an InputError."""
    try:
        check_regular(path)
        yield
    except FileNotFoundError:
        raise InputError(f"{path} is not there; is {path.parent} a folder that hyperspan train wrote?") from None
    except MemoryError:  # says nothing about the file
        raise
    except Exception as error:  # safetensors raises a different exception for each kind of damage
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = said.partition("\n")[0][:200]
        raise InputError(f"{path} cannot be read as safetensors ({reason}); train the model again") from None


class TensorFile:
    """The tensors of a file, by their names: checked by what its header says of them, then read."""

    def __init__(self, path: Path):
        self.path = path
        with readable(path), safe_open(path, framework="np", backend="pread") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            self.entries = {name: Entry(one.get_dtype(), tuple(one.get_shape())) for name, one in slices.items()}

    def check(
        self, expected: Mapping[str, tuple[int, ...]], vectors: Collection[str], integers: Collection[str] = ()
    ) -> None:
        """Raise an error unless the file has exactly the expected tensors.

        Those of `vectors` may be integers with row scales, and `integers` are whole numbers."""
        scaled = [name for name in vectors if name in expected and name + SCALE in self.entries]
        wanted = {**expected, **{name + SCALE: (*expected[name][:1], 1) for name in scaled}}
        for name in sorted(wanted.keys() ^ self.entries.keys()):
            unfit(self.path, f"it {'lacks' if name in wanted else 'has'} {name[:100]}")
        for name, (dtype, shape) in self.entries.items():
            if shape != wanted[name]:
                unfit(self.path, f"{name} has the shape {list(shape)}, but {list(wanted[name])} is expected")
            if (dtype in FLOATS) == (name in integers) and not (dtype == "I8" and name in scaled):
                unfit(self.path, f"{name} is of the type {dtype}")

    def read(self) -> dict[str, np.ndarray]:
        """Read all tensors, by their names; raise an error if one has implausible values."""
        with readable(self.path), safe_open(self.path, framework="np", backend="pread") as file:
            arrays = {name: file.get_tensor(name) for name in self.entries}
        for name, array in arrays.items():
            if array.shape != self.entries[name].shape:
                unfit(self.path, "it changes at this moment")
            if not _is_usable(array):
                raise InputError(
                    f"{self.path} holds numbers in {name} that are not finite or beyond {LARGEST:,}; train the model again"
                )
        return arrays


def floats(tensors: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """A float32 copy of one of some tensors; integers are multiplied by the scales of their rows."""
    found = tensors[name].astype(np.float32)
    return found * tensors[name + SCALE] if name + SCALE in tensors else found


def _is_usable(array: np.ndarray) -> bool:
    """Whether all values are finite and small enough that sums of products stay finite."""
    if array.dtype == np.float16:  # by its bits: exponents of infinity and NaN; NumPy compares such numbers slowly
        return not ((array.view(np.uint16) & 0x7C00) == 0x7C00).any()
    if array.dtype.kind != "f" or not array.size:
        return True
    return bool(np.abs((array.min(), array.max())).max() <= LARGEST)  # NaN compares as False


def quantized(tensors: Mapping[str, np.ndarray], vectors: Collection[str]) -> dict[str, np.ndarray]:
    """The tensors in two bytes per number and, of `vectors`, in one byte per number, with a scale for each row."""
    result: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        if name in vectors:
            scale = np.maximum(np.abs(array).max(1, keepdims=True, initial=0), 1e-6) / 127
            result |= {name: np.rint(array / scale).astype(np.int8), name + SCALE: scale}
        else:
            with np.errstate(over="ignore"):
                result[name] = array.astype(np.float16) if array.dtype.kind == "f" else array
    return result


def write_tensors(tensors: Mapping[str, Any], path: Path, state: dict[str, Any] | None = None) -> None:
    """Write arrays or torch tensors, and a JSON state, to a safetensors file atomically."""
    beside = path.with_name(f".{path.name}.new")
    arrays = {name: np.asarray(_array(tensor), order="C") for name, tensor in tensors.items()}
    beside.unlink(missing_ok=True)  # of a process that was killed
    try:
        beside.touch()
        mode = stat.S_IMODE(beside.stat().st_mode)
        _save(arrays, beside, {"state": json.dumps(state)} if state is not None else None)
        beside.chmod(mode)  # of any new file; safetensors makes its files readable by the owner only
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)  # a partial file must not keep a full disk full
        raise


def _array(tensor: Any) -> np.ndarray:
    return tensor if isinstance(tensor, np.ndarray) else tensor.detach().cpu().numpy()


def _save(arrays: dict[str, np.ndarray], path: Path, metadata: dict[str, str] | None) -> None:
    """Write a safetensors file; system errors are raised as OSError, as from any other write."""
    try:
        save_file(arrays, path, metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors, with torch, and the JSON state of a file that :func:`write_tensors` wrote."""
    with readable(path), safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata.get("state", "{}"))  # noqa: SIM118
