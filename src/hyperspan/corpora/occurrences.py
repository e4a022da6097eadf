"""Find strings in a text, as whole words, where other white space, case and quotation marks are forgiven.

All strings are found at once: the words of the text are followed through a tree of the words of all strings. That takes
time linear in the text, whatever the strings are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hyperspan.kernels.libraries import call_once
from hyperspan.text.tokens import SPACE, units
from hyperspan.types import Span

if TYPE_CHECKING:
    import regex

MOST_WORDS = 100
"""A string of more words is taken as one that is not there."""
_ALIKE = str.maketrans("‘’‚“”„«»‐‑–—", '\'\'\'"""""----')
OTHER_SPACE, OTHER_CASE = "other white space", "other case or quotation marks"


@dataclass(frozen=True)
class Occurrences:
    """Where a string is in a text."""

    spans: tuple[Span, ...] = ()
    unlike: str = ""
    """How the text there differs from the string; empty if it does not."""


@dataclass
class _Branch:
    following: dict[str, _Branch] = field(default_factory=dict)
    spans: list[Span] | None = None
    """Where the string that ends here is in the text; None if none ends here."""


def occurrences(text: str, strings: Iterable[str]) -> dict[str, Occurrences]:
    """Where each string of a text is: as it is written or, if it is nowhere so, with other white space or case.

    Strings without words, or with more than a mention has, may be missing.

    >>> found = occurrences("The US told us: IL-2\\nbinds.", ["US", "il-2 binds", "bind"])
    >>> found["US"].spans, found["il-2 binds"], found["bind"].spans
    (((4, 6),), Occurrences(spans=((16, 26),), unlike='other case or quotation marks'), ())
    """
    root, ends = _Branch(), dict[str, _Branch]()
    for string in dict.fromkeys(strings):
        words = [word for word, _ in _words(string)]
        if 0 < len(words) <= MOST_WORDS:
            node = root
            for word in words:
                node = node.following.setdefault(word, _Branch())
            node.spans = []
            ends[string] = node
    _follow(root, list(_words(text)) if ends else [])
    return {string: _closest(string, text, node.spans or ()) for string, node in ends.items()}


def _follow(root: _Branch, words: Sequence[tuple[str, Span]]) -> None:
    """Note at the end of each string where it is."""
    for index, (_, (start, _)) in enumerate(words):
        node: _Branch | None = root
        for place in range(index, len(words)):
            word, (_, end) = words[place]
            node = node.following.get(word)
            if node is None:
                break
            if node.spans is not None:
                node.spans.append((start, end))


def _closest(string: str, text: str, spans: Sequence[Span]) -> Occurrences:
    """The spans that read as the string does, or as closely as any do."""
    string = string.strip()
    if exact := tuple(span for span in spans if text[slice(*span)] == string):
        return Occurrences(exact)
    plain = "".join(string.split())
    if spaced := tuple(span for span in spans if "".join(text[slice(*span)].split()) == plain):
        return Occurrences(spaced, OTHER_SPACE)
    return Occurrences(tuple(spans), OTHER_CASE if spans else "")


def _words(text: str) -> Iterator[tuple[str, Span]]:
    """The words and signs of a text as they are compared, with their places."""
    for match in _pattern().finditer(units(text)):
        start, end = match.span()
        yield text[start:end].translate(_ALIKE).casefold(), (start, end)


@call_once
def _pattern() -> regex.Pattern[str]:
    import regex  # slow to import and seldom needed

    return regex.compile(rf"[\p{{L}}\p{{N}}_][\p{{L}}\p{{M}}\p{{N}}_]*|[^{SPACE}]\p{{M}}*")
