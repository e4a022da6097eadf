"""Partial annotation in brat: text-bounds of three labels, an attribute and a note::

    T3	GPE 0 3	Ada
    A1	Forbidden T3
    T4	ANNOTATED 0 25	Ada left the Seattle zoo.
    #1	AnnotatorNotes T4	types=PER,GPE

T3 is no GPE. All mentions inside T4 of the types in its note are listed; without a note, of all types. For the labels
``NO_MENTION`` and ``ONLY_SURE`` see :mod:`hyperspan.corpora.marking`. Regions must agree in their types.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from attrs import evolve

from hyperspan.corpora.documents import without_space
from hyperspan.corpora.marking import MarkLabels, forbidden_marks, regions_of, scope_of
from hyperspan.corpora.source import WrongRecordError
from hyperspan.types import ANY_LABEL, AnnotationScope, Document, Mention, Span

ATTRIBUTE = "Forbidden"
_LABELLED = re.compile(r"(T[^ \t]+)\t([^ \t]+) ")
_FORBIDDEN = re.compile(rf"[AM][^ \t]+\t{ATTRIBUTE} (T[^ \t]+)[ \t]*")
_TYPES = re.compile(r"#[^\t]*\tAnnotatorNotes (T[^ \t]+)\ttypes *=(.*)")


class BratMarks:
    """The marks of partial annotation in an ``.ann`` file; empty without labels."""

    def __init__(self, lines: Iterable[str], labels: MarkLabels | None):
        self.labels = labels
        self.scope_types: frozenset[str] | None = None
        self.regions: list[Span] = []
        self.only_sure = False
        self.forbidden: dict[Mention, None] = {}
        self._ids: set[str] = set()
        self._types: dict[str, frozenset[str]] = {}
        self._lines: set[str] = set()
        if labels is not None:
            self._find(list(lines), labels)

    def _find(self, lines: Sequence[str], labels: MarkLabels) -> None:
        """Find the forbidden text-bounds and the types of regions; either may come before its text-bound."""
        kinds = {match[1]: match[2] for line in lines if (match := _LABELLED.match(line))}
        for line in lines:
            if (match := _FORBIDDEN.fullmatch(line)) and kinds.get(match[1], labels.region) not in labels:
                self._ids.add(match[1])
                self._lines.add(line)
            elif (match := _TYPES.fullmatch(line)) and kinds.get(match[1]) == labels.region:
                named = frozenset(name for name in map(str.strip, match[2].split(",")) if name)
                self._types[match[1]] = named
                self._lines.add(line)

    def owns(self, line: str) -> bool:
        """Whether a line other than a text-bound is one of these marks."""
        return line in self._lines

    def is_forbidden(self, mention: Mention) -> bool:
        no_mention = self.labels is not None and mention.label == self.labels.no_mention
        return no_mention or mention.id in self._ids

    def forbid(self, found: Sequence[tuple[int, Mention]], listed: Set[Mention]) -> Iterator[tuple[int, str]]:
        """Add forbidden mentions, given with their lines; yield line and error for those that are also listed."""
        places = {evolve(mention, label=ANY_LABEL) for mention in listed} if found else set[Mention]()
        for number, mention in found:
            any_type = self.labels is not None and mention.label == self.labels.no_mention
            if any_type:
                mention = evolve(mention, label=ANY_LABEL)
            if mention in (places if any_type else listed):
                yield number, f"{mention.id} is no mention, but one is listed at the same place; remove one of the two"
            else:
                self.forbidden[mention] = None

    def takes(self, mention: Mention, text: str) -> bool:
        """Whether a text-bound marks a region or "only sure" annotation."""
        if self.labels is None or mention.label not in (self.labels.region, self.labels.only_sure):
            return False
        if mention.label == self.labels.only_sure:
            self.only_sure = True
            return True
        types = self._types.get(mention.id)
        if self.regions and types != self.scope_types:
            raise WrongRecordError(
                f"the region {mention.id} is annotated with {_listed(types)}, but an earlier one with {_listed(self.scope_types)}; "
                "give all regions of a document the same types"
            )
        self.scope_types = types
        self.regions += regions_of(mention, text)
        return True

    def scope(self, text: str) -> AnnotationScope | None:
        """The annotated scope; None if everything is annotated."""
        return scope_of(self.scope_types, self.regions, self.only_sure, text)


def _listed(types: frozenset[str] | None) -> str:
    return "all types" if types is None else f"types={','.join(sorted(types))}"


def unheld_marking(document: Document) -> str:
    """The part of a document's marking that these lines cannot express; empty if they can express all."""
    types = document.annotated.types if document.annotated is not None else None
    if any(re.search(r"[\s,]", name) or not name for name in types or ()):
        return "an annotated type is empty or holds white space or a comma"
    if any(re.search(r"\s", mention.label) or not mention.label for mention in document.forbidden):
        return "a forbidden mention has a label that is empty or holds white space"
    return ""


@dataclass
class WrittenMarks:
    """The text-bounds that mark a document, and the lines about them once they have ids."""

    document: Document
    labels: MarkLabels | None
    regions: list[Mention] = field(init=False, default_factory=list)
    forbidden: list[Mention] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.labels is None:
            return
        self.forbidden = forbidden_marks(self.document, self.labels)
        scope, text = self.document.annotated, self.document.text
        everywhere = without_space((0, len(text)), text) or (0, len(text))
        if scope is not None and scope.is_empty:
            self.regions = [Mention(*everywhere, self.labels.only_sure)]
        elif scope is not None:
            spans = (everywhere,) if scope.regions is None else scope.regions
            self.regions = [Mention(start, end, self.labels.region) for start, end in spans]

    @property
    def text_bounds(self) -> list[Mention]:
        return [*self.forbidden, *self.regions]

    def lines(self, named: Iterable[Mention], taken: Container[str]) -> Iterator[str]:
        """Yield the attributes and notes of the text-bounds, given with their ids; `taken` are ids of other lines."""
        labels, scope = self.labels or MarkLabels(), self.document.annotated
        attributes, notes = (_free(letter, taken) for letter in "A#")
        for mention in named:
            if mention.label == labels.region and scope is not None and scope.types is not None:
                yield f"{next(notes)}\tAnnotatorNotes {mention.id}\ttypes={','.join(sorted(scope.types))}"
            elif mention.label not in labels:
                yield f"{next(attributes)}\t{ATTRIBUTE} {mention.id}"


def _free(letter: str, taken: Container[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        if f"{letter}{number}" not in taken:
            yield f"{letter}{number}"
