"""Import objects by their address on first use."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from hyperspan.errors import MissingExtraError


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
