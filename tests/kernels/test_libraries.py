"""The compiled libraries load by themselves, or say why not, and are compiled again where that is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hyperspan.kernels import libraries


def test_missing_library_is_warned_of_with_what_it_costs(tmp_path: Path) -> None:
    with pytest.warns(
        RuntimeWarning, match=r"not compiled, so PyTorch does their work, which takes about \d+ times as long"
    ):
        assert libraries.open_library(tmp_path / "libkernels.so") == (None, libraries.NOT_COMPILED)


def test_a_library_that_does_not_load_is_warned_of(tmp_path: Path) -> None:
    broken = tmp_path / "libkernels.so"
    broken.write_bytes(b"no library")
    with pytest.warns(RuntimeWarning, match=r"libkernels\.so does not load .*; install a wheel of hyperspan") as warned:
        loaded = libraries.open_library(broken)
    assert len(warned) == 1
    assert loaded.library is None and loaded.obstacle is not None and "does not load" in loaded.obstacle


MISSING = """
import warnings, hyperspan
from hyperspan.kernels import libraries
libraries.LIBRARY = libraries.LIBRARY.with_name("no.so")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    found = [hyperspan.load("genia")("IL-2 promoter").mentions for _ in range(2)]
assert found[0] and found[0] == found[1]
print(*(each.message for each in warned if issubclass(each.category, hyperspan.errors.KernelWarning)), sep="\\n")
"""


def test_annotator_without_the_library_warns_once() -> None:
    run = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 1 and "times as long" in run.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("source", ["int abi_version(void) { return 999; }", ""], ids=["newer", "older"])
def test_a_library_of_another_version_is_not_used(tmp_path: Path, source: str) -> None:
    (tmp_path / "stale.c").write_text(f"{source}\nint runs_base(void) {{ return 1; }}\n")
    stale = tmp_path / "libkernels.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "stale.c"), "-o", str(stale)], check=True)
    expected = r"libkernels\.so was compiled for another version of hyperspan, .*; install a wheel of hyperspan"
    with pytest.warns(RuntimeWarning, match=expected):
        loaded = libraries.open_library(stale)
    assert loaded.library is None and "another version" in (loaded.obstacle or "")


def test_threads_that_come_first_together_load_once() -> None:
    calls: list[int] = []

    def load() -> object:
        calls.append(1)
        time.sleep(0.2)  # long enough for the others to come
        return object()

    once, found = libraries.call_once(load), []
    threads = [threading.Thread(target=lambda: found.append(once())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 3 and len(set(map(id, found))) == 1


# One sentence of one word, no types to choose from but one: absent 0, present 1, close 2.
ALONE = """
import ctypes, sys
from hyperspan.kernels import libraries
library = libraries.compiled().library
doubles = lambda *values: (ctypes.c_double * len(values))(*values)
given, found = [doubles(0.0), doubles(1.0), doubles(), doubles(2.0)], doubles(0.0)
names, lengths = ("absent", "present", "extend", "close"), (ctypes.c_int64 * 1)(1)
scores = libraries.ScoresStruct(**dict(zip(names, map(ctypes.addressof, given), strict=True)))
batch = libraries.BatchStruct(ctypes.addressof(lengths), 1, 1, 1, 1, threads={threads})
structs = map(ctypes.byref, (batch, scores, found, libraries.ScoresStruct()))
assert library.chains_double(*structs) == 0
print(round(found[0], 6), "torch" in sys.modules, "numpy" in sys.modules, len(libraries.variants()) > 0, end=" ")
print("gomp" in open("/proc/self/maps").read() if sys.platform == "linux" else False)
"""


@pytest.mark.skipif(libraries.compiled().library is None, reason="the C kernels are not compiled")
@pytest.mark.parametrize("threads", [1, 3])
def test_libraries_work_in_a_process_without_torch(threads: int) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE.format(threads=threads)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["3.048587", "False", "False", "True", "False"]  # log(1 + exp(3))


# -- which compiler compiles the C kernels, and for which processor ----------------------------------------------------


BUILD = libraries.LIBRARY.with_name("build.py")
shell_scripts = pytest.mark.skipif(os.name == "nt", reason="the compilers here are shell scripts")


def run(code: str, path: Path, **variables: str) -> str:
    """What code prints that uses `native`, with no programs but those in a folder."""
    code = f"import runpy; native = runpy.run_path({str(BUILD)!r}); {code}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": str(path)} | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@shell_scripts
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


@shell_scripts
def test_missing_compiler_is_one_sentence(tmp_path: Path) -> None:
    said = run(f"from pathlib import Path; native['build'](Path({str(tmp_path)!r}), print)", tmp_path)
    assert said.endswith("needs PyTorch for all that it computes: there is no C compiler, neither cc, gcc nor clang")


@shell_scripts
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_library_is_compiled_again_only_where_sources_or_compiler_differ(tmp_path: Path) -> None:
    native = shutil.copytree(BUILD.parent, tmp_path / "native", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    counting = tmp_path / "counting-cc"
    counting.write_text('#!/bin/sh\ncase "$*" in *" -c "*) echo >> "$0.log";; esac\nexec cc "$@"\n')
    counting.chmod(0o755)
    for source in ("encode", "joint", "structures", "tokens", "words"):  # large, and not what is tested
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
