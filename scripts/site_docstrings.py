"""Prepares docstrings for the API reference: roles become links, doctests become code blocks. mkdocs.yml names this."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([\w.]+)`")


class MarkdownDocstrings(griffe.Extension):
    """Called by griffe for every object that it reads."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """
    >>> print(markdown("Like :func:`hyperspan.load`, ``x``.\\n\\n>>> 1 + 1\\n2\\n\\nMore."))
    Like `hyperspan.load`, `x`.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    More.
    """
    text = ROLE.sub(r"`\1`", text).replace("``", "`")
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
