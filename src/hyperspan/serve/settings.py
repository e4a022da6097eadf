"""The settings of a server: which models it serves, its limits, and the hosts that it answers to.

Host headers are checked, as a page of another site must not reach the server by DNS rebinding.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Any

from hyperspan.errors import InputError


def name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> name_of("Example.org:8000"), name_of("[::1]:8000"), name_of("127.0.0.1")
    ('example.org', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def is_own(host: str, allowed: Collection[str]) -> bool:
    """Whether a Host header names the server. IP addresses do, since nobody can redirect them like a name.

    >>> is_own("127.0.0.1:8000", ()), is_own("localhost", ())
    (True, True)
    >>> is_own("example.org", ["*"]), is_own("example.org", ())
    (True, False)
    """
    name = name_of(host).removesuffix(".")
    return name in ("localhost", *allowed) or "*" in allowed or _is_address(name)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens at an address or a name.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1")
    (True, True, True)
    >>> is_loopback("localhost.example.org"), is_loopback("::1234"), is_loopback("0.0.0.0")
    (False, False, False)
    """
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Settings:
    """The models and limits of a server.

    >>> Settings(models=("genia",), max_texts=10).limits["texts"]
    10
    """

    models: tuple[str, ...] = ()
    """Names of bundled models, folders, or NAME=FOLDER; empty for all bundled ones. The first is the default."""
    device: str = "cpu"
    """Where the models run, such as "cpu", "cuda" or "cuda:1"."""
    dtype: str = "float32"
    """The number type of the models: "float32", or "bfloat16" if the processor supports it."""
    api_key: str | None = None
    """The key that clients must send; None for no key."""
    allow_hosts: tuple[str, ...] = ()
    """Host names of the server, in addition to localhost and IP addresses; "*" for all."""
    max_body_bytes: int = 4_000_000
    """The maximum number of bytes of a body, or of a line of a stream."""
    max_held_bytes: int = 64_000_000
    """The maximum number of bytes of all bodies and lines at a time."""
    max_texts: int = 1_000
    """The maximum number of texts in a request."""
    max_characters: int = 500_000
    """The maximum number of characters of all texts of a request."""
    max_requests: int = 128
    """The maximum number of concurrent requests, and as many streams."""
    max_queued_words: int = 100_000
    """No request is accepted while more words than this wait for the model."""
    max_alternatives: int = 100
    """The maximum `top_k` of a request."""
    least_probability: float = 0.001
    """The lowest threshold that a request can ask for."""
    max_hypergraph_words: int = 12
    """The maximum number of words in a picture."""
    max_hypergraph_types: int = 6
    """The maximum number of types in a picture."""
    max_hypergraph_edges: int = 1_500
    """The maximum number of hyperedges in a picture: 12 words and 6 types, fewer with discontinuous mentions."""
    seconds: float = 60.0
    """The time limit of a request."""
    shutdown_seconds: float = 30.0
    """The time to finish accepted work after a signal to stop."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("max_") and value < 1:
                raise InputError(f"the limit {field.name} is {value}; it must be at least 1")
            if field.name.endswith("seconds") and not (0 < value < math.inf):
                raise InputError(f"the limit {field.name} is {value}; it must be a number of seconds above 0")
        if not 0 < self.least_probability <= 1:
            raise InputError(
                f"the limit least_probability is {self.least_probability}; it must be above 0 and at most 1"
            )
        if self.api_key is not None and not (self.api_key and self.api_key.isascii() and self.api_key.isprintable()):
            raise InputError(
                "the API key is empty or has characters that no HTTP header can carry; use letters and digits"
            )
        for name in self.allow_hosts:
            if name != "*" and name_of(name) != name:
                raise InputError(
                    f"the name {name!r} of --allow-host cannot be that of a host; give it in lower case and without a port, "
                    "as in models.example.org, or * for all"
                )

    @property
    def limits(self) -> dict[str, int | float]:
        """The limits for clients, by their names in ``/v1/models``."""
        named = {field.name.removeprefix("max_"): getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if name not in _INTERNAL}


LIMITS = {
    field.name.removeprefix("max_"): field
    for field in fields(Settings)
    if field.name.startswith("max_") or field.name.endswith(("seconds", "probability"))
}
"""The fields of :class:`Settings` that are limits, by their names for users."""


def parse_limits(given: Iterable[str]) -> dict[str, Any]:
    """Parse NAME=VALUE pairs into values of the fields.

    >>> parse_limits(["texts=100", "seconds=2.5"])
    {'max_texts': 100, 'seconds': 2.5}
    """
    found: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if name not in LIMITS:
            raise InputError(f"there is no limit {name!r}; choose one of {', '.join(LIMITS)}, for example texts=100")
        field = LIMITS[name]
        try:
            found[field.name] = type(field.default)(value)
        except ValueError:
            raise InputError(f"the limit {pair!r} is not a number; write for example {name}={field.default}") from None
    return found


_INTERNAL = ("models", "device", "dtype", "api_key", "allow_hosts", "held_bytes", "shutdown_seconds")
