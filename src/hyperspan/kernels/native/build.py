"""Compiles the C kernels into this folder: ``python src/hyperspan/kernels/native/build.py``. Installing hyperspan does the same.

Set the environment variable CC to choose the compiler; CC=none leaves the kernels out.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-pthread"]
PROCESSORS = {
    "v4bf16": ["-march=x86-64-v4", "-mavx512bf16", "-mprefer-vector-width=512"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "v3": ["-march=x86-64-v3"],
}
"""The encoder is compiled for each of these and for any processor, so that what was built here runs elsewhere too."""
Objects = dict[str, tuple[str, list[str]]]
"""The objects of a library: for each its source and its flags."""


def libraries() -> dict[str, Objects]:
    """The objects of each library, by the library's file name."""
    known = PROCESSORS if platform.machine().lower() in ("x86_64", "amd64") else {}
    variants = {name: ("encode.c", [*flags, f"-DVARIANT={name}"]) for name, flags in {"base": [], **known}.items()}
    threads: Objects = {"threads": ("threads.c", [])}
    return {
        "libchains.so": {"chains": ("chains.c", []), **threads},
        "libencode.so": {"cpu": ("cpu.c", []), **variants, **threads},
        "libtext.so": {"words": ("words.c", []), **threads},
    }


def build(folder: Path = HERE, warn: Callable[[str], None] = lambda line: print(line, file=sys.stderr)) -> list[Path]:
    """Compiles the libraries and returns those that were made; says why the others were left out.

    A compiler may be too old for the newest processors alone: then the encoder does without them.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    made = []

    def run(arguments: list[str], what: str) -> bool:
        try:
            subprocess.run([*compiler, *arguments], check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            reason = (error.stderr or str(error)).strip().splitlines()[-1:]
        except OSError as error:
            reason = [str(error)]
        else:
            return True
        warn(f"{what} left out, PyTorch will do its work: {' '.join(reason)}")
        return False

    for name, objects in libraries().items():
        target = folder / name
        target.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as place:
            compiled = {part: str(Path(place) / f"{part}.o") for part in objects}
            done = [
                compiled[part]
                for part, (source, flags) in objects.items()
                if run([*FLAGS, *flags, "-c", str(HERE / source), "-o", compiled[part]], f"{name} ({part})")
            ]
            if done and run(["-shared", *done, "-o", str(target), "-lm", "-pthread"], name):
                made.append(target)
    return made


if __name__ == "__main__":
    print(*build(), sep="\n")
