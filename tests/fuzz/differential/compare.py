"""Both sides run at once, each with the code of its checkout, and their outcomes are compared."""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.differential.inputs import Material
from tests.fuzz.differential.material import make_material

ROOT = Path(__file__).parents[3]
INTENDED = Path(__file__).with_name("intended.toml")
MOST = 5_000
"""Of more inputs that differ, the rest is counted only: their whole outcomes are computed to be shown."""
WIDTH = 160
"""Characters of a line that differs."""


@dataclass(frozen=True)
class Intended:
    """A difference that is wanted."""

    reason: str
    input: str = "*"
    part: str = "*"
    says: str = ""

    def covers(self, found: Difference) -> bool:
        return (
            fnmatch.fnmatchcase(found.kind, self.input)
            and fnmatch.fnmatchcase(found.part, self.part)
            and any(self.says in line for line in found.lines)
        )


@dataclass(frozen=True)
class Difference:
    """One part of the outcomes of one input that is not equal."""

    index: int
    kind: str
    part: str
    lines: tuple[str, ...]
    """Those that only one side has, after "-" here and "+" in the other checkout."""


@dataclass
class Comparison:
    """What two checkouts make of the same inputs."""

    inputs: int
    different: list[int] = field(default_factory=list)
    """The indices of inputs that differ in anything."""
    found: list[Difference] = field(default_factory=list)
    """What differs in them; `set_aside` leaves what is not intended."""
    intended: dict[Intended, int] = field(default_factory=dict)
    """How often each intended difference was found."""

    def set_aside(self, intended: Sequence[Intended]) -> None:
        """Count the differences that are intended instead of keeping them."""
        self.intended |= dict.fromkeys(intended, 0)
        left: list[Difference] = []
        for one in self.found:
            wanted = next((each for each in intended if each.covers(one)), None)
            if wanted is None:
                left.append(one)
            else:
                self.intended[wanted] += 1
        self.found = left


def read_intended(path: Path = INTENDED) -> list[Intended]:
    return [Intended(**one) for one in tomllib.loads(path.read_text(encoding="utf-8")).get("intended", [])]


def source_of(checkout: Path) -> Path:
    """The folder with the package, which must be there."""
    source = checkout.resolve() / "src"
    if not (source / "hyperspan" / "__init__.py").is_file():
        raise SystemExit(f"{checkout} is no checkout of hyperspan: it has no src/hyperspan")
    return source


def both(material: Path, checkouts: Sequence[Path], seed: int, style: str, wanted: Sequence[int]) -> list[list[str]]:
    """What each side prints for the same inputs; both run at once."""
    sources = [source_of(checkout) for checkout in checkouts]
    with ExitStack() as opened:
        folders = [Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="differential-"))) for _ in sources]
        outputs = [(folder / "outcomes").open("w+") for folder in folders]
        processes: list[subprocess.Popen[bytes]] = []
        for source, folder, output in zip(sources, folders, map(opened.enter_context, outputs), strict=True):
            (work := folder / "work").mkdir()
            command = [sys.executable, "-m", "tests.fuzz.differential.side", str(material), str(source), str(seed)]
            paths = os.pathsep.join((str(source), str(ROOT)))
            processes.append(
                subprocess.Popen(
                    [*command, style, *map(str, wanted)],
                    cwd=work,
                    stdout=output,
                    env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
                )
            )
        try:
            for checkout, process in zip(checkouts, processes, strict=True):
                if process.wait() != 0:
                    raise SystemExit(f"the side of {checkout} ended with {process.returncode}")
        finally:
            for process in processes:
                process.kill()
                process.wait()
        said: list[list[str]] = []
        for output in outputs:
            output.seek(0)
            said.append(output.read().splitlines())
        return said


def compare(other: Path, inputs: int, seed: int) -> Comparison:
    """The differences between this checkout and another one."""
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        material = Path(folder) / "material.json"
        make_material(seed).save(material)
        digests = both(material, (ROOT, other), seed, "digest", (0, inputs))
        result = Comparison(inputs)
        result.different = [json.loads(one)[0] for one, another in zip(*digests, strict=True) if one != another]
        if result.different:
            whole = both(material, (ROOT, other), seed, "full", result.different[:MOST])
            for one, another in zip(*whole, strict=True):
                result.found += differences(json.loads(one), json.loads(another))
    return result


def differences(here: list[Any], there: list[Any]) -> list[Difference]:
    """The parts that differ between two outcomes of one input."""
    index, kind, parts = here
    others = there[2]
    return [
        Difference(index, kind, name, _changed_lines(parts.get(name), others.get(name)))
        for name in dict.fromkeys((*parts, *others))
        if parts.get(name) != others.get(name)
    ]


def _changed_lines(one: Any, another: Any) -> tuple[str, ...]:
    before, after = (
        json.dumps(part, indent=1, sort_keys=True, ensure_ascii=False).splitlines() for part in (one, another)
    )
    compared = difflib.unified_diff(before, after, lineterm="", n=0)
    return tuple(line for line in compared if not line.startswith(("---", "+++", "@@")))


def shown(lines: Sequence[str], most: int = 6) -> list[str]:
    """The first lines of a difference, from where long ones begin to differ."""
    kept = [f"{line[0]} {line[1:].strip()}" for line in lines[:most]]
    pair = [line for line in kept if len(line) > WIDTH]
    if len(pair) > 1:
        letters = enumerate(zip(pair[0][2:], pair[1][2:], strict=False))
        same = max(0, next((place for place, (one, other) in letters if one != other), 0) - WIDTH // 3)
        kept = [f"{line[:2]}…{line[2 + same :]}" if len(line) > WIDTH else line for line in kept]
    cut = [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in kept]
    return cut + ([f"  … and {len(lines) - most} lines more"] if len(lines) > most else [])


def explain(other: Path, index: int, seed: int) -> list[Difference]:
    """Prints an input and what both sides make of it."""
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        material = Path(folder) / "material.json"
        make_material(seed).save(material)
        _print_input(Material.load(material), seed, index)
        (one,), (another,) = both(material, (ROOT, other), seed, "full", (index,))
    found = differences(json.loads(one), json.loads(another))
    for name, part in json.loads(one)[2].items():
        print(f"\n{name}, {'different' if any(each.part == name for each in found) else 'equal'}")
        print(json.dumps(part, indent=1, ensure_ascii=False)[:4_000].encode("utf-8", "replace").decode())
    return found


def _print_input(material: Material, seed: int, index: int) -> None:
    from tests.fuzz.differential.inputs import draw

    given = draw(material, seed, index)
    print(f"{given.kind}: read as {given.read_as}, {given.on_error}, options {given.read_options}")
    if given.write_as:
        print(f"written as {given.write_as}, lossy {given.lossy}, options {given.write_options}")
    for name, data in given.files.items():
        print(f"  {name}: {data[:2_000]!r}{f' and {len(data) - 2_000} bytes more' if len(data) > 2_000 else ''}")
