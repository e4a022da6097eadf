"""Which names a server answers to. A page of another site cannot reach it under a name that it had pointed here."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from hyperspan.serve.problems import Problem


def name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> name_of("Example.org:8000"), name_of("[::1]:8000"), name_of("127.0.0.1")
    ('example.org', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def check_host(host: str, allowed: Collection[str]) -> None:
    """Refuses a name that is not the server's own. An address is: no one else can have it point elsewhere, as with a name.

    >>> check_host("127.0.0.1:8000", ()), check_host("localhost", ()), check_host("models.example.org", ["*"])
    (None, None, None)
    """
    name = name_of(host).removesuffix(".")
    if name in ("", "localhost", *allowed) or "*" in allowed or _is_address(name):
        return
    raise Problem(
        421,
        f"the request is for the host {name[:60]!r}, which is not a name of this server; use its address or localhost, or "
        "start it with --allow-host NAME",
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
