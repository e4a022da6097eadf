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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Losses, Lossy, Problems, Source, WrongRecordError
from hyperspan.corpora.tags import (
    LabelledSpan,
    Scheme,
    decode,
    encode,
    fitting,
    guess_scheme,
    is_tag,
    layers_of,
)
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.types import Document, Mention, Sentence

LOOK_AHEAD = 10_000
"""How many lines are read to guess the tagging scheme and the columns."""
MOST = 0.9
"""The share of lines that must agree with a guess; the few that do not are reported as errors."""
NOTHING = "-X-"
"""The value of an unknown column, as in CoNLL-2003."""
DOCUMENT = "-DOCSTART-"
MEDLINE = "###MEDLINE:"
"""Begins a document in the original files of JNLPBA."""


@dataclass(slots=True)
class Block:
    """Consecutive non-blank lines: a sentence, or a document boundary."""

    first_line: int
    lines: list[str] = field(default_factory=list)
    source: str | None = None
    comments: int = 0
    begins_document: str | None = None
    """The id of the document that begins here, possibly empty."""

    def rows(self) -> list[list[str]]:
        return [cells_of(line) for line in self.lines]


def cells_of(line: str) -> list[str]:
    if "\t" in line:
        return line.rstrip("\t").split("\t")
    return [cell for cell in line.split(" ") if cell]


@dataclass(frozen=True, slots=True)
class Layout:
    width: int
    token: int
    tags: tuple[int, ...]
    pos: int | None = None
    chunk: int | None = None
    numbered: bool = False
    unread: int = 0
    """The number of columns left out."""
    certain: bool = True
    """Whether most lines agree with the guess."""


def blocks_in(lines: Iterable[tuple[int, str]]) -> Iterator[Block]:
    block = Block(0)
    for number, line in lines:
        if not line or line.isspace():
            if block.lines:
                yield block
                block = Block(0)
            continue
        if line[0] in "-#":
            if (begins := _begins_document(line)) is not None:
                if block.lines:
                    yield block
                yield Block(number, begins_document=begins)
                block = Block(0)
                continue
            if not block.lines and line[0] == "#" and not is_tag(cells_of(line)[-1]):
                if line[:2] == "#\t" and block.source is None:
                    block.source = line[2:].rstrip("\t")
                else:
                    block.comments += 1
                continue
        if not block.lines:
            block.first_line = number
        block.lines.append(line)
    if block.lines:
        yield block


def _begins_document(line: str) -> str | None:
    if line.startswith(DOCUMENT) and set(line[len(DOCUMENT) :].split()) <= {"O", "-X-", "-Y-", "-Z-", "_"}:
        return ""
    return line.removeprefix(MEDLINE).strip() if line.startswith(MEDLINE) and "\t" not in line else None


def guess_layout(blocks: Iterable[Block]) -> tuple[Layout, list[list[str]]]:
    """Guess the columns of most lines; also return those lines."""
    sentences = [block for block in blocks if block.lines]
    counted = [(str(count), row) for block in sentences for count, row in enumerate(block.rows(), start=1)]
    width = max(2, *Counter(len(row) for _, row in counted).most_common(1)[0][:1]) if counted else 2
    usual = [(count, row) for count, row in counted if len(row) == width]
    rows = [row for _, row in usual]
    first_tag = width
    while first_tag > 1 and _mostly(is_tag(row[first_tag - 1]) for row in rows):
        first_tag -= 1
    named = any(block.source is not None for block in sentences)
    numbered = width > 2 and (named or first_tag > 1) and _mostly(row[0] == count for count, row in usual)
    token = int(numbered)
    certain = first_tag < width and len(rows) >= MOST * len(counted)
    first_tag = min(max(first_tag, token + 1), width - 1)
    pos = token + 1 if first_tag > token + 1 else None
    layout = Layout(width, token, tuple(range(first_tag, width)), pos, None, numbered, 0, certain)
    return layout, rows


def _mostly(claims: Iterable[bool]) -> bool:
    counts = Counter(claims)
    return counts[True] > 0 and counts[True] >= MOST * counts.total()


def layout_of_text(head: str) -> tuple[Layout | None, list[list[str]]]:
    lines = head.removeprefix("\ufeff").split("\n")
    whole = lines[:-1] if len(lines) > 1 else lines
    layout, rows = guess_layout(blocks_in((number, line.removesuffix("\r")) for number, line in enumerate(whole)))
    return (layout if layout.certain else None), rows


def is_conll2003(layout: Layout, rows: list[list[str]]) -> bool:
    if layout.width != 4 or layout.numbered or layout.pos != 1:
        return False
    # Without phrases, the third column is probably a layer of mentions.
    return all(row[2] == NOTHING for row in rows) or any(row[2][2:] in ("NP", "VP", "PP") for row in rows)


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
    pos: bool = False,
) -> None:
    """Write tab-separated columns with as many layers of tags as the mentions need, or exactly `layers`.

    The first layer holds the outermost mentions, as in GermEval, or the innermost, as in LitBank and the layered GENIA.
    With `pos` the part of speech follows each token.
    """
    if layers is not None and layers < 1:
        raise InputError(f"{layers} layers cannot hold a mention; give 1 or more, or none for as many as are needed")

    def leading(document: Document, index: int) -> list[Sequence[str]]:
        sentence = document.sentences[index]
        return [sentence.tokens, *([sentence.tags or [NOTHING] * len(sentence)] if pos else [])]

    inner = first_layer == "innermost"
    ColumnWriter(losses, problems, scheme, layers, leading, innermost_first=inner).write(documents, target)


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

    ColumnWriter(losses, problems, scheme, 1, leading, separator=" ").write(documents, target)


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
                self.add(block, draft)
            else:
                number += 1
                alone = _Draft(str(number))
                if self.add(block, alone):
                    yield alone.document()
        if draft is not None:
            yield draft.document()

    def add(self, block: Block, draft: _Draft) -> bool:
        """Add a sentence to the draft, or report what is wrong with it."""
        for columns, sentence in self.problems.tried(self.source, block.first_line, self.sentence, block):
            if block.comments:
                self.problems.note("comment lines left out", block.comments)
            if block.source is not None and draft.metadata.setdefault("source", block.source) is not block.source:
                self.problems.note("only the first source of a document kept")
            draft.sentences.append(sentence)
            if self.layout.chunk is not None:
                draft.chunks.append(list(columns[self.layout.chunk]))
            return True
        return False

    def sentence(self, block: Block) -> tuple[Sequence[tuple[str, ...]], Sentence]:
        """The columns of a block, and the sentence in them."""
        layout, rows = self.layout, block.rows()
        for line, row in enumerate(rows, start=block.first_line):
            if len(row) != layout.width or not row[layout.token]:
                found = f"{len(row)} columns" if len(row) != layout.width else "no token"
                what = f"{found} found, but {layout.width} columns with a token expected; correct the line"
                raise WrongRecordError(what, line)
        columns = list(zip(*rows, strict=True))
        pos = columns[layout.pos] if layout.pos is not None else ()
        words = Sentence(columns[layout.token], tags=pos if set(pos) != {NOTHING} else ())
        return columns, words.with_mentions(self.mentions(block, columns))

    def mentions(self, block: Block, columns: Sequence[tuple[str, ...]]) -> list[Mention]:
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
                raise WrongRecordError(what, block.first_line + position)
            mentions += [Mention(start, end, label) for start, end, label in spans]
        return mentions


@dataclass
class ColumnWriter:
    """Spool the columns of each sentence until the number of layers and the separators are known."""

    losses: Losses
    problems: Problems
    scheme: Scheme
    layers: int | None
    leading: Callable[[Document, int], list[Sequence[str]]]
    """The columns before the tags, given a document and the index of a sentence."""
    innermost_first: bool = False
    separator: str = "\t"
    leading_width: int = field(default=1, init=False)
    widest: int = field(default=1, init=False)
    several_sentences: bool = field(default=False, init=False)

    def write(self, documents: Iterable[Document], target: Target) -> None:
        self.widest = self.layers or 1
        with (
            target.open() as out,
            SpooledTemporaryFile(max_size=1 << 24, mode="w+", encoding="utf-8", newline="\n") as spool,
        ):
            for document in documents:
                self.spool(document, spool)
            spool.seek(0)
            self.copy(spool, out)

    def spool(self, document: Document, spool: IO[str]) -> None:
        spool.write(f"\n{DOCUMENT}\n")
        filled = [index for index, sentence in enumerate(self.losses.sentences_of(document)) if sentence.tokens]
        if len(filled) < len(document.sentences):
            self.problems.note("empty sentences left out", len(document.sentences) - len(filled))
        self.several_sentences |= len(filled) != 1
        for index in filled:
            leading = self.leading(document, index)
            self.leading_width = len(leading)
            cells = [[self.cell(text) for text in column] for column in leading]
            rows = zip(*cells, *self.tags(document.sentences[index]), strict=True)
            text = "".join(["\t".join(row) + "\n" for row in rows])
            if " " in text:
                self.separator = "\t"
            spool.write(f"\n{text}")

    def copy(self, spool: Iterable[str], out: IO[str]) -> None:
        """Copy the spooled lines with all layers; with document separators if a document has several sentences."""
        width = self.leading_width + self.widest
        begins = "\t".join([DOCUMENT, *[NOTHING] * (self.leading_width - 1)]) + "\n"
        separate = anything = False
        for line in spool:
            if line == "\n":
                separate = anything
            elif line != f"{DOCUMENT}\n" or self.several_sentences:
                if line == f"{DOCUMENT}\n":
                    line = begins
                line = line[:-1] + "\tO" * (width - 1 - line.count("\t")) + "\n"
                out.write(("\n" if separate else "") + line.replace("\t", self.separator))
                separate, anything = False, True

    def tags(self, sentence: Sentence) -> list[list[str]]:
        """The tags of a sentence in as many layers as it needs; mentions that do not fit are counted as lost."""
        spans = {(mention.start, mention.end, mention.label) for mention in sentence.mentions}
        again = [span for mention in sentence.duplicates if (span := (*mention.span, mention.label)) in spans]
        kept = [*spans, *again] if self.layers is None else self.fitting(spans, again, len(sentence))
        distinct = len(set(kept))
        beyond = "overlapping another in flat columns" if self.layers == 1 else f"beyond {self.layers} layers"
        self.losses.lose(beyond, len(spans) - distinct)
        if duplicates_lost := len(again) - (len(kept) - distinct):
            self.problems.note("mentions listed twice written once", duplicates_lost)
        layers = layers_of(kept, self.innermost_first)
        self.widest = max(self.widest, len(layers))
        return [encode(layer, len(sentence), self.scheme) for layer in layers] or [["O"] * len(sentence)]

    def fitting(self, spans: set[LabelledSpan], again: list[LabelledSpan], length: int) -> list[LabelledSpan]:
        sign = 1 if self.losses.lossy == "innermost" else -1
        preferred = sorted(spans, key=lambda span: (sign * (span[1] - span[0]), span))
        return fitting([*preferred, *again], length, self.layers or 1)

    def cell(self, text: str) -> str:
        if text and "\t" not in text and "\n" not in text:
            return text
        self.problems.note("tokens or tags that are empty or hold a tab or newline written with _ in its place")
        return text.replace("\t", "_").replace("\n", "_") or "_"


def chunks_of(document: Document, index: int) -> Sequence[str]:
    """The chunk tags of a sentence, if the document has them and they fit its sentences."""
    chunks = document.metadata.get("chunks")
    if not isinstance(chunks, list | tuple) or len(chunks) != len(document.sentences):
        return ()
    tags = chunks[index]
    fits = isinstance(tags, list | tuple) and len(tags) == len(document.sentences[index])
    return tags if fits and all(isinstance(tag, str) for tag in tags) else ()
