"""Writing files so that nothing is lost: beside the target first, then renamed into place."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hyperspan.errors import InputError, OutputExistsError


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Writes the whole text or nothing; an existing file stays unless `force` is set."""
    if path.is_dir():
        raise InputError(f"{path} is a directory; name a file to write")
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists; choose another name or overwrite it with --force")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a directory; create it first to write {path.name} there")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(path)
    except BaseException:
        beside.unlink()
        raise
