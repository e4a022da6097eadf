"""ACE 2004 and 2005: a tagged text (``.sgm``) with an XML file of its entities (``.apf.xml``) in the same folder.

::

    <DOC><BODY><TEXT>                        <entity ID="zoo-E1" TYPE="FAC" SUBTYPE="Building-Grounds" CLASS="SPC">
    the Seattle zoo                            <entity_mention ID="zoo-E1-1" TYPE="NAM">
    </TEXT></BODY></DOC>                         <extent><charseq START="1" END="15">the Seattle zoo</charseq></extent>
                                                 <head><charseq START="13" END="15">zoo</charseq></head> …

Offsets count the characters of the ``.sgm`` file without its tags, including line breaks, with ``&amp;`` as five
characters; the END of a charseq is its last character, the END of a charspan is one past it (apf.v4.0.1.dtd,
apf.v5.1.1.dtd).
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from xml.parsers import expat

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.source import Problems, Source, WrongRecordError
from hyperspan.errors import CorpusError, InputError, quoted
from hyperspan.types import Document, Mention, Span

TYPES = ("PER", "ORG", "GPE", "LOC", "FAC", "VEH", "WEA")
MENTION_TYPES = ("NAM", "NOM", "PRO", "PRE")
"""Names, nominals, pronouns and (only in 2004) premodifiers."""
TEXT_SPANS = "text_spans"
"""The metadata key for the spans that contain a document's text, as opposed to its date, source, etc."""
PASSES = ("adj", "timex2norm")
"""Folders of ACE 2005 that contain the same documents after successive annotation passes."""

_TAG = re.compile(r"<(?:(/?)([A-Za-z][\w.-]*)|[!?])[^>]*>")
_OFFSET = re.compile(r"[0-9]{1,18}")


def read_ace(
    source: Source,
    problems: Problems,
    *,
    label: Literal["type", "subtype"] = "type",
    mention_types: Iterable[str] | str = MENTION_TYPES,
) -> Iterator[Document]:
    """Read the document of an ``.apf.xml`` file, with the text of the ``.sgm`` file next to it.

    A mention is the extent, and its `head` the head. Its label is the type of its entity (PER …) or, with
    ``label="subtype"``, both (PER-Individual), since some subtypes belong to several types. ACE does not mark
    sentences. The metadata key "text_spans" lists the span of <TEXT> and, if it contains mentions, of <HEADLINE>.
    """
    wanted = frozenset(mention_types.split(",") if isinstance(mention_types, str) else mention_types)
    if not wanted <= set(MENTION_TYPES):
        raise InputError(
            f"mention_types is {sorted(wanted)}, but ACE has {', '.join(MENTION_TYPES)}; choose among them"
        )
    stem = _stem(source.file_name)
    for identifier, annotated, tagged in _files(source, stem, problems):
        reading = _reading(tagged, annotated, problems)
        mentions: list[Mention] = []
        left_out: list[Mention] = []
        for annotation in annotated:
            built = (annotation.mention, reading.text, label, problems)
            for mention in problems.tried(source, annotation.line, *built):
                (mentions if annotation.mention_type in wanted else left_out).append(mention)
        mentions = trimmed(mentions, reading.text, problems)
        if left_out:
            problems.note("mention of a type that was not asked for left out", len(left_out))
        if len(set(mentions)) < len(mentions):
            problems.note("mention annotated twice, kept once", len(mentions) - len(set(mentions)))
        metadata = {TEXT_SPANS: reading.text_spans([*mentions, *left_out], problems)}
        yield Document(reading.text, mentions, id=identifier or stem.rpartition("/")[2], metadata=metadata)


def _files(source: Source, stem: str, problems: Problems) -> Iterator[tuple[str, list[_Annotation], str]]:
    """Yield the id, the annotations and the tagged text of each document."""
    text_file = source.beside(stem, (".sgm", ".sgm.gz", ".SGM"))
    if text_file is None:
        problems.wrong(
            source.name,
            f"no {stem or 'X'}.sgm with the text is in its folder; ACE needs both X.apf.xml and X.sgm there",
        )
        return
    try:
        documents, tagged = _Apf(source).documents, text_file.text()
    except CorpusError as error:
        problems.skip_file(error)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        problems.wrong(source.at(error.lineno), f"is no well-formed XML ({reason}); check that the file is complete")
    else:
        if not documents:
            problems.wrong(source.name, "holds no <document>; check that the file is complete")
        yield from ((identifier, annotated, tagged) for identifier, annotated in documents)


@dataclass
class _Place:
    """A charseq or charspan as written in the file."""

    kind: str
    start: str
    end: str
    parts: list[str] = field(default_factory=list)

    def span(self) -> Span | None:
        """The half-open span, or None if the offsets are invalid."""
        if not (_OFFSET.fullmatch(self.start) and _OFFSET.fullmatch(self.end)):
            return None
        start, end = int(self.start), int(self.end) + (self.kind == "charseq")
        return (start, end) if start < end else None

    def unlike(self, text: str) -> str:
        """Describe how the text differs from the annotated string; empty if they differ only in white space."""
        span, given = self.span(), "".join(self.parts)
        if span is None:
            return (
                f"has START {quoted(self.start)} and END {quoted(self.end)}, but END must be a number not before START"
            )
        if span[1] > len(text):
            return f"ends at {self.end}, but the .sgm file has {len(text)} characters without its tags"
        end = min(span[1], span[0] + 10 * len(given) + 1000)  # bounded: many short strings over long spans
        covered = text[span[0] : end]
        if given.strip() and (end < span[1] or html.unescape(covered).split() != html.unescape(given).split()):
            return f"is {quoted(given)}, but the .sgm file without its tags reads {quoted(covered)} at {self.start}:{self.end}"
        return ""


@dataclass
class _Annotation:
    """An entity_mention as written in the file, with the attributes of its entity."""

    line: int
    id: str
    mention_type: str
    type: str
    subtype: str
    places: dict[str, _Place] = field(default_factory=dict)
    """The extent and the head; 2005 always has a head."""

    def fits(self, text: str) -> bool:
        return not any(place.unlike(text) for place in self.places.values())

    def mention(self, text: str, label: str, problems: Problems) -> Mention:
        if wrong := self._wrong(text):
            raise WrongRecordError(f"mention {self.id or 'without an ID'} {wrong}")
        spans = {name: span for name, place in self.places.items() if (span := place.span())}
        (start, end), head = spans["extent"], spans.get("head")
        if head and not start <= head[0] < head[1] <= end:
            problems.note("head outside its mention left out")
            head = None
        name = f"{self.type}-{self.subtype}" if label == "subtype" and self.subtype else self.type
        return Mention(start, end, name, head=head, id=self.id)

    def _wrong(self, text: str) -> str:
        """What is wrong with it, if anything."""
        if self.type not in TYPES:
            return f"is of an entity of type {quoted(self.type)}, but ACE has {', '.join(TYPES)}"
        if self.mention_type not in MENTION_TYPES:
            return f"is of mention type {quoted(self.mention_type)}, but ACE has {', '.join(MENTION_TYPES)}"
        if "extent" not in self.places:
            return "has no <extent> with a <charseq>; only annotations of text can be read"
        for name, place in self.places.items():
            if unlike := place.unlike(text):
                return f"{unlike} (its {name}); check that both files are of the same release"
        return ""


class _Apf:
    """Collect the mentions of each document in expat callbacks: no tree, and line numbers for messages."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.documents: list[tuple[str, list[_Annotation]]] = []
        self._open: list[str] = []
        self._entity: dict[str, str] = {}
        self._mention: _Annotation | None = None
        self._place: _Place | None = None
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = lambda text: self._place and self._place.parts.append(text)
        self._parser.EntityDeclHandler = lambda name, *_: self._refuse(f"declares the entity {name!r}; remove it")
        self._parser.SkippedEntityHandler = lambda name, *_: self._refuse(f"refers to an unknown entity {name!r}")

        # expat does not load external DTDs by default.
        self._parser.Parse(source.text(), True)

    def _refuse(self, what: str) -> None:
        raise CorpusError(f"{self._source.at(self._parser.CurrentLineNumber)}: {what}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        inside = self._open[-1] if self._open else ""
        self._open.append(name)
        if not inside and name != "source_file":
            self._refuse(f"begins with <{quoted(name)[1:-1]}>, but apf with <source_file>; name an .apf.xml file")
        elif (inside, name) == ("source_file", "document"):
            self.documents.append((attributes.get("DOCID", "").strip(), []))
        elif (inside, name) == ("document", "entity"):
            self._entity = attributes
        elif (inside, name) == ("entity", "entity_mention") and self.documents:
            own, entity = ({key: value.strip() for key, value in given.items()} for given in (attributes, self._entity))
            self._mention = _Annotation(
                self._parser.CurrentLineNumber,
                own.get("ID", ""),
                own.get("TYPE", "").upper(),
                entity.get("TYPE", "").upper(),
                entity.get("SUBTYPE", ""),
            )
            self.documents[-1][1].append(self._mention)
        elif self._mention and inside in ("extent", "head") and name in ("charseq", "charspan"):
            self._place = _Place(name, attributes.get("START", ""), attributes.get("END", ""))
            self._mention.places[inside] = self._place

    def _end(self, name: str) -> None:
        self._open.pop()
        if name == "entity_mention":
            self._mention = None
        elif name in ("charseq", "charspan"):
            self._place = None


@dataclass
class _Reading:
    """A text without tags, and the positions of some of the tags."""

    text: str
    bodies: list[Span]
    headlines: list[Span]

    def text_spans(self, mentions: Iterable[Mention], problems: Problems) -> list[list[int]]:
        """The content of <TEXT>, and of a <HEADLINE> outside it that contains mentions: most headlines are not
        annotated.
        """
        annotated: set[Span] = set()
        for mention in mentions:
            if _around(mention, self.bodies) is None:
                headline = _around(mention, self.headlines)
                if headline is None:
                    problems.note("mention outside the text and its headline")
                else:
                    annotated.add(headline)
        return [list(span) for span in sorted({*self.bodies, *annotated})]


def _around(mention: Mention, spans: Sequence[Span]) -> Span | None:
    """The span in which a mention begins, among sorted disjoint spans."""
    index = bisect_right(spans, mention.start, key=lambda span: span[0]) - 1
    return spans[index] if index >= 0 and mention.start < spans[index][1] else None


def _reading(tagged: str, annotations: Sequence[_Annotation], problems: Problems) -> _Reading:
    """The text that the offsets count. Line breaks of files converted on Windows may not have been counted."""
    reading = _without_tags(tagged)
    if "\r\n" not in tagged or all(annotation.fits(reading.text) for annotation in annotations):
        return reading
    shorter = _without_tags(tagged.replace("\r\n", "\n"))
    if sum(one.fits(shorter.text) for one in annotations) > sum(one.fits(reading.text) for one in annotations):
        problems.note("line breaks of Windows read as one character, since the offsets count them so")
        return shorter
    return reading


def _without_tags(tagged: str) -> _Reading:
    parts: list[str] = []
    length = position = 0
    opened: dict[str, int] = {}
    found: dict[str, list[Span]] = {"TEXT": [], "HEADLINE": []}
    # Up to the last ">", so that each "<" is visited once even if none is closed.
    for tag in _TAG.finditer(tagged, 0, tagged.rfind(">") + 1):
        parts.append(tagged[position : tag.start()])
        length, position = length + len(parts[-1]), tag.end()
        name = (tag[2] or "").upper()
        if name in found and not tag[1]:
            opened.setdefault(name, length)
        elif name in opened and (start := opened.pop(name)) < length:
            found[name].append((start, length))
    text = "".join((*parts, tagged[position:]))
    for name, start in opened.items():
        found[name] += [(start, len(text))] if start < len(text) else []
    return _Reading(text, found["TEXT"], found["HEADLINE"])


def looks_like_ace(head: str) -> bool:
    """Whether a file begins like an ``.apf.xml`` file.

    >>> looks_like_ace('<?xml version="1.0"?>\\n<source_file URI="zoo.sgm" TYPE="text">'), looks_like_ace("<DOC>")
    (True, False)
    """
    return head.lstrip("\ufeff \t\r\n").startswith("<") and bool(re.search(r"<(!DOCTYPE\s+)?source_file\s", head))


def ace_split(ids: Iterable[str] | str | Path) -> list[str]:
    """The documents of a split as folder/name, from a list or a file such as those of Lu & Roth (2015).

    >>> ace_split(["bc/adj/CNN_CF_20030303.1900.00", "wl/MARKBACKER_20041202.0711.txt"])
    ['bc/CNN_CF_20030303.1900.00', 'wl/MARKBACKER_20041202.0711']
    >>> ace_split(["chinese_treebank/chtb_283.eng"])
    ['chinese_treebank/chtb_283.eng']
    """
    return list(dict.fromkeys(map(_without_pass, _listed(ids))))


def _listed(ids: Iterable[str] | str | Path) -> list[str]:
    lines = (line for _, line in Source(str(ids), Path(ids)).lines()) if isinstance(ids, str | Path) else ids
    return [_stem(line.strip()) for line in lines if line.strip()]


def _without_pass(identifier: str) -> str:
    return "/".join(part for part in identifier.split("/") if part not in PASSES)


def select(
    sources: Iterable[Source], split: Iterable[str] | str | Path, problems: Problems | None = None
) -> list[Source]:
    """Select the ``.apf.xml`` sources of a split, in its order.

    A document that is not found is an error, or a note if `problems` is given.

    >>> sources = [Source(name, Path(name)) for name in ("ace/bc/timex2norm/B.apf.xml", "ace/nw/adj/A.apf.xml")]
    >>> [source.name for source in select(sources, ["nw/adj/A", "bc/adj/B"])]
    ['ace/nw/adj/A.apf.xml', 'ace/bc/timex2norm/B.apf.xml']
    """
    places: dict[str, list[Source]] = {}
    for source in sources:
        name = source.member or (source.path.as_posix() if source.path else "")
        if name.removesuffix(".gz").endswith(".apf.xml"):
            parts = _stem(name).split("/")
            for place in {"/".join(parts[-count:]) for count in (1, 2, 3)}:
                places.setdefault(place, []).append(source)
    found = {_without_pass(identifier): _found(identifier, places) for identifier in _listed(split)}
    missing = [identifier for identifier, source in found.items() if source is None]
    if missing and (problems is None or len(missing) == len(found)):
        raise InputError(
            f"{len(missing)} of the {len(found)} documents of the split are not among the files, such as {missing[0]}; "
            "name the folder that holds all of the corpus"
        )
    if missing and problems is not None:
        problems.note(f"document of the split not found, such as {missing[0]}", len(missing))
    return [source for source in found.values() if source is not None]


def _found(identifier: str, places: dict[str, list[Source]]) -> Source | None:
    """The source in its folder or in one of the pass folders; else one in any folder if its name is unique."""
    folder, _, name = _without_pass(identifier).rpartition("/")
    for place in (identifier, f"{folder}/{name}", *(f"{folder}/{one}/{name}" for one in PASSES)):
        if folder and place in places:
            return places[place][0]
    same_name = places.get(name, [])
    return same_name[0] if len(same_name) == 1 else None


def _stem(name: str) -> str:
    return re.sub(r"(\.apf\.xml|\.sgm|\.txt)?(\.gz)?\Z", "", name)
