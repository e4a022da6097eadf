"""Column formats: one token per line with its tags, and a blank line between sentences.

Layered columns hold overlapping mentions; mentions within one column do not overlap (LitBank, GENIA, GermEval)::

    the       B-FAC   O
    Seattle   I-FAC   B-GPE
    zoo       I-FAC   O

GermEval's official files number the tokens and name the source of each sentence::

    #    http://example.org/zoo    [2020-02-02]
    1    Seattle    B-GPE    O

CoNLL-2003 has four columns, only the last with mentions, and lines that separate documents::

    -DOCSTART- -X- -X- O

    Seattle NNP B-NP B-GPE
    sleeps VBZ B-VP O
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from hyperspan.corpora.column_layout import (
    LOOK_AHEAD,
    NOTHING,
    Block,
    Layout,
    blocks_in,
    guess_layout,
    is_conll2003,
    layout_of_text,
)
from hyperspan.corpora.column_writer import ColumnWriter, chunks_of, source_of
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Problems, Source
from hyperspan.corpora.tags import (
    Scheme,
    decode,
    guess_scheme,
)
from hyperspan.corpora.target import Losses, Lossy, Target
from hyperspan.errors import InputError
from hyperspan.types import Document, Mention, Sentence


def read_columns(
    source: Source,
    problems: Problems,
    *,
    scheme: Scheme | None = None,
    repair: bool = False,
    token_column: int | None = None,
    pos_column: int | None = None,
    tag_columns: Sequence[int] | None = None,
) -> Iterator[Document]:
    """Read sentences from columns; each is a document unless -DOCSTART- lines separate documents.

    Omitted options are guessed: the tagging scheme, and the columns (counted from 0, or from the end if negative).

    >>> import io
    >>> lines = io.BytesIO(b"the\\tB-FAC\\tO\\nSeattle\\tI-FAC\\tB-GPE\\nzoo\\tI-FAC\\tO\\n")
    >>> (document,) = read_columns(Source("lines", stream=lines), Problems())
    >>> sorted(mention.text for mention in document.mentions)
    ['Seattle', 'the Seattle zoo']
    """

    def layout_of(head: list[Block]) -> Layout:
        return _chosen(source, guess_layout(head)[0], token_column, pos_column, None, tag_columns)

    return _read(source, problems, scheme, repair, layout_of)


def read_conll2003(
    source: Source,
    problems: Problems,
    *,
    scheme: Scheme | None = None,
    repair: bool = False,
    token_column: int = 0,
    pos_column: int | None = 1,
    chunk_column: int | None = 2,
    tag_columns: Sequence[int] = (-1,),
) -> Iterator[Document]:
    """Read documents from the columns of CoNLL-2003.

    Chunk tags go to `document.metadata["chunks"]`, one list per sentence. The German files have a lemma before the part
    of speech: read them with ``pos_column=2, chunk_column=3``.
    """

    def layout_of(head: list[Block]) -> Layout:
        guess = Layout(guess_layout(head)[0].width, 0, ())
        return _chosen(source, guess, token_column, pos_column, chunk_column, tag_columns)

    return _read(source, problems, scheme, repair, layout_of)


def looks_like_columns(head: str) -> bool:
    """Whether a file begins with layered or flat columns, other than CoNLL-2003."""
    layout, rows = layout_of_text(head)
    if layout is None or is_conll2003(layout, rows):
        return False
    # Two words per line, the second "B-12", are probably text.
    return "\t" in head or any(row[-1] == "O" for row in rows)


def looks_like_conll2003(head: str) -> bool:
    """Whether a file begins with the columns word, part of speech, chunk tag and mention tag."""
    layout, rows = layout_of_text(head)
    return layout is not None and is_conll2003(layout, rows)


def write_columns(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    *,
    scheme: Scheme = "IOB2",
    layers: int | None = None,
    first_layer: Lossy = "outermost",
    numbered: bool | None = None,
    pos: bool = False,
) -> None:
    """Write tab-separated columns with as many layers of tags as the mentions need, or exactly `layers`.

    The first layer holds the outermost mentions, as in GermEval, or the innermost, as in LitBank and the layered GENIA.
    `numbered` writes the layout of GermEval's official files, which name a document's ``metadata["source"]``; by
    default it is used if the first document has a source. With `pos` the part of speech follows each token.
    """
    if layers is not None and layers < 1:
        raise InputError(f"{layers} layers cannot hold a mention; give 1 or more, or none for as many as are needed")
    coming = iter(documents)
    first = list(islice(coming, 1))
    number = bool(first) and source_of(first[0]) is not None if numbered is None else numbered

    def leading(document: Document, index: int) -> list[Sequence[str]]:
        sentence = document.sentences[index]
        numbers = [[str(position) for position in range(1, len(sentence) + 1)]] if number else []
        return [*numbers, sentence.tokens, *([sentence.tags or [NOTHING] * len(sentence)] if pos else [])]

    inner = first_layer == "innermost"
    writer = ColumnWriter("columns", losses, problems, scheme, layers, leading, innermost_first=inner, sources=number)
    writer.write(chain(first, coming), target)


def write_conll2003(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, scheme: Scheme = "IOB2"
) -> None:
    """Write the four columns of CoNLL-2003; only flat mentions fit.

    Columns are separated by spaces, or by tabs if a token contains a space.
    """

    def leading(document: Document, index: int) -> list[Sequence[str]]:
        sentence = document.sentences[index]
        nothing = [NOTHING] * len(sentence)
        return [sentence.tokens, sentence.tags or nothing, chunks_of(document, index) or nothing]

    ColumnWriter("conll2003", losses, problems, scheme, 1, leading, separator=" ").write(documents, target)


def _chosen(
    source: Source,
    guess: Layout,
    token: int | None,
    pos: int | None,
    chunk: int | None,
    tags: Sequence[int] | None,
) -> Layout:
    """The guess, overridden by the given options."""
    for column in (given for given in (token, pos, chunk, *(tags or ())) if given is not None):
        if not -guess.width <= column < guess.width:
            raise InputError(
                f"{source.name} has {guess.width} columns, but column {column} was asked for; columns count from 0"
            )
    at_token = guess.token if token is None else token % guess.width
    at_tags = guess.tags if tags is None else tuple(column % guess.width for column in tags)
    at_pos = None if pos is None else pos % guess.width
    at_chunk = None if chunk is None else chunk % guess.width
    if pos is None and guess.pos not in (at_token, *at_tags):
        at_pos = guess.pos
    named = [column for column in (at_token, at_pos, at_chunk, *at_tags) if column is not None]
    if len(set(named)) < len(named) or not at_tags:
        raise InputError(
            f"{source.name} has {guess.width} columns, of which {', '.join(map(str, named))} are to be read; "
            "name those of tokens and tags, each once, counting from 0"
        )
    unread = max(0, guess.width - len(named) - guess.numbered)
    return Layout(guess.width, at_token, at_tags, at_pos, at_chunk, guess.numbered, unread)


def _read(
    source: Source,
    problems: Problems,
    scheme: Scheme | None,
    repair: bool,
    layout_of: Callable[[list[Block]], Layout],
) -> Iterator[Document]:
    blocks = blocks_in(source.lines())
    head: list[Block] = []
    seen = 0
    for block in blocks:
        head.append(block)
        seen += 1 + len(block.lines)
        if seen >= LOOK_AHEAD:
            break
    layout = layout_of(head) if any(block.lines for block in head) else Layout(2, 0, (1,))
    if layout.unread:
        problems.note(f"{layout.unread} columns left out that hold neither tokens nor tags")
    known = scheme or guess_scheme(_tag_sequences(head, layout))
    yield from _Reader(source, problems, known, repair, layout).documents(chain(head, blocks))


def _tag_sequences(blocks: Iterable[Block], layout: Layout) -> Iterator[list[str]]:
    for block in blocks:
        rows = [row for row in block.rows() if len(row) == layout.width] if block.lines else []
        yield from ([row[column] for row in rows] for column in layout.tags)


@dataclass
class _Draft:
    """A document being read."""

    id: str
    metadata: dict[str, Any] = field(default_factory=dict)
    sentences: list[Sentence] = field(default_factory=list)
    chunks: list[list[str]] = field(default_factory=list)

    def document(self) -> Document:
        chunks = {"chunks": self.chunks} if any(tag != NOTHING for tags in self.chunks for tag in tags) else {}
        return document_of(self.sentences, self.id, self.metadata | chunks)


@dataclass
class _Reader:
    source: Source
    problems: Problems
    scheme: Scheme
    repair: bool
    layout: Layout

    def documents(self, blocks: Iterable[Block]) -> Iterator[Document]:
        number = 0
        draft: _Draft | None = None
        for block in blocks:
            if block.begins_document is not None:
                if draft is not None:
                    yield draft.document()
                number += 1
                draft = _Draft(block.begins_document or str(number))
            elif draft is not None:
                self.read(block, draft)
            else:
                number += 1
                alone = _Draft(str(number))
                if self.read(block, alone):
                    yield alone.document()
        if draft is not None:
            yield draft.document()

    def read(self, block: Block, draft: _Draft) -> bool:
        """Add a sentence to the draft, or report what is wrong with it."""
        layout = self.layout
        rows = block.rows()
        for position, row in enumerate(rows):
            if len(row) != layout.width or not row[layout.token]:
                found = f"{len(row)} columns" if len(row) != layout.width else "no token"
                what = f"{found} found, but {layout.width} columns with a token expected; correct the line"
                self.problems.wrong(self.source.at(block.first_line + position), what)
                return False
        columns = list(zip(*rows, strict=True))
        mentions = self.mentions(block, columns)
        if mentions is None:
            return False
        if block.comments:
            self.problems.note("comment lines left out", block.comments)
        if block.source is not None and draft.metadata.setdefault("source", block.source) is not block.source:
            self.problems.note("only the first source of a document kept")
        pos = columns[layout.pos] if layout.pos is not None else ()
        words = Sentence(columns[layout.token], tags=pos if set(pos) != {NOTHING} else ())
        draft.sentences.append(words.with_mentions(mentions))
        if layout.chunk is not None:
            draft.chunks.append(list(columns[layout.chunk]))
        return True

    def mentions(self, block: Block, columns: Sequence[tuple[str, ...]]) -> list[Mention] | None:
        mentions: list[Mention] = []
        for index in self.layout.tags:
            tags = columns[index]
            if tags.count("O") == len(tags):
                continue
            spans, errors = decode(tags, self.scheme)
            if errors and self.repair:
                mistakes = len(errors)
                spans, errors = decode(tags, self.scheme, repair=True)
                self.problems.note("malformed tags read as conlleval does", mistakes - len(errors))
            if errors:
                position, found = errors[0]
                what = f"{found}, but {self.scheme} expected; correct it, or read it with --option scheme=NAME or --option repair=true"
                self.problems.wrong(self.source.at(block.first_line + position), what)
                return None
            mentions += [Mention(start, end, label) for start, end, label in spans]
        return mentions
