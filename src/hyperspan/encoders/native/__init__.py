"""The encoder in C, where it was compiled when hyperspan was installed; nothing depends on its being there."""

from __future__ import annotations

import ctypes
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

VARIANTS = ("v4bf16", "v4", "v3", "base")
"""What the file is compiled for, best first: see hatch_build.py."""


class Library(NamedTuple):
    """The variant for this processor."""

    lanes: int
    """Sizes are rounded up to multiples of this."""
    encode: dict[str, Any]
    """The functions by the numbers that they multiply: float32, and bfloat16 where the processor has it."""
    read: Any
    """Runs LSTMs so that they can be trained: see training.h."""
    read_backward: Any


def variants() -> dict[str, Library]:
    """Those that were compiled and that this processor can run, best first."""
    path = Path(__file__).parent / f"encode{sysconfig.get_config_var('EXT_SUFFIX')}"
    try:
        found = ctypes.CDLL(str(path))
    except OSError:
        return {}
    usable: dict[str, Library] = {}
    for variant in VARIANTS:
        functions = {kind: getattr(found, f"encode_{kind}_{variant}", None) for kind in ("float32", "bfloat16")}
        runs = getattr(found, f"runs_{variant}", None)
        if functions["float32"] is not None and runs is not None and runs():
            known = {kind: function for kind, function in functions.items() if function is not None}
            training = (getattr(found, f"{name}_float32_{variant}") for name in ("read_all", "read_all_backward"))
            usable[variant] = Library(found[f"lanes_of_{variant}"](), known, *training)
    return usable


library: Library | None = next(iter(variants().values()), None)
"""None: PyTorch does everything."""
