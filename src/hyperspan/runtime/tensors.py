"""Read the tensors of a safetensors file at once, without copies. The file is untrusted.

It is not memory-mapped: if another program truncates a mapped file, for example by copying over it, the process
crashes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from hyperspan.errors import InputError
from hyperspan.files import Target, read_regular

DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "F64": np.dtype("<f8"), "I8": np.dtype("i1")}
"""The supported dtypes; safetensors has more."""
KINDS = {dtype: kind for kind, dtype in DTYPES.items()}
LONGEST_HEADER = 100_000_000
"""As in safetensors itself."""
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


class TensorFile:
    """The tensors of a file by name; arrays are read-only views of its bytes."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._bytes = read_regular(path)
            self._header, self._data = self._read_header()
        except FileNotFoundError:
            raise InputError(f"{path} is not there; is {path.parent} a folder that hyperspan train wrote?") from None
        except (OSError, ValueError, RecursionError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            reason = f"{said}".partition("\n")[0][:200]
            raise InputError(f"{path} cannot be read as safetensors ({reason}); train the model again") from None

    def _read_header(self) -> tuple[dict[str, tuple[np.dtype, tuple[int, ...], int]], int]:
        """The dtype, shape and offset of each tensor; raise a ValueError for an invalid header."""
        size = int.from_bytes(self._bytes[:8], "little")
        if len(self._bytes) < 8 or size > min(LONGEST_HEADER, len(self._bytes) - 8):
            raise ValueError("it has no header")
        header = json.loads(self._bytes[8 : 8 + size])
        if not isinstance(header, dict):
            raise ValueError("its header is not an object")
        header.pop("__metadata__", None)
        entries = {name: _entry(name, entry) for name, entry in header.items()}
        end = 0
        for name, (dtype, shape, begin) in sorted(entries.items(), key=lambda item: item[1][2]):
            if begin != end:
                raise ValueError(f"{name[:100]!r} does not begin where the tensor before it ends")
            end = begin + math.prod(shape) * dtype.itemsize
        if end != len(self._bytes) - 8 - size:
            raise ValueError("it is not as long as its header says")
        return entries, 8 + size

    @property
    def entries(self) -> dict[str, Entry]:
        return {name: Entry(KINDS[dtype], shape) for name, (dtype, shape, _) in self._header.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def view(self, name: str) -> np.ndarray:
        """A view of a tensor; raise an error if it has implausible values."""
        dtype, shape, begin = self._header[name]
        found = np.frombuffer(self._bytes, dtype, math.prod(shape), self._data + begin).reshape(shape)
        if not _is_usable(found):
            raise InputError(
                f"{self.path} holds numbers in {name} that are not finite or beyond {LARGEST:,}; train the model again"
            )
        return found

    def save(self, path: Path) -> None:
        """Write the file unchanged."""
        with Target(str(path), force=True).open_binary() as file:
            file.write(self._bytes)

    def floats(self, name: str) -> np.ndarray:
        """A float32 copy of a tensor."""
        return self.view(name).astype(np.float32)


def _entry(name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    """The dtype, shape and offset of a tensor; raise a ValueError if they are invalid."""
    given: dict[str, Any] = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = given.get("dtype"), given.get("shape"), given.get("data_offsets")
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ValueError(f"{name[:100]!r} is of the type {kind!r:.50}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"{name[:100]!r} has no shape or no place")
    begin, end = offsets
    if end - begin != math.prod(shape) * DTYPES[kind].itemsize:
        raise ValueError(f"{name[:100]!r} is not where its header says")
    return DTYPES[kind], tuple(shape), begin


def _are_sizes(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _is_usable(array: np.ndarray) -> bool:
    """Whether all values are finite and small enough that sums of products stay finite."""
    if array.dtype == np.float16:  # by its bits: exponents of infinity and NaN; NumPy compares such numbers slowly
        return not ((array.view(np.uint16) & 0x7C00) == 0x7C00).any()
    if array.dtype.kind != "f" or not array.size:
        return True
    return bool(np.abs((array.min(), array.max())).max() <= LARGEST)  # NaN compares as False
