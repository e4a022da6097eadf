"""List the available models with their labels and cards, without loading them.

Folders are untrusted input. Needs neither torch nor NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hyperspan.config import Config
from hyperspan.errors import CONTROL_CHARACTERS, InputError
from hyperspan.files import read_regular
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import DEFAULT_MODEL, FILES, bundled_models, folder_of
from hyperspan.runtime.labels import name_labels, shown_labels


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


def catalog(others: Iterable[str] = ()) -> list[CatalogEntry]:
    """Return the entries of the bundled models, the default first, and of other folders."""
    bundled = sorted(bundled_models(), key=lambda name: name != DEFAULT_MODEL)
    return [CatalogEntry.of(name) for name in dict.fromkeys((*bundled, *others))]
