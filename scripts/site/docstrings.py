"""Prepare docstrings for the API reference (an extension that mkdocs.yml names).

Roles become code, doctests become code blocks, and the fields of value classes become a table.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

VALUE_CLASS = re.compile(r"\b(?:frozen|dataclass)\b")
DIRECTIVE = re.compile(r" *# doctest: \+.*")
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([\w.]+)`")


class MarkdownDocstrings(griffe.Extension):
    """Called by griffe for every object that it reads."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        if cls.docstring is not None and any(VALUE_CLASS.search(str(one.value)) for one in cls.decorators):
            cls.docstring.value += fields_table(cls)


def fields_table(cls: griffe.Class) -> str:
    """The public fields of a class; "" if it has none."""
    rows = [
        f"| `{field.name}` | `{field.annotation}` | {' '.join(field.docstring.value.split()) if field.docstring else ''} |"
        for field in cls.attributes.values()
        if field.annotation is not None and field.is_public and "property" not in field.labels
    ]
    return "\n".join(["", "", "| field | type | meaning |", "|---|---|---|", *rows]) if rows else ""


def markdown(text: str) -> str:
    """Convert a docstring to Markdown.

    >>> markdown("As in::\\n\\n    x = 1")
    'As in:\\n\\n    x = 1'
    >>> markdown(">>> print(1)  # doctest: +SKIP")
    '```pycon\\n>>> print(1)\\n```'
    >>> markdown("Like :func:`hyperspan.load`, ``x``.\\n\\n>>> 1 + 1\\n2\\n\\nMore.").splitlines()
    ['Like `hyperspan.load`, `x`.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    """
    text = DIRECTIVE.sub("", ROLE.sub(r"`\1`", text).replace("``", "`"))
    text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
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
