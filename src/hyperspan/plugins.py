"""Tables of formats, structures, models and encoders by name, which other packages extend through entry points.

The entry point groups are ``hyperspan.formats``, ``hyperspan.structures``, ``hyperspan.models`` and
``hyperspan.encoders``. They are read only for names that are not built in, and to list all names.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from hyperspan.errors import InputError, PluginWarning

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")


class PluginTable(Mapping[str, T], Generic[T]):
    """A mapping of names to built-in entries and entries of plug-ins; plug-ins are loaded on first use.

    >>> shapes = PluginTable("shapes", {"square": 4}, int)
    >>> shapes["square"], list(shapes), "circle" in shapes
    (4, ['square'], False)
    """

    def __init__(self, group: str, built_in: Mapping[str, T], kind: type, *, classes: bool = False):
        self.group, self.built_in, self.kind = f"hyperspan.{group}", built_in, kind
        """Entries are instances of `kind`; with `classes`, they are subclasses of it."""
        self.classes = classes

    @cached_property
    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        from importlib import metadata  # slow to import, and rarely needed

        found: dict[str, metadata.EntryPoint] = {}
        for entry in metadata.entry_points(group=self.group):
            if entry.name in self.built_in:
                self._warn(f"{_source(entry)} adds the name {entry.name!r}, which is built in and stays")
            elif found.setdefault(entry.name, entry) != entry:
                self._warn(f"{_source(entry)} adds the name {entry.name!r}, which {_source(found[entry.name])} has")
        return found

    def __getitem__(self, name: str) -> T:
        if name in self.built_in:
            return self.built_in[name]
        return self._load(self._entry_points[name])

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._entry_points

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self._entry_points

    def __len__(self) -> int:
        return len(self.built_in) + len(self._entry_points)

    def working(self) -> Iterator[tuple[str, T]]:
        """Yield all entries; a plug-in that cannot be loaded is left out with a warning."""
        yield from self.built_in.items()
        for name, entry in self._entry_points.items():
            try:
                loaded = self._load(entry)
            except InputError as error:
                warnings.warn(str(error), PluginWarning, stacklevel=2)
            else:
                yield name, loaded

    def _load(self, entry: metadata.EntryPoint) -> T:
        try:
            loaded: Any = entry.load()
        except Exception as error:
            reason = f"cannot be loaded ({type(error).__name__}: {error})"
        else:
            is_class = isinstance(loaded, type)
            if (is_class and issubclass(loaded, self.kind)) if self.classes else isinstance(loaded, self.kind):
                return cast(T, loaded)
            wanted = "a subclass" if self.classes else "an instance"
            reason = f"is {repr(loaded)[:60]}, but must be {wanted} of {self.kind.__name__}"
        raise InputError(
            f"{entry.name!r} of the group {self.group} {reason}; update or uninstall {_source(entry)}, or tell its authors"
        )

    def _warn(self, sentence: str) -> None:
        warnings.warn(
            f"{sentence} in the group {self.group}; its authors must choose another name", PluginWarning, stacklevel=4
        )


def _source(entry: metadata.EntryPoint) -> str:
    return f"the package {entry.dist.name} {entry.dist.version}" if entry.dist else "a package"
