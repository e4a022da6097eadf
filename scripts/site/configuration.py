"""The page of all configuration keys, made from the dataclasses: ``python -m scripts.site.configuration`` prints it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from typing import Any, get_args, get_type_hints

from hyperspan.config import SECTIONS, Config, CorpusConfig
from hyperspan.plugins import OPTIONS
from hyperspan.toml import AUTO, may_be_auto

INTRODUCTION = """\
# Configuration keys

A configuration is a TOML file with the sections below. Every key has a default, so most files are a few lines long:
`hyperspan init CORPUS` writes one, and [Train a model](../how-to/train.md) explains how to use it.

```toml
[data]
train = "train.jsonl"
dev = "dev.jsonl"

[training]
epochs = 30
```

- On the command line, `--set SECTION.KEY=VALUE` replaces one value: `hyperspan train mine.toml --set training.epochs=30`.
- `auto` means that the value follows from your corpus: see [the defaults](../how-to/train.md#defaults).
- An unknown key, a wrong type or a number outside its limits is an error that names the key.
- Sections of one kind of model have no effect on the others.
- A kind of model or encoder from a plug-in may have a section of its name, too.
"""


def configuration_page() -> str:
    """The page, in Markdown."""
    hints = get_type_hints(Config)
    sections = {name: hints[name] for name in SECTIONS} | {name: OPTIONS[name] for name in OPTIONS.built_in}
    parts = [_section(f"## {name}", name, kind) for name, kind in sections.items()]
    parts.insert(1, _section("### Entries of a list of corpora", "", CorpusConfig))
    return "\n".join([INTRODUCTION, *parts])


def _section(heading: str, name: str, kind: type) -> str:
    lines = [heading, "", _one_line(inspect.cleandoc(kind.__doc__ or "")), ""]
    lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
    hints, described = get_type_hints(kind), _docstrings(kind)
    for field in dataclasses.fields(kind):
        key = f"{name}.{field.name}".removeprefix(".")
        meaning = _one_line(described[field.name]).replace("|", "\\|")
        lines.append(f"| `{key}` | {_values(hints[field.name], field)} | `{_default(field)}` | {meaning} |")
    return "\n".join([*lines, ""])


def _docstrings(kind: type) -> dict[str, str]:
    """The string right after each field of a class."""
    found = {}
    [node] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(node, ast.ClassDef)
    for field, after in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
            name, text = field.target, after.value
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant):
                found[name.id] = inspect.cleandoc(str(text.value))
    return found


def _values(hint: Any, field: dataclasses.Field[Any]) -> str:
    """What a key may be: its type, its choices, its limits."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    limits = "" if low is None and high is None else f" {_limits(low, high)}"
    return _type(hint) + limits


def _type(hint: Any) -> str:
    """
    >>> from typing import Literal
    >>> _type(int), _type(int | Literal["n"]), _type(bool)
    ('integer', 'integer or `"n"`', 'true or false')
    """
    named = {str: "string", int: "integer", float: "number", bool: "true or false"}
    if hint in named:
        return named[hint]
    choices = get_args(hint)
    if choices and all(isinstance(choice, str) for choice in choices):
        return ", ".join(f'`"{choice}"`' for choice in choices)
    if getattr(hint, "__origin__", None) is tuple:
        return "list of tables" if dataclasses.is_dataclass(choices[0]) else "list"
    if getattr(hint, "__origin__", None) is not None and "Mapping" in str(hint):
        return "table"
    if choices:
        return " or ".join(_type(choice) for choice in choices)
    return "table"


def _limits(low: float | None, high: float | None) -> str:
    """
    >>> _limits(0, 1), _limits(1, None), _limits(None, 0)
    ('from 0 to 1', 'from 1', 'up to 0')
    """
    parts = ([] if low is None else [f"from {low:,g}"]) + ([] if high is None else [f"to {high:,g}"])
    return " ".join(parts) if low is not None else f"up {parts[0]}"


def _default(field: dataclasses.Field[Any]) -> str:
    if may_be_auto(field.metadata):
        return AUTO
    return json.dumps(field.default if field.default is not dataclasses.MISSING else {})


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    print(configuration_page())
