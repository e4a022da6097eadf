"""The compiled libraries load by themselves, and say so where they do not."""

from __future__ import annotations

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
scores, found = [doubles(0.0), doubles(1.0), doubles(), doubles(2.0)], doubles(0.0)
problem = (ctypes.c_void_p * 17)(
    *(ctypes.addressof(array) for array in scores), None, ctypes.addressof((lengths := (ctypes.c_int64 * 1)(1))),
    1, 1, 1, 1, ctypes.addressof(found),
)
assert library.chains_double(problem, ctypes.c_int64({threads})) == 0
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
