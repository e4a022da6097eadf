"""Pictures in SVG as PNG and PDF, by CairoSVG."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

from hyperspan.errors import InputError, require

PNG_SCALE = 2
"""Pixels of a PNG for each of the picture's: sharp on today's screens."""


def convert_svg(picture: str, kind: Literal["png", "pdf"]) -> bytes:
    """The bytes of a PNG or PDF file that shows the same."""
    require("cairosvg", f"drawing {kind.upper()}", "pictures")
    try:
        cairosvg = import_module("cairosvg")
    except OSError:  # CairoSVG is there, but not the library that it calls
        raise InputError(
            f"drawing {kind.upper()} needs the library cairo, which is not installed; install it, for example with "
            "apt install libcairo2, or write SVG"
        ) from None
    if kind == "png":
        return cairosvg.svg2png(bytestring=picture.encode("utf-8"), scale=PNG_SCALE)
    return cairosvg.svg2pdf(bytestring=picture.encode("utf-8"))
