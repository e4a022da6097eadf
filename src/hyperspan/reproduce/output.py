"""Tables as they leave: on standard output, and as Markdown, JSON and pictures in the folder of results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan.evaluation.tables import Section, as_markdown
from hyperspan.files import Target


def show(sections: Sequence[Section], values: Mapping[str, Any], format_: str) -> None:
    """Prints tables as people read them, as Markdown, or their values as JSON."""
    if format_ == "json":
        print(as_json(values))
    elif format_ == "markdown":
        print("\n\n".join(map(as_markdown, sections)))
    else:
        _print_tables(sections)


def write(folder: Path, name: str, sections: Sequence[Section], values: Mapping[str, Any]) -> list[Path]:
    """Writes NAME.md and NAME.json; they are made from results that stay, so older ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"md": "\n\n".join(map(as_markdown, sections)), "json": as_json(values)}
    paths = [folder / f"{name}.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        with Target(str(path), force=True).open() as file:
            file.write(text + "\n")
    return paths


def as_json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False)


def _print_tables(sections: Sequence[Section]) -> None:
    """All tables; those with the same header line up. What is wider than the terminal is not cut, but goes on."""
    widths: dict[tuple[str, ...], list[int]] = {}
    for section in sections:
        known = widths.setdefault(tuple(section.header), [0] * len(section.header))
        for line in (section.header, *section.rows):
            known[:] = map(max, known, map(len, line))
    console = Console(highlight=False)
    console.width = max([console.width if console.is_terminal else 80, *(sum(w) + 2 * len(w) for w in widths.values())])
    for number, section in enumerate(sections):
        table = Table(box=None, pad_edge=False, title=Text(section.title, style="bold"), title_justify="left")
        for index, (title, width) in enumerate(zip(section.header, widths[tuple(section.header)], strict=True)):
            table.add_column(Text(title), justify="right" if index else "left", no_wrap=True, min_width=width)
        for row in section.rows:
            table.add_row(*map(Text, row))  # a title is no markup
        if number:
            console.print()
        console.print(table)
        if section.note:
            console.print(Text(section.note, style="dim"), soft_wrap=True)
