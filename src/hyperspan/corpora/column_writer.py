"""Write documents as columns, spooled until the number of layers is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO

from hyperspan.corpora.column_layout import (
    DOCUMENT,
    NOTHING,
)
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.corpora.tags import (
    LabelledSpan,
    Scheme,
    encode,
    fitting,
    layers_of,
)
from hyperspan.corpora.target import Losses, Target
from hyperspan.types import Document, Sentence


@dataclass
class ColumnWriter:
    """Spool the columns of each sentence until the number of layers and the separators are known."""

    name: str
    losses: Losses
    problems: Problems
    scheme: Scheme
    layers: int | None
    leading: Callable[[Document, int], list[Sequence[str]]]
    """The columns before the tags, given a document and the index of a sentence."""
    innermost_first: bool = False
    sources: bool = False
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
                self.spool(with_sentences(document, self.problems), spool)
            self.losses.check(self.name)
            spool.seek(0)
            self.copy(spool, out)

    def spool(self, document: Document, spool: IO[str]) -> None:
        spool.write(f"\n{DOCUMENT}\n")
        filled = [index for index, sentence in enumerate(document.sentences) if sentence.tokens]
        if len(filled) < len(document.sentences):
            self.problems.note("empty sentences left out", len(document.sentences) - len(filled))
        self.several_sentences |= len(filled) != 1
        source = source_of(document) if self.sources else None
        for index in filled:
            leading = self.leading(document, index)
            self.leading_width = len(leading)
            cells = [[self.cell(text) for text in column] for column in leading]
            rows = zip(*cells, *self.tags(document.sentences[index]), strict=True)
            text = "".join(["\t".join(row) + "\n" for row in rows])
            if " " in text:
                self.separator = "\t"
            spool.write(f"\n#\t{source}\t\n{text}" if source is not None and index == filled[0] else f"\n{text}")

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
                if not (self.sources and line[0] == "#"):  # with sources, tokens follow a number
                    line = line[:-1] + "\tO" * (width - 1 - line.count("\t")) + "\n"
                out.write(("\n" if separate else "") + line.replace("\t", self.separator))
                separate, anything = False, True

    def tags(self, sentence: Sentence) -> list[list[str]]:
        """The tags of a sentence in as many layers as it needs; mentions that do not fit are counted as lost."""
        spans: set[LabelledSpan] = set()
        for mention in sentence.mentions:
            if mention.fragments:
                self.losses.lose("discontinuous")
            elif not mention.label or not {"\t", "\n", "\r"}.isdisjoint(mention.label):
                self.losses.lose("with a label that is empty or holds a tab or newline")
            else:
                spans.add((mention.start, mention.end, mention.label))
        again = [span for mention in sentence.duplicates if (span := (*mention.span, mention.label)) in spans]
        kept = [*spans, *again] if self.layers is None else self.fitting(spans, again, len(sentence))
        distinct = len(set(kept))
        self.losses.written += distinct
        self.losses.lose(
            "overlapping another in flat columns" if self.layers == 1 else f"beyond {self.layers} layers",
            len(spans) - distinct,
        )
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


def source_of(document: Document) -> str | None:
    source = document.metadata.get("source")
    return source if isinstance(source, str) and "\n" not in source else None


def chunks_of(document: Document, index: int) -> Sequence[str]:
    """The chunk tags of a sentence, if the document has them and they fit its sentences."""
    chunks = document.metadata.get("chunks")
    if not isinstance(chunks, list | tuple) or len(chunks) != len(document.sentences):
        return ()
    tags = chunks[index]
    fits = isinstance(tags, list | tuple) and len(tags) == len(document.sentences[index])
    return tags if fits and all(isinstance(tag, str) for tag in tags) else ()
