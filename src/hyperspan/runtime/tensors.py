"""Read all tensors of a safetensors file at once. The file is untrusted.

It is not memory-mapped: if another program truncates a mapped file, for example by copying over it, the process
crashes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from hyperspan.errors import InputError
from hyperspan.files import Target, check_regular

DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "F64": np.dtype("<f8"), "I8": np.dtype("i1")}
"""The supported dtypes; safetensors has more."""
KINDS = {dtype: kind for kind, dtype in DTYPES.items()}
LARGEST = 1_000_000
"""The largest plausible weight."""
TRAINED, FIXED = "encoder.words.trained", "encoder.words.fixed"
"""The word vectors: of the training words, and of other words."""
SCALE = "_scale"
"""The name suffix of the row scales of an integer tensor."""
FLOATS = {"F64", "F32", "F16", "BF16"}
"""The names of the floating-point dtypes in safetensors."""


class Entry(NamedTuple):
    """A tensor in the header of a safetensors file."""

    kind: str
    shape: tuple[int, ...]


def check_entries(
    path: Path,
    found: Mapping[str, Entry],
    expected: Mapping[str, tuple[int, ...]],
    vectors: Collection[str],
    integers: Collection[str] = (),
) -> None:
    """Raise an error unless a file has exactly the expected tensors; `vectors` may be integers with row scales."""
    scaled = [name for name in vectors if name in expected and name + SCALE in found]
    wanted = {**expected, **{name + SCALE: (*expected[name][:1], 1) for name in scaled}}
    for name in sorted(wanted.keys() ^ found.keys()):
        unfit(path, f"it {'lacks' if name in wanted else 'has'} {name[:100]}")
    for name, (kind, shape) in found.items():
        if shape != wanted[name]:
            unfit(path, f"{name} has the shape {list(shape)}, but {list(wanted[name])} is expected")
        if (kind in FLOATS) == (name in integers) and not (kind == "I8" and name in scaled):
            unfit(path, f"{name} is of the type {kind}")


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
    """The tensors of a file, by their names."""

    def __init__(self, path: Path):
        self.path = path
        with readable(path), safe_open(path, framework="np", backend="pread") as file:
            self._arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118

    @property
    def entries(self) -> dict[str, Entry]:
        return {name: Entry(KINDS[array.dtype], array.shape) for name, array in self._arrays.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def view(self, name: str) -> np.ndarray:
        """A tensor, not copied; raise an error if it has implausible values."""
        found = self._arrays[name]
        if not _is_usable(found):
            raise InputError(
                f"{self.path} holds numbers in {name} that are not finite or beyond {LARGEST:,}; train the model again"
            )
        return found

    def save(self, path: Path) -> None:
        """Write the tensors unchanged."""
        with Target(str(path), force=True).open_binary() as file:
            file.write(save(self._arrays))

    def floats(self, name: str) -> np.ndarray:
        """A float32 copy of a tensor."""
        return self.view(name).astype(np.float32)


def _array(file: safe_open, name: str) -> np.ndarray:
    """A tensor of an open file; raise a ValueError if its type is not supported."""
    kind = file.get_slice(name).get_dtype()
    if kind not in DTYPES:
        raise ValueError(f"{name[:100]!r} is of the type {kind!r}")
    return file.get_tensor(name)


def _is_usable(array: np.ndarray) -> bool:
    """Whether all values are finite and small enough that sums of products stay finite."""
    if array.dtype == np.float16:  # by its bits: exponents of infinity and NaN; NumPy compares such numbers slowly
        return not ((array.view(np.uint16) & 0x7C00) == 0x7C00).any()
    if array.dtype.kind != "f" or not array.size:
        return True
    return bool(np.abs((array.min(), array.max())).max() <= LARGEST)  # NaN compares as False
