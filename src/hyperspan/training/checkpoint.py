"""Checkpoints: everything that training needs to go on as if it had never stopped, in one safetensors file.

A checkpoint is written beside its name and renamed, so a kill at any moment leaves the one before or the new one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from hyperspan.errors import InputError

NUMBER = "#"
"""Ends the names of what was a number, not a tensor."""


def write_tensors(tensors: dict[str, Tensor], path: Path, state: dict[str, Any] | None = None) -> None:
    """Writes tensors and a JSON state to a safetensors file that is complete or not there."""
    beside = path.with_name(f".{path.name}.new")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(whole, beside, {"state": json.dumps(state)} if state is not None else None)
    beside.chmod(0o666 & ~_umask())  # safetensors lets the owner alone read its files
    with beside.open("rb+") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the JSON state of a file that :func:`write_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata.get("state", "{}"))  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"{path} is not there; is {path.parent} a folder that hyperspan train wrote?") from None
    except Exception as error:  # safetensors raises an exception of its own for each kind of damage
        raise InputError(f"{path} cannot be read as safetensors ({error}); train the model again") from None


def optimizer_tensors(optimizer: torch.optim.Optimizer, names: list[str]) -> dict[str, Tensor]:
    """The optimizer's state by the names of its parameters; lists (L-BFGS has some) part by part, numbers marked as such."""
    tensors: dict[str, Tensor] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            # "al" is scratch paper, with holes, that L-BFGS makes anew.
            for place, part in enumerate(value if isinstance(value, list) and key != "al" else ()):
                tensors[f"optimizer/{names[index]}/{key}.{place}"] = part
            if isinstance(value, (int, float)):
                tensors[f"optimizer/{names[index]}/{key}{NUMBER}"] = torch.tensor(value, dtype=torch.float64)
            elif isinstance(value, Tensor):
                tensors[f"optimizer/{names[index]}/{key}"] = value
    return tensors


def restore_optimizer(optimizer: torch.optim.Optimizer, names: list[str], tensors: dict[str, Tensor]) -> None:
    """Puts back what :func:`optimizer_tensors` took."""
    states: dict[int, dict[str, Any]] = {}
    lists: dict[tuple[int, str], dict[int, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer/"):
            parameter, key = name.removeprefix("optimizer/").rsplit("/", 1)
            index = names.index(parameter)
            key, _, place = key.partition(".")
            if place:
                # A file's tensors begin anywhere in memory, and products of vectors are rounded by where they begin.
                lists.setdefault((index, key), {})[int(place)] = tensor.clone()
            elif key.endswith(NUMBER):  # not cast to the type of the parameter, as tensors are
                states.setdefault(index, {})[key.removesuffix(NUMBER)] = tensor.item()
            else:
                states.setdefault(index, {})[key] = tensor.clone()
    for (index, key), parts in lists.items():
        states[index][key] = [parts[place] for place in sorted(parts)]
    optimizer.load_state_dict({**optimizer.state_dict(), "state": states})
