"""JSON of texts with their mentions as strings, without offsets, as language models write it::

    {"text": "Ada left the Seattle zoo.", "entities": [{"text": "Ada", "label": "PER"}]}
    {"text": "Ada left the Seattle zoo.", "entities": {"PER": ["Ada"], "GPE": ["Seattle"]}}

Each string is read as a mention wherever the text has it as whole words. An object may state one place: the one nearest
to its "start", or its "occurrence", counted from 1. Strings that are nowhere are left out and listed. Objects with
"start" and "end" alone are mentions there, so that all the usual JSON with offsets is read, too.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.json_records import (
    NO_PROBABILITY,
    Record,
    as_object,
    finite_of,
    id_of,
    is_probability,
    number_of,
    records_in,
    shown,
    text_of,
)
from hyperspan.corpora.json_values import json_values
from hyperspan.corpora.jsonl import looks_like_jsonl
from hyperspan.corpora.occurrences import Occurrences, occurrences
from hyperspan.corpora.prodigy import looks_like_prodigy
from hyperspan.corpora.source import LEAVE_OUT, Problems, Source, WrongRecordError
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention, Span

TEXTS = ("text", "sentence", "content", "input", "document", "passage")
"""Keys of the text; the first that a record has counts, also of the following."""
MENTIONS = ("entities", "mentions", "annotations", "labels", "label", "ner", "output", "spans")
STRINGS = ("text", "mention", "word", "span", "surface", "string", "phrase", "entity", "name")
LABELS = ("label", "type", "entity_type", "entity_group", "category", "class", "tag")
SCORES = ("probability", "score", "confidence")
WRITTEN = ("[", "{", "```")
"""How mentions begin that are a text of JSON, perhaps as a block of Markdown."""
MOST_LISTED = 20
"""How many of the strings that are not found are listed."""


@dataclass(frozen=True)
class Stated:
    """A mention as it is stated: by its string, by its place, or by both."""

    label: str
    string: str = ""
    start: int | None = None
    end: int | None = None
    occurrence: int | None = None
    probability: float | None = None
    line: int | None = field(default=None, repr=False)
    """Where it is stated, if not where its record begins."""


@dataclass
class Unfound:
    """The strings that are not in their texts, with where they are stated."""

    problems: Problems
    strings: list[str] = field(default_factory=list)

    def add(self, stated: Stated, place: int | str) -> None:
        self.strings.append(f"{shown(stated.string)} ({stated.label}, line {place})")

    def report(self) -> None:
        """Note them together."""
        if self.strings:
            rest = len(self.strings) - MOST_LISTED
            listed = ", ".join(self.strings[:MOST_LISTED]) + (f" and {rest:,} more" if rest > 0 else "")
            self.problems.note(f"mention left out because its text does not have it: {listed}", len(self.strings))


def read_strings(source: Source, problems: Problems, *, complete: bool = True) -> Iterator[Document]:
    """Read the documents of a file. With ``complete=False`` only what it lists is certain, and the rest unknown.

    >>> import io
    >>> line = b'{"text": "Ada saw the zoo. Ada left.", "entities": {"PER": ["ada"], "ORG": ["Acme"]}}'
    >>> problems = Problems()
    >>> [document] = read_strings(Source("made.json", stream=io.BytesIO(line)), problems)
    >>> sorted((mention.span, mention.label) for mention in document.mentions)
    [((0, 3), 'PER'), ((17, 20), 'PER')]
    >>> print("\\n".join(problems.notes))
    mention found with other case or quotation marks
    string that its text has more than once read as a mention at each place
    mention left out because its text does not have it: "Acme" (ORG, line 1)
    """
    unfound, labels = Unfound(problems), set[str]()

    def build(value: object, line: int | str) -> Document:
        record = as_object(value, "of the file")
        keys = [next((key for key in known if key in record), known[0]) for known in (TEXTS, MENTIONS)]
        text = text_of(record, keys[0])
        mentions = placed(text, list(stated_in(record.get(keys[1]) or [])), line, problems, unfound)
        labels.update(mention.label for mention in mentions)
        rest = {key: value for key, value in record.items() if key not in (*keys, "id")}
        scope = None if complete else NOTHING_ANNOTATED
        return Document(text, mentions, id=id_of(record.get("id")), metadata=rest, annotated=scope)

    for line, value in json_values(source, problems):
        yield from problems.tried(source, line, build, value, line, remedy=LEAVE_OUT.format("record"))
    unfound.report()
    for alike in _differing_in_case(labels):
        problems.note(f"labels that differ in case alone and are types of their own: {', '.join(alike)}")


def _differing_in_case(labels: Iterable[str]) -> Iterator[list[str]]:
    by_name: dict[str, list[str]] = {}
    for label in sorted(labels):
        by_name.setdefault(label.casefold(), []).append(label)
    yield from (alike for alike in by_name.values() if len(alike) > 1)


def looks_like_strings(head: str) -> bool:
    """Whether the records have a text with strings that have labels, or with offsets under usual names.

    >>> looks_like_strings('{"text": "Ada left.", "entities": [{"text": "Ada", "label": "PER"}]}')
    True
    """
    for record in records_in(head):
        key = next((key for key in MENTIONS if record.get(key)), None)
        if not any(isinstance(record.get(one), str) for one in TEXTS):
            return False
        if key is not None:
            others = looks_like_jsonl(head) or looks_like_prodigy(head)
            return _may_be_stated(record[key]) and not others
        if not any(key in record for key in MENTIONS):
            return False
    return False


def _may_be_stated(value: object) -> bool:
    if isinstance(value, str):
        return value.lstrip().startswith(WRITTEN)
    if isinstance(value, dict):
        return all(isinstance(one, list) and all(isinstance(item, str) for item in one) for one in value.values())
    return isinstance(value, list) and all(_is_item(item) or _is_pair(item) for item in value)


def _is_item(item: object) -> bool:
    """Whether a value is an object with a label, and with a string or a place."""
    return (
        isinstance(item, dict)
        and any(isinstance(item.get(key), str) for key in LABELS)
        and "start_offset" not in item
        and ({"start", "end"} <= item.keys() or any(isinstance(item.get(key), str) for key in STRINGS))
    )


def _is_pair(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(part, str) for part in item)


def stated_in(value: Any, label: str = "") -> Iterator[Stated]:
    """The mentions that a value states: a list of them, or lists by label; `label` is that of items without one.

    >>> [one.string for one in stated_in({"PER": ["Ada", "Bo"], "GPE": "Oz"})], list(stated_in([[0, 3, "PER"]]))
    (['Ada', 'Bo', 'Oz'], [Stated(label='PER', string='', start=0, end=3, occurrence=None, probability=None)])
    """
    if isinstance(value, str) and label:
        yield Stated(label, value)
    elif isinstance(value, str) and value.lstrip().startswith(WRITTEN):
        yield from stated_in(_literal(value))
    elif isinstance(value, Mapping) and not _is_item(value):
        for name, inner in value.items():
            yield from stated_in(inner, "" if name in MENTIONS and not isinstance(inner, str) else str(name))
    elif isinstance(value, Mapping):
        yield _item(dict(value), label)
    elif _is_pair(value) and not label:
        yield Stated(value[1], value[0])
    elif isinstance(value, list | tuple) and [type(part) for part in value] == [int, int, str]:
        yield Stated(str(value[2]), start=int(value[0]), end=int(value[1]))
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for item in value:
            yield from stated_in(item, label)
    else:
        raise WrongRecordError(
            f'a mention is {shown(value)}, but an object with "text" and "label" is expected, or lists of strings by label'
        )


def _literal(text: str) -> Any:
    """The value of a text that is JSON or a literal of Python, as in cells of tables and in answers of models."""
    if (block := text.strip()).startswith("```"):
        text = block.partition("\n")[2].removesuffix("```")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise WrongRecordError(f"the mentions are {shown(text)}, which is no JSON; correct them") from None


def _item(item: Record, label: str) -> Stated:
    """A mention of an object."""
    named = next((key for key in LABELS if key in item), None)
    string = next((item[key] for key in STRINGS if isinstance(item.get(key), str)), "")
    score = next((finite_of(item, key) for key in SCORES if key in item), None)
    places = {
        key: number_of(item, key) if item.get(key) is not None else None for key in ("start", "end", "occurrence")
    }
    if not string and None in (places["start"], places["end"]):
        raise WrongRecordError(f'a mention has the keys {", ".join(map(shown, item))}, but needs a "text" or a place')
    return Stated(text_of(item, named) if named else label, string, **places, probability=score)


def placed(
    text: str, stated: Sequence[Stated], place: int | str, problems: Problems, unfound: Unfound
) -> list[Mention]:
    """The mentions that are stated, at their places in the text."""
    found = occurrences(text, (one.string for one in stated if one.string))
    mentions: list[Mention] = []
    for one in stated:
        if one.probability is not None and not is_probability(one.probability):
            problems.note(NO_PROBABILITY)
            one = replace(one, probability=None)
        spans = list(_spans(one, text, found.get(one.string, Occurrences()), problems))
        if not spans:
            unfound.add(one, one.line or place)
        mentions += [Mention(*span, one.label, probability=one.probability) for span in spans]
    return list(dict.fromkeys(trimmed(mentions, text, problems)))


def _spans(one: Stated, text: str, found: Occurrences, problems: Problems) -> Iterable[Span]:
    """Where a stated mention is."""
    if one.start is not None and one.end is not None:
        if not 0 <= one.start < one.end <= len(text):
            if not one.string:
                raise WrongRecordError(
                    f"a mention is at {one.start}:{one.end}, but the text has {len(text)} characters; `end` is exclusive",
                    one.line,
                )
        elif one.string in ("", text[one.start : one.end]):
            return [(one.start, one.end)]
    if found.spans and found.unlike:
        problems.note(f"mention found with {found.unlike}")
    if one.occurrence is not None:
        return found.spans[one.occurrence - 1 : one.occurrence] if one.occurrence > 0 else ()
    if one.start is not None and found.spans:
        start = one.start
        nearest = min(found.spans, key=lambda span: abs(span[0] - start))
        if nearest[0] != start or one.end is not None:
            problems.note("mention moved to the nearest place where the text has it")
        return [nearest]
    if len(found.spans) > 1:
        problems.note("string that its text has more than once read as a mention at each place")
    return found.spans
