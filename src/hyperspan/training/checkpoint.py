"""Checkpoints: everything that training needs to go on as if it had never stopped, in one safetensors file.

A checkpoint is written beside its name and renamed, so a kill or a full disk at any moment leaves the one before or the
new one.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from hyperspan.config import SETTLED, Config
from hyperspan.errors import TrainingError
from hyperspan.models.tensors import readable
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

CHECKPOINT = "checkpoint.safetensors"
"""Its name in the folder of a run."""
NUMBER = "#"
"""Ends the names of what was a number, not a tensor."""


@contextmanager
def while_there_is_room(folder: Path) -> Iterator[None]:
    """Says what a full disk means for the run in a folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        hint = "go on with --resume" if (folder / CHECKPOINT).is_file() else "begin again with --force"
        raise TrainingError(
            f"{folder} has no room for what training writes ({error.strerror}), and its files are unharmed; make room, and {hint}"
        ) from None


def optimizer_tensors(optimizer: torch.optim.Optimizer, names: list[str]) -> dict[str, Tensor]:
    """The optimizer's state by the names of its parameters; lists (L-BFGS has some) part by part, numbers marked as
    such."""
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


def settings_of(checkpoint: Path) -> dict[str, Any]:
    """What the run of a checkpoint was begun with, of the keys that may be "auto"."""
    with readable(checkpoint), safe_open(checkpoint, framework="pt") as file:
        state = json.loads((file.metadata() or {}).get("state", "{}"))
    return Config.from_toml(state["config"]).values(SETTLED) if "config" in state else {}


MAY_CHANGE = {
    "learning_rate",
    "start_learning_rate",
    "max_grad_norm",
    "epochs",
    "patience",
    "eval_epochs",
    "checkpoint_minutes",
    "micro_batch_size",
    "temperature",
    "temperatures",
    "biases",
}
"""What a run may be resumed with other values of."""
FILES = {"vectors", "clusters", "name", "teacher", "text", "start"}
"""Where files lie does not matter either: what was read from them is compared, or their bytes
(:func:`fingerprint_of_built`)."""


def difference(one: Config, other: Config) -> str | None:
    """The first key in which two configurations differ that may not, or None. Where the data lie does not matter."""
    others = other.tables()
    for section, values in one.tables().items():
        for key in values | others[section] if section != "data" else ():
            if key not in MAY_CHANGE | FILES and values.get(key) != others[section].get(key):
                return f"{section}.{key}"
    return None


def fingerprint(sentences: Sequence[Sentence]) -> str:
    """The same for the same words, mentions and marks of partial annotation in the same order, with the same words
    around them."""
    digest = hashlib.sha256()
    for sentence in sentences:
        mentions = sorted((mention.start, mention.end, mention.label) for mention in sentence.mentions)
        more: list[object] = [(sentence.before, sentence.after)] if sentence.before or sentence.after else []
        if (scope := sentence.annotated) is not None:
            more.append((None if scope.types is None else sorted(scope.types), scope.regions))
        if sentence.forbidden:
            more.append(sorted((mention.start, mention.end, mention.label) for mention in sentence.forbidden))
        digest.update(repr((sentence.tokens, sentence.tags, mentions, *more)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def fingerprint_of_built(model: nn.Module, vocabulary: Vocabulary) -> str:
    """The same for the same vocabulary and the same numbers that do not learn, which are not in a checkpoint."""
    known = {entry.name: getattr(vocabulary, entry.name) for entry in fields(vocabulary)}
    known["words"] = list(vocabulary.words)
    # The build of an encoder shows in its parameters; its description differs by the version of transformers.
    known["transformer"] = known["transformer"].get("tokenizer")
    digest = hashlib.sha256(json.dumps(known).encode())
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    for name, tensor in model.state_dict().items():
        if name not in learning:
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
