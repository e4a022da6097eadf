"""The style sheets of pages, which are CSS files, and what drawing has to know of them: colours and sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

LANE, BAR, TICK, GAP = 1.0, 0.17, 0.17, 0.14
"""Distance between bars, height of a bar, height of the ticks at its ends, gap above the first bar; in em."""
THIN_BAR = 0.6
"""The height of a bar in a thin lane, relative to the lane."""
LABEL_SIZE = 0.66
"""The font size of labels, relative to the text."""

_STYLES = Path(__file__).parent / "styles"


@cache
def style_sheet(name: str = "text") -> str:
    """The CSS of running text with bars, which all pages share; by name "errors", that of the page of errors."""
    return (_STYLES / f"{name}.css").read_text(encoding="utf-8")


PALETTE: tuple[str, ...] = tuple(re.findall(r"--c\d: light-dark\((#\w+),", style_sheet()))
"""Dark enough for text on white, and distinct in hue and lightness; labels are always written out as well."""


def errors_style(groups: Mapping[str, Sequence[str]], variables: Mapping[str, str]) -> str:
    """The complete CSS for filters by these groups of classes, with these CSS variables.

    >>> errors_style({"k": ["k0"]}, {}).splitlines()[-2]
    '.difference:is(:is(.k:checked ~ main *):is(#k0:not(:checked) ~ main .k0)) { display: none; }'
    """
    images = f".hyperspan {{ {' '.join(f'{name}: {value};' for name, value in variables.items())} }}\n"
    hidden = ", ".join(
        f":is(.{group}:checked ~ main *):is({', '.join(f'#{name}:not(:checked) ~ main .{name}' for name in names)})"
        for group, names in groups.items()
        if names
    )
    filters = (
        f".difference:is({hidden}) {{ display: none; }}\n"
        f".report main article:not(:has(.difference:not({hidden}))) {{ display: none; }}\n"
    )
    return style_sheet() + style_sheet("errors") + images + (filters if hidden else "")
