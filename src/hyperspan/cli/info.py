"""``hyperspan info``: print versions, kernels, extras and bundled models, or the cards of models."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperspan import __version__, kernels
from hyperspan.cli.output import print_json
from hyperspan.errors import EXTRAS, HyperspanError, is_installed
from hyperspan.runtime.folders import DEFAULT_MODEL, CatalogEntry, bundled_models

PLAIN_WIDTH = 120
"""The width of a table of models if the output is not a terminal."""


def info(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Bundled models, or folders of models. Default: the installation."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what is installed, which kernels run and the bundled models; or the cards of models.

    Of a model: what its labels mean, its domain, F1, size and licence. An asterisk (*) marks the model that is used
    where none is named. Set HYPERSPAN_KERNELS=reference to compute everything in plain PyTorch.

    Example: hyperspan info genia runs/mine
    """
    if models:
        entries = [CatalogEntry.of(name) for name in dict.fromkeys(models)]
        print_json([entry.to_json() for entry in entries]) if json_ else _print_cards(entries)
    else:
        found = installation()
        print_json(found) if json_ else print("\n".join(lines(found)))


def installation() -> dict[str, Any]:
    """Return versions, kernels, bundled models and extras as JSON values; imports neither torch nor any extra.

    >>> sorted(installation())
    ['extras', 'kernels', 'models', 'python', 'torch', 'version']
    """
    names = sorted(bundled_models(), key=lambda name: name != DEFAULT_MODEL)
    return {
        "version": __version__,
        "python": platform.python_version(),
        "torch": _version("torch"),
        "kernels": _kernels(),
        "extras": {name: _extra(name, modules) for name, modules in EXTRAS.items()},
        "models": [_model(name) for name in names],
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Format the result of :func:`installation` as text."""
    yield f"hyperspan {found['version']}, Python {found['python']}, PyTorch {found['torch'] or 'not installed'}"
    yield "\nkernels"
    yield from _kernel_lines(found["kernels"])
    yield "\nextras"
    for name, extra in found["extras"].items():
        yield f"  {name:<14} {'installed' if extra['installed'] else extra['install']}"
    yield "\nbundled models (hyperspan info MODEL prints more)"
    for model in found["models"]:
        name = f"{model['name']}{' *' if model['default'] else ''}"
        if model["error"]:
            yield _filled(f"  {name:<14} ", model["error"])
            continue
        score = f", F1 {model['figures']['test']:.1f}" if model["figures"]["test"] else ""
        yield f"  {name:<14} {model['domain']}{score}, {model['bytes'] / 1e6:.1f} MB"
        yield _filled(" " * 17, ", ".join(model["labels"]))


def _filled(start: str, text: str) -> str:
    """Lines for a usual terminal, in which the text goes on below itself."""
    return fill(text, 79, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)


def _kernel_lines(found: dict[str, Any]) -> Iterator[str]:
    if "error" in found:
        yield _filled("  ", found["error"])
        return
    if found["forced"]:
        yield f"  allowed beside the reference: {', '.join(found['forced'])}"
    for device, computations in found["devices"].items():
        if "unavailable" in computations:
            yield f"  {device}: {computations['unavailable']}"
            continue
        yield f"  {device}" + (
            f" (compiled for {found['processor']})" if device == "cpu" and found["processor"] else ""
        )
        for name, choice in computations.items():
            others = "; ".join(f"{other} {why}" for other, why in choice["others"].items())
            yield _filled(f"    {name:<14} {choice['runs']:<10} ", f"({others})")


def _kernels() -> dict[str, Any]:
    try:
        return kernels.report()
    except HyperspanError as error:
        return {"error": str(error)}


def _model(name: str) -> dict[str, Any]:
    """The card of a bundled model, or why it cannot be read."""
    try:
        return {**CatalogEntry.of(name).to_json(), "error": None}
    except HyperspanError as error:
        return {"name": name, "default": False, "error": str(error)}


def _extra(name: str, modules: tuple[str, ...]) -> dict[str, Any]:
    installed = all(map(is_installed, modules))
    versions = {module: _version(module) for module in modules} if installed else {}
    return {"installed": installed, "versions": versions, "install": f'pip install "hyperspan[{name}]"'}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _print_cards(entries: list[CatalogEntry]) -> None:
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
    console = Console()
    console = console if console.is_terminal else Console(width=PLAIN_WIDTH)
    console.print(table)
    console.print(Text("* used where no model is named; the README.md of a model says more"))


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
