"""Compiles the C kernels when hyperspan is built. Without a C compiler hyperspan works all the same, in PyTorch alone."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-fopenmp"]
STRUCTURES = Path("src/hyperspan/structures/native")
ENCODERS = Path("src/hyperspan/encoders/native")
PROCESSORS = {
    "v4bf16": ["-march=x86-64-v4", "-mavx512bf16", "-mprefer-vector-width=512"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "v3": ["-march=x86-64-v3"],
}
"""The encoder is compiled for each of these and for any processor, so that what was built here runs elsewhere too."""


class CompileKernels(BuildHookInterface):
    """Sets the environment variable CC to choose the compiler; CC=none leaves the kernels out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        self.compiler = shlex.split(os.environ.get("CC", "cc"))
        built = [
            self.build(STRUCTURES / "chains", {"chains": (STRUCTURES / "chains.c", [])}),
            self.build(ENCODERS / "encode", self.encoders()),
        ]
        for library in filter(None, built):
            build_data["artifacts"].append(f"/{library}")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def encoders(self) -> dict[str, tuple[Path, list[str]]]:
        """The objects of the encoder's library: for each the source and its flags."""
        known = PROCESSORS if platform.machine().lower() in ("x86_64", "amd64") else {}
        variants = {
            name: (ENCODERS / "encode.c", [*flags, f"-DVARIANT={name}"])
            for name, flags in {"base": [], **known}.items()
        }
        return {"cpu": (ENCODERS / "cpu.c", []), **variants}

    def build(self, name: Path, sources: dict[str, tuple[Path, list[str]]]) -> Path | None:
        """Compiles a library, or says why it is left out. A compiler may be too old for the newest processors alone."""
        library = name.with_name(f"{name.name}{sysconfig.get_config_var('EXT_SUFFIX')}")
        target = Path(self.root) / library
        target.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            objects: list[str] = []
            for part, (source, flags) in sources.items():
                compiled = str(Path(folder) / f"{part}.o")
                if self.run([*FLAGS, *flags, "-c", str(Path(self.root) / source), "-o", compiled], f"{name} ({part})"):
                    objects.append(compiled)
            # Linked without OpenMP's own library: the kernels are to share the threads of the one that torch has loaded.
            if objects and self.run(["-shared", *objects, "-o", str(target), "-lm"], str(name)):
                return library
        return None

    def run(self, arguments: list[str], what: str) -> bool:
        try:
            subprocess.run([*self.compiler, *arguments], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            self.app.display_warning(f"{what} left out, PyTorch will do its work: {' '.join(reason)}")
            return False
        return True
