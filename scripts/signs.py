"""Signs of how well the house stands, counted in the source: python scripts/signs.py [--list SIGN] [--json]."""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "hyperspan"
LONG_FUNCTION = 60


@dataclass
class Signs:
    """What was found, each as lines that say where."""

    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, sign: str, path: Path, node: ast.AST, what: str) -> None:
        self.found[sign].append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {what}")  # pyright: ignore[reportAttributeAccessIssue]


def room_of(parts: tuple[str, ...]) -> str:
    """The room (folder, or module at the top) of a path or dotted name below the package.

    >>> room_of(("serve", "app.py")), room_of(("types.py",)), room_of(("structures",))
    ('serve', 'types', 'structures')
    """
    return parts[0].removesuffix(".py")


def imported(node: ast.AST) -> Iterator[str]:
    """The rooms that an import statement names."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        inside = node.module == "hyperspan"
        names = [f"hyperspan.{alias.name}" for alias in node.names] if inside else [node.module]
    for name in names:
        if name.startswith("hyperspan."):
            yield room_of(tuple(name.split(".")[1:]))


def typing_only(tree: ast.AST) -> set[ast.AST]:
    """The statements under ``if TYPE_CHECKING``, which do nothing when the program runs."""
    guarded = (
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {inner for node in guarded for statement in node.body for inner in ast.walk(statement)}


def read(path: Path, signs: Signs, uses: set[tuple[str, str]], classes: dict[str, list[str]]) -> None:
    """Adds what one file shows."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    room, guarded = room_of(path.relative_to(PACKAGE).parts), typing_only(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in guarded:
            uses.update((room, other) for other in imported(node) if other != room)
        if isinstance(node, ast.ClassDef):
            classes[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "getattr" and len(node.args) == 3:
                signs.add("getattr with a default", path, node, ast.unparse(node))
            if node.func.id == "isinstance":
                signs.add("isinstance", path, node, ast.unparse(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if (lines := (node.end_lineno or 0) - node.lineno + 1) > LONG_FUNCTION:
                signs.add(f"functions over {LONG_FUNCTION} lines", path, node, f"{node.name} has {lines}")
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    signs.add("imports inside functions", path, inner, ast.unparse(inner))


def count() -> tuple[dict[str, int], Signs]:
    """Every sign with its number, and where it was found."""
    signs, uses, classes = Signs(), set[tuple[str, str]](), defaultdict[str, list[str]](list)
    files = sorted(PACKAGE.rglob("*.py"))
    for path in files:
        read(path, signs, uses, classes)
    mutual = sorted({(one, other) for one, other in uses if one < other and (other, one) in uses})
    signs.found["pairs of rooms that import each other"] = [" <-> ".join(pair) for pair in mutual]
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    signs.found["class names used twice"] = [f"{name}: {', '.join(places)}" for name, places in sorted(twice.items())]
    lines = Counter({path: len(path.read_text(encoding="utf-8").splitlines()) for path in files})
    signs.found["files over 300 lines"] = [
        f"{path.relative_to(PACKAGE)}: {n}" for path, n in lines.most_common() if n > 300
    ]
    order = (
        *("pairs of rooms that import each other", "getattr with a default", "isinstance"),
        *(f"functions over {LONG_FUNCTION} lines", "imports inside functions", "class names used twice"),
        "files over 300 lines",
    )
    return {**{sign: len(signs.found[sign]) for sign in order}, "lines": lines.total()}, signs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="SIGN", help="show where one was found; the beginning of its name is enough")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    numbers, signs = count()
    if given.json:
        print(json.dumps(numbers))
    elif given.list:
        print(*(line for sign, lines in signs.found.items() if sign.startswith(given.list) for line in lines), sep="\n")
    else:
        print(*(f"{number:>7,}  {sign}" for sign, number in numbers.items()), sep="\n")


if __name__ == "__main__":
    main()
