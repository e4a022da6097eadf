"""The tensors of a safetensors file, read in one piece and parsed no further. The file may come from anywhere.

It is not mapped: a mapped file that another program cuts short, as copying over it does, would end this process.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from hyperspan.errors import InputError
from hyperspan.files import Target, read_regular

DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "F64": np.dtype("<f8"), "I8": np.dtype("i1")}
"""The kinds of numbers that weights may have; safetensors has more."""
LONGEST_HEADER = 100_000_000
"""As in safetensors itself."""
LARGEST = 1_000_000
"""No weight that was learnt is larger."""


class TensorFile:
    """The tensors of a file by their names; arrays are views of its bytes, which cannot be written."""

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
        """For each tensor its type, shape, and where its numbers begin; ValueError says what is wrong."""
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
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: shape for name, (_, shape, _) in self._header.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def view(self, name: str) -> np.ndarray:
        """The numbers of a tensor where they are, or an error where some cannot have been learnt."""
        dtype, shape, begin = self._header[name]
        found = np.frombuffer(self._bytes, dtype, math.prod(shape), self._data + begin).reshape(shape)
        if not _is_usable(found):
            raise InputError(
                f"{self.path} holds numbers in {name} that are not finite or beyond {LARGEST:,}; train the model again"
            )
        return found

    def save(self, path: Path) -> None:
        """Writes the file as it was read."""
        with Target(str(path), force=True).open_binary() as file:
            file.write(self._bytes)

    def floats(self, name: str) -> np.ndarray:
        """A copy in 32 bits."""
        return self.view(name).astype(np.float32)


def _entry(name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    """The type, shape and beginning of a tensor; ValueError says what is wrong with them."""
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
    """Whether all numbers are finite and of a size with which sums of products stay finite."""
    if array.dtype == np.float16:  # by its bits: exponents of infinity and NaN; NumPy compares such numbers slowly
        return not ((array.view(np.uint16) & 0x7C00) == 0x7C00).any()
    if array.dtype.kind != "f" or not array.size:
        return True
    return bool(np.abs((array.min(), array.max())).max() <= LARGEST)  # NaN compares as False
