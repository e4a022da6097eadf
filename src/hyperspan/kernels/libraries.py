"""Find and load the compiled C kernels. Needs neither torch nor NumPy.

They are compiled when hyperspan is built (see native/build.py); if they are missing, PyTorch replaces them.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hyperspan.errors import KernelWarning, is_installed

LIBRARY = Path(__file__).parent / "native" / "libkernels.so"
VARIANTS = ("v4bf16", "v4", "v3", "base")
"""The processor variants of the encoder, best first: see native/build.py."""
ABI_VERSION = 12
"""Must match native/abi.h: increase both when a C struct or function signature changes."""
NOT_COMPILED = "was not compiled; install a wheel of hyperspan, or a C compiler and then hyperspan again"
TIMES_AS_LONG = 4
"""The slowdown of PyTorch compared with the C kernels, for a text and a bundled model; measured 3.4 to 4.6 on one
thread."""

_T = TypeVar("_T")
_loading = threading.RLock()


def call_once(function: Callable[[], _T]) -> Callable[[], _T]:
    """Like `cache`, but if several threads call first, one runs the function and the others wait.

    A fork waits too: were the function to import a module then, the child would wait for that import forever.
    """
    cached = cache(function)

    @wraps(function)
    def locked() -> _T:
        with _loading:
            return cached()

    return locked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


class Loaded(NamedTuple):
    """A loaded library, or the reason why there is none."""

    library: ctypes.CDLL | None
    obstacle: str | None = None


class ScoresStruct(ctypes.Structure):
    """The struct Scores of abi.h: the addresses of contiguous arrays, NULL for those that are not given."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in (
            *("absent", "present", "extend", "close", "branch"),
            *("open", "gap", "last"),
            *("together", "within"),
        )
    )

    @classmethod
    def of(cls, edges: Iterable[Any], **others: Any) -> ScoresStruct:
        """The addresses of these arrays, which it keeps: those of edges in the order of the struct, others by name."""
        found = cls(*map(address, edges))
        for name, array in others.items():
            setattr(found, name, address(array))
        found.kept = edges, others
        return found


class BatchStruct(ctypes.Structure):
    """The struct Batch of abi.h: the sizes of a batch."""

    _fields_ = (
        ("lengths", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("batch", "n", "c", "m", "gaps", "later", "parts", "threads")),
        ("openmp", ctypes.c_void_p),
    )

    @classmethod
    def of(
        cls, lengths: Any, shape: Sequence[int], threads: int, openmp: int | None = None, **sizes: int
    ) -> BatchStruct:
        """The sizes of scores of this shape, (B, n, c, m); `lengths` is a contiguous array of 64-bit integers, which it
        keeps."""
        found = cls(address(lengths), *shape, threads=threads, openmp=openmp, **sizes)
        found.kept = lengths
        return found


class EncoderLibrary(NamedTuple):
    """The functions of encode.c, in the variant for a processor."""

    lanes: int
    """Sizes are rounded up to multiples of this."""
    encode: dict[str, Any]
    """The encoder by number type: float32, and bfloat16 if the processor supports it."""
    gate_rows: dict[str, Any]
    """The gate contributions of vectors to its first layer, by number type."""
    read: Any
    """Runs LSTMs with gradients: see training.h."""
    read_backward: Any
    spell: Any
    """Reads characters with an LSTM: see spelling.h."""
    filter: Any
    """Reads characters with filters."""


def open_library(path: Path) -> Loaded:
    """Load a library. If that fails and torch can replace it, warn how much slower that is."""
    if not path.exists():
        _warn("the C kernels were not compiled")
        return Loaded(None, NOT_COMPILED)
    try:
        library = ctypes.CDLL(str(path))
        if _abi_version(library) == ABI_VERSION:
            return Loaded(library)
        reason = f"{path.name} was compiled for another version of hyperspan"
    except OSError as error:
        reason = f"{path.name} does not load ({error})"
    _warn(reason)
    return Loaded(None, f"cannot run: {reason}")


def _warn(reason: str) -> None:
    if is_installed("torch"):  # otherwise the caller that needs the kernels fails with the reason
        warnings.warn(
            f"{reason}, so PyTorch does their work, which takes about {TIMES_AS_LONG} times as long; install a wheel of hyperspan, "
            "or a C compiler and then hyperspan again",
            KernelWarning,
            stacklevel=3,
        )


def _abi_version(library: ctypes.CDLL) -> int:
    try:
        return library.abi_version()
    except AttributeError:  # older than that function
        return 0


@call_once
def compiled() -> Loaded:
    """libkernels.so: LSTMs, the fused encoder, inference over chains, tokens, and words looked up in a vocabulary."""
    return open_library(LIBRARY)


@call_once
def variants() -> dict[str, EncoderLibrary]:
    """The variants of the encoder that were compiled and that this processor can run, best first; empty without a
    library."""
    library = compiled().library
    usable: dict[str, EncoderLibrary] = {}
    for variant in VARIANTS if library is not None else ():
        functions = {kind: getattr(library, f"encode_{kind}_{variant}", None) for kind in ("float32", "bfloat16")}
        if functions["float32"] is not None and getattr(library, f"runs_{variant}")():
            known = {kind: function for kind, function in functions.items() if function is not None}
            rows = {kind: getattr(library, f"gate_rows_{kind}_{variant}") for kind in known}
            names = ("read_all", "read_all_backward", "spell", "filter")
            others = (getattr(library, f"{name}_float32_{variant}") for name in names)
            usable[variant] = EncoderLibrary(getattr(library, f"lanes_of_{variant}")(), known, rows, *others)
    return usable


def address(array: Any) -> int | None:
    """The data address of a NumPy array, None for none; three times faster than ``array.ctypes.data``."""
    if array is None:
        return None
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty or not contiguous
        return array.__array_interface__["data"][0]


def call(name: str, like: Any, *arguments: ctypes.Structure | int | None) -> int:
    """Call a function of structures.c or joint.c for this array's numbers, with structs, addresses and sizes."""
    return _function(name, like.itemsize, tuple(map(type, arguments)))(*arguments)


@cache
def _function(name: str, itemsize: int, given: tuple[type, ...]) -> Any:
    """A function of structures.c or joint.c for numbers of this size; structs are passed by reference."""
    library = compiled().library
    assert library is not None, "choose allows C where there is a library"
    function = library[f"{name}_{'float' if itemsize == 4 else 'double'}"]
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.POINTER(one) if issubclass(one, ctypes.Structure) else ctypes.c_void_p for one in given]
    return function


def check_memory(status: int) -> None:
    """Raise an error unless a function had enough memory."""
    if status:
        raise MemoryError("no memory for one row of scores; use a smaller max_width")
