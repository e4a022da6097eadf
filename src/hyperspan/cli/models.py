"""``hyperspan models``: list the available models and what each one finds."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan.cli.output import print_json
from hyperspan.runtime.folders import CatalogEntry, catalog

PLAIN_WIDTH = 120
"""The table width if the output is not a terminal."""


def models(
    folders: Annotated[list[str] | None, typer.Argument(help="Folders of your own models, to list as well.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models: labels, domain, F1, size and licence.

    Use a model with hyperspan annotate --model NAME. An asterisk (*) marks the default model.
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
        if entry.name_labels:
            labels.add_row(Text("--names", "bold"), Text(f"names alone: {', '.join(entry.name_labels)}"))
        table.add_row(_facts(entry), labels)
    return table


def _facts(entry: CatalogEntry) -> Text:
    """The name and facts of a model; not parsed as markup, as a folder is untrusted."""
    card = entry.card
    scores = [
        f"{score:.1f} {part}" for part, score in (("dev", card.figures.dev), ("test", card.figures.test)) if score
    ]
    figures = f"F1 on {card.figures.corpus}: {', '.join(scores)}" if scores else "F1 unknown"
    domain = card.domain or "domain unknown"
    lines = (domain, figures, f"{entry.bytes / 1e6:.1f} MB", card.licence or "licence unknown")
    return Text("\n").join((Text(f"{entry.name}{' *' if entry.is_default else ''}", "bold"), *map(Text, lines)))
