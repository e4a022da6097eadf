"""The folders of models, bundled or not: find, copy and list them, without loading a model.

Folders are untrusted input. Needs neither torch nor NumPy.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperspan.config import Config
from hyperspan.errors import CONTROL_CHARACTERS, InputError, OutputExistsError, check_kind
from hyperspan.files import Target, read_regular
from hyperspan.runtime.cards import CARD, ModelCard
from hyperspan.runtime.options import name_labels, shown_labels

PRETRAINED = Path(__file__).parents[1] / "pretrained"
"""The folder of the bundled models."""
DEFAULT_MODEL = "english"
"""The bundled model that is used by default."""
FILES = ("config.toml", "vocabulary.json", "words.txt", "model.safetensors", "README.md", CARD)
"""The files of a model's folder."""


def bundled_models(place: Path = PRETRAINED) -> list[str]:
    """Return the names of the bundled models, or of the models in another folder."""
    return sorted(file.parent.name for file in place.glob("*/config.toml"))


def folder_of(name_or_path: str | Path) -> Path:
    """Return the folder of a bundled model, by name, or the given folder itself."""
    check_kind("the model", name_or_path, str, os.PathLike)
    folder, bundled = Path(name_or_path), bundled_models()
    if str(name_or_path) in bundled:
        return PRETRAINED / str(name_or_path)
    if not folder.is_dir():
        known = f"the bundled models are {', '.join(bundled)}" if bundled else "no models are bundled"
        close = difflib.get_close_matches(str(name_or_path)[:100], bundled, 1)
        remedy = f"did you mean {close[0]}?" if close else "name one of them or a model's folder"
        raise InputError(f"there is no model {str(name_or_path)!r}: {known}, and no such folder is there; {remedy}")
    return folder


def is_model(name: str) -> bool:
    """Whether a name is that of a model; for error messages where a model is not expected."""
    try:
        return (Path(name) / "config.toml").is_file() or (name in bundled_models() and not Path(name).exists())
    except OSError:  # a text, which is longer than names of files may be
        return False


def target_of(model: str, output: Path | None, force: bool) -> Path:
    """Return the folder to write a changed model to: `output`, or with `force` its own; raise an error otherwise."""
    if output is None:
        if model in bundled_models():
            raise InputError(f"{model} is a bundled model, which stays as it is; name a folder with --output")
        if not force:
            raise OutputExistsError(
                f"{model} would be changed; write another model with --output FOLDER, or change it with --force"
            )
        return folder_of(model)
    held = next((name for name in FILES if (output / name).exists()), None)
    if held is not None and not force:
        raise OutputExistsError(f"{output} holds {held} already; choose another folder or overwrite it with --force")
    return output


def copy_model(source: Path, target: Path) -> None:
    """Copy the files of a model to another folder; do nothing if it is the same folder."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES if target.resolve() != source.resolve() else ():
        if (source / name).is_file():
            with Target(str(target / name), force=True).open_binary() as file:
                file.write((source / name).read_bytes())


@dataclass(frozen=True)
class CatalogEntry:
    """The facts about one model."""

    name: str
    labels: tuple[str, ...]
    card: ModelCard
    name_labels: tuple[str, ...]
    """The labels that it finds with the option names."""
    bytes: int
    """The size of the model's files, without those of training."""

    @classmethod
    def of(cls, name: str) -> CatalogEntry:
        """Read the entry of a bundled model, by name, or of a model folder.

        >>> entry = CatalogEntry.of("genia")
        >>> entry.labels, entry.card.domain
        (('DNA', 'RNA', 'cell_line', 'cell_type', 'protein'), 'molecular biology')
        """
        folder = folder_of(name)
        try:
            labels = json.loads(read_regular(folder / "vocabulary.json"))["labels"]
            names = Config.of_model(folder).model.names
            shown, named = _printable(shown_labels(labels, names)), _printable(name_labels(labels, names))
            size = sum((folder / file).stat().st_size for file in FILES if (folder / file).is_file())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            remedy = "install hyperspan again" if name in bundled_models() else "name one that hyperspan train wrote"
            raise InputError(
                f"{folder} is not the folder of a model: it has no vocabulary.json with labels; {remedy}"
            ) from None
        return cls(name, shown, ModelCard.read(folder), named, size)

    @property
    def is_default(self) -> bool:
        """Whether this is the default model."""
        return self.name == DEFAULT_MODEL

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        meanings = {label: self.card.labels.get(label, "") for label in self.labels}
        return {
            "name": self.name,
            "default": self.is_default,
            **self.card.to_json(),
            "labels": meanings,
            "name_labels": list(self.name_labels),
            "bytes": self.bytes,
        }


def _printable(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", label) for label in labels)
