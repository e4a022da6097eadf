"""Compiles the C kernels when hyperspan is built. Without a C compiler hyperspan works all the same, in PyTorch alone."""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/hyperspan/structures/native")


class CompileKernels(BuildHookInterface):
    """Sets the environment variable CC to choose the compiler; CC=none leaves the kernels out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        folder = Path(self.root) / FOLDER
        library = folder / f"chains{sysconfig.get_config_var('EXT_SUFFIX')}"
        compiler = shlex.split(os.environ.get("CC", "cc"))
        flags = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-fopenmp"]
        compiled = library.with_suffix(".o")
        library.unlink(missing_ok=True)
        try:
            # Linked without OpenMP's own library: the kernels are to share the threads of the one that torch has loaded.
            for arguments in (
                [*flags, "-c", str(folder / "chains.c"), "-o", str(compiled)],
                ["-shared", str(compiled), "-o", str(library), "-lm"],
            ):
                subprocess.run([*compiler, *arguments], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            self.app.display_warning(f"C kernels left out, PyTorch will do their work: {' '.join(reason)}")
            return
        finally:
            compiled.unlink(missing_ok=True)
        build_data["artifacts"].append(f"/{FOLDER}/{library.name}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
