"""XML of strangers: without declarations of its own, and without anything from elsewhere."""

from __future__ import annotations

from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from hyperspan.errors import InputError

LARGEST_TREE = 1_000_000
"""The maximum number of characters of XML that is held as a tree."""
DEEPEST_TREE = 100
"""The maximum depth of such a tree: those who search within what they have found visit an element this often."""


def parser_of(what: str, namespaces: str | None = None) -> expat.XMLParserType:
    """A parser to add handlers to. With `namespaces`, it separates each name from its namespace."""

    def refuse(name: str, *_: object) -> NoReturn:
        raise InputError(
            f"{what} has a <!DOCTYPE {name[:60]}>, which can declare entities and attributes; leave it out"
        )

    parser = expat.ParserCreate("utf-8", namespaces)
    parser.StartDoctypeDeclHandler = refuse
    return parser


def parse(parser: expat.XMLParserType, content: str, what: str) -> None:
    """Parse the whole content in one go, so that `CurrentByteIndex` is its place in UTF-8."""
    try:
        parser.Parse(content.encode(), True)
    except UnicodeEncodeError:
        raise InputError(f"{what} has half of a character; send whole ones") from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{what} is not well-formed XML ({reason} in line {error.lineno}); correct it") from None


def tree_of(content: str, what: str) -> ElementTree.Element:
    """The root of XML; prefixes stay parts of the names.

    >>> [label.get("value") for label in tree_of('<View><Label value="a&amp;b"/></View>', "the sample")]
    ['a&b']
    """
    if len(content) > LARGEST_TREE:
        raise InputError(f"{what} has {len(content):,} characters, but {LARGEST_TREE:,} are the most; shorten it")
    parser, builder = parser_of(what), ElementTree.TreeBuilder()
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_TREE:
            raise InputError(f"{what} is nested deeper than {DEEPEST_TREE} elements; flatten it")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parse(parser, content, what)
    return builder.close()
