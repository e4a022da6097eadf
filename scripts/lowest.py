"""Prints the lowest versions that pyproject.toml allows, as constraints for pip. Needs no other package.

python scripts/lowest.py > lowest.txt             # of every dependency of a plain installation and of all extras but
dev and docs pip install --constraint lowest.txt "hyperspan[serve]"
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = {"dev", "docs"}
"""Extras for those who work on hyperspan, with the versions of constraints.txt alone."""


def lowest(requirement: str) -> str:
    """The lowest version that a requirement allows: ``ray[data]>=2.40`` gives ``ray==2.40``."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)(?:,.*)?", requirement)
    if found is None:
        raise ValueError(f"{requirement!r} has no lower bound; write it as NAME>=VERSION")
    return f"{found[1]}=={found[2]}"


def pins() -> list[str]:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for name, some in extras.items() if name not in TOOLS for one in some)]
    return sorted({lowest(requirement) for requirement in wanted})


if __name__ == "__main__":
    sys.stdout.write("".join(f"{pin}\n" for pin in pins()))
