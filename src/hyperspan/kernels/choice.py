"""Choose, report and force the implementation that runs. Needs neither torch nor NumPy.

============  ==========================================================================================
reference     plain PyTorch or NumPy, on any device, for any numbers; what the others are tested against
c             compiled libraries, for CPUs
triton        kernels compiled when first used, for NVIDIA GPUs
============  ==========================================================================================
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hyperspan.errors import InputError, is_installed
from hyperspan.kernels import libraries

VARIABLE = "HYPERSPAN_KERNELS"
IMPLEMENTATIONS = ("c", "triton", "reference")
"""Best first; the last supports everything."""
COMPUTATIONS = {
    "word_lstm": ("c", "triton", "reference"),
    "span_lstm": ("c", "triton", "reference"),
    "layout": ("triton", "reference"),
    "log_partition": ("c", "reference"),
    "argmax": ("c", "reference"),
    "joint": ("c", "reference"),
    "menus": ("c", "reference"),
    "encoder": ("c", "reference"),
    "tokens": ("c", "reference"),
    "look_up": ("c", "reference"),
}
"""The implementations of each computation; `encoder` covers word vectors to scores, `layout` the positions of spans.

`menus` are those of discontinuous mentions, `tokens` is tokenization, `look_up` finds words in a vocabulary. These run
only on CPUs, and their reference is NumPy or plain Python.
"""
ON_CPUS_ALONE = ("menus", "tokens", "look_up")
PREFERRED = {"cpu": ("c",), "cuda": ("triton",)}
"""The implementations worth running on a device, besides the reference."""
BATCH_ENTRIES = 40_000
"""The size of an inference batch, sentences × words × widths: small enough for caches and for models that need much
memory."""
FUSED_BATCH_ENTRIES = 200_000
"""The same for the fused encoder in C: enough that every thread has blocks of many sentences, and still a few MB."""
GPU_BATCH_ENTRIES = 2_000_000
"""The same on a GPU, for few kernel launches."""


class Forced(NamedTuple):
    """The implementations that the user allows besides the reference."""

    names: tuple[str, ...]
    variant: str | None = None
    """The processor variant of the C kernels; None for this machine's."""


_forced: ContextVar[Forced | None] = ContextVar("hyperspan_kernels", default=None)


@contextmanager
def only(*names: str, variant: str | None = None) -> Iterator[None]:
    """A context in which only these implementations run where they can, and otherwise the reference.

    It applies to the current thread (precisely, the current context) and to the threads and Ray workers that hyperspan
    starts within it; your own threads inherit it if you start them with ``contextvars.copy_context().run``.
    """
    token = _forced.set(Forced(_known(names), variant))
    try:
        yield
    finally:
        _forced.reset(token)


def reference() -> AbstractContextManager[None]:
    """A context in which plain PyTorch computes everything, like the environment variable HYPERSPAN_KERNELS=reference.

    >>> with reference():
    ...     choose("argmax", "cpu")
    'reference'
    """
    return only("reference")


def forced() -> Forced | None:
    """What :func:`only` or the environment variable allows; None if neither is set."""
    return _forced.get() or _from_environment(os.environ.get(VARIABLE, ""))


def environment() -> dict[str, str]:
    """The environment variable that makes another process choose as this context does; empty if nothing is forced.

    >>> with only("c", "triton"):
    ...     environment()
    {'HYPERSPAN_KERNELS': 'c,triton'}
    """
    allowed = forced()
    return {} if allowed is None else {VARIABLE: ",".join(allowed.names) or "reference"}


@cache
def _from_environment(value: str) -> Forced | None:
    names = [name.strip() for name in value.split(",") if name.strip()]
    return Forced(_known(names, f"the environment variable {VARIABLE} is {value!r}")) if names else None


def _known(names: Collection[str], given: str = "") -> tuple[str, ...]:
    for name in names:
        if name not in IMPLEMENTATIONS:
            raise InputError(
                f"{given or f'there is no implementation {name!r}'}; name one or more of {', '.join(IMPLEMENTATIONS)}"
            )
    return tuple(name for name in IMPLEMENTATIONS if name in names)


def choose(computation: str, device: str, unfit: Collection[str] = ()) -> str:
    """The implementation that runs on a type of device, such as "cpu", excluding those `unfit` for the given
    tensors."""
    for name in _candidates(computation, device, forced()):
        if name not in unfit:
            return name
    return "reference"


def encoder_library() -> libraries.EncoderLibrary:
    """The compiled functions that run when :func:`choose` returns "c"."""
    return _variant(forced())


@lru_cache(maxsize=16)
def _variant(allowed: Forced | None) -> libraries.EncoderLibrary:
    found = libraries.variants()
    return found[allowed.variant if allowed and allowed.variant else next(iter(found))]


def dtypes(device: str) -> tuple[str, ...]:
    """The number types that the encoder in C supports on a device; float32 is always among them."""
    return tuple(encoder_library().encode) if choose("encoder", device) == "c" else ("float32",)


def batch_entries(device: str, *, fused: bool = False, linear_memory: bool = False) -> int:
    """The size of an inference batch, sentences × words × widths; `fused` for a model that the fused encoder supports.

    GPU batches are large only with `linear_memory`, that is, if memory grows linearly with the entries: structures that
    need more per sentence, such as trees, would exhaust GPU memory.
    """
    if fused and choose("encoder", device) == "c":
        return FUSED_BATCH_ENTRIES
    return GPU_BATCH_ENTRIES if linear_memory and device != "cpu" else BATCH_ENTRIES


@lru_cache(maxsize=128)
def _candidates(computation: str, device: str, allowed: Forced | None) -> tuple[str, ...]:
    return tuple(name for name in COMPUTATIONS[computation] if not obstacle(computation, name, device, allowed))


def obstacle(computation: str, name: str, device: str, allowed: Forced | None) -> str | None:
    """Why an implementation does not run; None if it can."""
    if name == "reference":
        return None
    wanted = PREFERRED.get(device, ()) if allowed is None else allowed.names
    if name == "c" and device != "cpu":
        return "runs only on CPUs"
    if name == "triton" and device != "cuda":
        return "runs only on NVIDIA GPUs"
    if name not in wanted:
        return f"is slower on a {'CPU' if device == 'cpu' else 'GPU'}" if allowed is None else "is not allowed"
    if name == "c":
        return libraries.compiled().obstacle
    if name == "triton" and not is_installed("triton"):
        return "is not installed; PyTorch for CUDA brings it"
    return None


def report() -> dict[str, Any]:
    """For each device and computation, the implementation that runs, and why each other one does not.

    The tensors may still rule one out: C supports LSTMs only in float32; Triton supports LSTMs of up to 512
    units.

    >>> report()["devices"]["cpu"]["word_lstm"]["others"]["triton"]
    'runs only on NVIDIA GPUs'
    """
    allowed = forced()
    devices: dict[str, Any] = {}
    for device, missing in (("cpu", None), ("cuda", gpu_obstacle())):
        devices[device] = {"unavailable": missing} if missing else {}
        for computation in (
            () if missing else [name for name in COMPUTATIONS if device == "cpu" or name not in ON_CPUS_ALONE]
        ):
            runs = choose(computation, device)
            others = {
                name: obstacle(computation, name, device, allowed) or f"is slower than {runs}"
                for name in COMPUTATIONS[computation]
                if name != runs
            }
            devices[device][computation] = {"runs": runs, "others": others}
    variant = next((name for name, each in libraries.variants().items() if each == encoder_library()), None)
    return {"forced": allowed and list(allowed.names), "processor": variant, "devices": devices}


@cache
def gpu_obstacle() -> str | None:
    """Why no NVIDIA GPU can be used; None if one can. Asks the driver, since importing torch takes seconds."""
    spec = importlib.util.find_spec("torch") if is_installed("torch") else None
    if spec is None or spec.origin is None:
        return "PyTorch is not installed"
    about = Path(spec.origin).with_name("version.py")
    if about.exists() and re.search(r"^cuda\b[^=]*= *None", about.read_text(encoding="utf-8"), re.MULTILINE):
        return "PyTorch was built without CUDA"
    try:
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return "there is no NVIDIA GPU"
    except (OSError, AttributeError):
        return "there is no driver for NVIDIA GPUs"
    return None
