"""Compiles the C kernels when hyperspan is built. Without a C compiler hyperspan works all the same, in PyTorch alone."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/hyperspan/kernels/native")


class CompileKernels(BuildHookInterface):
    """The libraries know nothing of Python, so a wheel with them is for one platform and for every Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        build = runpy.run_path(str(Path(self.root) / NATIVE / "build.py"))["build"]
        made = build(warn=self.app.display_warning)
        if made:
            build_data["artifacts"].append(f"/{NATIVE / made.name}")
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data.update(pure_python=False, tag=f"py3-none-{platform}")
