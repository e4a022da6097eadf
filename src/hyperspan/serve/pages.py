"""The web pages of a server."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

STATIC = Path(__file__).parent / "static"


def page(name: str) -> Response:
    """One of the pages; a package may come without them."""
    if not (STATIC / name).is_file():
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type="text/html")
