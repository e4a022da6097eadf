"""The bundled models on a text each, as one page. Usage: python examples/demo.py demo.html"""

from __future__ import annotations

import sys
from pathlib import Path

from attrs import evolve

import hyperspan
from hyperspan.render.html import provenance, render_html

EXAMPLES = Path(__file__).parent
TEXTS = {"english": "everyday.txt", "craft": "article.txt", "genia": "biomedical.txt", "litbank": "literary.txt"}


def main(target: str) -> None:
    pages = []
    for name, file in TEXTS.items():
        annotator = hyperspan.load(name)
        document = annotator((EXAMPLES / file).read_text(encoding="utf-8"), top_k=3)
        pages.append(evolve(document, id=name))
    page = render_html(pages, title="hyperspan", about=provenance(", ".join(TEXTS)))
    Path(target).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
