"""Objects by their address, imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hyperspan.errors import MissingExtraError


def imported(address: str) -> Any:
    """The object at an address ``module:name``, as entry points write it; an error says so where it needs torch.

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
