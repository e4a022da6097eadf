"""XML of strangers: without entities of its own, and without anything from elsewhere."""

from __future__ import annotations

from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from hyperspan.errors import InputError, quoted

LARGEST_TREE = 1_000_000
"""The maximum number of characters of XML that is held as a tree."""


def parser_of(what: str, namespaces: str | None = None) -> expat.XMLParserType:
    """A parser to add handlers to. With `namespaces`, it separates each name from its namespace."""

    def refuse(name: str, *_: object) -> NoReturn:
        raise InputError(f"{what} declares or uses the entity {quoted(name)}; write its value in place of it")

    parser = expat.ParserCreate("utf-8", namespaces)
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refuse
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
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    parse(parser, content, what)
    return builder.close()
