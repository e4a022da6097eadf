"""Which compiler compiles the C kernels, and for which processor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hyperspan.kernels import libraries

BUILD = libraries.LIBRARY.with_name("build.py")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the compilers here are shell scripts")


def run(code: str, path: Path, **variables: str) -> str:
    """What code prints that uses `native`, with no programs but those in a folder."""
    code = f"import runpy; native = runpy.run_path({str(BUILD)!r}); {code}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": str(path)} | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("compilers", "variables", "expected"),
    [
        ({"cc": "x86_64-linux-gnu", "gcc": "aarch64-linux-gnu", "clang": "riscv64-linux"}, {}, "x86_64"),
        ({"gcc": "aarch64-linux-gnu", "clang": "x86_64-pc-linux-gnu"}, {}, "aarch64"),
        ({"clang": "amd64-unknown-openbsd"}, {"CC": ""}, "x86_64"),
        ({"cc": "x86_64-linux-gnu", "cross-gcc": "powerpc64le-linux-gnu"}, {"CC": "cross-gcc -O1"}, "ppc64le"),
        ({"cc": "powerpc64le-linux-gnu"}, {}, "ppc64le"),
        ({"cc": "arm-linux-gnueabihf"}, {}, "armv7l"),
    ],
    ids=str,
)
def test_first_compiler_that_is_there_names_the_processor_as_pip_does(
    tmp_path: Path, compilers: dict[str, str], variables: dict[str, str], expected: str
) -> None:
    for name, machine in compilers.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {machine}\n")
        (tmp_path / name).chmod(0o755)
    assert run("print(native['machine']())", tmp_path, **variables) == expected


def test_missing_compiler_is_one_sentence(tmp_path: Path) -> None:
    said = run(f"from pathlib import Path; native['build'](Path({str(tmp_path)!r}), print)", tmp_path)
    assert said.endswith("needs PyTorch for all that it computes: there is no C compiler, neither cc, gcc nor clang")


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_library_is_compiled_again_only_where_sources_or_compiler_differ(tmp_path: Path) -> None:
    native = shutil.copytree(BUILD.parent, tmp_path / "native", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    counting = tmp_path / "counting-cc"
    counting.write_text('#!/bin/sh\ncase "$*" in *" -c "*) echo >> "$0.log";; esac\nexec cc "$@"\n')
    counting.chmod(0o755)
    for source in ("encode", "joint", "menus", "chains", "tokens", "words"):  # large, and not what is tested
        (native / f"{source}.c").write_text("")

    def compiled(compiler: str = str(counting)) -> int:
        log = Path(f"{counting}.log")
        log.unlink(missing_ok=True)
        subprocess.run([sys.executable, native / "build.py"], env=os.environ | {"CC": compiler}, check=True)
        return len(log.read_text()) if log.exists() else 0

    everything = compiled()
    assert everything > 5
    assert compiled() == 0
    assert compiled(f"{counting} -O1") == everything
    broken = f"{counting} -O2"
    counting.write_text(counting.read_text().replace("exec", 'case "$*" in *bf16*-c*) exit 1;; esac\nexec'))
    if os.uname().machine == "x86_64":
        assert compiled(broken) == compiled(broken) == everything  # a processor was left out, so it tries again
    (native / "lanes.h").write_text("/* another */")
    assert compiled(f"{counting} -O1") == everything
