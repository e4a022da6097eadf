"""The models at hand, and what each is for: of folders of any origin, without loading a model. Needs neither torch nor
NumPy."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hyperspan.cards import ModelCard
from hyperspan.errors import CONTROL_CHARACTERS, InputError
from hyperspan.files import read_regular
from hyperspan.model_folders import DEFAULT_MODEL, FILES, bundled_models, folder_of


@dataclass(frozen=True)
class CatalogEntry:
    """A model in a list of them."""

    name: str
    labels: tuple[str, ...]
    card: ModelCard
    bytes: int
    """Of the files of the model, without those of its training."""

    @classmethod
    def of(cls, name: str) -> CatalogEntry:
        """A bundled model by its name, or the model of a folder.

        >>> entry = CatalogEntry.of("genia")
        >>> entry.labels, entry.card.domain
        (('DNA', 'RNA', 'cell_line', 'cell_type', 'protein'), 'molecular biology')
        """
        folder = folder_of(name)
        try:
            labels = json.loads(read_regular(folder / "vocabulary.json"))["labels"]
            shown = tuple(CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", label) for label in labels)
            size = sum((folder / file).stat().st_size for file in FILES if (folder / file).is_file())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            remedy = "install hyperspan again" if name in bundled_models() else "name one that hyperspan train wrote"
            raise InputError(
                f"{folder} is not the folder of a model: it has no vocabulary.json with labels; {remedy}"
            ) from None
        return cls(name, shown, ModelCard.read(folder), size)

    @property
    def is_default(self) -> bool:
        """Whether this model is used where none is named."""
        return self.name == DEFAULT_MODEL

    def to_json(self) -> dict[str, Any]:
        """What programs want to know."""
        meanings = {label: self.card.labels.get(label, "") for label in self.labels}
        return {
            "name": self.name,
            "default": self.is_default,
            **self.card.to_json(),
            "labels": meanings,
            "bytes": self.bytes,
        }


def catalog(others: Iterable[str] = ()) -> list[CatalogEntry]:
    """The bundled models, the default one first, and those of other folders."""
    bundled = sorted(bundled_models(), key=lambda name: name != DEFAULT_MODEL)
    return [CatalogEntry.of(name) for name in dict.fromkeys((*bundled, *others))]
