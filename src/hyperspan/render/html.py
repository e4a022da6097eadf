"""Documents as a web page: text that wraps at any width, with an unbroken bar below it for each mention.

The page has no script and loads nothing. A table lists the same mentions for readers who do not see bars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from hyperspan.render.bars import Bar, Colours, bars_of, clean, excerpt, padding, probability, running_text
from hyperspan.render.layout import words_of
from hyperspan.render.page_style import style_sheet
from hyperspan.types import Document, SentenceAlternatives

THIN_NOTE = "Thin bars are mentions without room for a label. The table lists them."


def render_html(
    documents: Document | Iterable[Document], title: str = "hyperspan", labels: Iterable[str] = (), about: str = ""
) -> str:
    """Render documents as a self-contained HTML page, with a bar under the text of each mention.

    The given `labels` get the first colours, in their order. `about` is a line below the title that says how the page
    was made, for example from :func:`hyperspan.render.provenance.provenance`.

    >>> from hyperspan import Document, Mention, render_html
    >>> mentions = [Mention(0, 15, "FAC"), Mention(4, 11, "GPE", probability=0.9)]
    >>> page = render_html(Document("the Seattle zoo", mentions))
    >>> page.startswith("<!doctype html>") and "GPE 0.90: Seattle" in page
    True
    """
    return "".join(iter_html(documents, title, labels, about))


def iter_html(
    documents: Document | Iterable[Document], title: str = "hyperspan", labels: Iterable[str] = (), about: str = ""
) -> Iterator[str]:
    """Yield the page of :func:`render_html` in parts, so that any number of documents fits into memory."""
    yield page_head(title, style_sheet(), about)
    colours = Colours(labels)
    for document in [documents] if isinstance(documents, Document) else documents:
        yield from _article(document, colours)
    yield "</body>\n</html>\n"


def page_head(title: str, style: str, about: str = "") -> str:
    """The beginning of a page, up to its title and how it was made."""
    shown = escape(clean(title))
    line = f'<p class="about">{escape(clean(about))}</p>\n' if about else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{shown}</title>\n<style>\n{style}</style>\n</head>\n<body class="hyperspan-page">\n<h1>{shown}</h1>\n{line}'
    )


def html_fragment(document: Document, labels: Iterable[str] = ()) -> str:
    """Render one document with its style sheet, for inclusion in another page, such as a notebook.

    >>> html_fragment(Document("2 < 3")).endswith('<div class="text" lang="">2 &lt; 3</div></article>\\n')
    True
    """
    return f"<style>\n{style_sheet()}</style>\n{''.join(_article(document, Colours(labels)))}"


def _article(document: Document, colours: Colours) -> Iterator[str]:
    text = clean(document.text)
    counts = Counter(mention.label for mention in document.mentions)
    colours.add(sorted(counts))
    name = f' aria-label="{escape(clean(document.id))}"' if document.id else ""
    yield f'<article class="hyperspan"{name}>'
    if document.id:
        yield f"<h2>{escape(clean(document.id))}</h2>"
    if counts:
        yield '<ul class="legend" aria-label="Labels">'
        for label in sorted(counts, key=colours.numbers.__getitem__):
            sample = f'<i style="background-image:{colours.image(label)}"></i>'
            yield f"<li>{sample}{escape(clean(label))} <small>{counts[label]:,}</small></li>"
        yield "</ul>"
    bars = bars_of(text, document.mentions)
    yield f'<div class="text" lang=""{padding(text, bars)}>'
    yield from running_text(text, bars, colours)
    yield "</div>"
    if any(bar.place.height < 1 for bar in bars):
        yield f'<p class="note">{THIN_NOTE}</p>'
    yield from _table(text, bars)
    yield from _alternatives(text, document.alternatives or ())
    yield "</article>\n"


def _table(text: str, bars: Sequence[Bar]) -> Iterator[str]:
    """The mentions as a table with numbers, for screen readers and keyboard users."""
    if not bars:
        return
    count = f"{len(bars):,} mention{'s' if len(bars) > 1 else ''}"
    yield f"<details><summary>{count}</summary><table><thead><tr>"
    yield '<th scope="col">Mention<th scope="col">Label<th scope="col">Probability<th scope="col">Characters</thead><tbody>'
    for bar in sorted(bars, key=lambda bar: (bar.mention.start, -bar.mention.end, bar.label)):
        places = ", ".join(f"{start}–{end}" for start, end in bar.mention.parts)
        yield f"<tr><td><bdi>{escape(excerpt(bar.mention, text))}</bdi><td>{escape(bar.label)}"
        yield f"<td>{probability(bar.mention) or '–'}<td>{places}"
    yield "</tbody></table></details>"


def _alternatives(text: str, alternatives: Iterable[SentenceAlternatives]) -> Iterator[str]:
    """The best sets of each sentence."""
    if shown := "".join(_sets(text, one) for one in alternatives):
        yield f"<details><summary>Alternatives</summary>{shown}</details>"


def _sets(text: str, alternatives: SentenceAlternatives) -> str:
    rows: list[str] = []
    for ranked in alternatives.sets:
        named = [
            f"<bdi>{escape(clean(words_of(one)))}</bdi> <i>{escape(clean(one.label))}</i>" for one in ranked.mentions
        ]
        rows.append(f"<tr><td>{ranked.probability:.3f}<td>{' · '.join(named) or 'no mentions'}")
    words = escape(text[alternatives.start : alternatives.end])
    return f"<p><bdi>{words}</bdi></p><table><tbody>{''.join(rows)}</tbody></table>"
