"""What the site needs to annotate in the reader's browser: the package of web/ with its pages, and models.

Without ``make web`` the site is built all the same; its first page then shows a picture.
"""

from __future__ import annotations

import json
from pathlib import Path

from hyperspan.config import Config
from hyperspan.runtime.folders import PRETRAINED, CatalogEntry

WEB = Path(__file__).parents[2] / "web"
PLACE = "assets/browser"
MODELS = ("english", "genia", "craft", "litbank")
KINDS = ("segmental", "discontinuous")
"""The kinds of models that run in a browser."""
MODEL_FILES = ("config.toml", "vocabulary.json", "words.txt", "model.safetensors")
MODELS_FILE = f"{PLACE}/models/models.json"
SCRIPT = f"""
<link rel="stylesheet" href="{PLACE}/dist/shared/text.css">
<link rel="stylesheet" href="{PLACE}/pages/live.css">
<script type="module" src="{PLACE}/pages/first.js"></script>
"""
"""What makes the first page live."""


def is_built() -> bool:
    """Whether `make web` has run."""
    return (WEB / "dist/hyperspan.wasm").exists()


def files() -> dict[str, Path]:
    """The files by their places in the site."""
    found = [path for folder in ("src", "dist", "pages") for path in sorted((WEB / folder).rglob("*.*"))]
    places = {f"{PLACE}/{path.relative_to(WEB).as_posix()}": path for path in found if path.suffix != ".html"}
    places["your-model.html"] = WEB / "pages/your-model.html"
    for name in models():
        places |= {f"{PLACE}/models/{name}/{file}": PRETRAINED / name / file for file in MODEL_FILES}
    return places


def models() -> list[str]:
    """The bundled models that run in a browser."""
    return [name for name in MODELS if Config.of_model(PRETRAINED / name).model.kind in KINDS]


def models_json() -> str:
    """What the first page says of the models."""
    entries = map(CatalogEntry.of, models())
    return json.dumps(
        [
            {
                "name": one.name,
                "about": one.card.domain,
                "labels": list(one.labels),
                "bytes": sum((PRETRAINED / one.name / file).stat().st_size for file in MODEL_FILES),
            }
            for one in entries
        ]
    )
