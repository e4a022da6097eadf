"""Unlabelled text as lines of tokens: from text files (compressed or not), folders of them, and corpora without their
labels.

A line without tokens ends a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from hyperspan.corpora.formats import UnknownFormatError, read_corpus
from hyperspan.errors import InputError
from hyperspan.files import TEXT_ERRORS, TEXT_SUFFIXES, open_text
from hyperspan.text.sentences import split_text
from hyperspan.text.tokens import Tokenizer, tokenize_all
from hyperspan.types import Document

PART = 2**20
"""The number of characters to tokenize at a time."""
Lines = list[list[str]]
"""Tokens line by line; a line without tokens ends a document."""


def find_texts(given: Iterable[str], own: Iterable[Path] = ()) -> list[Path]:
    """The given files and corpora; for a folder, all text files in it, or the folder itself if it has none.

    `own` are files and folders that the run itself writes; they are excluded from other folders.
    """
    left_out = {path.resolve() for path in own}
    found: list[Path] = []
    for name in given:
        path = Path(name)
        if not path.exists():
            raise InputError(
                f"{name} does not exist; name text files ({', '.join(TEXT_SUFFIXES)}), folders of them, or corpora"
            )
        inner = sorted(file for file in path.rglob("*") if is_text(file)) if path.is_dir() else []
        found += [file for file in inner if left_out.isdisjoint([(at := file.resolve()), *at.parents])] or [path]
    return found


def is_text(path: Path) -> bool:
    """Whether a path is a text file."""
    return path.name.endswith(TEXT_SUFFIXES) and path.is_file()


def parts_of(path: Path, tokenizer: Tokenizer) -> Iterator[str | Lines]:
    """Split a text file into parts of whole lines, not yet tokenized; a corpus into lines of tokens."""
    if is_text(path):
        yield from _text_parts(path)
    else:
        yield _corpus_lines(path, tokenizer)


def token_lines(text: str, tokenizer: Tokenizer) -> Lines:
    """The tokens of each line of a text; consecutive blank lines count once.

    >>> token_lines("IL-2 binds.\\n\\n \\nIt is new.", Tokenizer("split"))
    [['IL', '-', '2', 'binds', '.'], [], ['It', 'is', 'new', '.']]
    """
    stretches: list[tuple[int, int]] = []
    ends: list[int] = []  # the stretches before which a document ends
    place = 0
    for line in text.splitlines(keepends=True):
        if not line.isspace():
            stretches.append((place, place + len(line)))
        elif not ends or ends[-1] != len(stretches):
            ends.append(len(stretches))
        place += len(line)
    lines = [[text[start:end] for start, end in spans] for spans in tokenize_all(text, stretches, tokenizer)]
    found: Lines = []
    for start, end in pairwise([0, *ends]):
        found += [*lines[start:end], []]
    return found + lines[ends[-1] if ends else 0 :]


def _text_parts(path: Path) -> Iterator[str]:
    """Parts that end after a blank line if possible, else after a line."""
    held = [""]  # of two or more blocks, only the first may have the end of a line
    try:
        with open_text(path) as stream:
            while block := stream.read(PART):
                ends_line = "\n" in block or "\n" in held[0]
                held.append(block)
                if ends_line:
                    part = "".join(held)
                    cut = part.rfind("\n\n") + 2
                    if cut < 2:
                        cut = part.rfind("\n") + 1
                    yield part[:cut]
                    held = [part[cut:]]
    except (OSError, *TEXT_ERRORS) as error:
        raise InputError(f"{path} cannot be read as text ({error}); check its name and that it is UTF-8") from None
    rest = "".join(held)
    if rest.strip():
        yield rest
    yield "\n"  # a file ends a document


def _documents(path: Path) -> Iterator[Document]:
    """The documents of a corpus, whose format is detected."""
    try:
        yield from read_corpus(str(path))
    except UnknownFormatError:
        raise InputError(
            f"{path} is neither a text file ({', '.join(TEXT_SUFFIXES)}) nor a corpus in a known format; rename or convert it"
        ) from None


def _corpus_lines(path: Path, tokenizer: Tokenizer) -> Lines:
    """A line per sentence. In formats where each sentence is a document, no document ends are inserted."""
    lines: Lines = []
    for document in _documents(path):
        sentences = document.sentences or split_text(document.text, tokenizer)
        if len(sentences) > 1 and lines and lines[-1]:
            lines.append([])
        lines += [list(sentence.tokens) for sentence in sentences if sentence.tokens]
        if len(sentences) > 1:
            lines.append([])
    return lines if not lines or not lines[-1] else [*lines, []]
