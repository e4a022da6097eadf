"""A real cluster of two nodes on this machine, of which workers, a whole node and the driver are killed while it
works."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperspan.bulk import annotate_files
from tests.bulk.fakes import lines_in, manifest_of, plan_of, write_jsonl
from tests.bulk.processes import below, have_ended, kill_all, named, with_variable

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

PORT = 26_379
ADDRESS = f"127.0.0.1:{PORT}"
WORDS = (
    "NF-kappa B binds the IL-2 promoter in Jurkat T cells . Activated monocytes express interleukin receptors"
).split()
SHARDS = 40


class Node:
    """A raylet and all that belongs to it, below one process."""

    def __init__(self, *arguments: str):
        command = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus=1", *arguments]
        self.process = subprocess.Popen(
            [*command, "--object-store-memory=200000000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """As if the machine had lost its power."""
        if self.process.returncode is None:
            kill_all(lambda: [self.process.pid, *below(self.process.pid)])
            self.process.wait()


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Node]]:
    """A cluster of two, which only takes drivers that know its token. All that has the token is ended with it."""
    token = secrets.token_hex(32)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", token)
    folder = tempfile.mkdtemp(prefix="hs-ray-", dir="/tmp")  # names of sockets may have 107 characters
    nodes = [Node("--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={folder}")]
    try:
        add_node(nodes, 1)
        yield nodes
    finally:
        everything = kill_all(lambda: with_variable("RAY_AUTH_TOKEN", token))  # also what has lost its parent
        for node in nodes:
            node.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    assert have_ended(everything, 20)


def add_node(nodes: list[Node], cpus: int) -> None:
    """One node more, when the cluster has this many CPUs; returns when it has one more."""
    wait_for_cpus(cpus)
    nodes.append(Node(f"--address={ADDRESS}"))
    wait_for_cpus(cpus + 1)


def wait_for_cpus(cpus: int) -> None:
    code = f"""
import ray, time
while not ray.is_initialized():
    try:
        ray.init("{ADDRESS}", log_to_driver=False)
    except ConnectionError:
        time.sleep(1)
while ray.cluster_resources().get("CPU") != {cpus}:
    time.sleep(0.2)
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=180)


def wait_for(happened: Callable[[], Any], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


class Driver:
    """``hyperspan bulk --engine ray`` in a process of its own."""

    def __init__(self, corpus: Path, output: Path, cwd: Path, *options: str):
        arguments = [str(corpus), "-o", str(output), "--shard-records", "10", "--engine", "ray", *options]
        self.output = output
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hyperspan", "bulk", *arguments, "--ray-address", ADDRESS, "--workers", "2"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )

    def shards(self) -> int:
        return len(list((self.output / ".progress").glob("part-*")))

    def has_done(self, shards: int) -> None:
        wait_for(lambda: self.shards() >= shards or self.process.poll() is not None)
        assert self.process.poll() is None

    def ends_well(self) -> str:
        _, said = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, said
        return said


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    chance = random.Random(0)
    texts = [" ".join(chance.choices(WORDS, k=400)) for _ in range(SHARDS * 10 - 2)]
    write_jsonl(folder / "made.jsonl", [{"id": n, "text": text} for n, text in enumerate(texts)])
    with (folder / "made.jsonl").open("a") as file:
        file.write('{"txet": 1}\nnonsense\n')
    return folder


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("expected") / "out"
    annotate_files([corpus], output, shard_records=10)
    return output


def assert_same(output: Path, expected: Path) -> None:
    """All shards, all documents, each once and in order, with the same mentions and rejected records; and nothing
    else."""
    assert manifest_of(output)["complete"] and plan_of(output)[0] == plan_of(expected)[0]
    assert sorted(file.name for file in (output / "documents").iterdir()) == sorted(
        file.name for file in (expected / "documents").iterdir()
    )
    assert lines_in(output / "rejected") == lines_in(expected / "rejected")
    for one, other in zip(lines_in(output / "documents"), lines_in(expected / "documents"), strict=True):
        for mention, same in zip(one["mentions"], other["mentions"], strict=True):
            assert abs(mention.pop("probability") - same.pop("probability")) < 1e-5
        assert one == other
    assert not (output / ".progress").exists()


def busy(node: Node) -> list[int]:
    """The processes of a node that annotate, as soon as there are any: between two tasks they are called otherwise."""
    found: list[int] = []
    wait_for(lambda: found.extend(named(node.process.pid, "ray::annotate_remotely")) or found, 60)
    return found


def test_workers_and_nodes_that_are_killed_leave_the_same_output(
    nodes: list[Node], corpus: Path, expected: Path, tmp_path: Path
) -> None:
    head, second = nodes
    driver = Driver(corpus, tmp_path / "out", tmp_path)
    driver.has_done(4)
    for worker in busy(head):
        os.kill(worker, signal.SIGKILL)
    driver.has_done(12)
    busy(second)
    second.kill()
    print("killed a worker, and a node with", driver.shards(), "of", SHARDS, "shards done")
    assert f"({SHARDS} shards)" in driver.ends_well()
    assert_same(tmp_path / "out", expected)


def test_a_second_driver_ends_what_the_first_began(
    nodes: list[Node], corpus: Path, expected: Path, tmp_path: Path
) -> None:
    killed = Driver(corpus, tmp_path / "out", tmp_path)
    killed.has_done(10)
    killed.process.kill()
    killed.process.communicate()
    done = killed.shards()
    print("killed a driver with", done, "of", SHARDS, "shards done")
    (tmp_path / "elsewhere").mkdir()
    again = Driver(corpus, tmp_path / "out", tmp_path / "elsewhere").ends_well()
    before = int(again.partition(f"({SHARDS} shards, ")[2].partition(" ")[0])
    assert done <= before < SHARDS
    assert_same(tmp_path / "out", expected)
