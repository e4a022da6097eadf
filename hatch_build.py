"""Compiles the C kernels when hyperspan is built.

Without a C compiler it makes a wheel for every platform, which needs PyTorch.
"""

from __future__ import annotations

import re
import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/hyperspan/kernels/native")
OLDEST_GLIBC = 17  # no older 2.x has a name that pip knows and people use


class CompileKernels(BuildHookInterface):
    """The library knows nothing of Python, so a wheel with it is for one platform and for every Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        native = runpy.run_path(str(Path(self.root) / NATIVE / "build.py"))
        library = native["build"](warn=self.app.display_warning)
        if library is not None:
            build_data["artifacts"].append(f"/{NATIVE / library.name}")
            build_data.update(pure_python=False, tag=f"py3-none-{_platform(library, native['machine']())}")


def _platform(library: Path, machine: str) -> str:
    """manylinux with the glibc that the library asks for; where it asks for none, this very platform."""
    glibc = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library.read_bytes())]
    if glibc:
        return f"manylinux_2_{max(OLDEST_GLIBC, *glibc)}_{machine}"
    return re.sub(r"[-.]", "_", sysconfig.get_platform())
