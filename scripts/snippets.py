"""Runs the snippets of README and docs, and records their output: python scripts/snippets.py [--write] [PAGE …]

Snippets are ``python`` blocks; a ``text`` block right after one is its output. Of ``console`` blocks, those count that
have one command, ``hyperspan annotate`` with a bundled model, and its output.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

from hyperspan.cli import main as main_of_hyperspan

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for folder in ("docs", "experiments") for page in sorted((ROOT / folder).rglob("*.md"))),
]
PYTHON = re.compile(r"^```python\n(?P<code>.*?)^```(?:\n\n```text\n(?P<output>.*?)^```)?", re.MULTILINE | re.DOTALL)
ANNOTATED = re.compile(
    r"^```console\n\$ hyperspan (?P<command>annotate (?![^\n]*runs/)[^\n]+)\n(?P<output>[^$]+?)^```", re.MULTILINE
)


def replayed(text: str, name: str = "a page") -> str:
    """A page with the output that its snippets have now. Those of Python share names; an error is theirs.

    >>> print(replayed("```python\\nprint(1 + 1)\\n```\\n\\n```text\\n3\\n```"))
    ```python
    print(1 + 1)
    ```
    <BLANKLINE>
    ```text
    2
    ```
    """
    names: dict[str, object] = {}

    def run(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found["code"], name, "exec"), names)
        return _with_output(found, printed.getvalue())

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return ANNOTATED.sub(_annotated, PYTHON.sub(run, text))


def _annotated(found: re.Match[str]) -> str:
    """Called in this process, whose streams are no terminal meanwhile."""
    printed, said = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, sys.argv = sys.argv, ["hyperspan", *shlex.split(found["command"], comments=True)]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            main_of_hyperspan()
    except SystemExit as ended:
        if ended.code:
            said.seek(0)
            raise ValueError(f"{found['command']}: {said.read()}") from None
    finally:
        sys.argv = before
    printed.seek(0)
    return _with_output(found, printed.read().rstrip("\n") + "\n")


def _with_output(found: re.Match[str], output: str) -> str:
    """A block with another output, where it shows one."""
    if not found["output"]:
        return found[0]
    start, end = (place - found.start() for place in found.span("output"))
    return found[0][:start] + output + found[0][end:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the output of now into the pages")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="default: README, CONTRIBUTING and docs")
    given = parser.parse_args()
    changed = 0
    for page in given.pages or PAGES:
        before = page.read_text(encoding="utf-8")
        after = replayed(before, str(page))
        changed += before != after
        print(
            *difflib.unified_diff(before.splitlines(), after.splitlines(), page.name, page.name, "", "", 0, ""),
            sep="\n",
        )
        if given.write and before != after:
            page.write_text(after, encoding="utf-8")
    return 1 if changed and not given.write else 0


if __name__ == "__main__":
    sys.exit(main())
