"""GENIA XML, the layout of the GENIA term corpus 3.02: articles with terms as nested ``<cons>`` elements.

::

    <set>
    <article>
    <articleinfo><bibliomisc>MEDLINE:00000001</bibliomisc></articleinfo>
    <title><sentence>The <cons lex="FOO_gene" sem="G#DNA_domain_or_region"><cons lex="FOO"
    sem="G#protein_molecule">FOO</cons> gene</cons>.</sentence></title>
    <abstract><sentence>In <cons lex="(AND red_cell blue_cell)" sem="(AND G#cell_type G#cell_type)"><cons
    lex="red*">red</cons> and <cons lex="blue*">blue</cons> <cons lex="*cell">cells</cons></cons>.</sentence></abstract>
    </article>
    </set>

A coordinated term names its members in an outer element and marks the parts they share: above, "red cell" is a
discontinuous mention of "red" and "cells", and "blue cells" a contiguous one. There is no writer: the lexical names and
the marking of shared parts cannot be recovered from mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers import expat

from hyperspan.corpora.documents import by_tokens, cut_at_mentions, joined, without_space
from hyperspan.corpora.source import LONGEST_LINE, Problems, Source, WrongRecordError
from hyperspan.text.sentences import sentence_of, token_spans
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, Sentence, Span

Types = Literal["five", "raw"]
Coordination = Literal["parts", "span"]

DEEPEST = 100
"""The maximum nesting depth of terms. The corpus has four levels; the limit bounds memory."""
LONGEST_COORDINATION = 4_000
"""The maximum number of characters in the names and types of a coordinated term."""
MOST_PARTS = 200
"""The maximum number of parts of a coordinated term whose members are resolved."""
_CHUNK = 65_536


def read_genia_xml(
    source: Source,
    problems: Problems,
    *,
    types: Types = "five",
    tokenizer: str = "split",
    coordination: Coordination = "parts",
) -> Iterator[Document]:
    """Read one document per article, with the article's id and the sentences of title and abstract.

    Args:
        types: "five" keeps DNA, RNA, protein (with all their subtypes), cell_line and cell_type, as Finkel & Manning
            (2009) and all later work on nested mentions in GENIA do; "raw" keeps every type under its original name.
        tokenizer: one of :data:`hyperspan.text.tokens.TOKENIZERS`; "split" tokenises like the 4-line files.
        coordination: "parts" reads each member of a coordinated term as a separate mention, discontinuous if its parts
            are apart; "span" reads the whole as one mention of each of its types, like the 4-line files.

    >>> import io
    >>> term = b'<cons lex="x" sem="G#RNA_molecule">mRNA</cons>'
    >>> xml = b"<set><article><title><sentence>A " + term + b".</sentence></title></article></set>"
    >>> [document] = read_genia_xml(Source("sample", stream=io.BytesIO(xml)), Problems())
    >>> document.text, [(mention.text, mention.label) for mention in document.mentions]
    ('A mRNA.', [('mRNA', 'RNA')])
    """
    cutting = Tokenizer(tokenizer)  # raises for an unknown name before anything is read
    for article in _Articles(source, problems).read():
        yield _document(article, types, cutting, coordination, problems)


def looks_like_genia_xml(head: str) -> bool:
    """Whether a file begins with GENIA's document type or its elements."""
    start = head.lstrip("\ufeff \t\r\n")
    return start.startswith("<") and ("gpml.dtd" in head or ("<article" in head and "<cons " in head))


@dataclass(slots=True)
class _Term:
    """A ``<cons>`` element."""

    start: int
    names: str
    """Its lexical names: a single one, "(AND …)" for a coordination, or a part of one with "*" for the rest."""
    kinds: str
    """Its semantic types in the same notation; empty for a part."""
    end: int = 0
    parts: list[_Term] = field(default_factory=list)
    """The parts of a coordination, in order."""

    @property
    def is_coordination(self) -> bool:
        return self.kinds.startswith("(")


@dataclass(slots=True)
class _Article:
    id: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    length: int = 0
    sentences: list[tuple[int, int, list[_Term]]] = field(default_factory=list)
    """Start, end and terms of each sentence."""
    in_title: int = 0
    """The number of sentences in the title."""
    wrong: tuple[int, str] | None = None
    """The first line that makes it unreadable, and why."""


class _Articles:
    """Collect articles in expat callbacks, without holding the whole file."""

    def __init__(self, source: Source, problems: Problems):
        self.source, self.problems = source, problems
        self.done: list[_Article] = []
        self.article: _Article | None = None
        self.sentence: list[_Term] | None = None
        self.began = 0
        self.open: list[_Term] = []
        self.inside: list[str] = []
        self.titles = 0  # number of open titles
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._skipped

    def read(self) -> Iterator[_Article]:
        with self.source.open() as stream:
            last = False
            while not last:
                chunk = stream.read(_CHUNK)
                last = not self._parse(chunk) or not chunk
                yield from self.done
                self.done.clear()

    def _parse(self, chunk: bytes) -> bool:
        """Whether more can be read after this chunk; an empty chunk is the end."""
        try:
            self.parser.Parse(chunk, not chunk)
        except WrongRecordError as error:  # raised in a callback, which stops the parser
            self.problems.wrong(self.source.at(self.parser.CurrentLineNumber), str(error))
            return False
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: encodings that expat cannot read
            reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else error
            what = f"is not well-formed XML ({reason}), so the rest cannot be read; check that the file is complete"
            self.problems.wrong(self.source.at(self.parser.ErrorLineNumber), what)
            return False
        return True

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.inside and name not in ("set", "article"):
            self._refuse(f"begins with <{name}>, but GENIA XML begins with <set>; choose the format with --from")
        self.inside.append(name)
        self.titles += name == "title"
        if name == "article":
            if self.article is not None:
                self._wrong("has an <article> inside an <article>, but articles follow each other")
            else:
                self.article, self.sentence, self.open = _Article(), None, []
        elif self.article is not None and name == "sentence":
            if self.sentence is not None:
                self._wrong("has a <sentence> inside a <sentence>, but sentences follow each other")
            if self.article.sentences:
                self._add("\n")
            self.sentence, self.began, self.open = [], self.article.length, []
        elif self.article is not None and name == "cons":
            self._start_term(self.article.length, attributes.get("lex", ""), attributes.get("sem", ""))

    def _start_term(self, start: int, names: str, kinds: str) -> None:
        term = _Term(start, names, kinds)
        if self.sentence is None:
            self._wrong("has a <cons> outside a <sentence>, but terms are parts of sentences")
            self.sentence = []
        self.sentence.append(term)
        if len(self.open) >= DEEPEST:
            self._wrong(f"has <cons> nested more than {DEEPEST} deep, but terms are nested a few levels deep")
        elif term.is_coordination and len(names) + len(kinds) > LONGEST_COORDINATION:
            self._wrong(
                f"has a coordination of {len(names) + len(kinds)} characters, but {LONGEST_COORDINATION} are the most"
            )
        elif not kinds:
            whole = next((outer for outer in reversed(self.open) if outer.is_coordination), None)
            if whole is not None:
                whole.parts.append(term)
        self.open.append(term)

    def _end(self, name: str) -> None:
        self.inside.pop()
        self.titles -= name == "title"
        article = self.article
        if article is None:
            return
        if name == "cons" and self.open:
            self.open.pop().end = article.length
        elif name == "sentence" and self.sentence is not None:
            article.sentences.append((self.began, article.length, self.sentence))
            article.in_title += self.titles > 0
            self.sentence = None
        elif name == "article":
            self.article = None
            if article.wrong is not None:
                line, what = article.wrong
                self.problems.wrong(self.source.at(line), f"{what}; correct or remove this article")
            else:
                self.done.append(article)

    def _characters(self, characters: str) -> None:
        if self.article is None:
            return
        if self.sentence is not None:
            self._add(characters)
        elif self.inside[-1] == "bibliomisc":
            self.article.id.append(characters)
        elif not characters.isspace():
            self.problems.note("text outside the sentences of an article left out")

    def _add(self, characters: str) -> None:
        if self.article is not None:
            self.article.text.append(characters)
            self.article.length += len(characters)
            if self.article.length > LONGEST_LINE:
                self._refuse(f"has an article of more than {LONGEST_LINE // 2**20} MiB; cut it into several")

    def _entity(self, name: str, *_: object) -> None:
        self._refuse(
            f"declares the entity {name}, but files that declare entities are not read; replace each entity by its value"
        )

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._wrong(f"has the entity &{name};, but only those of XML itself are known; replace it by its character")

    def _wrong(self, what: str) -> None:
        if self.article is not None and self.article.wrong is None:
            self.article.wrong = (self.parser.CurrentLineNumber, what)

    def _refuse(self, what: str) -> None:
        """Stop reading: the file is not GENIA XML, or it is dangerous."""
        raise WrongRecordError(what)


def _document(
    article: _Article, types: Types, tokenizer: Tokenizer, coordination: Coordination, problems: Problems
) -> Document:
    text = "".join(article.text)
    everywhere: list[Mention] = []
    sentences: list[Sentence] = []
    for start, end, terms in article.sentences:
        mentions = [mention for term in terms for mention in _mentions(term, text, types, coordination, problems)]
        offsets = cut_at_mentions(token_spans(text, start, end, tokenizer), mentions, problems)
        in_tokens = [by_tokens(mention, offsets) for mention in mentions]
        sentences.append(sentence_of(text, offsets).with_mentions(in_tokens))
        everywhere += mentions
    return Document(text, everywhere, sentences, "".join(article.id).strip(), {"title_sentences": article.in_title})


def _mentions(
    term: _Term, text: str, types: Types, coordination: Coordination, problems: Problems
) -> Iterator[Mention]:
    """The mentions of a term, by character: none, one, or those of a coordination."""
    whole = without_space((term.start, term.end), text)
    if whole is None:
        problems.note("term without text left out")
    elif not term.is_coordination:
        label = _label(term.kinds, types)
        if label is not None:
            yield Mention(*whole, label)
        elif term.kinds:
            problems.note("term of another type than the five left out")
    elif coordination == "span":
        problems.note("coordinated term read as one span over all its members")
        labels = dict.fromkeys(_label(kind, types) for kind in _members(term.kinds))
        yield from (Mention(*whole, label) for label in labels if label is not None)
    else:
        yield from _coordinated(term, whole, text, types, problems)


def _coordinated(term: _Term, whole: Span, text: str, types: Types, problems: Problems) -> Iterator[Mention]:
    """The members of a coordination, each assembled from the parts of its name."""
    names, kinds = _members(term.names), _members(term.kinds)
    whole_only = len(names) != len(kinds) or len(term.parts) > MOST_PARTS
    parts = [(_plain(part.names), span) for part in term.parts if (span := without_space((part.start, part.end), text))]
    for position, kind in enumerate(kinds):
        label = _label(kind, types)
        if label is None:
            problems.note("term of another type than the five left out")
            continue
        spans = [] if whole_only else joined(_put_together(_plain(names[position]), parts), text)
        if not spans:
            problems.note("member of a coordinated term without parts of its own read as the span of the whole")
            yield Mention(*whole, label)
        elif len(spans) == 1:
            problems.note("member of a coordinated term read as a contiguous mention")
            yield Mention(*spans[0], label)
        else:
            problems.note("member of a coordinated term read as a discontinuous mention")
            yield Mention(spans[0][0], spans[-1][1], label, tuple(spans))


def _put_together(name: str, parts: Sequence[tuple[str, Span]]) -> list[Span]:
    """The spans of disjoint parts, in order, whose names form a name; empty if there are none.

    >>> _put_together("bluecell", [("red", (0, 3)), ("blue", (8, 12)), ("cell", (13, 18))])
    [(8, 12), (13, 18)]
    """
    reached: dict[int, Any] = {0: None}  # length of the prefix formed -> its last part and those before it
    for part, span in parts:
        for length, before in list(reached.items()):
            if part and name.startswith(part, length) and (before is None or before[0][1] <= span[0]):
                reached.setdefault(length + len(part), (span, before))
    spans: list[Span] = []
    chain = reached.get(len(name))
    while chain is not None:
        spans.append(chain[0])
        chain = chain[1]
    return spans[::-1]


def _members(formula: str) -> list[str]:
    """The members of a coordination of names or types.

    >>> _members("(AND tumor_factor_(TF) (OR red_cell blue_cell))")
    ['tumor_factor_(TF)', 'red_cell', 'blue_cell']
    """
    members = [word for word in formula.split() if not re.fullmatch(r"\([A-Z_/]+", word)]
    return [word[: len(word) - max(0, word.count(")") - word.count("("))] for word in members]


def _plain(name: str) -> str:
    """A name without the characters that differ between a member and its parts."""
    return name.translate(_DIFFERING).lower()


_DIFFERING = str.maketrans("", "", "*_ ")


def _label(kind: str, types: Types) -> str | None:
    """The label of a semantic type, or None if it is not read."""
    label = kind.removeprefix("G#")
    if types == "raw":
        return label or None
    coarse = label.split("_")[0]
    return coarse if coarse in ("DNA", "RNA", "protein") else label if label in ("cell_line", "cell_type") else None
