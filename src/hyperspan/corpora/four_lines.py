"""Four lines per sentence, as in GENIA and ACE since Lu & Roth (2015): tokens, tags, mentions, blank line.

::

    The FOO gene of red cells .
    DT NN NN IN JJ NNS .
    1,2 G#protein|1,3 G#DNA|4,6 G#cell_type

    Nothing was found .
    NN VBD VBN .
    (empty: no mentions)

Ends are exclusive. Four numbers, ``start,end,head_start,head_end TYPE``, also give the head. If the first sentence of a
file has no line of tags, no sentence has.

The metadata key ``label_prefix`` (``G#``) keeps what all labels of a sentence began with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.errors import InputError, quoted
from hyperspan.files import Target
from hyperspan.types import Document, Mention, Sentence, Span

_MENTION = re.compile(r"([0-9]{1,9}),([0-9]{1,9})(?:,([0-9]{1,9}),([0-9]{1,9}))? (\S.*)", re.DOTALL)
_LABEL = re.compile(r"[^\s|][^|\r\n]*")
_GENIA = "G#"
LABEL_PREFIX = "label_prefix"
_NO_TAG = "_"
"""The tag of each token if tags are unknown."""


def read_four_lines(source: Source, problems: Problems, *, prefix: str = _GENIA) -> Iterator[Document]:
    """Read one document per sentence, numbered from 1.

    Args:
        prefix: removed from the labels that begin with it.

    >>> import io
    >>> lines = b"The FOO gene .\\nDT NN NN .\\n1,2 G#protein|1,3 G#DNA\\n\\n"
    >>> [document] = read_four_lines(Source("sample", stream=io.BytesIO(lines)), Problems())
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('FOO', 'protein'), ('FOO gene', 'DNA')]
    """
    for count, group in enumerate(_groups(source.lines()), start=1):
        yield from problems.tried(source, group.first, _document, group, str(count), prefix, problems)


def write_four_lines(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, prefix: str | None = None
) -> None:
    """Write four lines per sentence, with sorted mentions.

    Args:
        prefix: put before every label; by default the prefix that the document was read with.
    """
    if prefix and not _LABEL.fullmatch(prefix):
        raise InputError(
            f"the prefix is {prefix!r}, but it may not begin with a space nor have | or a line break in it"
        )
    with target.open() as output:
        for document in documents:
            before = _prefix_of(document) if prefix is None else prefix
            for sentence in losses.sentences_of(document):
                if not sentence.tokens:
                    problems.note("sentence without tokens left out")
                    continue
                tags = _without_spaces(sentence.tags, "tags", problems) or [_NO_TAG] * len(sentence)
                lines = [_without_spaces(sentence.tokens, "tokens", problems), tags]
                mentions = _mention_line(sorted(sentence.listed, key=_place), before)
                output.write("\n".join([*map(" ".join, lines), mentions, "", ""]))


def looks_like_four_lines(head: str) -> bool:
    """Whether a file begins with sentences in this layout, at least one with a mention.

    >>> looks_like_four_lines("The FOO gene .\\nDT NN NN .\\n1,2 G#protein\\n\\n")
    True
    >>> looks_like_four_lines("The FOO gene .\\n\\nThat is all .\\n")
    False
    """
    lines = head.removesuffix("\n").split("\n")
    if not any(_are_mentions(line) for line in lines[:400]):
        return False
    groups = list(_groups((number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)))
    whole = groups if len(groups) == 1 else groups[:-1]  # the last may be cut off
    return all(group.wrong is None and (not group.mentions or _are_mentions(group.mentions)) for group in whole)


@dataclass(slots=True)
class _Group:
    """The lines of a sentence."""

    first: int
    """The number of its first line."""
    tokens: str
    tags: str | None = None
    mentions: str = ""
    wrong: WrongRecordError | None = None


def _groups(lines: Iterable[tuple[int, str]]) -> Iterator[_Group]:
    """Lines in groups of four, or of three if the first sentence has no tags.

    Lines are counted, because the line of mentions may be blank too. If a group does not end at a blank line, reading
    continues at the next line that can begin a sentence.
    """
    size = 0
    block: list[str] = []
    first = 0
    ready: _Group | None = None
    skipping = False
    for number, line in lines:
        if block:
            block.append(line)
            if not size and len(block) == 3:
                size = _size(block)
            if len(block) < (size or 4) and not (size == 4 and len(block) == 2 and _is_blank(line)):
                continue
            ready, block = _group(block, first, size), []
            if ready.wrong is None or _is_blank(line):
                continue
            skipping = not _is_blank(ready.mentions)  # a blank line ended that sentence, and this line begins the next
        if _is_blank(line):
            skipping = False
        elif not skipping:
            if ready is not None:
                yield ready
            ready, block, first = None, [line], number
    if ready is not None:
        yield ready
    if block:
        yield _unfinished(block, first, size or (_size(block) if len(block) > 1 else 4))


def _size(block: Sequence[str]) -> int:
    """The number of lines per sentence in a file that begins with this block."""
    second, third = (*block[1:3], "")[:2]
    return 3 if _is_blank(second) or (_are_mentions(second) and _is_blank(third)) else 4


def _group(block: Sequence[str], first: int, size: int) -> _Group:
    if len(block) < size:
        what = f"is blank, but the tags of the {len(_words(block[0]))} tokens before it are expected here; add them"
        return _Group(first, block[0], wrong=WrongRecordError(what, first + 1))
    group = _Group(first, block[0], block[1] if size == 4 else None, block[size - 2])
    if not _is_blank(block[-1]):
        parts = "tokens, tags, mentions, a blank line" if size == 4 else "tokens, mentions, a blank line"
        group.wrong = WrongRecordError(
            f"is {quoted(block[-1])}, but the sentence that begins in line {first} has {size} lines ({parts}), "
            "so that a blank line is expected here; add what is missing or remove what is too much",
            first + size - 1,
        )
    return group


def _unfinished(block: Sequence[str], first: int, size: int) -> _Group:
    """The last sentence; only its final blank line may be missing."""
    if len(block) == size - 1:
        return _group([*block, ""], first, size)
    what = f"is the last line, but the sentence that begins in line {first} has {size} lines; complete the file"
    return _Group(first, block[0], wrong=WrongRecordError(what, first + len(block) - 1))


def _document(group: _Group, id: str, prefix: str, problems: Problems) -> Document:  # noqa: A002
    if group.wrong is not None:
        raise group.wrong
    tokens, tags, line = _words(group.tokens), list[str](), group.first + 1
    if group.tags is not None:
        tags, line = _words(group.tags), line + 1
    if tags and len(tags) != len(tokens):
        problems.note("tags left out because there are not as many as tokens")
        tags = []
    if set(tags) == {_NO_TAG}:
        tags = []
    mentions, prefixed = _parsed(group.mentions, prefix, len(tokens), line)
    known = {LABEL_PREFIX: prefix} if prefixed else {}
    return document_of([Sentence(tokens, tags=tags).with_mentions(mentions)], id, known)


def _parsed(mention_line: str, prefix: str, length: int, line: int) -> tuple[list[Mention], bool]:
    """The mentions of a line, in order, and whether all labels have the prefix."""
    if _is_blank(mention_line):
        return [], False
    mentions: list[Mention] = []
    prefixed = bool(prefix)
    for item in mention_line.split("|"):
        match = _MENTION.fullmatch(item)
        if match is None:
            raise WrongRecordError(
                f"has {quoted(item)} for a mention, but start,end TYPE or start,end,head_start,head_end TYPE is expected, "
                "with | between mentions; correct it",
                line,
            )
        start, end, label = int(match[1]), int(match[2]), match[5]
        head = (int(match[3]), int(match[4])) if match[3] else None
        if not start < end <= length or (head and not head[0] < head[1] <= length):
            raise WrongRecordError(
                f"has the mention {quoted(item)}, but its sentence has {length} tokens, and 0 <= start < end <= {length} "
                "is needed; `end` is exclusive",
                line,
            )
        if label.startswith(prefix) and label != prefix:
            label = label[len(prefix) :]
        else:
            prefixed = False
        mentions.append(Mention(start, end, label, head=head))
    return mentions, prefixed


def _prefix_of(document: Document) -> str:
    """The prefix that its labels were read with."""
    prefix = document.metadata.get(LABEL_PREFIX)
    return prefix if isinstance(prefix, str) and _LABEL.fullmatch(prefix) else ""


def _mention_line(mentions: Iterable[Mention], prefix: str) -> str:
    return "|".join(
        f"{','.join(map(str, (*mention.span, *(mention.head or ()))))} {prefix}{mention.label}" for mention in mentions
    )


def _place(mention: Mention) -> tuple[int, int, str, Span | tuple[()]]:
    return mention.start, mention.end, mention.label, mention.head or ()


def _words(line: str) -> list[str]:
    """Words separated by spaces. Other white space belongs to words: any token without spaces can be stored."""
    words = line.split(" ")
    return [word for word in words if word] if "" in words else words


def _without_spaces(words: Sequence[str], what: str, problems: Problems) -> list[str]:
    clean = [re.sub(r"[ \r\n]", "_", word) or "_" for word in words]
    if clean != list(words):
        problems.note(f"{what} that are empty or have spaces or line breaks in them written with _ instead")
    return clean


def _is_blank(line: str) -> bool:
    return not line.strip(" ")


def _are_mentions(line: str) -> bool:
    return all(_MENTION.fullmatch(item) for item in line.split("|"))
