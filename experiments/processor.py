"""The name of the processor, which results of runs and of measurements have."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The name of the processor."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return name
