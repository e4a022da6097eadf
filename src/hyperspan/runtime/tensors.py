"""The tensors of a safetensors file, read in one piece and parsed no further. The file may come from anywhere.

It is not mapped: a mapped file that another program cuts short, as copying over it does, would end this process.
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
"""The kinds of numbers that weights may have; safetensors has more."""
KINDS = {dtype: kind for kind, dtype in DTYPES.items()}
LONGEST_HEADER = 100_000_000
"""As in safetensors itself."""
LARGEST = 1_000_000
"""No weight that was learnt is larger."""
TRAINED, FIXED = "encoder.words.trained", "encoder.words.fixed"
"""The vectors of words: of those of the training data, and of others."""
SCALE = "_scale"
"""Ends the name of the factors of a tensor of whole numbers, one for each of its rows."""
FLOATS = {"F64", "F32", "F16", "BF16"}
"""What safetensors calls the types of numbers that weights may have."""


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
    """Raises an error unless a file has exactly the tensors that are expected; `vectors` may be whole numbers with
    factors."""
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
    """Raises the error for weights that are not those of the model beside them."""
    raise InputError(
        f"{path} does not fit config.toml and vocabulary.json beside it ({why}): it is damaged, or an earlier version of hyperspan "
        "wrote it; train the model again"
    ) from None


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
    def entries(self) -> dict[str, Entry]:
        return {name: Entry(KINDS[dtype], shape) for name, (dtype, shape, _) in self._header.items()}

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
