"""Documents as a web page: text that wraps at any width, with an unbroken bar below it for each mention.

The page has no script and loads nothing. A table lists the same mentions for readers who do not see bars.
A line says how it was made: model, selection of mentions, version, day. Notebooks show the same without the page.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path, PurePath

from hyperspan import __version__
from hyperspan.corpora.documents import by_characters
from hyperspan.errors import InputError
from hyperspan.render.bars import bars_of, clean, excerpt, left_out, padding, probability, running_text
from hyperspan.render.layout import Colours, spaced_text, words_of
from hyperspan.render.style import style_sheet
from hyperspan.runtime.options import ANY_LABEL, DEFAULT_THRESHOLD
from hyperspan.types import Document, Mention, Sentence, SentenceAlternatives, longest_first

THIN_NOTE = "Thin bars are mentions without room for a label. The table lists them."


def render_html(
    documents: Document | Iterable[Document], title: str = "hyperspan", labels: Iterable[str] = (), about: str = ""
) -> str:
    """Render documents as a self-contained HTML page, with a bar under the text of each mention.

    The given `labels` get the first colours, in their order. `about` is a line below the title that says how the page
    was made, for example from :func:`hyperspan.render.html.provenance`.

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
    yield left_out(len(document.mentions) - len(bars), " The table lists them.")
    yield from _table(text, document.mentions)
    yield from _alternatives(text, document.alternatives or ())
    yield "</article>\n"


def _table(text: str, mentions: Collection[Mention]) -> Iterator[str]:
    """The mentions as a table with numbers, for screen readers and keyboard users."""
    if not mentions:
        return
    count = f"{len(mentions):,} mention{'s' if len(mentions) > 1 else ''}"
    yield f"<details><summary>{count}</summary><table><thead><tr>"
    yield '<th scope="col">Mention<th scope="col">Label<th scope="col">Probability<th scope="col">Characters</thead><tbody>'
    for mention in sorted(mentions, key=longest_first):
        places = ", ".join(f"{start}–{end}" for start, end in mention.parts)
        yield f"<tr><td><bdi>{escape(excerpt(mention, text))}</bdi><td>{escape(clean(mention.label))}"
        yield f"<td>{probability(mention) or '–'}<td>{places}"
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


def today() -> str:
    """The day in UTC; that of SOURCE_DATE_EPOCH if set, so that the same input gives the same file."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given.isdecimal() else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):  # which one depends on the system
        raise InputError(
            f"SOURCE_DATE_EPOCH is {given:.40}, which is no day before the year 10000; give seconds since 1970, or unset it"
        ) from None
    return moment.date().isoformat()


def shown_name(path: str) -> str:
    """The last part of a path; of a relative path to a folder, such as ``.``, the name of that folder.

    >>> shown_name("runs/mine"), shown_name("genia"), shown_name("runs/mine/seed-1/..")
    ('mine', 'genia', 'mine')
    """
    name = PurePath(path).name
    return name if name not in ("", "..") else Path(path).resolve().name or path


def chosen_by(thresholds: Mapping[str, float] | None) -> str:
    """How mentions were chosen.

    >>> chosen_by(None), chosen_by({"*": 0.3, "DNA": 0.1})
    ('the most probable set', 'every mention at least this probable: 0.3, DNA 0.1')
    """
    if thresholds is None:
        return "the most probable set"
    others = thresholds.get(ANY_LABEL, DEFAULT_THRESHOLD)
    named = (f"{label} {least:g}" for label, least in thresholds.items() if label != ANY_LABEL)
    return f"every mention at least this probable: {', '.join([f'{others:g}', *named])}"


def provenance(
    model: str,
    threshold: Mapping[str, float] | None = None,
    types: Iterable[str] | None = None,
    constraints: int = 0,
    day: str = "",
    *,
    names: bool = False,
    pronouns: bool = True,
    promise: str = "",
) -> str:
    """The sentence below the title of a page on how it was made.

    >>> provenance("genia", {"*": 0.3, "DNA": 0.1}, day="2026-11-16").replace(__version__, "1.0")
    'Model genia; every mention at least this probable: 0.3, DNA 0.1; hyperspan 1.0; 2026-11-16.'
    """
    said = [f"Model {shown_name(model)}", chosen_by(threshold), *([promise] if promise else [])]
    if labels := ", ".join(types or ()):
        said.append(f"types {labels}")
    if names:
        said.append("names alone")
    if not pronouns:
        said.append("without pronouns")
    if constraints:
        said.append(f"{constraints} constraint{'s' if constraints > 1 else ''}")
    return "; ".join([*said, f"hyperspan {__version__}", day or today()]) + "."


MAX_CHARACTERS = 20_000
"""The maximum number of characters shown. A notebook stores all its output, and large pages slow the browser down."""


def document_html(document: Document) -> str:
    """The document with its mentions; only the beginning of a long one, with a note.

    >>> html = document_html(Document("two zoos " * 5000))
    >>> html.endswith("the first 20,000 of 45,000 characters; render_html shows all</p>\\n")
    True
    """
    if len(document.text) <= MAX_CHARACTERS:
        return html_fragment(document)
    inside = [mention for mention in document.mentions if mention.end <= MAX_CHARACTERS]
    shown = html_fragment(Document(document.text[:MAX_CHARACTERS], inside, id=document.id))
    return f"{shown}<p>the first {MAX_CHARACTERS:,} of {len(document.text):,} characters; render_html shows all</p>\n"


def sentence_html(sentence: Sentence) -> str:
    """The sentence with its mentions; tokens are separated by spaces unless their offsets show none."""
    text, offsets = spaced_text(sentence)
    visible = [mention for mention in sentence.mentions if offsets[mention.start][0] < offsets[mention.end - 1][1]]
    return html_fragment(Document(text, [by_characters(mention, offsets) for mention in visible]))
