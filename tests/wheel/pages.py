"""What README and the tutorial ask a reader to type, in order."""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(r"^```(console|python|py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONTINUED = re.compile(r"\\\n\s*")


def steps(page: Path) -> list[tuple[str, str]]:
    """Commands ("console") and Python code ("python"), without output. What only a clone can do, and pip, is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "page.md")
    ...     text = "```console\\n$ pip install\\n$ hyperspan view \\\\\\n    a  # so\\nshown\\n```\\n```py\\n1\\n```"
    ...     _ = page.write_text(text)
    ...     steps(page)
    [('console', 'hyperspan view a'), ('python', '1\\n')]
    """
    found: list[tuple[str, str]] = []
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind != "console":
            found.append(("python", block))
            continue
        for line in CONTINUED.sub("", block).splitlines():
            command = re.sub(r"\s+#.*$", "", line.removeprefix("$ "))
            if line.startswith("$ ") and not command.startswith(("pip ", "make ")):
                found.append(("console", command))
    return found
