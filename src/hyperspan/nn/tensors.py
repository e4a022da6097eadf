"""Read and write tensors in safetensors files, atomically."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hyperspan.runtime.tensors import readable


def write_tensors(tensors: dict[str, Tensor], path: Path, state: dict[str, Any] | None = None) -> None:
    """Write tensors and a JSON state to a safetensors file atomically."""
    beside = path.with_name(f".{path.name}.new")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    beside.unlink(missing_ok=True)  # of a process that was killed
    try:
        beside.touch()
        mode = stat.S_IMODE(beside.stat().st_mode)
        _save(whole, beside, {"state": json.dumps(state)} if state is not None else None)
        beside.chmod(mode)  # of any new file; safetensors makes its files readable by the owner only
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)  # a partial file must not keep a full disk full
        raise


def _save(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None) -> None:
    """Write a safetensors file; system errors are raised as OSError, as from any other write."""
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the JSON state of a file that :func:`write_tensors` wrote."""
    with readable(path), safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata.get("state", "{}"))  # noqa: SIM118
