"""UIMA CAS XMI, the documents of INCEpTION: annotations are inserted, and the rest stays as it is, byte for byte.

An annotation is an element before the view of its text, and its id is among the members of the view. Offsets count
UTF-16 code units, and an annotation is one span.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from hyperspan.corpora.markup import parse, parser_of, tree_of
from hyperspan.errors import InputError, quoted

XMI, CAS = "http://www.omg.org/XMI", "http:///uima/cas.ecore"
STRING = "uima.cas.String"
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_TAG = re.compile(rb"<[^\s/>]+")
_MEMBERS = re.compile(rb"\smembers\s*=\s*[\"']")


class CasXmi:
    """A document, and its text.

    >>> sofa = '<cas:Sofa xmi:id="1" sofaID="_InitialView" sofaString="Oz"/><cas:View sofa="1" members=""/>'
    >>> cas = CasXmi(f'<xmi:XMI xmlns:cas="{CAS}" xmlns:xmi="{XMI}">{sofa}</xmi:XMI>')
    >>> written = cas.with_annotations("my.Place", [{"begin": 0, "end": 2, "value": "GPE"}])
    >>> print(cas.text, *written.split("<")[3:5], sep="\\n")
    Oz
    hyperspan:Place xmi:id="2" sofa="1" begin="0" end="2" value="GPE"/>
    cas:View sofa="1" members="2 "/>
    """

    def __init__(self, xmi: str):
        self._root, self._end, self._next, self._prefix = -1, 0, 1, ""
        self._own = "hyperspan"
        """A prefix that the document does not declare, for the namespace of the layer."""
        self._views: dict[str, tuple[int, bool]] = {}
        """By the id of a sofa: the place of its view, and whether the view has members."""
        self._texts: dict[str, tuple[str, str]] = {}
        """By the name of a sofa: its id, and its text."""
        self._parser = parser_of("the document", " ")
        self._parser.StartNamespaceDeclHandler = self._declare
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._close
        parse(self._parser, xmi, "the document")
        self._content = xmi.encode()
        if not self._texts or not self._prefix:
            raise InputError("the document has no text; send the XMI of a CAS whose <cas:Sofa> has a sofaString")
        self._sofa, self.text = self._texts.get("_InitialView", next(iter(self._texts.values())))

    def with_annotations(self, layer: str, annotations: Sequence[Mapping[str, Any]]) -> str:
        """The document with more annotations of a layer, each given by its features."""
        package, _, kind = layer.rpartition(".")
        namespace = f"http:///{package.replace('.', '/')}.ecore" if package else "http:///uima/noNamespace.ecore"
        ids = [str(self._next + index) for index in range(len(annotations))]
        written = [
            f"<{self._own}:{kind} "
            + " ".join(
                f"{name}={quoteattr(str(value))}"
                for name, value in {f"{self._prefix}:id": number, "sofa": self._sofa, **annotation}.items()
            )
            + "/>"
            for number, annotation in zip(ids, annotations, strict=True)
        ]
        content, root = self._content, _TAG.match(self._content, self._root)
        assert root is not None  # the parser was there
        parts = [content[: root.end()], f' xmlns:{self._own}="{namespace}"'.encode()]
        view, place, members = self._members(" ".join(ids))
        parts += [content[root.end() : view], "".join(written).encode(), content[view:place], members, content[place:]]
        return b"".join(parts).decode()

    def _members(self, ids: str) -> tuple[int, int, bytes]:
        """Where annotations are inserted, and where what adds them to the view."""
        if self._sofa not in self._views:
            return self._end, self._end, f'<cas:View xmlns:cas="{CAS}" sofa="{self._sofa}" members="{ids}"/>'.encode()
        view, has_members = self._views[self._sofa]
        found = _MEMBERS.search(self._content, view) if has_members else _TAG.match(self._content, view)
        assert found is not None  # the parser was there
        return view, found.end(), (f"{ids} " if has_members else f' members="{ids}"').encode()

    def _declare(self, prefix: str | None, namespace: str) -> None:
        self._prefix = self._prefix or (prefix or "" if namespace == XMI else "")
        if prefix and prefix.startswith(self._own):
            self._own = f"{prefix}1"

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._root = self._root if self._root >= 0 else self._parser.CurrentByteIndex
        number = attributes.get(f"{XMI} id", "")
        if number.isdecimal():
            self._next = max(self._next, int(number[:18]) + 1)
            if name == f"{CAS} Sofa" and "sofaString" in attributes:
                self._texts.setdefault(attributes.get("sofaID", ""), (number, attributes["sofaString"]))
        if name == f"{CAS} View":
            self._views[attributes.get("sofa", "")] = self._parser.CurrentByteIndex, "members" in attributes

    def _close(self, _: str) -> None:
        self._end = self._parser.CurrentByteIndex


def features_of(type_system: str, layer: str, feature: str) -> set[str]:
    """The features of a layer, with those of the types above it; an InputError if `feature` is no string of it."""
    types = {
        tag.findtext("name", "").strip(): tag for tag in tree_of(type_system, "the type system").iter("typeDescription")
    }
    if layer not in types or not _NAME.fullmatch(layer):
        raise InputError(f"the type system has no type {quoted(layer)}; choose a layer of the project")
    kinds: dict[str, str] = {}
    while layer in types:
        tag = types.pop(layer)
        for about in tag.iter("featureDescription"):
            kinds.setdefault(about.findtext("name", "").strip(), about.findtext("rangeTypeName", "").strip())
        layer = tag.findtext("supertypeName", "").strip()
    if kinds.get(feature) != STRING or not _NAME.fullmatch(feature):
        raise InputError(
            f"the layer has no feature {quoted(feature)} of type {STRING}, as a label needs; choose another"
        )
    return set(kinds)
