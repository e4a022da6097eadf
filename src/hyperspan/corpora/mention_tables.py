"""Tables of mentions with their texts: CSV, TSV, and frames of pandas and Polars.

A row is a mention, and rows in a row with the same text are a document. A row without a label is a text without
mentions::

    id,text,start,end,label                       text,mention,label
    7,"Ada left Oz.",0,3,PER                      "Ada left Oz.",Ada,PER
    7,"Ada left Oz.",9,11,GPE                     "Ada left Oz.",Oz,GPE

Or a row is a text, with its mentions in one cell, as JSON or as a literal of Python::

    text,entities
    "Ada left Oz.","[(0, 3, 'PER'), (9, 11, 'GPE')]"

Columns are recognised by their usual names, and options name them. Mentions without offsets, or whose offsets are not
those of their string, are found as in :mod:`hyperspan.corpora.strings`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, islice
from typing import Any, Protocol

from hyperspan.corpora.json_records import shown
from hyperspan.corpora.source import LEAVE_OUT, Problems, Source, WrongRecordError
from hyperspan.corpora.strings import Stated, Unfound, placed, stated_in
from hyperspan.corpora.tables import COLUMNS, DELIMITERS, TableLines, first_row, rows_of
from hyperspan.errors import InputError
from hyperspan.types import Document

Row = Mapping[str, Any]
USUAL: dict[str, str] = {
    "text": "document_text sentence_text full_text context sentence passage text content abstract body note",
    "mention": "mention entity span surface mention_text entity_text span_text term string word text",
    "label": "label type entity_type entity_label mention_type category class tag ner",
    "start": "start begin start_offset start_char char_start begin_offset offset",
    "end": "end stop end_offset end_char char_end",
    "id": "id doc_id document_id text_id sentence_id doc document pmid",
    "probability": "probability score confidence",
    "entities": "entities mentions spans annotations annotation labels label ner",
}
"""The usual names of columns by what they hold; the first that a table has, and that nothing else has taken, counts."""


class Column(Protocol):
    """A column of a frame."""

    def to_list(self) -> list[Any]:
        """Its values as Python has them."""
        ...


class Frame(Protocol):
    """A table in memory, such as a DataFrame of pandas or Polars."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of its columns."""
        ...

    def __getitem__(self, name: Any, /) -> Column:
        """One of them."""
        ...


@dataclass(frozen=True)
class Names:
    """The columns of a table by what they hold; empty for none."""

    text: str = ""
    mention: str = ""
    label: str = ""
    start: str = ""
    end: str = ""
    id: str = ""
    probability: str = ""
    entities: str = ""

    @classmethod
    def among(cls, columns: Iterable[str], given: Mapping[str, str]) -> Names:
        """The columns that are given and, for the rest, those with usual names."""
        free = {"_".join(column.casefold().replace("-", " ").split()): column for column in columns}
        found = dict(given)
        free = {name: column for name, column in free.items() if column not in given.values()}
        for role, usual in USUAL.items():
            name = next((name for name in usual.split() if name in free), "")
            if name and role not in found and role != "entities":
                found[role] = free.pop(name)
        if not cls(**found).has_rows and "entities" not in found:
            known = {name: column for name, column in free.items() if name in USUAL["entities"].split()}
            found["entities"] = next(iter(known.values()), found.pop("label", ""))
        return cls(**found)

    @property
    def has_rows(self) -> bool:
        """Whether a row can be a mention."""
        return bool(self.text and self.label and (self.mention or (self.start and self.end)))


def read_table(
    source: Source,
    problems: Problems,
    *,
    text: str = "",
    mention: str = "",
    label: str = "",
    start: str = "",
    end: str = "",
    id: str = "",  # noqa: A002
    entities: str = "",
    inclusive: bool = False,
) -> Iterator[Document]:
    """Read the documents of a table. The options are the names of columns; with `inclusive` ends belong to mentions.

    >>> import io
    >>> rows = b"text,start,end,label\\nAda left Oz.,0,3,PER\\nAda left Oz.,9,11,GPE\\n"
    >>> [document] = read_table(Source("made.csv", stream=io.BytesIO(rows)), Problems())
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('Ada', 'PER'), ('Oz', 'GPE')]
    """
    given = {"text": text, "mention": mention, "label": label, "start": start, "end": end, "id": id}
    with source.open() as stream:
        lines = TableLines(source, stream)
        header = first_row(source.name, lines, "csv")

        def rows() -> Iterator[tuple[int, Row]]:
            for line, row in rows_of(lines, header):
                lines.take()
                for record in problems.tried(source, line, header.record, row, remedy=LEAVE_OUT.format("row")):
                    yield line, record

        names = _names(source.name, header.columns, given | {"entities": entities})
        yield from _documents(source, rows(), names, inclusive, problems)


def read_frame(
    frame: Frame, problems: Problems | None = None, *, inclusive: bool = False, **columns: str
) -> Iterator[Document]:
    """Yield the documents of a frame of pandas or Polars, read as a CSV file is.

    `columns` names those with other names than usual: text, mention, label, start, end, id or entities.

    >>> from hyperspan import read_frame
    >>> import pandas
    >>> frame = pandas.DataFrame({"text": ["Ada left."], "mention": ["Ada"], "label": ["PER"]})
    >>> [document.mentions for document in read_frame(frame)]
    [frozenset({Mention(0, 3, 'PER', text='Ada')})]
    """
    if unknown := columns.keys() - asdict(Names()).keys():
        raise InputError(f"{min(unknown)!r} is given as a column, but a table has {', '.join(asdict(Names()))}")
    source, names = Source("the frame"), [str(name) for name in frame.columns]
    values = zip(*(frame[name].to_list() for name in frame.columns), strict=True)
    rows = ((number, dict(zip(names, row, strict=True))) for number, row in enumerate(values, start=1))
    chosen = _names(source.name, names, columns)
    return _documents(source, rows, chosen, inclusive, problems if problems is not None else Problems())


def looks_like_table(head: str) -> bool:
    """Whether a file begins like a table of mentions with their texts.

    >>> looks_like_table("text,start,end,label\\nAda left.,0,3,PER\\n")
    True
    >>> looks_like_table("text,label\\nAda left.,sad\\n")
    False
    """
    first = head.removeprefix("\ufeff").partition("\n")[0]
    delimiter = max(DELIMITERS["csv"], key=first.count)
    try:
        columns, *rows = islice(csv.reader(io.StringIO(head.removeprefix("\ufeff")), delimiter=delimiter), 200)
    except (csv.Error, ValueError):
        return False
    if len(columns) < 2 or len({*columns}) < len(columns) or tuple(columns[: len(COLUMNS)]) == COLUMNS:
        return False
    names = Names.among(columns, {})
    if not names.text or not (names.has_rows or names.entities):
        return False
    whole = (dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns))
    return any(_shows_mentions(row, names) for row in whole if row.get(names.label or names.entities))


def _shows_mentions(row: Mapping[str, str], names: Names) -> bool:
    if not names.has_rows:
        return row[names.entities].lstrip().startswith(("[", "{"))
    text, start = row[names.text], row.get(names.start, "")
    return start.strip().isdecimal() or (bool(names.mention) and row[names.mention].casefold() in text.casefold())


def _names(table: str, columns: Sequence[str], given: Mapping[str, str]) -> Names:
    """The columns of a table; an InputError if one that is needed is not there."""
    chosen = {role: column for role, column in given.items() if column}
    listed = ", ".join(column[:40] for column in columns[:20]) or "none"
    if missing := next((column for column in chosen.values() if column not in columns), None):
        raise InputError(f"{table} has no column {missing!r}; its columns are, by its first row, {listed}")
    names = Names.among(columns, chosen)
    if not names.text or not (names.has_rows or names.entities):
        lacks = "texts" if not names.text else "mentions: a label with a mention or with start and end, or entities"
        raise InputError(
            f"{table} has no column of {lacks}, under a usual name; its columns are {listed}: name them, as in "
            "--option text=COLUMN --option label=COLUMN --option mention=COLUMN"
        )
    return names


def _documents(
    source: Source, rows: Iterable[tuple[int, Row]], names: Names, inclusive: bool, problems: Problems
) -> Iterator[Document]:
    unfound = Unfound(problems)

    def document(line: int, name: str, text: str, stated: Sequence[Stated]) -> Document:
        return Document(text, placed(text, stated, line, problems, unfound), id=name)

    for (name, text), group in groupby(_with_texts(rows, names, problems), key=lambda each: each[:2]):
        here = [(line, row) for _, _, line, row in group]
        stated: list[Stated] = []
        for line, row in here:
            for found in problems.tried(source, line, _stated, row, names, inclusive, remedy=LEAVE_OUT.format("row")):
                stated += (replace(one, line=line) for one in found)
        yield from problems.tried(source, here[0][0], document, here[0][0], name, text, stated)
    unfound.report()


def _with_texts(
    rows: Iterable[tuple[int, Row]], names: Names, problems: Problems
) -> Iterator[tuple[str, str, int, Row]]:
    """The rows with the id and the text of each; one without a text has those of the row above, as in merged cells."""
    name = text = ""
    for line, row in rows:
        if given := _cell(row.get(names.text)):
            name, text = _cell(row.get(names.id)), given
        else:
            problems.note("row without a text read as one of the text above")
        yield name, text, line, row


def _stated(row: Row, names: Names, inclusive: bool) -> list[Stated]:
    """The mentions of a row."""
    if not names.has_rows:
        value = row[names.entities]
        return list(stated_in(value)) if _cell(value) else []
    label, string = _cell(row[names.label]), _cell(row.get(names.mention))
    if not label:
        return []
    start, end = (_number(row, column) if column else None for column in (names.start, names.end))
    if not string and (start is None or end is None):
        raise WrongRecordError(f"a mention of {shown(label)} has neither a string nor a place")
    score = _cell(row.get(names.probability))
    try:
        probability = float(score) if score else None
    except ValueError:
        raise WrongRecordError(f"{names.probability} is {shown(score)}, but a number is expected") from None
    return [Stated(label, string, start, end if end is None else end + inclusive, probability=probability)]


MISSING = ("None", "nan", "NaN", "NaT", "<NA>")
"""What empty cells of frames print as; a cell of text may say the same."""


def _cell(value: Any) -> str:
    """The text of a cell; empty if there is nothing in it."""
    text = str(value)
    return "" if text in MISSING and not isinstance(value, str) else text


def _number(row: Row, column: str) -> int | None:
    """The whole number of a cell, which may be written as 4.0; None if the cell is empty."""
    text = _cell(row[column]).strip()
    whole, _, zeros = text.partition(".")
    if not text:
        return None
    if not (whole.isdecimal() and len(whole) < 19) or zeros.strip("0"):
        raise WrongRecordError(f"{column} is {shown(text)}, but a whole number from 0 is expected")
    return int(whole)
