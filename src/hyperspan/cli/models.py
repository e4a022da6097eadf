"""``hyperspan models``: the models at hand, and what each is for."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan.catalog import CatalogEntry, catalog
from hyperspan.cli.output import print_json

PLAIN_WIDTH = 120
"""Columns where the output is no terminal."""


def models(
    folders: Annotated[list[str] | None, typer.Argument(help="Folders of models of your own, to list as well.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List the models: what each finds, in which texts, how well, its size and its licence.

    A model is used with hyperspan annotate --model NAME. The one marked with * is used where none is named.
    """
    found = catalog(folders or ())
    if json_:
        print_json([entry.to_json() for entry in found])
        return
    console = Console()
    console = console if console.is_terminal else Console(width=PLAIN_WIDTH)
    console.print(_table(found))
    console.print(Text("* used where no model is named; the README.md of a model says more"))


def _table(entries: list[CatalogEntry]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 1, 0))
    table.add_column("model", max_width=46)
    table.add_column("finds")
    for entry in entries:
        labels = Table.grid(padding=(0, 2, 0, 0))
        for label in entry.labels:
            labels.add_row(Text(label, "bold"), Text(entry.card.labels.get(label, "")))
        table.add_row(_facts(entry), labels)
    return table


def _facts(entry: CatalogEntry) -> Text:
    """The name and what is known; not as markup, since a folder may come from anywhere."""
    card = entry.card
    scores = [
        f"{score:.1f} {part}" for part, score in (("dev", card.figures.dev), ("test", card.figures.test)) if score
    ]
    figures = f"F1 on {card.figures.corpus}: {', '.join(scores)}" if scores else "F1 unknown"
    domain = card.domain or "domain unknown"
    lines = (domain, figures, f"{entry.bytes / 1e6:.1f} MB", card.licence or "licence unknown")
    return Text("\n").join((Text(f"{entry.name}{' *' if entry.is_default else ''}", "bold"), *map(Text, lines)))
