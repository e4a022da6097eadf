"""Describe how an output was made: model, selection of mentions, version, day."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath

from hyperspan import __version__
from hyperspan.errors import InputError
from hyperspan.runtime.options import ANY_LABEL, DEFAULT_THRESHOLD


def today() -> str:
    """The day in UTC; that of SOURCE_DATE_EPOCH if set, so that the same input gives the same file."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given.isdecimal() else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):  # which one depends on the system
        raise InputError(
            f"SOURCE_DATE_EPOCH is {given:.40}, which is no day before the year 10000; give seconds since 1970, or unset it"
        ) from None
    return moment.date().isoformat()


def shown_name(path: str) -> str:
    """The last part of a path; of a relative path to a folder, such as ``.``, the name of that folder.

    >>> shown_name("runs/mine"), shown_name("genia"), shown_name("runs/mine/seed-1/..")
    ('mine', 'genia', 'mine')
    """
    name = PurePath(path).name
    return name if name not in ("", "..") else Path(path).resolve().name or path


def provenance(
    model: str,
    thresholds: Mapping[str, float] | None = None,
    types: Iterable[str] = (),
    constraints: int = 0,
    day: str = "",
    *,
    names: bool = False,
    pronouns: bool = True,
) -> str:
    """The sentence below the title of a page on how it was made.

    >>> provenance("genia", {"*": 0.3, "DNA": 0.1}, day="2026-11-16").replace(__version__, "1.0")
    'Model genia; every mention at least this probable: 0.3, DNA 0.1; hyperspan 1.0; 2026-11-16.'
    """
    chosen = "the most probable set"
    if thresholds is not None:
        others = thresholds.get(ANY_LABEL, DEFAULT_THRESHOLD)
        named = (f"{label} {least:g}" for label, least in thresholds.items() if label != ANY_LABEL)
        chosen = f"every mention at least this probable: {', '.join([f'{others:g}', *named])}"
    said = [f"Model {shown_name(model)}", chosen]
    if labels := ", ".join(types):
        said.append(f"types {labels}")
    if names:
        said.append("names alone")
    if not pronouns:
        said.append("without pronouns")
    if constraints:
        said.append(f"{constraints} constraint{'s' if constraints > 1 else ''}")
    return "; ".join([*said, f"hyperspan {__version__}", day or today()]) + "."
