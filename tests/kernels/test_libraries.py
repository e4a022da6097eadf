"""The compiled libraries load by themselves, and say so where they do not."""

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


def test_a_library_that_was_not_compiled_is_no_reason_to_warn(tmp_path: Path) -> None:
    assert libraries.open_library(tmp_path / "libchains.so") == (None, libraries.NOT_COMPILED)


def test_a_library_that_does_not_load_is_warned_of(tmp_path: Path) -> None:
    broken = tmp_path / "libchains.so"
    broken.write_bytes(b"no library")
    with pytest.warns(RuntimeWarning, match=r"libchains\.so does not load .*; install hyperspan again") as warned:
        loaded = libraries.open_library(broken)
    assert len(warned) == 1
    assert loaded.library is None and loaded.obstacle is not None and "does not load" in loaded.obstacle


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("source", ["int abi_version(void) { return 999; }", ""], ids=["newer", "older"])
def test_a_library_of_another_version_is_not_used(tmp_path: Path, source: str) -> None:
    (tmp_path / "stale.c").write_text(f"{source}\nvoid use_openmp(void *runtime) {{ (void)runtime; }}\n")
    stale = tmp_path / "libencode.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "stale.c"), "-o", str(stale)], check=True)
    expected = r"libencode\.so was compiled for another version of hyperspan, .*; install hyperspan again"
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


FORK = """
import os, signal, torch
from hyperspan.structures import EdgeScores, SegmentalHypergraph
torch.set_num_threads(2)
def total():
    torch.manual_seed(0)
    scores = [torch.randn(64, 30, *widths, 3) for widths in ((), (), (7,), (8,))]
    return SegmentalHypergraph(EdgeScores(*scores), [30] * 64).log_partition.sum().item()
expected = total()  # now OpenMP has its threads
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(abs(total() - expected) > 0.01)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_structures_work_in_a_forked_process() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORK], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# One sentence of one word, no types to choose from but one: absent 0, present 1, close 2.
ALONE = """
import ctypes, sys
{before}
from hyperspan.kernels import libraries
library = libraries.chains().library
doubles = lambda *values: (ctypes.c_double * len(values))(*values)
scores, found = [doubles(0.0), doubles(1.0), doubles(), doubles(2.0)], doubles(0.0)
problem = (ctypes.c_void_p * 16)(
    *(ctypes.addressof(array) for array in scores), None, ctypes.addressof((lengths := (ctypes.c_int64 * 1)(1))),
    1, 1, 1, 1, ctypes.addressof(found),
)
assert library.chains_double(problem, ctypes.c_int64({threads})) == 0
print(round(found[0], 6), "torch" in sys.modules, "numpy" in sys.modules, len(libraries.variants()) > 0)
"""


@pytest.mark.skipif(libraries.chains().library is None, reason="the C kernels are not compiled")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("runtime", ["torch's", "none"])
def test_libraries_work_in_a_process_without_torch(runtime: str, threads: int) -> None:
    before = "" if runtime == "torch's" else "from hyperspan.kernels import libraries\nlibraries._runtimes = lambda: ()"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE.format(before=before, threads=threads)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["3.048587", "False", "False", "True"]  # log(1 + exp(3))


def test_only_one_openmp_runtime_is_in_a_process_with_torch() -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists() or libraries.chains().library is None:
        pytest.skip("needs Linux and the C kernels")
    code = (
        "from hyperspan.kernels import libraries; libraries.chains(); import torch; torch.ones(4) @ torch.ones(4)\n"
        "print({line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line or 'iomp' in line})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.count("omp") <= 1, run.stdout
