"""``python -m tests.mutations``: whether the tests notice the faults of ``tests/mutations.toml``.

Each fault is put into a copy of the checkout, where the named tests must fail, and pass again without it. A fault that
they do not notice *survives*: a test is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTED = Path(__file__).with_suffix(".toml")
LEFT_OUT = (".git", ".venv", "runs", "site", "dist", ".*_cache", ".hypothesis", "*.html")
"""What the copy of a checkout does without."""
SECONDS = 900
"""Tests that run for longer hang, which also notices a fault."""
PASSED, FAILED = 0, 1
"""Exit statuses of pytest; others mean that it could not run the tests."""


class MutationError(Exception):
    """A fault that cannot be tried: its line or its tests are not there."""


@dataclass(frozen=True)
class Mutation:
    """A fault in one line."""

    what: str
    """What goes wrong."""
    file: str
    """Where the line was when it was written down, below src/hyperspan."""
    old: str
    new: str
    tests: tuple[str, ...]
    """Files below tests, or single tests in them (``file.py::test_name``), of which at least one must fail."""
    select: str = ""
    """Only those whose names or parameters match, as with ``pytest -k``."""


def read_mutations(path: Path = LISTED) -> list[Mutation]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def place_of(mutation: Mutation, root: Path = ROOT) -> Path:
    """The file that has the line, anywhere in src; an error unless it is there exactly once."""
    found = {path: path.read_text(encoding="utf-8").count(mutation.old) for path in (root / "src").rglob("*.py")}
    having = sorted(path for path, times in found.items() if times)
    if sum(found.values()) != 1:
        where = ", ".join(str(path.relative_to(root)) for path in having) or "no file"
        raise MutationError(
            f"the line of '{mutation.what}' must be in src once, but is there {sum(found.values())} times, in {where}: "
            f"{mutation.old!r}; write down how the line reads now, or another fault of the kind, in {LISTED.name}"
        )
    return having[0]


def check_tests(mutation: Mutation, root: Path = ROOT) -> None:
    missing = [name for name in mutation.tests if not _is_there(name, root)]
    if missing or not mutation.tests:
        raise MutationError(
            f"'{mutation.what}' names the tests {missing}, which are not there; name those that notice it"
        )


def _is_there(test: str, root: Path) -> bool:
    file, _, name = test.partition("::")
    path = root / "tests" / file
    return path.is_file() and (not name or f"def {name}(" in path.read_text(encoding="utf-8"))


@contextmanager
def copy_of(root: Path = ROOT) -> Iterator[Path]:
    """A copy of the checkout, with what was compiled in it."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield copy


@dataclass(frozen=True)
class Outcome:
    """What became of a fault."""

    mutation: Mutation
    noticed: bool
    seconds: float
    by: str = ""
    """The first test that failed; none where the tests hang."""


def tried(mutation: Mutation, copy: Path) -> Outcome:
    """Puts the fault into the copy, runs its tests, and takes it out again."""
    check_tests(mutation, copy)
    path, begun = place_of(mutation, copy), time.monotonic()
    before = path.read_text(encoding="utf-8")
    command = ["-k", mutation.select, "--cache-clear", *(f"tests/{name}" for name in mutation.tests)]
    try:
        _write(path, before.replace(mutation.old, mutation.new))
        status, said = _run_tests(command, copy)
    finally:
        _write(path, before)
    seconds = time.monotonic() - begun
    if status not in (PASSED, FAILED):
        raise MutationError(f"the tests of '{mutation.what}' could not be run:\n{said[-3_000:]}")
    return Outcome(mutation, status == FAILED, seconds, _last_failed(copy) if status == FAILED else "")


def wrongly_noticed(outcomes: Sequence[Outcome], copy: Path) -> list[Outcome]:
    """Those whose first failing test also fails without the fault, which are tried together."""
    tests = sorted({one.by for one in outcomes if one.by})
    if not tests or _run_tests(tests, copy)[0] == PASSED:
        return []
    return [one for one in outcomes if one.by and _run_tests([one.by], copy)[0] != PASSED]


def _last_failed(copy: Path) -> str:
    """The id of the test that failed; the output may abridge it."""
    noted = copy / ".pytest_cache/v/cache/lastfailed"
    return next(iter(json.loads(noted.read_text(encoding="utf-8"))), "") if noted.exists() else ""


def _write(path: Path, text: str) -> None:
    """Writes a module, and forgets how it was compiled: two versions may have one size and time."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _run_tests(arguments: Sequence[str], copy: Path) -> tuple[int, str]:
    """Exit status and output of pytest, which stops at the first failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=line", *arguments]
    paths = os.pathsep.join((str(copy / "src"), str(copy)))
    # The same random examples in every run.
    environment = {**os.environ, "PYTHONPATH": paths, "CI": "1", "HYPERSPAN_UNSHRUNK": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            timeout=SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED, "it hangs"
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--only", type=int, action="append", metavar="N", help="this one, from 1; repeatable")
    given = parser.parse_args()
    mutations = dict(enumerate(read_mutations(), start=1))
    wrong = [number for number in given.only or () if number not in mutations]
    if wrong:
        parser.error(f"there is no mutation {wrong[0]}; give a number from 1 to {len(mutations)}")
    outcomes: list[Outcome] = []
    failed = 0
    with copy_of() as copy:
        for number in given.only or mutations:
            try:
                outcome = tried(mutations[number], copy)
            except MutationError as error:
                print(f"{number:>3}  cannot be tried: {error}", flush=True)
                failed += 1
                continue
            outcomes.append(outcome)
            by = outcome.by or "tests that hang"
            end = f"noticed by {by}" if outcome.noticed else f"SURVIVES {', '.join(outcome.mutation.tests)}"
            print(f"{number:>3}  {outcome.seconds:5.1f} s  {outcome.mutation.what}\n     {end}", flush=True)
        for outcome in wrongly_noticed(outcomes, copy):
            print(f"{outcome.by} fails without '{outcome.mutation.what}' too", flush=True)
            failed += 1
    survivors = sum(not one.noticed for one in outcomes)
    seconds = sum(one.seconds for one in outcomes)
    print(f"\n{len(outcomes)} tried in {seconds:.0f} s: {survivors} survive, {failed} cannot be tried")
    return int(bool(survivors or failed))


if __name__ == "__main__":
    sys.exit(main())
