"""brat stand-off: a text file, and an annotation file with one line per annotation.

``zoo.txt`` contains only the text, ``zoo.ann`` the annotations, with offsets in Unicode code points::

    T1	FAC 0 15	the Seattle zoo
    T2	GPE 4 11	Seattle
    T3	PER 20 25;34 40	young people
    R1	Located Arg1:T1 Arg2:T2

`T` lines are mentions: id, label, one or more fragments, and the covered text, with fragments joined by a space and
line breaks replaced by spaces. All other lines (relations, events, attributes, notes …) are kept unchanged in the
document's metadata and written after the mentions. Parts separated only by white space, which brat creates around a
line break, are read as one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from attrs import evolve

from hyperspan.corpora.documents import joined, trimmed
from hyperspan.corpora.json_records import ABOUT_MENTIONS, about_mentions
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.errors import CorpusError, quoted
from hyperspan.files import Target
from hyperspan.types import Document, Mention, Span

OTHER_LINES = "brat_lines"
"""The key of the other lines in what the metadata say about mentions."""
# Longer digit strings are no offsets; Python refuses to convert very long ones.
_OFFSETS = r"[0-9]{1,18} [0-9]{1,18}"
_WORD = r"[^ \t\r\n]+"
_ENTITY = re.compile(rf"(T{_WORD})\t({_WORD}) ({_OFFSETS}(?:;{_OFFSETS})*)\t(.*)", re.DOTALL)
_OTHER = re.compile(rf"(?:[REAMN]{_WORD}\t|\*\t|#).*", re.DOTALL)
_ENTITY_ID = re.compile(rf"T{_WORD}")
_LINE_BREAKS = str.maketrans("\r\n", "  ")


def read_brat(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the document of an ``.ann`` file and the ``.txt`` or ``.txt.gz`` file next to it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "zoo.txt").write_text("the Seattle zoo")
    ...     _ = (folder / "zoo.ann").write_text("T1\\tGPE 4 11\\tSeattle\\n")
    ...     [document] = read_brat(Source("zoo.ann", folder / "zoo.ann"), Problems())
    >>> document.id, [(mention.id, mention.label, mention.text) for mention in document.mentions]
    ('zoo', [('T1', 'GPE', 'Seattle')])
    """
    name = source.file_name.removesuffix(".gz")
    stem = re.sub(r"\.[^./]*\Z", "", name)
    if source.path is None:
        problems.wrong(
            source.name,
            "brat keeps text and annotations in two files, and a stream is only one; name the .ann file or its folder",
        )
        return
    annotations, text_file = source, source.beside(stem, (".txt", ".txt.gz"))
    if name.endswith(".txt"):
        text_file, found = source, source.beside(stem, (".ann", ".ann.gz"))
        if found is None:
            problems.wrong(source.name, f"no {stem}.ann with annotations is in its folder; add one, empty if need be")
            return
        annotations = found
    if text_file is None:
        problems.wrong(source.name, f"no {stem}.txt with the text is in its folder; put it there")
        return
    try:
        name = stem.rpartition("/")[2]
        document = _document(annotations, text_file.text(), name, problems)
    except CorpusError as error:
        problems.skip_file(error)
    else:
        yield document


def _document(annotations: Source, text: str, name: str, problems: Problems) -> Document:
    mentions: dict[Mention, None] = {}
    others: list[str] = []
    for line, mention in _entities(annotations, text, problems):
        if mention is None:
            others.append(line)
        elif mention in mentions:
            problems.note("mention annotated twice, kept once")
            others.append(line)  # other lines may refer to its id
        else:
            mentions[mention] = None
    return Document(text, mentions, id=name, metadata={ABOUT_MENTIONS: {OTHER_LINES: others}} if others else {})


def _entities(annotations: Source, text: str, problems: Problems) -> Iterator[tuple[str, Mention | None]]:
    """Yield each line, with the mention of a `T` line and None for others."""
    ids: set[str] = set()

    def entity(line: str) -> Mention:
        mention = _mention(line, text, problems)
        if mention.id in ids:
            raise WrongRecordError(f"{mention.id} is the id of an earlier line too; give each its own")
        ids.add(mention.id)
        return trimmed([mention], text, problems)[0]

    for number, line in annotations.lines():
        if not line.strip():
            continue
        if _OTHER.fullmatch(line):
            yield line, None
            continue
        for mention in problems.tried(annotations, number, entity, line):
            yield line, mention


def _mention(line: str, text: str, problems: Problems) -> Mention:
    """The mention of a `T` line."""
    match = _ENTITY.fullmatch(line)
    if match is None:
        raise WrongRecordError(
            f"expected id, tab, label and offsets, tab, text, such as 'T1<tab>PER 0 5<tab>Alice', but found {quoted(line)}"
        )
    identifier, label, offsets, given = match.groups()
    listed = [(int(start), int(end)) for start, end in (pair.split(" ") for pair in offsets.split(";"))]
    spans = sorted(listed)
    if any(start >= end for start, end in spans) or any(right < left for (_, left), (right, _) in pairwise(spans)):
        raise WrongRecordError(
            f"{identifier} has the span {quoted(offsets)}, but each part must end after it starts, and none overlap another"
        )
    if spans[-1][1] > len(text):
        raise WrongRecordError(
            f"{identifier} ends at {spans[-1][1]}, but the text has {len(text)} characters; offsets count Unicode code points"
        )
    unlike = _unlike(given, listed, text)
    if unlike == "space":
        problems.note("text of a mention differs from the document in white space")
    elif unlike:
        raise WrongRecordError(
            f"{identifier} is {quoted(given)}, but the text at {quoted(offsets)} reads {unlike}; offsets count Unicode code points"
        )
    parts = joined(spans)
    if parts != listed:
        problems.note("parts of a mention sorted, and joined where they touch")
    return Mention(parts[0][0], parts[-1][1], label, tuple(parts) if len(parts) > 1 else (), id=identifier)


def _unlike(given: str, spans: list[Span], text: str) -> str:
    """Empty if the text is as given, "space" if only white space differs, else the actual text."""
    length = sum(end - start + 1 for start, end in spans) - 1
    if length > 4 * len(given) + 1000:  # bounded, so that many short lines over a long text stay fast
        return quoted(text[spans[0][0] : spans[0][0] + 60] + " …")
    covered = _covered(text, spans)
    if covered == given.translate(_LINE_BREAKS):
        return ""
    return "space" if covered.split() == given.split() else quoted(covered)


def _covered(text: str, spans: Iterable[Span]) -> str:
    return " ".join(text[start:end] for start, end in spans).translate(_LINE_BREAKS)


def write_brat(documents: Iterable[Document], target: Target, losses: Losses, problems: Problems) -> None:
    """Write a folder with an ``.ann`` and a ``.txt`` file for each document, named after its id.

    >>> import tempfile, pathlib
    >>> zoo = Document("the Seattle zoo", [Mention(4, 11, "GPE")], id="zoo")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_brat([zoo], Target(folder), Losses(), Problems())
    ...     (pathlib.Path(folder) / "zoo.ann").read_text()
    'T1\\tGPE 4 11\\tSeattle\\n'
    """
    names = _FileNames()
    with target.open_folder() as folder:
        for document in documents:
            lines = _lines(document, problems)
            try:
                text, annotations = document.text.encode(), "".join(f"{line}\n" for line in lines).encode()
            except UnicodeEncodeError as error:
                problems.wrong(
                    f"document {document.id!r}",
                    f"UTF-8 cannot hold the character {error.object[error.start]!r}; remove lone surrogates",
                )
                losses.written -= len(document.mentions)
                continue
            name = names.name_for(document.id)
            if name != document.id:
                problems.note("document renamed to a valid file name")
            (folder / f"{name}.txt").write_bytes(text)
            (folder / f"{name}.ann").write_bytes(annotations)
            repeated = sum(len(sentence.duplicates) for sentence in document.sentences)
            if repeated:
                problems.note("mention annotated twice, written once", repeated)


def _lines(document: Document, problems: Problems) -> list[str]:
    """The lines of the ``.ann`` file: mentions, then the others that still hold."""
    others = [line for line in _other_lines(document) if _still_holds(line, document.text, document.mentions)]
    named = _with_ids(sorted(document.mentions), {line.partition("\t")[0] for line in others}, problems)
    return [*(_line(mention, document.text) for mention in named), *others]


def _other_lines(document: Document) -> list[str]:
    """Those in the metadata, which may be anything."""
    lines = about_mentions(document.metadata).get(OTHER_LINES)
    known = [line for line in lines if isinstance(line, str)] if isinstance(lines, list | tuple) else []
    return [line for line in known if "\n" not in line and not line.endswith("\r")]


def _still_holds(line: str, text: str, mentions: frozenset[Mention]) -> bool:
    """Whether one of the other lines can be written; one that repeats a mention needs that mention."""
    if _OTHER.fullmatch(line):
        return True
    return not mentions.isdisjoint(_reading(line, text))


def _reading(line: str, text: str) -> list[Mention]:
    """The mention of a previously read `T` line, or none."""
    try:
        return trimmed([_mention(line, text, Problems())], text, Problems())
    except WrongRecordError:
        return []


def _with_ids(mentions: list[Mention], taken: set[str], problems: Problems) -> list[Mention]:
    """The mentions, each with an id: its existing one if valid and free, else the next free number."""
    owners: dict[str, Mention] = {}
    for mention in mentions:
        if _ENTITY_ID.fullmatch(mention.id) and mention.id not in taken:
            owners.setdefault(mention.id, mention)
    named: list[Mention] = []
    number = 0
    for mention in mentions:
        if owners.get(mention.id) is not mention:
            if mention.id:
                problems.note("mention id replaced because brat's ids are T1, T2 … and unique")
            number += 1
            while f"T{number}" in owners or f"T{number}" in taken:
                number += 1
            mention = evolve(mention, id=f"T{number}")
        named.append(mention)
    return named


def _line(mention: Mention, text: str) -> str:
    spans = mention.parts
    offsets = ";".join(f"{start} {end}" for start, end in spans)
    return f"{mention.id}\t{mention.label} {offsets}\t{_covered(text, spans)}"


@dataclass
class _FileNames:
    """File names that every system accepts, unique even if case is ignored."""

    taken: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def name_for(self, identifier: str) -> str:
        safe = re.sub(r"[^\w.+-]", "_", identifier).encode()[:200].decode(errors="ignore").strip(".") or "document"
        name = safe
        while name.casefold() in self.taken:
            self.counts[safe] = self.counts.get(safe, 1) + 1
            name = f"{safe}-{self.counts[safe]}"
        self.taken.add(name.casefold())
        return name


def looks_like_brat(head: str) -> bool:
    """Whether a file begins like an ``.ann`` file. The corresponding text files look like any text.

    >>> looks_like_brat("T1\\tGPE 4 11\\tSeattle\\n"), looks_like_brat("T1 is a cell line.\\n")
    (True, False)
    """
    lines = head.removeprefix("\ufeff").split("\n")
    complete = [line.removesuffix("\r") for line in (lines[:-1] or lines) if line.strip()]
    entities = sum(_ENTITY.fullmatch(line) is not None for line in complete)
    return entities > 0 and all(_ENTITY.fullmatch(line) or _OTHER.fullmatch(line) for line in complete)
