"""The style sheets of pages: sizes, and colours for light, dark and print.

The page of errors has filters that need no script. Choices are checkboxes before the list. A difference is hidden if a
group has checked choices but not its own; a sentence is hidden if all its differences are. A browser without :has()
shows everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hyperspan.render.layout import PALETTE

LANE, BAR, TICK, GAP = 1.0, 0.17, 0.17, 0.14
"""Distance between bars, height of a bar, height of the ticks at its ends, gap above the first bar; in em."""
THIN_BAR = 0.6
"""The height of a bar in a thin lane, relative to the lane."""
LABEL_SIZE = 0.66
"""The font size of labels, relative to the text."""
DARK = ("#7db4ff", "#ff9a76", "#6fd093", "#d59bf5", "#e6b450", "#5fd0da", "#ff8fbf", "#b9cc6a", "#c4c4c4", "#b5a1ff")
"""The colours of PALETTE, lighter, for dark pages."""

STYLE = """\
.hyperspan, .hyperspan-page { LIGHT_COLOURS color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { .hyperspan, .hyperspan-page { DARK_COLOURS } }
@media screen { [data-jp-theme-light="false"] .hyperspan, .vscode-dark .hyperspan { DARK_COLOURS } }
@media screen { [data-jp-theme-light="true"] .hyperspan, .vscode-light .hyperspan { LIGHT_COLOURS } }
.hyperspan-page { margin: 0 auto; padding: 1.2rem clamp(.8rem, 4vw, 3rem) 3rem; max-width: 60rem; background: var(--page); color: var(--ink); font-family: system-ui, "Segoe UI", "Noto Sans", sans-serif; }
.hyperspan-page h1 { font-size: 1.35rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
.hyperspan-page .about { margin: -.7rem 0 1rem; color: var(--soft); font-size: .82rem; overflow-wrap: anywhere; }
.hyperspan { background: var(--page); color: var(--ink); font: 1.06rem/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; margin: 0 0 1.5rem; padding: .2rem 0 1rem; border-bottom: 1px solid var(--rule); text-align: start; }
.hyperspan:last-child { border-bottom: 0; }
.hyperspan h2 { font-size: .95rem; font-weight: 600; margin: 0 0 .5rem; color: var(--soft); overflow-wrap: anywhere; }
.hyperspan .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: 0 0 .8rem; padding: 0; font-size: .82rem; }
.hyperspan .legend li { margin: 0; overflow-wrap: anywhere; }
.hyperspan .legend i { display: inline-block; width: 1.5em; height: .3em; margin-right: .45em; vertical-align: .2em; }
.hyperspan .legend small { color: var(--soft); }
.hyperspan .text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; line-height: 1.55em; }
.hyperspan .room { line-height: calc(1.55em + HEIGHT + RISE); vertical-align: calc((RISE - HEIGHT) / 2); }
.hyperspan .bars { position: relative; line-height: 1.55em; vertical-align: calc((HEIGHT - RISE) / 2); padding: RISE 0 calc(HEIGHT); background-repeat: no-repeat; }
.hyperspan .bars:hover { background-color: var(--touched); }
.hyperspan b { position: absolute; font: 600 SIZE/1.2 system-ui, "Segoe UI", "Noto Sans", sans-serif; max-width: 16em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; unicode-bidi: isolate; user-select: none; }
.hyperspan .text { container-type: inline-size; }
.hyperspan b::before { content: attr(data-label); }
@container (min-width: 36rem) { .hyperspan .narrow { display: none; } }
.hyperspan .note { color: var(--soft); font-size: .85rem; margin: .5rem 0 0; }
.hyperspan details { margin-top: .7rem; font-size: .85rem; }
.hyperspan summary { cursor: pointer; color: var(--soft); width: fit-content; }
.hyperspan table { border-collapse: collapse; margin-top: .4rem; }
.hyperspan th, .hyperspan td { text-align: start; vertical-align: top; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; font-variant-numeric: tabular-nums; background: none; color: inherit; }
.hyperspan h2, .hyperspan .legend { break-after: avoid; }
@media print { .hyperspan * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } .hyperspan details:not([open]) { display: none; } }
"""


def style_sheet() -> str:
    """The complete CSS."""
    light, dark = ("".join(f"--c{i}: {colour}; " for i, colour in enumerate(tones)) for tones in (PALETTE, DARK))
    light += "--page: #fff; --ink: #1c1c1e; --soft: #5c5c63; --rule: #dcdce0; --touched: #0000000d;"
    dark += "--page: #17181b; --ink: #ececf0; --soft: #a8a8b0; --rule: #3a3b40; --touched: #ffffff14;"
    filled = STYLE.replace("LIGHT_COLOURS", light).replace("DARK_COLOURS", dark)
    filled = filled.replace("HEIGHT", f"(var(--n) * {LANE}em + {GAP}em)").replace("RISE", "var(--a, 0em)")
    return filled.replace("SIZE", f"{LABEL_SIZE}em")


ERRORS_STYLE = """\
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
        return style_sheet() + ERRORS_STYLE + images
    return (
        f"{style_sheet()}{ERRORS_STYLE}{images}.difference:is({hidden}) {{ display: none; }}\n"
        f".report main article:not(:has(.difference:not({hidden}))) {{ display: none; }}\n"
    )
