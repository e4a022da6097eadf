"""Compile the C kernels into this folder: ``python src/hyperspan/kernels/native/build.py``. Installing hyperspan does
the same.

The compiler is the first found of cc, gcc and clang. Set the environment variable CC to choose another, such as a
cross-compiler; CC=none leaves the kernels out.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = "libkernels.so"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-pthread"]
SOURCES = ("joint", "structures", "tokens", "words", "threads")
"""The sources compiled once, for every processor; the slowest to compile come first."""
PROCESSORS = {
    "v4bf16": ["-march=x86-64-v4", "-mavx512bf16", "-mprefer-vector-width=512"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "v3": ["-march=x86-64-v3"],
}
"""The encoder is compiled for each of these and for a baseline processor, so that a build runs on other machines
too."""

MACHINES = {
    "amd64": "x86_64",
    "arm": "armv7l",
    **dict.fromkeys(("i386", "i486", "i586"), "i686"),
    "powerpc64": "ppc64",
    "powerpc64le": "ppc64le",
}
"""The names that pip uses for processors that compilers name differently."""


def build(folder: Path = HERE, warn: Callable[[str], None] = lambda line: print(line, file=sys.stderr)) -> Path | None:
    """Compile the library and return its path; without a compiler, warn and return None.

    A library of the same sources and the same compiler is kept. If a compiler is too old for the newest processors, the
    encoder is built without them.
    """
    target = folder / LIBRARY
    try:
        fingerprint = _fingerprint()
        if target.exists() and fingerprint.encode() in target.read_bytes():
            return target
        processors = PROCESSORS if machine() == "x86_64" else {}
        with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = [pool.submit(_object, place, name, name) for name in SOURCES]
            compiled.append(pool.submit(_object, place, "encode", "base"))
            special = {name: pool.submit(_object, place, "encode", name, flags) for name, flags in processors.items()}
            objects = [job.result() for job in compiled]
            for name, job in special.items():
                try:
                    objects.append(job.result())
                except subprocess.CalledProcessError as error:
                    warn(f"the kernels for {name} were left out, since the compiler cannot make them: {_reason(error)}")
                    fingerprint = ""  # so that the next build tries again
            objects.append(_object(place, "cpu", "cpu", [f'-DFINGERPRINT="{fingerprint}"']))
            linked = folder / f"{os.getpid()}.{LIBRARY}"
            _compile("-shared", "-s", *objects, "-o", str(linked), "-lm", "-pthread")
            linked.replace(target)  # atomic, for processes that start meanwhile
    except (OSError, subprocess.CalledProcessError) as error:
        warn(f"the C kernels were not compiled, so hyperspan needs PyTorch for all that it computes: {_reason(error)}")
        target.unlink(missing_ok=True)
        return None
    return target


def machine() -> str:
    """The processor that the compiler compiles for, as pip calls it, such as x86_64, aarch64 or ppc64le."""
    target = _compile("-dumpmachine").partition("-")[0]
    return MACHINES.get(target, target)


def _fingerprint() -> str:
    """What the library is made from: its sources, the flags in this file, and the compiler. The library holds it."""
    sources = sorted(path for path in HERE.iterdir() if path.suffix in (".c", ".h", ".py"))
    compiler = os.environ.get("CC", "") + _compile("--version") + _compile("-dumpmachine")
    parts = [compiler.encode(), *(path.name.encode() + b"\0" + path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _object(place: str, source: str, name: str, flags: list[str] | None = None) -> str:
    """Compile a source under a separate name, and return the path of its object."""
    made = str(Path(place) / f"{name}.o")
    _compile(*FLAGS, *(flags or []), f"-DVARIANT={name}", "-c", str(HERE / f"{source}.c"), "-o", made)
    return made


def _compile(*arguments: str) -> str:
    compiler = shlex.split(os.environ.get("CC", "")) or list(filter(shutil.which, COMPILERS))[:1]
    if not compiler:
        raise FileNotFoundError(f"there is no C compiler, neither {', '.join(COMPILERS[:-1])} nor {COMPILERS[-1]}")
    english = os.environ | {"LC_ALL": "C"}
    return subprocess.run([*compiler, *arguments], check=True, capture_output=True, text=True, env=english).stdout


def _reason(error: Exception) -> str:
    printed = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return (printed or str(error)).strip().splitlines()[-1]


if __name__ == "__main__":
    sys.exit(build() is None)
