"""The style sheet of the errors page, with filters that need no script.

Choices are checkboxes before the list. A difference is hidden if a group has checked choices but not its own; a
sentence is hidden if all its differences are. A browser without :has() shows everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hyperspan.render.page_style import style_sheet

STYLE = """\
.hyperspan-page { max-width: 72rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; margin: 0 0 1rem; font-size: .85rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.report { counter-reset: sentences; }
.report > h2 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
.report > h3 { font-size: .85rem; margin: .7rem 0 .15rem; color: var(--soft); font-weight: 600; }
.report > p { font-size: .9rem; margin: .4rem 0; max-width: 60rem; }
.wide { overflow-x: auto; }
.counts { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
.counts th, .counts td { padding: .18rem .6rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; }
.counts th:first-child { text-align: left; padding-left: 0; font-weight: 600; white-space: nowrap; }
.counts th { max-width: 12rem; overflow-wrap: break-word; }
.counts td:last-child, .counts tr:last-child td, .counts tr:last-child th { font-weight: 600; }
.choice { position: absolute; opacity: 0; width: 1px; height: 1px; margin: 0; pointer-events: none; }
.choice + label { display: inline-block; box-sizing: border-box; max-width: 100%; margin: .15rem .35rem .15rem 0; padding: .25rem .65rem; border: 1px solid var(--rule); border-radius: 1rem; font-size: .85rem; overflow-wrap: anywhere; cursor: pointer; }
.choice + label:hover { background: var(--touched); }
.choice + label small { color: var(--soft); }
.choice:checked + label { border-color: var(--c0); box-shadow: inset 0 0 0 1px var(--c0); font-weight: 600; }
.choice:checked + label::before { content: "\\2713  "; }
.choice:focus-visible + label { outline: 2px solid var(--c0); outline-offset: 2px; }
.report > button { font: inherit; font-size: .85rem; display: block; margin: .7rem 0 0; padding: .3rem .9rem; }
.report main { margin-top: 1.2rem; border-top: 1px solid var(--rule); padding-top: 1rem; }
.report main .hyperspan { counter-increment: sentences; margin: 0 0 1rem; }
.drawn { content-visibility: auto; contain-intrinsic-size: auto 14rem; margin: 0 -.7rem; padding: 0 .7rem; }
.hyperspan h2 small, .sets { color: var(--soft); font-weight: 400; font-size: .85rem; }
.sets { margin: .5rem 0 .2rem; font-variant-numeric: tabular-nums; }
.hyperspan b.quiet { font-weight: 400; }
.differences { margin: .3rem 0 0; padding-left: 2em; font-size: .88rem; }
.differences li { margin: .12rem 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.differences li::marker { font-weight: 600; }
.differences strong { font-weight: 600; }
.differences i { font-style: normal; color: var(--soft); }
.differences small { color: var(--soft); font-size: .92em; }
.report > .shown { max-width: none; position: sticky; bottom: 0; background: var(--page); padding: .4rem 0; border-top: 1px solid var(--rule); }
.shown span::before { content: counter(sentences) " of "; }
@media print { .choice, .choice + label, .report > button, .report > h3, .filters, .shown { display: none; } .drawn { content-visibility: visible; } .hyperspan { break-inside: avoid; } }
"""


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
    if not hidden:
        return style_sheet() + STYLE + images
    return (
        f"{style_sheet()}{STYLE}{images}.difference:is({hidden}) {{ display: none; }}\n"
        f".report main article:not(:has(.difference:not({hidden}))) {{ display: none; }}\n"
    )
