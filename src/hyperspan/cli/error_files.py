"""The output of `evaluate --errors` and `compare --differences`: a page or JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hyperspan.errors import InputError, counted
from hyperspan.files import Target

if TYPE_CHECKING:
    from hyperspan.evaluation.errors import ErrorReport

PAGES, RECORDS = (".html", ".htm"), (".jsonl", ".ndjson")


def check_error_file(name: str | None, option: str, force: bool) -> None:
    """Raise errors before the work that would otherwise occur after it."""
    if name is None:
        return
    if not name.removesuffix(".gz").endswith((*PAGES, *RECORDS)):
        raise InputError(f"{option} {name} is neither a page nor JSON Lines; let the name end in .html or .jsonl")
    Target(name, force).check()
    if name.removesuffix(".gz").endswith(PAGES):
        from hyperspan.render.html import today

        today()  # an error if the environment gives a day that is none


def write_error_file(
    found: ErrorReport, name: str, force: bool, title: str, about: Mapping[str, str], systems: Sequence[str]
) -> None:
    """Write the errors in the format of the file name; `about` describes the evaluation, `systems` are their names."""
    from hyperspan import __version__

    with Target(name, force).open() as file:
        if name.removesuffix(".gz").endswith(PAGES):
            from hyperspan.render.errors_page import iter_errors_page
            from hyperspan.render.html import today

            made = {"hyperspan": __version__, "date": today()}
            file.writelines(iter_errors_page(found, title, {**about, **made}, systems))
        else:
            from hyperspan.evaluation.errors import error_lines

            file.writelines(error_lines(found.errors))
    differences = sum(found.counts.values())
    sentences = counted(len(found.errors), "sentence")
    print(f"hyperspan: wrote {counted(differences, 'difference')} in {sentences} to {name}", file=sys.stderr)
