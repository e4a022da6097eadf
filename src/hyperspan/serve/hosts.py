"""Check Host headers: a page of another site must not reach the server by DNS rebinding."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection


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
