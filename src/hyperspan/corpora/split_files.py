"""Write the parts of a corpus into a folder: train, dev and test, all of them or none."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from hyperspan.corpora.outputs import FOLDERS
from hyperspan.corpora.registry import FORMATS, writable_formats, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import USUAL_FRACTIONS, OpenCorpus, Part
from hyperspan.corpora.target import Losses, Lossy
from hyperspan.errors import InputError, OutputExistsError

READ_ONLY_AS = "jsonl"
"""The format of the parts if the corpus format is read-only: it loses nothing."""


@dataclass(frozen=True)
class PartFiles:
    """The files and the format of the parts of a corpus."""

    folder: Path
    format: str
    suffix: str

    @classmethod
    def of(cls, corpus: OpenCorpus, folder: str | Path | None = None, to: str | None = None) -> PartFiles:
        """The files for a corpus: by default in its format, if that can be written, and in a folder next to it."""
        if folder is None and corpus.name == "-":
            raise InputError("standard input has no folder for the parts; name one with --output")
        format_name = to or (corpus.format if FORMATS[corpus.format].write is not None else READ_ONLY_AS)
        if format_name not in (known := writable_formats()):
            raise InputError(f"the format {format_name!r} cannot be written; choose one of {', '.join(known)}")
        place = Path(folder) if folder is not None else _beside(Path(corpus.name))
        _check_outside(place, corpus.name)
        own_name = corpus.sources[0].name if format_name == corpus.format else ""
        return cls(place, format_name, "" if format_name in FOLDERS else _suffix(own_name, format_name))

    def path(self, part: str) -> Path:
        return self.folder / f"{part}{self.suffix}"

    def check_free(self, parts: Sequence[str], *, force: bool) -> None:
        """Raise an error if parts may not be written."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file, but the parts are written into a folder; name another")
        for part in dict.fromkeys((*parts, *USUAL_FRACTIONS)):
            path = self.path(part)
            if path.exists() and part not in parts:
                raise OutputExistsError(
                    f"{path} exists and would stay next to the new parts, with some of the same sentences; remove it, or name another folder for the parts"
                )
            if path.exists() and not force:
                raise OutputExistsError(
                    f"{path} exists; overwrite it with --force, or name another folder for the parts"
                )

    def write(
        self, parts: Mapping[str, Part], *, force: bool = False, lossy: Lossy | None = None, problems: Problems
    ) -> dict[str, Losses]:
        """Write every part to a temporary file, then move all of them into place."""
        self.check_free(list(parts), force=force)
        created = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            return self._written(parts, lossy, problems)
        except BaseException:
            if created:
                self.folder.rmdir()
            raise

    def _written(self, parts: Mapping[str, Part], lossy: Lossy | None, problems: Problems) -> dict[str, Losses]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".split-") as temporary:
            new, old = Path(temporary) / "new", Path(temporary) / "old"
            new.mkdir()
            old.mkdir()
            losses = {
                name: write_corpus(
                    part.documents, new / self.path(name).name, self.format, lossy=lossy, problems=problems
                )
                for name, part in parts.items()
            }
            for name in parts:
                place = self.path(name)
                if place.is_dir():
                    place.replace(old / place.name)
                (new / place.name).replace(place)
            return losses


def _beside(corpus: Path) -> Path:
    """mine.jsonl.gz → mine-split"""
    name = corpus.resolve().name
    return corpus.parent / f"{name.partition('.')[0] or name}-split"


def _suffix(source: str, format_name: str) -> str:
    """The suffix of the parts: that of the source if it has the same format, where the format allows it."""
    packed = ".gz" if source.endswith(".gz") else ""
    own, allowed = PurePath(source.removesuffix(".gz")).suffix, FORMATS[format_name].suffixes
    return (own if own in allowed else allowed[0]) + packed


def _check_outside(folder: Path, corpus: str) -> None:
    """Raise an error for parts inside the corpus, which would be read as part of it the next time."""
    if corpus != "-" and Path(corpus).is_dir() and folder.resolve().is_relative_to(Path(corpus).resolve()):
        raise InputError(f"{folder} is inside the corpus {corpus} and would be read with it; name another folder")
