"""Checkpoints: everything that training needs to resume as if it had never stopped, in one safetensors file.

A checkpoint is written to a temporary file and renamed, so a kill or a full disk leaves either the previous one or the
new one.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from hyperspan.config import Config, first_difference, keys
from hyperspan.errors import TrainingError
from hyperspan.runtime.tensors import readable
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Mention, Sentence

CHECKPOINT = "checkpoint.safetensors"
"""The file name in the folder of a run."""


@contextmanager
def while_there_is_room(folder: Path) -> Iterator[None]:
    """Turn a full disk into an error that explains how to resume the run."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        hint = "go on with --resume" if (folder / CHECKPOINT).is_file() else "begin again with --force"
        raise TrainingError(
            f"{folder} has no room for what training writes ({error.strerror}), and its files are unharmed; make room, and {hint}"
        ) from None


def settings_of(checkpoint: Path) -> dict[str, Any]:
    """The values that the run of a checkpoint started with, for keys that may be "auto"."""
    with readable(checkpoint), safe_open(checkpoint, framework="pt") as file:
        state = json.loads((file.metadata() or {}).get("state", "{}"))
    return Config.stored(state["config"], str(checkpoint)).values(keys("auto")) if "config" in state else {}


def difference(begun: Config, now: Config) -> str | None:
    """The first key in which a run may not go on with another configuration than it was begun with, or None.

    Of files the content is compared instead (:func:`fingerprint_of_built`), and of corpora the sentences.
    """
    return first_difference(begun, now, but=("live", "file", "tuned"))


def fingerprint(sentences: Sequence[Sentence]) -> str:
    """A fingerprint of sentences: words, mentions, partial annotation, order and document context."""
    digest = hashlib.sha256()
    for sentence in sentences:
        mentions = _described(sentence.mentions)
        more: list[object] = [(sentence.before, sentence.after)] if sentence.before or sentence.after else []
        if (scope := sentence.annotated) is not None:
            more.append((None if scope.types is None else sorted(scope.types), scope.regions))
        if sentence.forbidden:
            more.append(_described(sentence.forbidden))
        digest.update(repr((sentence.tokens, sentence.tags, mentions, *more)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _described(mentions: Iterable[Mention]) -> list[tuple[object, ...]]:
    """What tells mentions apart, in a fixed order."""
    return sorted((mention.start, mention.end, mention.label, *mention.fragments) for mention in mentions)


def fingerprint_of_built(model: nn.Module, vocabulary: Vocabulary) -> str:
    """A fingerprint of the vocabulary and of the frozen tensors, which are not in a checkpoint."""
    known = {entry.name: getattr(vocabulary, entry.name) for entry in fields(vocabulary)}
    known["words"] = list(vocabulary.words)
    # An encoder's architecture shows in its parameters; its description varies with the version of transformers.
    known["transformer"] = known["transformer"].get("tokenizer")
    digest = hashlib.sha256(json.dumps(known).encode())
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    add_tensors(digest, {name: tensor for name, tensor in model.state_dict().items() if name not in learning})
    return digest.hexdigest()


def add_tensors(digest: hashlib._Hash, tensors: Mapping[str, Tensor]) -> None:
    """Add the names and the bytes of tensors to a digest."""
    for name, tensor in tensors.items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
