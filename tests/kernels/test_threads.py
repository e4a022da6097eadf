"""The pool of threads of the kernels: how many there are, calls from many threads, and forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperspan.kernels import libraries
from hyperspan.kernels.threads import CGROUPS, cpus_of_cgroup, thread_count, torch_openmp

pytestmark = pytest.mark.skipif(
    libraries.compiled().library is None or not sys.platform.startswith("linux"), reason="needs Linux and the C kernels"
)
CPUS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, cpus_of_cgroup(CGROUPS))

# 20,000 chains of one width, each with the scores 0, 1 and 2; without torch and NumPy, whose threads would count.
BEGIN = """
import ctypes, os, re, signal, sys, threading, time
from hyperspan.kernels import libraries
from hyperspan.kernels.threads import thread_count
signal.alarm(50)  # rather than wait for ever
library, rows = libraries.compiled().library, 20_000
scores = [(ctypes.c_double * rows)(*[value] * rows) for value in (0.0, 1.0, 2.0)]
lengths = (ctypes.c_int64 * rows)(*[1] * rows)
def count(threads=None):
    found = (ctypes.c_double * rows)()
    given = libraries.ScoresStruct(**dict(zip(("absent", "present", "close"), map(ctypes.addressof, scores))))
    batch = libraries.BatchStruct(ctypes.addressof(lengths), rows, 1, 1, 1, threads=threads or thread_count())
    structs = map(ctypes.byref, (batch, given, found, libraries.ScoresStruct()))
    assert library.chains_double(*structs) == 0
    assert abs(sum(found) - rows * 3.0485873515737) < 1e-6
def running():
    return int(re.search(r"Threads:\\s*(\\d+)", open("/proc/self/status").read())[1])
def in_fork(work=count):
    child = os.fork()
    if not child:
        signal.alarm(50)  # which a fork does not inherit
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def output_of(code: str, **environment: str) -> list[str]:
    """The words that code prints, without coverage: forks might wait for ever for a lock that a thread held."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_NUM_", "COVERAGE_"))}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEGIN + code],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.parametrize(
    ("variable", "expected"), [("", CPUS), ("1", 1), ("3", min(3, CPUS)), ("1,4", 1), ("no", CPUS), ("²", CPUS)]
)
def test_pool_has_as_many_threads_as_the_variable_and_the_cpus_allow(variable: str, expected: int) -> None:
    found = output_of("for _ in range(9): count()\nprint(thread_count(), running())", OMP_NUM_THREADS=variable)
    assert found == [str(expected)] * 2


def test_pool_starts_no_thread_before_it_needs_one_and_keeps_those_it_has() -> None:
    found = output_of(
        "before = running(); count(1); one = running(); count(4); count(4); four = running(); count(3); print(before, one, four, running())"
    )
    assert found == ["1", "1", "4", "4"]


def test_thread_count_follows_the_cpus_of_the_process() -> None:
    found = output_of(
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); count(); print(thread_count(), running())"
    )
    assert found == ["1", "1"]


def test_thread_count_follows_torch() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert thread_count() == 1
        torch.set_num_threads(CPUS + 1)
        assert thread_count() == CPUS
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, sys.maxsize),
        ({"cpu.max": "5000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
    ],
    ids=str,
)
def test_limits_of_containers_count(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpus_of_cgroup(tmp_path) == expected


def test_calls_from_many_threads_share_the_pool() -> None:
    """Each is right, and all together have no more workers than one call may have."""
    found = output_of("""
def often():
    for _ in range(40): count(4)
    done.append(1)
done, callers = [], [threading.Thread(target=often) for _ in range(8)]
for caller in callers: caller.start()
for caller in callers: caller.join()
time.sleep(0.1)  # the system may still see threads that Python has joined
print(len(done), running())
""")
    assert found[0] == "8" and 1 <= int(found[1]) <= 4


def test_forks_start_threads_of_their_own() -> None:
    found = output_of("""
def work():
    assert running() == 1
    count(3)
    assert running() == 3
    assert in_fork() == 0  # a fork of a fork
    count(3)
count(3)
print(*(in_fork(work) for _ in range(5)), running())
count(3)
""")
    assert found == ["0"] * 5 + ["3"]


def test_forks_work_while_other_threads_are_inside_a_call() -> None:
    found = output_of("""
def often():
    while not stop: count(3)
stop, callers = [], [threading.Thread(target=often) for _ in range(3)]
for caller in callers: caller.start()
time.sleep(0.05)
print(*(in_fork(lambda: [count(3) for _ in range(5)]) for _ in range(20)))
stop.append(1)
for caller in callers: caller.join()
""")
    assert found == ["0"] * 20


def test_torch_works_in_a_forked_process_as_well() -> None:
    code = """
import torch
from hyperspan.structures import EdgeScores, SegmentalHypergraph
torch.set_num_threads(2)
def total():
    torch.manual_seed(0)
    scores = [torch.randn(64, 30, *widths, 3) for widths in ((), (), (7,), (8,))]
    torch.sigmoid(torch.zeros(2_000_000))
    return SegmentalHypergraph(EdgeScores(*scores), [30] * 64).log_partition.sum().item()
expected = total()  # now OpenMP has its threads
def work():
    assert abs(total() - expected) < 0.01
print(in_fork(work))
"""
    assert output_of(code, OMP_NUM_THREADS="2") == ["0"]


def test_process_ends_while_threads_are_inside_a_call() -> None:
    found = output_of("""
def often():
    while True: count(3)
for _ in range(3): threading.Thread(target=often, daemon=True).start()
time.sleep(0.05)
print("ended")
""")
    assert found == ["ended"]


def test_use_threads_bounds_this_process_and_those_that_it_starts() -> None:
    found = output_of("""
import subprocess
from hyperspan.kernels.threads import use_threads
thread_count()
use_threads(1)
child = "from hyperspan.kernels.threads import thread_count; print(thread_count())"
subprocess.run([sys.executable, "-c", child], check=True)
print(thread_count())
""")
    assert found == ["1", "1"]


def test_threads_of_torch_are_found() -> None:
    """Kernels between its operations run on them: threads of another pool would compete with them for the CPUs."""
    import torch

    assert (torch_openmp() is not None) == ("OpenMP" in torch.__config__.parallel_info())
