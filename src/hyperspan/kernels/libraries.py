"""The compiled C libraries: found, loaded, and given threads. Needs neither torch nor NumPy.

They were compiled when hyperspan was installed (see native/build.py); where one is missing, PyTorch does its work.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hyperspan.errors import KernelWarning

FOLDER = Path(__file__).parent / "native"
VARIANTS = ("v4bf16", "v4", "v3", "base")
"""What the encoder is compiled for, best first: see native/build.py."""
ABI_VERSION = 1
"""That of native/threads.h: both grow when a struct or the arguments of a function in C change."""
NOT_COMPILED = "was not compiled; install hyperspan where there is a C compiler"

_T = TypeVar("_T")
_loading = threading.RLock()


def call_once(function: Callable[[], _T]) -> Callable[[], _T]:
    """Like `cache`; of several threads that come first, one calls the function and the others wait for it."""
    cached = cache(function)

    @wraps(function)
    def locked() -> _T:
        with _loading:
            return cached()

    return locked


def _use_one_thread() -> None:
    """A forked process has none of OpenMP's threads, but OpenMP does not know, and would wait for them for ever."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)
    os.register_at_fork(after_in_child=_use_one_thread)


class Loaded(NamedTuple):
    """A library, or why there is none."""

    library: ctypes.CDLL | None
    obstacle: str | None = None


class EncoderLibrary(NamedTuple):
    """The functions of libencode.so, in the variant for a processor."""

    lanes: int
    """Sizes are rounded up to multiples of this."""
    encode: dict[str, Any]
    """The fused encoder, by the numbers that it multiplies: float32, and bfloat16 where the processor has it."""
    read: Any
    """Runs LSTMs so that they can be trained: see training.h."""
    read_backward: Any


def open_library(path: Path) -> Loaded:
    """Loads a library and hands it threads. One that is there but does not load is worth a warning."""
    if not path.exists():
        return Loaded(None, NOT_COMPILED)
    try:
        library = ctypes.CDLL(str(path))
        if _abi_version(library) == ABI_VERSION:
            library.use_openmp(_openmp())
            return Loaded(library)
        reason = f"{path.name} was compiled for another version of hyperspan"
    except (OSError, AttributeError) as error:
        reason = f"{path.name} does not load ({error})"
    warnings.warn(
        f"{reason}, so PyTorch does its work, more slowly; install hyperspan again on this machine to compile it anew",
        KernelWarning,
        stacklevel=2,
    )
    return Loaded(None, f"cannot run: {reason}")


def _abi_version(library: ctypes.CDLL) -> int:
    try:
        return library.abi_version()
    except AttributeError:  # older than that function
        return 0


@call_once
def chains() -> Loaded:
    """libchains.so: inference over the chains of a segmental hypergraph."""
    return open_library(FOLDER / "libchains.so")


@call_once
def encoder() -> Loaded:
    """libencode.so: LSTMs, and the fused encoder."""
    loaded = open_library(FOLDER / "libencode.so")
    if loaded.library is not None and not encoder_variants(loaded.library):
        return Loaded(None, "libencode.so has no variant for this processor")
    return loaded


@call_once
def text() -> Loaded:
    """libtext.so: words looked up in a vocabulary."""
    return open_library(FOLDER / "libtext.so")


def encoder_variants(library: ctypes.CDLL) -> dict[str, EncoderLibrary]:
    """The variants that were compiled and that this processor can run, best first."""
    usable: dict[str, EncoderLibrary] = {}
    for variant in VARIANTS:
        functions = {kind: getattr(library, f"encode_{kind}_{variant}", None) for kind in ("float32", "bfloat16")}
        runs = getattr(library, f"runs_{variant}", None)
        if functions["float32"] is not None and runs is not None and runs():
            known = {kind: function for kind, function in functions.items() if function is not None}
            training = (getattr(library, f"{name}_float32_{variant}") for name in ("read_all", "read_all_backward"))
            usable[variant] = EncoderLibrary(library[f"lanes_of_{variant}"](), known, *training)
    return usable


@call_once
def variants() -> dict[str, EncoderLibrary]:
    """Those of libencode.so, best first; none where it is not loaded."""
    library = encoder().library
    return {} if library is None else encoder_variants(library)


@call_once
def _openmp() -> ctypes.c_void_p:
    """The function of an OpenMP runtime that runs threads, or NULL: then kernels start threads of their own.

    It is that of torch, where torch is installed, whether or not it has been imported: two runtimes would compete.
    """
    for path in _runtimes():
        try:
            function = ctypes.CDLL(path).GOMP_parallel
        except (OSError, AttributeError, TypeError):  # no such file, another runtime, no such platform
            continue
        return ctypes.cast(function, ctypes.c_void_p)
    return ctypes.c_void_p(None)


def _runtimes() -> Iterator[str | None]:
    """Where an OpenMP runtime may be, best first; None stands for what the process has loaded for all to see."""
    if "torch" in sys.modules:
        yield None
    spec = importlib.util.find_spec("torch")
    for folder in (Path(place) for place in (spec and spec.submodule_search_locations) or ()):
        for beside in (folder / "lib", folder.with_name("torch.libs")):
            yield from map(str, sorted(beside.glob("libgomp*.so*")))
    if os.name == "posix":
        yield "libgomp.so.1"
