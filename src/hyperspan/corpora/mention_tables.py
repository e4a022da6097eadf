"""Tables of mentions, CSV and TSV, for spreadsheets: one row per mention. Write-only, because they lack the texts.

CSV begins with a byte order mark, so that Excel recognises UTF-8, and its rows end in CR LF; TSV has neither. Cells are
quoted as in RFC 4180, so a mention may span several lines. A cell that a spreadsheet would evaluate as a formula gets
an apostrophe. The last column, "fragments", exists if a mention is discontinuous: "0:4 15:19".
"""

from __future__ import annotations

import csv
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

from hyperspan.corpora.documents import by_characters, with_sentences
from hyperspan.corpora.source import Problems, Source
from hyperspan.corpora.target import Losses, Target
from hyperspan.errors import InputError
from hyperspan.types import Document, Mention

COLUMNS = ("document", "sentence", "start", "end", "text", "label", "probability")
FRAGMENTS = "fragments"
"""The column for the parts of discontinuous mentions."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of cells that a spreadsheet may evaluate as a formula."""
BYTE_ORDER_MARK = "\ufeff"


def write_csv(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    *,
    guard: bool = True,
) -> None:
    """Write one CSV row per mention; `guard=False` omits the apostrophes before formulas."""
    with target.open() as file:
        file.write(BYTE_ORDER_MARK)
        _write(file, documents, "csv", losses, problems, (",", "\r\n"), guard)


def write_tsv(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    *,
    guard: bool = True,
) -> None:
    """Write the same table with tabs, without a byte order mark."""
    with target.open() as file:
        _write(file, documents, "tsv", losses, problems, ("\t", "\n"), guard)


def read_csv(source: Source, problems: Problems) -> Iterator[Document]:
    """Raise an error: a table of mentions is not a corpus."""
    raise InputError(
        f"{source.name} is a table of mentions, which does not hold their texts, so it cannot be read; keep them as jsonl too"
    )


def read_tsv(source: Source, problems: Problems) -> Iterator[Document]:
    """Raise an error: a table of mentions is not a corpus."""
    return read_csv(source, problems)


def looks_like_csv(head: str) -> bool:
    """Whether a file begins like a CSV table of mentions.

    >>> looks_like_csv("document,sentence,start,end,text,label,probability"), looks_like_csv("id,text")
    (True, False)
    """
    return head.removeprefix(BYTE_ORDER_MARK).startswith(",".join(COLUMNS))


def looks_like_tsv(head: str) -> bool:
    """Whether a file begins like a TSV table of mentions."""
    return head.startswith("\t".join(COLUMNS))


def _write(
    file: IO[str],
    documents: Iterable[Document],
    name: str,
    losses: Losses,
    problems: Problems,
    ends: tuple[str, str],
    guard: bool,
) -> None:
    writer = csv.writer(file, delimiter=ends[0], lineterminator=ends[1])
    discontinuous = False
    with SpooledTemporaryFile(
        max_size=1 << 24, mode="w+", encoding="utf-8"
    ) as spool:  # the last row decides on the columns
        for number, document in enumerate(documents, start=1):
            for row, mention in _rows(with_sentences(document, problems), number):
                losses.written += 1
                discontinuous = discontinuous or bool(mention.fragments)
                cells = [_guarded(cell) if guard else cell for cell in row]
                parts = " ".join(f"{start}:{end}" for start, end in mention.fragments)
                spool.write(json.dumps([*cells, parts]) + "\n")
        width = len(COLUMNS) + discontinuous
        writer.writerow((*COLUMNS, FRAGMENTS)[:width])
        spool.seek(0)
        writer.writerows(json.loads(line)[:width] for line in spool)
    losses.check(name)


def _rows(document: Document, number: int) -> Iterator[tuple[tuple[str, ...], Mention]]:
    """The rows of a document, sorted by start, longer mentions first."""
    placed = [(sentence.offsets[0][0], index) for index, sentence in enumerate(document.sentences) if sentence.offsets]
    ends = {index: document.sentences[index].offsets[-1][1] for _, index in placed}
    mentions = document.mentions | {
        by_characters(mention, sentence.offsets, document.text)
        for sentence in document.sentences
        if sentence.offsets
        for mention in sentence.mentions
    }
    for mention in sorted(mentions, key=lambda one: (one.start, -one.end, one.label, one.fragments)):
        at = bisect_right(placed, (mention.start, len(document.sentences))) - 1
        inside = at >= 0 and mention.start < ends[placed[at][1]]
        probability = "" if mention.probability is None else f"{mention.probability:.6f}"
        sentence = str(placed[at][1] + 1) if inside else ""
        name, text = document.id or str(number), document.text[mention.start : mention.end]
        yield (name, sentence, str(mention.start), str(mention.end), text, mention.label, probability), mention


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
