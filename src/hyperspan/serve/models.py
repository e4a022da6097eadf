"""The models that a server serves, and their descriptions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import DEFAULT_MODEL, bundled_models, folder_of
from hyperspan.runtime.loading import load

CONSTRAINED = ("segmental", "discontinuous")
"""The kinds of models that support required and forbidden mentions."""


@dataclass(frozen=True)
class Served:
    """A model under the name that requests use."""

    name: str
    annotator: Annotator
    readme: str = ""
    digest: str = ""
    """A digest of its files."""

    @property
    def version(self) -> str:
        """The name, and which model it stands for."""
        return f"{self.name} {self.digest}".rstrip()

    def info(self, is_default: bool) -> dict[str, Any]:
        """Its description in ``/v1/models``."""
        model, card = self.annotator.model, self.annotator.card
        kind = model.config.model.kind
        return {
            "name": self.name,
            "default": is_default,
            "labels": list(self.annotator.labels),
            "name_labels": list(self.annotator.name_labels),
            "promises": bool(card.guarantees),
            "max_width": model.max_width,
            "tokenizer": model.tokenizer.name,
            "kind": kind,
            "parameters": model.parameter_count,
            "constraints": kind in CONSTRAINED,
            "discontinuous": model.discontinuous,
            "card": {**card.to_json(), "description": card.description or first_paragraph(self.readme)},
            "readme": self.readme,
        }


def first_paragraph(readme: str) -> str:
    """The first paragraph of a Markdown text.

    >>> first_paragraph("# zoo\\n\\nFinds animals\\nand keepers.\\n\\n| a | table |")
    'Finds animals and keepers.'
    """
    paragraphs = (" ".join(part.split()) for part in readme.split("\n\n"))
    return next((part for part in paragraphs if part and not part.startswith(("#", "|", "-"))), "")


def places(models: Iterable[str]) -> dict[str, Path]:
    """The folder of each model by its served name, from names, folders, and NAME=FOLDER.

    The first is the default for requests that name none; without models, all bundled ones are served.
    """
    found: dict[str, Path] = {}
    for given in models or sorted(bundled_models(), key=lambda name: name != DEFAULT_MODEL):
        name, _, path = given.rpartition("=") if "=" in given and not Path(given).is_dir() else ("", "", given)
        folder = folder_of(path)
        name = name or (folder.name if folder.name else folder.resolve().name)
        if name in found:
            raise InputError(f"two models are called {name!r}; give one of them another name, as in other={path}")
        Config.of_model(folder)  # an error now for what is no model, not when the server has its address
        found[name] = folder
    if not found:
        raise InputError("there is no model to serve; name one with --model")
    return found


def _digest(folder: Path) -> str:
    """A digest of the files of a model but for its README.md."""
    digest = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "README.md"):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:8]


def load_models(folders: dict[str, Path], device: str, dtype: str) -> list[Served]:
    """Load the models in these folders."""
    loaded: list[Served] = []
    for name, folder in folders.items():
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
        loaded.append(Served(name, load(folder, device, dtype), text, _digest(folder)))
    return loaded
