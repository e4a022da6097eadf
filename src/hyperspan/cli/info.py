"""``hyperspan info``: print versions, kernels, bundled models and extras, for bug reports and questions of speed."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

from hyperspan import __version__, kernels
from hyperspan.cli.output import print_json
from hyperspan.errors import HyperspanError, is_installed
from hyperspan.runtime.folders import CatalogEntry, bundled_models

EXTRAS = {
    "parquet": ("pyarrow",),
    "pictures": ("cairosvg",),
    "plots": ("matplotlib", "tensorboard"),
    "ray": ("pyarrow", "ray"),
    "serve": ("prometheus_client", "pydantic", "starlette", "uvicorn"),
    "spacy": ("spacy",),
    "train": ("torch",),
    "transformers": ("torch", "transformers"),
}
"""The modules that each extra installs."""


def info(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print the version, the kernels in use (and why others are not), bundled models and installed extras.

    Set HYPERSPAN_KERNELS=reference to compute everything in plain PyTorch.
    """
    found = installation()
    print_json(found) if json_ else print("\n".join(lines(found)))


def installation() -> dict[str, Any]:
    """Return versions, kernels, bundled models and extras as JSON values; imports neither torch nor any extra.

    >>> sorted(installation())
    ['extras', 'kernels', 'models', 'python', 'torch', 'version']
    """
    return {
        "version": __version__,
        "python": platform.python_version(),
        "torch": _version("torch"),
        "kernels": _kernels(),
        "models": [_model(name) for name in bundled_models()],
        "extras": {name: _extra(name, modules) for name, modules in EXTRAS.items()},
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Format the result of :func:`installation` as text."""
    yield f"hyperspan {found['version']}, Python {found['python']}, PyTorch {found['torch'] or 'not installed'}"
    yield "\nkernels"
    yield from _kernel_lines(found["kernels"])
    yield "\nbundled models"
    for model in found["models"]:
        labels = model["error"] or ", ".join(model["labels"])
        yield f"  {model['name']:<14} {model['bytes'] / 1e6:.1f} MB: {labels}"
    yield "\nextras"
    for name, extra in found["extras"].items():
        yield f"  {name:<14} {'installed' if extra['installed'] else extra['install']}"


def _kernel_lines(found: dict[str, Any]) -> Iterator[str]:
    if "error" in found:
        yield f"  {found['error']}"
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
            yield f"    {name:<14} {choice['runs']:<10} ({others})"


def _kernels() -> dict[str, Any]:
    try:
        return kernels.report()
    except HyperspanError as error:
        return {"error": str(error)}


def _model(name: str) -> dict[str, Any]:
    try:
        entry = CatalogEntry.of(name)
    except HyperspanError as error:
        return {"name": name, "labels": [], "bytes": 0, "error": str(error)}
    return {"name": name, "labels": list(entry.labels), "bytes": entry.bytes, "error": None}


def _extra(name: str, modules: tuple[str, ...]) -> dict[str, Any]:
    installed = all(map(is_installed, modules))
    versions = {module: _version(module) for module in modules} if installed else {}
    return {"installed": installed, "versions": versions, "install": f'pip install "hyperspan[{name}]"'}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
