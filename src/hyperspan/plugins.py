"""Objects by their address, and tables of models, encoders, their options and formats that other packages extend.

The entry point groups are ``hyperspan.formats``, ``hyperspan.structures``, ``hyperspan.models``, ``hyperspan.encoders``
and ``hyperspan.options``. They are read only for names that are not built in, and to list all names. Rooms are named by
address alone: this module imports none of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from hyperspan.errors import InputError, MissingExtraError, PluginWarning

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")


def imported(address: str) -> Any:
    """Import the object at an address ``module:name`` (the syntax of entry points); a missing torch is a clear error.

    >>> imported("json:dumps")([1])
    '[1]'
    """
    module, _, name = address.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError(name, "train") from None


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[list[str], Callable[[], list[str]], Callable]:
    """The ``__all__``, ``__dir__`` and ``__getattr__`` of a package whose names are imported on first use, given those
    of each of its modules.

    >>> names, _, get = lazy_names("json", {"decoder": "JSONDecoder", "encoder": "JSONEncoder"})
    >>> names, get("JSONEncoder").__module__
    (['JSONDecoder', 'JSONEncoder'], 'json.encoder')
    """
    home = {name: f"{package}.{module}:{name}" for module, names in modules.items() for name in names.split()}
    names = sorted(home)

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return imported(home[name])

    return names, lambda: names, get


class DeferredFunction:
    """A function that is imported when it is first called or inspected.

    >>> DeferredFunction("json:dumps")([1])
    '[1]'
    """

    def __init__(self, address: str):
        self.address = address

    def __repr__(self) -> str:
        return f"DeferredFunction({self.address!r})"

    @cached_property
    def __wrapped__(self) -> Any:
        """The function itself, where :func:`inspect.unwrap` looks for it."""
        return imported(self.address)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


class Addresses(Mapping[str, T], Generic[T]):
    """A mapping of names to objects that are imported by their addresses on first use.

    >>> codecs = Addresses({"json": "json:dumps"})
    >>> list(codecs), codecs["json"]([1])
    (['json'], '[1]')
    """

    def __init__(self, addresses: Mapping[str, str]):
        self.addresses = addresses

    def __getitem__(self, name: str) -> T:
        return cast(T, imported(self.addresses[name]))

    def __contains__(self, name: object) -> bool:
        return name in self.addresses

    def __iter__(self) -> Iterator[str]:
        return iter(self.addresses)

    def __len__(self) -> int:
        return len(self.addresses)


class PluginTable(Mapping[str, T], Generic[T]):
    """A mapping of names to built-in entries and entries of plug-ins; plug-ins are loaded on first use.

    >>> shapes = PluginTable({"shapes": "builtins:int"}, {"square": 4})
    >>> shapes["square"], list(shapes), "circle" in shapes
    (4, ['square'], False)
    """

    def __init__(
        self,
        bases: Mapping[str, str],
        built_in: Mapping[str, T],
        *,
        classes: bool = False,
        reserved: str | None = None,
        check: str | None = None,
    ):
        self.bases, self.built_in = {f"hyperspan.{group}": base for group, base in bases.items()}, built_in
        """For each entry point group the address of a class. Entries are its instances; with `classes`, its
        subclasses."""
        self.classes = classes
        self.reserved = reserved
        """The address of further names that plug-ins cannot take."""
        self.check = check
        """The address of a function that raises an error for an entry that cannot be used."""
        self._checked: set[str] = set()

    @cached_property
    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        from importlib import metadata  # slow to import, and rarely needed

        found: dict[str, metadata.EntryPoint] = {}
        reserved = imported(self.reserved) if self.reserved else ()
        for entry in (entry for group in self.bases for entry in metadata.entry_points(group=group)):
            if entry.name in self.built_in:
                self._warn(entry, "is built in and stays")
            elif entry.name in reserved:
                self._warn(entry, "is a section of every configuration")
            elif found.setdefault(entry.name, entry) != entry:
                self._warn(entry, f"{_source(found[entry.name])} has")
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
        base: type = imported(self.bases[entry.group])
        try:
            loaded: Any = entry.load()
        except Exception as error:
            reason = f"cannot be loaded ({type(error).__name__}: {error})"
        else:
            is_class = isinstance(loaded, type)
            if (is_class and issubclass(loaded, base)) if self.classes else isinstance(loaded, base):
                if not (reason := self._fault(entry.name, loaded)):
                    return cast(T, loaded)
            else:
                wanted = "a subclass" if self.classes else "an instance"
                reason = f"is {repr(loaded)[:60]}, but must be {wanted} of {base.__name__}"
        raise InputError(
            f"{entry.name!r} of the group {entry.group} {reason}; update or uninstall {_source(entry)}, or tell its authors"
        )

    def _fault(self, name: str, loaded: Any) -> str:
        """Why an entry of a plug-in cannot be used, or "". It is checked once."""
        if self.check and name not in self._checked:
            try:
                imported(self.check)(loaded)
            except Exception as error:
                return f"cannot be used ({type(error).__name__}: {error})"
            self._checked.add(name)
        return ""

    def _warn(self, entry: metadata.EntryPoint, other: str) -> None:
        warnings.warn(
            f"{_source(entry)} adds the name {entry.name!r}, which {other}; its authors must choose another name in the "
            f"group {entry.group}",
            PluginWarning,
            stacklevel=4,
        )


def _source(entry: metadata.EntryPoint) -> str:
    return f"the package {entry.dist.name} {entry.dist.version}" if entry.dist else "a package"


MODELS = PluginTable[Any](
    {"models": "hyperspan.nn.model:Model", "structures": "hyperspan.nn.recognizer:Scorer"},
    Addresses(
        {
            "segmental": "hyperspan.nn.segmental:SegmentalScorer",
            "discontinuous": "hyperspan.nn.discontinuous:DiscontinuousScorer",
            "linear-chain": "hyperspan.baselines.linear_chain:LinearChainScorer",
            "cascaded": "hyperspan.baselines.cascaded:CascadedScorer",
            "semi-markov": "hyperspan.baselines.semi_markov:SegmentScorer",
            "tree": "hyperspan.baselines.tree:TreeScorer",
            "mention-hypergraph": "hyperspan.baselines.mention_hypergraph:MentionHypergraphScorer",
            "mention-separators": "hyperspan.baselines.mention_separators:MentionSeparatorScorer",
            "joint": "hyperspan.nn.joint:JointScorer",
            "biohd": "hyperspan.baselines.biohd:Biohd",
            "fofe": "hyperspan.baselines.fofe:Fofe",
            "joined": "hyperspan.baselines.joined:Joined",
            "katiyar-cardie": "hyperspan.baselines.katiyar_cardie:KatiyarCardie",
            "layered": "hyperspan.baselines.layered:Layered",
            "transition": "hyperspan.baselines.transition:Transition",
        }
    ),
    classes=True,
)
"""Models by their model.kind: scorers, which :class:`hyperspan.nn.recognizer.Recognizer` runs, and whole models.
Plug-ins register scorers in the group ``hyperspan.structures``, models in ``hyperspan.models``."""
ENCODERS = PluginTable[Any](
    {"encoders": "hyperspan.nn.encoder:Encoder"},
    Addresses(
        {
            "neural": "hyperspan.nn.neural:NeuralEncoder",
            "handcrafted": "hyperspan.nn.handcrafted:FeatureEncoder",
        }
    ),
    classes=True,
)
"""Encoders by their encoder.kind; plug-ins register in the group ``hyperspan.encoders``."""
OPTIONS = PluginTable[Any](
    {"options": "hyperspan.config:KindOptions"},
    Addresses(
        {
            "handcrafted": "hyperspan.nn.handcrafted:HandcraftedOptions",
            "cascaded": "hyperspan.baselines.cascaded:CascadedOptions",
            "mention-hypergraph": "hyperspan.baselines.mention_hypergraph:MentionHypergraphOptions",
            "mention-separators": "hyperspan.baselines.mention_separators:MentionSeparatorOptions",
            "fofe": "hyperspan.baselines.fofe:FofeOptions",
            "joined": "hyperspan.baselines.joined:JoinedOptions",
            "katiyar-cardie": "hyperspan.baselines.katiyar_cardie:KatiyarCardieOptions",
        }
    ),
    classes=True,
    reserved="hyperspan.config:SECTIONS",
    check="hyperspan.toml:check_section",
)
"""The keys that a kind of model or encoder adds to the configuration; plug-ins register in ``hyperspan.options``."""
