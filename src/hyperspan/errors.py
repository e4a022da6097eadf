"""The exceptions of hyperspan. Each message is one sentence: what was given, what was expected, what to do.

    HyperspanError
    ├── InputError              a user's mistake; the command line prints it and exits with 2
    │   ├── SpanError           a span that does not fit its text
    │   ├── LabelError          a label that is not allowed
    │   ├── OutputExistsError   an output exists and may not be overwritten
    │   ├── CorpusError         a corpus file breaks the rules of its format
    │   └── LossError           a format cannot represent all mentions
    ├── TrainingError           training cannot continue
    ├── JobError                a bulk job cannot continue
    └── MissingExtraError       an optional dependency is not installed

Wrong tensors and indices passed to :mod:`hyperspan.structures` raise :class:`ValueError`, as in torch.
"""

import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from numbers import Integral, Real
from os import PathLike
from types import NoneType
from typing import Any

EXIT_EXCEPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end the program. Any other exception fails one text only, even one from native code that is not an
`Exception`."""

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def quoted(text: str, most: int = 60) -> str:
    """The first characters of a text, for messages."""
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")


def counted(number: int, noun: str) -> str:
    """A number with its noun, for messages.

    >>> counted(1, "mention"), counted(2000, "mention")
    ('1 mention', '2,000 mentions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_KINDS = {
    Integral: "a whole number",
    Real: "a number",
    bool: "True or False",
    str: "a string",
    Callable: "a function",
    Iterable: "a list",
    PathLike: "a path",
    NoneType: "None",
}
"""What arguments may be, for messages."""


def check_kind(name: str, value: object, *kinds: Any) -> None:
    """Raise an error unless an argument is of one of these kinds.

    >>> check_kind("top_k", True, Integral, NoneType)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: top_k is True, but must be a whole number or None
    """
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InputError(f"{name} is {value!r:.60}, but must be {' or '.join(_KINDS[kind] for kind in kinds)}")


class HyperspanError(Exception):
    """The base class of all errors that hyperspan raises on purpose.

    The message is one line and safe to print: control characters in quoted user input are escaped.

    >>> print(HyperspanError("no key 'a\\nb'"))
    no key 'a\\nb'
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(CONTROL_CHARACTERS.sub(lambda match: ascii(match[0])[1:-1], sentence))


class InputError(HyperspanError):
    """An argument, option or input file is not valid."""


class SpanError(InputError):
    """A span does not fit the text it belongs to."""


class LabelError(InputError):
    """A label is not allowed here."""


class OutputExistsError(InputError):
    """An output file exists and may not be overwritten."""


class CorpusError(InputError):
    """A corpus file breaks the rules of its format; the message begins with file and line."""


class PluginWarning(UserWarning):
    """A plug-in cannot be used; everything else works without it."""


class DomainWarning(UserWarning):
    """Texts look unlike what the model was trained on; expect more errors."""


class CardWarning(UserWarning):
    """The model card cannot be used; the model works without it."""


class LossError(InputError):
    """A format cannot represent some of the mentions to write."""


class TrainingError(HyperspanError):
    """Training cannot continue; checkpoints written so far are kept."""


class JobError(HyperspanError):
    """A bulk job cannot continue. Its finished shards are kept, and the next run resumes from there."""


class MissingExtraError(HyperspanError):
    """An optional dependency is missing.

    >>> raise MissingExtraError("drawing learning curves", "plots")
    Traceback (most recent call last):
    ...
    hyperspan.errors.MissingExtraError: drawing learning curves needs the extra `plots`: pip install "hyperspan[plots]"
    """

    def __init__(self, purpose: str, extra: str):
        super().__init__(f'{purpose} needs the extra `{extra}`: pip install "hyperspan[{extra}]"')


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without doing so.

    >>> is_installed("json"), is_installed("jsom")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ValueError:  # sys.modules has a module without a spec, such as a stand-in of a test
        return False


EXTRAS = {
    "parquet": ("pyarrow",),
    "pictures": ("cairosvg",),
    "plots": ("matplotlib", "tensorboard"),
    "ray": ("pyarrow", "ray"),
    "serve": ("prometheus_client", "pydantic", "starlette", "uvicorn"),
    "spacy": ("spacy",),
    "train": ("torch",),
    "transformers": ("torch", "transformers"),
}
"""The modules that each extra installs."""


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise :class:`MissingExtraError` unless these modules of an extra, by default all, are installed. Call it before
    long work."""
    if not all(map(is_installed, modules or EXTRAS[extra])):
        raise MissingExtraError(purpose, extra)


def require_torch(purpose: str) -> None:
    """Raise :class:`MissingExtraError` unless torch is installed. Call it before anything that imports torch."""
    require("train", purpose)


def require_plots(purpose: str) -> None:
    """Raise :class:`MissingExtraError` unless matplotlib is installed. Call it before long work that ends in a plot."""
    require("plots", purpose, "matplotlib")


class KernelWarning(RuntimeWarning):
    """The compiled kernels are missing or unusable; PyTorch is used instead."""
