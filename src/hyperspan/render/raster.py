"""Convert SVG pictures to PNG and PDF with CairoSVG."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

from hyperspan.errors import InputError, require

PNG_SCALE = 2
"""PNG pixels per SVG pixel: sharp on high-resolution screens."""


def convert_svg(picture: str, kind: Literal["png", "pdf"]) -> bytes:
    """Convert an SVG picture to the bytes of a PNG or PDF file."""
    require("cairosvg", f"drawing {kind.upper()}", "pictures")
    try:
        cairosvg = import_module("cairosvg")
    except OSError:  # CairoSVG is installed, but not the library that it calls
        raise InputError(
            f"drawing {kind.upper()} needs the library cairo, which is not installed; install it, for example with "
            "apt install libcairo2, or write SVG"
        ) from None
    if kind == "png":
        return cairosvg.svg2png(bytestring=picture.encode("utf-8"), scale=PNG_SCALE)
    return cairosvg.svg2pdf(bytestring=picture.encode("utf-8"))
