"""The style sheet of pages: sizes, and colours for light, dark and print."""

from __future__ import annotations

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
