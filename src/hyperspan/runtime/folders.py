"""Find and copy the folders of models, bundled or not. Needs neither torch nor NumPy."""

from __future__ import annotations

import difflib
from pathlib import Path

from hyperspan.errors import InputError, OutputExistsError
from hyperspan.files import Target
from hyperspan.runtime.cards import CARD

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
    return (Path(name) / "config.toml").is_file() or (name in bundled_models() and not Path(name).exists())


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
