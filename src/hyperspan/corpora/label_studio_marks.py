"""Partial annotation in Label Studio: labels, a note on regions, and choices for the whole text.

See :mod:`hyperspan.corpora.label_studio` and :mod:`hyperspan.corpora.marking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from attrs import evolve

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.json_records import Record, strings_of, value_of
from hyperspan.corpora.marking import MarkLabels, forbidden_marks, scope_of
from hyperspan.corpora.source import Problems, WrongRecordError
from hyperspan.types import ANY_LABEL, Document, Mention, Span

TYPES_NAME = "annotated_types"
"""The name of the <Choices> tag."""
FORBIDDEN_NOTE = "forbidden"


def is_forbidden(region: Mapping[str, Any]) -> bool:
    """Whether a region has the note "forbidden", which people type into its details in Label Studio.

    >>> is_forbidden({"meta": {"text": ["Forbidden"]}})
    True
    """
    meta = region.get("meta")
    notes = meta.get("text") if isinstance(meta, dict) else None
    listed = notes if isinstance(notes, list) else [notes]
    return any(isinstance(note, str) and note.strip().lower() == FORBIDDEN_NOTE for note in listed)


class LabelStudioMarks:
    """The marks of partial annotation in the results of an annotation; empty without labels."""

    def __init__(self, labels: MarkLabels | None):
        self.labels = labels
        self.types: frozenset[str] | None = None
        self.regions: list[Span] = []
        self.only_sure = False
        self.forbidden: list[Mention] = []

    def takes_types(self, result: Record) -> bool:
        """Whether a result lists the annotated types or marks "only sure" annotation."""
        if self.labels is None or result.get("type") != "choices" or result.get("from_name") != TYPES_NAME:
            return False
        chosen = frozenset(strings_of(value_of(result, "value", dict, "an object"), "choices"))
        self.only_sure = self.labels.only_sure in chosen
        if self.only_sure and len(chosen) > 1:
            raise WrongRecordError(
                f'the choices "{TYPES_NAME}" are {self.labels.only_sure} and types, but only one of the two is expected'
            )
        self.types = None if self.only_sure else chosen
        return True

    def takes(self, mention: Mention, forbidden: bool) -> bool:
        """Whether a label of a region is a mark rather than a mention; `forbidden`: the region has the note."""
        if self.labels is None:
            return False
        if mention.label == self.labels.region:
            self.regions.append(mention.span)
        elif mention.label == self.labels.only_sure:
            self.only_sure = True
        elif mention.label == self.labels.no_mention:
            self.forbidden.append(evolve(mention, label=ANY_LABEL))
        elif forbidden:
            self.forbidden.append(mention)
        else:
            return False
        return True

    def marking(self, text: str) -> dict[str, Any]:
        """The fields on partial annotation of a document with this text."""
        return {
            "annotated": scope_of(self.types, self.regions, self.only_sure, text),
            "forbidden": trimmed(self.forbidden, text, Problems()),
        }


def unheld_marking(document: Document) -> str:
    """The part of a document's marking that results cannot express; empty if they can express all."""
    if any(mention.fragments for mention in document.forbidden):
        return "a forbidden mention is discontinuous"
    return ""


def mark_results(document: Document, labels: MarkLabels, names: Record, taken: set[str]) -> Iterator[Record]:
    """The results that mark partial annotation, with ids that are not taken."""
    used = set(taken)
    numbered = (f"mark-{number}" for number in count(1))

    def free(wanted: str = "") -> str:
        name = wanted if wanted and wanted not in used else next(name for name in numbered if name not in used)
        used.add(name)
        return name

    scope = document.annotated
    regions = [Mention(start, end, labels.region) for start, end in (scope.regions or () if scope is not None else ())]
    for mention in (*forbidden_marks(document, labels), *regions):
        covered = document.text[mention.start : mention.end]
        value = {"start": mention.start, "end": mention.end, "text": covered, "labels": [mention.label]}
        meta = {} if mention.label in labels else {"meta": {"text": [FORBIDDEN_NOTE]}}
        yield {"id": free(mention.id), **names, "type": "labels", "value": value, **meta}
    if scope is not None and scope.types is not None:
        chosen = {"choices": sorted(scope.types) or [labels.only_sure]}
        yield {
            "id": free(),
            "from_name": TYPES_NAME,
            "to_name": names["to_name"],
            "type": "choices",
            "value": chosen,
        }
