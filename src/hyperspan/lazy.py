"""Objects by their address, imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def imported(address: str) -> Any:
    """The object at an address ``module:name``, as entry points write it.

    >>> imported("json:dumps")([1])
    '[1]'
    """
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)
