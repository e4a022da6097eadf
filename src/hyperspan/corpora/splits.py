"""Split a corpus into train, dev and test: documents stay whole, and each part gets its share of every label.

Parts are written into a folder, all of them or none.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any, Literal

from attrs import evolve

from hyperspan.corpora.documents import by_characters, by_places, covered, document_of, with_sentences
from hyperspan.corpora.formats import FORMATS, detect, read_source, sources_of, writable_formats, write_corpus
from hyperspan.corpora.outputs import FOLDERS
from hyperspan.corpora.source import Losses, Lossy, Problems, Source
from hyperspan.corpora.statistics import printable
from hyperspan.corpora.stratification import Part, stratify
from hyperspan.errors import InputError, OutputExistsError, counted
from hyperspan.types import Document

SplitUnit = Literal["document", "file", "sentence"]
Fractions = Mapping[str, float]
USUAL_FRACTIONS: Fractions = {"train": 0.8, "dev": 0.1, "test": 0.1}
DOCUMENT_KEYS = ("doc_id", "document_id", "doc", "document")
"""Metadata keys that name the document of a record; the first one present counts."""


@dataclass(frozen=True)
class Split:
    """The parts of a corpus by name, with notes for the user."""

    parts: dict[str, Part]
    format: str
    """The format that the corpus was read in."""
    notes: list[str]


@dataclass(frozen=True)
class OpenCorpus:
    """An unread corpus: its name, its sources and its format."""

    name: str
    sources: list[Source]
    format: str

    def read(self, problems: Problems, **options: Any) -> list[list[Document]]:
        """The documents of each source."""
        return [list(read_source(source, self.format, problems, **options)) for source in self.sources]


def split_corpus(
    corpus: str | Path,
    fractions: Fractions = USUAL_FRACTIONS,
    *,
    seed: int = 1,
    by: SplitUnit | None = None,
    group_by: str | None = None,
    in_order: bool = False,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Split:
    """Split the documents of a corpus at random, stratified by label; the same seed gives the same parts.

    `fractions` are the shares of the parts by name, by default train 0.8, dev 0.1 and test 0.1. `format` and `options`
    are as for :func:`hyperspan.read_corpus`.

    Documents are never split: records that share an id or `metadata.doc_id` are one document, and so is each file of a
    folder of single sentences. `by` chooses other units; `group_by` names a metadata key whose value the records of a
    document share. With `in_order` nothing is shuffled: the first documents are train, the last test.

    >>> from hyperspan.corpora.examples import example_path
    >>> from hyperspan.corpora import split_corpus
    >>> split = split_corpus(example_path("harbour"))
    >>> {name: (part.sentences, part.labels["PER"]) for name, part in split.parts.items()}
    {'train': (19, 24), 'dev': (2, 3), 'test': (3, 2)}
    """
    problems = Problems()
    opened = open_corpus(corpus, format, problems)
    files = opened.read(problems, **options)
    return split_files(opened, files, fractions, problems, seed=seed, by=by, group_by=group_by, in_order=in_order)


def open_corpus(corpus: str | Path, format_name: str | None, problems: Problems) -> OpenCorpus:
    """Open a corpus and find its format, without reading any document."""
    sources, found = sources_of(corpus, format_name, problems)
    return OpenCorpus(str(corpus), sources, found or detect(sources[0]))


def split_files(
    corpus: OpenCorpus,
    files: Sequence[list[Document]],
    fractions: Fractions,
    problems: Problems,
    *,
    seed: int = 1,
    by: SplitUnit | None = None,
    group_by: str | None = None,
    in_order: bool = False,
) -> Split:
    """Split a corpus whose files were already read, like :func:`split_corpus`."""
    check_fractions(fractions)
    units, notes = _units(files, by, group_by, problems)
    wanted = {part: fraction for part, fraction in fractions.items() if fraction > 0}
    _check_enough(corpus.name, len(units), list(wanted), by, notes)
    shares = list(wanted.values())
    chosen = _cut(len(units), shares) if in_order else stratify(units, shares, seed)
    parts = {
        part: _part([unit for unit, at in zip(units, chosen, strict=True) if at == place])
        for place, part in enumerate(wanted)
    }
    return Split(parts, corpus.format, [*notes, *_about(parts)])


def check_fractions(fractions: Fractions) -> None:
    """Raise an error for fractions that are not shares of a whole."""
    shown = "/".join(f"{100 * fraction:g}" for fraction in fractions.values())
    if not all(0 <= fraction <= 1 for fraction in fractions.values()):
        raise InputError(
            f"the parts are to be {shown} percent, but each must be from 0 to 100; write for example 80/10/10"
        )
    if abs(sum(fractions.values()) - 1) > 1e-6:
        raise InputError(
            f"the parts {shown} add up to {100 * sum(fractions.values()):g} percent, but must be 100 together; "
            "write for example 80/10/10"
        )
    if sum(fraction > 0 for fraction in fractions.values()) < 2 or not fractions.get("train"):
        raise InputError(
            f"the parts {shown} leave nothing to train on, or nothing but train; write for example 80/10/10, or 90/10"
        )


def _units(
    files: Sequence[list[Document]], by: SplitUnit | None, group_by: str | None, problems: Problems
) -> tuple[list[Part], list[str]]:
    """The units that stay whole, in order, and notes on the choice."""
    if group_by is not None and by not in (None, "document"):
        raise InputError(f"--group-by {group_by} makes documents, but --by {by} asks for another unit; leave one out")
    if by == "sentence":
        cut = [part for file in files for document in file for part in sentence_documents(document, problems)]
        return [_unit([document]) for document in cut], []
    key = group_by or _document_key(files)
    notes = [f"records with the same metadata.{key} are one document"] if key and not group_by else []
    groups = _grouped(files, key)
    units = [_unit(group) for group in groups]
    single = key is None and len(files) > 1 and all(unit.sentences <= 1 for unit in units)
    if by == "file" or (by is None and single):
        if by is None:
            notes.append("each file is a document, because its records are single sentences")
        units = [_unit(file) for file in files if file]
    return units, notes


def _document_key(files: Sequence[list[Document]]) -> str | None:
    """The metadata key by which records name their document, even if some lack it: the others would be torn apart."""
    known = [document.metadata for file in files for document in file]
    return next((key for key in DOCUMENT_KEYS if any(isinstance(each.get(key), str | int) for each in known)), None)


def _grouped(files: Sequence[list[Document]], key: str | None) -> list[list[Document]]:
    """The records of each document: those with one value of the key or, without a key, with one id in a file."""
    groups: dict[object, list[Document]] = {}
    found = False
    for number, file in enumerate(files):
        for document in file:
            value = document.metadata.get(key) if key else None
            found = found or value is not None
            name = repr(value) if value is not None else (number, document.id) if document.id else object()
            groups.setdefault(name, []).append(document)
    if key and not found:
        known = sorted({name for file in files for document in file for name in document.metadata})
        raise InputError(
            f"no record has the metadata {key!r} to group by; choose one of {', '.join(known)}"
            if known
            else f"no record has the metadata {key!r} to group by, nor any other; leave out --group-by"
        )
    return list(groups.values())


def _unit(documents: list[Document]) -> Part:
    sentences, labels = 0, Counter[str]()
    for document in documents:
        whole = with_sentences(document, Problems("skip"))
        mentions = whole.mentions or [mention for sentence in whole.sentences for mention in sentence.mentions]
        sentences += len(whole.sentences)
        labels.update(mention.label for mention in mentions)
    return Part(documents, 1, sentences, labels)


def _check_enough(corpus: str, units: int, parts: Sequence[str], by: SplitUnit | None, notes: Sequence[str]) -> None:
    """Raise an error if there are fewer units than parts."""
    if units >= len(parts):
        return
    if units == 0:
        raise InputError(f"{corpus} has no documents to split; name a corpus that has")
    what = counted(units, "sentence" if by == "sentence" else "document") + "".join(f" ({note})" for note in notes)
    mix = f"hyperspan convert {corpus} FOLDER --fractions 80/10/10 --by sentence"
    advice = "annotate more" if by == "sentence" else f"cut it into documents, or mix its sentences with {mix}"
    raise InputError(
        f"{corpus} has {what}, but {', '.join(parts[:-1])} and {parts[-1]} need at least one each, and none is split; {advice}"
    )


def _cut(count: int, fractions: Sequence[float]) -> list[int]:
    """The part of each unit without shuffling, as GENIA is split, with at least one unit in each part.

    >>> [_cut(18_546, [0.8, 0.1, 0.1]).count(part) for part in range(3)]
    [14836, 1855, 1855]
    """
    exact = [Fraction(fraction).limit_denominator(1_000_000) for fraction in fractions]
    ends: list[int] = []
    for place, share in enumerate(accumulate(exact), start=1):
        least, most = (ends[-1] if ends else 0) + 1, count - len(fractions) + place
        ends.append(min(max(int(share * count), least), most))
    return [sum(unit >= end for end in ends[:-1]) for unit in range(count)]


def _part(units: Sequence[Part]) -> Part:
    labels = Counter[str]()
    for unit in units:
        labels.update(unit.labels)
    documents = [document for unit in units for document in unit.documents]
    return Part(documents, len(units), sum(unit.sentences for unit in units), labels)


def _about(parts: Mapping[str, Part]) -> list[str]:
    """Notes on what users may not expect of the parts: labels that one lacks, and texts that are in two."""
    notes: list[str] = []
    totals = sum((part.labels for part in parts.values()), Counter[str]())
    for name, part in parts.items():
        lacking = [
            f"{printable(label)} ({counted(totals[label], 'mention')} in all)"
            for label in sorted(totals)
            if not part.labels[label]
        ]
        if lacking:
            notes.append(f"{name} has no {', '.join(lacking)}")
    train, *others = ({document.text for document in part.documents} for part in parts.values())
    if again := sum(len(texts & train) for texts in others):
        notes.append(f"{counted(again, 'text')} outside train, word for word, are in train too")
    return notes


READ_ONLY_AS = "jsonl"
"""The format of the parts if the corpus format is read-only: it loses nothing."""


@dataclass(frozen=True)
class PartFiles:
    """The files and the format of the parts of a corpus."""

    folder: Path
    format: str
    suffix: str

    @classmethod
    def of(cls, corpus: OpenCorpus, folder: str | Path | None = None, to: str | None = None) -> PartFiles:
        """The files for a corpus: by default in its format, if that can be written, and in a folder next to it."""
        if folder is None and corpus.name == "-":
            raise InputError("standard input has no folder for the parts; name one")
        format_name = to or (corpus.format if FORMATS[corpus.format].write is not None else READ_ONLY_AS)
        if format_name not in (known := writable_formats()):
            raise InputError(f"the format {format_name!r} cannot be written; choose one of {', '.join(known)}")
        place = Path(folder) if folder is not None else _beside(Path(corpus.name))
        _check_outside(place, corpus.name)
        own_name = corpus.sources[0].name if format_name == corpus.format else ""
        return cls(place, format_name, "" if format_name in FOLDERS else _suffix(own_name, format_name))

    def path(self, part: str) -> Path:
        return self.folder / f"{part}{self.suffix}"

    def check_free(self, parts: Sequence[str], *, force: bool) -> None:
        """Raise an error if parts may not be written."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file, but the parts are written into a folder; name another")
        for part in dict.fromkeys((*parts, *USUAL_FRACTIONS)):
            path = self.path(part)
            if path.exists() and part not in parts:
                raise OutputExistsError(
                    f"{path} exists and would stay next to the new parts, with some of the same sentences; remove it, or write the parts into another folder"
                )
            if path.exists() and not force:
                raise OutputExistsError(
                    f"{path} exists; overwrite it with --force, or write the parts into another folder with hyperspan "
                    f"convert CORPUS FOLDER --fractions 80/10/10"
                )

    def write(
        self,
        parts: Mapping[str, Part],
        *,
        force: bool = False,
        lossy: Lossy | None = None,
        problems: Problems,
        **options: Any,
    ) -> dict[str, Losses]:
        """Write every part to a temporary file, then move all of them into place; `options` are those of the format."""
        self.check_free(list(parts), force=force)
        created = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            return self._written(parts, lossy, problems, options)
        except BaseException:
            if created:
                self.folder.rmdir()
            raise

    def _written(
        self, parts: Mapping[str, Part], lossy: Lossy | None, problems: Problems, options: Mapping[str, Any]
    ) -> dict[str, Losses]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".split-") as temporary:
            new, old = Path(temporary) / "new", Path(temporary) / "old"
            new.mkdir()
            old.mkdir()
            losses = {
                name: write_corpus(
                    part.documents,
                    new / self.path(name).name,
                    self.format,
                    lossy=lossy,
                    problems=problems,
                    **options,
                )
                for name, part in parts.items()
            }
            for name in parts:
                place = self.path(name)
                if place.is_dir():
                    place.replace(old / place.name)
                (new / place.name).replace(place)
            return losses


def _beside(corpus: Path) -> Path:
    """mine.jsonl.gz → mine-split"""
    name = corpus.resolve().name
    return corpus.parent / f"{name.partition('.')[0] or name}-split"


def _suffix(source: str, format_name: str) -> str:
    """The suffix of the parts: that of the source if it has the same format, where the format allows it."""
    packed = ".gz" if source.endswith(".gz") else ""
    own, allowed = PurePath(source.removesuffix(".gz")).suffix, FORMATS[format_name].suffixes
    return (own if own in allowed else allowed[0]) + packed


def _check_outside(folder: Path, corpus: str) -> None:
    """Raise an error for parts inside the corpus, which would be read as part of it the next time."""
    if corpus != "-" and Path(corpus).is_dir() and folder.resolve().is_relative_to(Path(corpus).resolve()):
        raise InputError(f"{folder} is inside the corpus {corpus} and would be read with it; name another folder")


def sentence_documents(document: Document, problems: Problems) -> list[Document]:
    """Split a document into one document per sentence; a document of one sentence is returned unchanged.

    >>> from hyperspan.types import Mention, Sentence
    >>> both = document_of([Sentence(["the", "Seattle", "zoo"], [Mention(1, 2, "GPE")]), Sentence(["Why", "?"])], "a")
    >>> [(part.id, part.text, len(part.mentions)) for part in sentence_documents(both, Problems())]
    [('a-1', 'the Seattle zoo', 1), ('a-2', 'Why ?', 0)]
    """
    sentences = with_sentences(document, problems).sentences
    if len(sentences) < 2:
        return [document]
    cut: list[Document] = []
    for index, sentence in enumerate(sentences):
        if not sentence.tokens:
            continue
        name, metadata = f"{document.id}-{index + 1}" if document.id else "", _metadata_of_sentence(document, index)
        if not sentence.offsets:
            cut.append(document_of([sentence], name, metadata))
            continue
        first, last = sentence.offsets[0][0], sentence.offsets[-1][1]
        text, offsets = document.text[first:last], [(start - first, end - first) for start, end in sentence.offsets]
        mentions = [by_characters(mention, offsets, text) for mention in sentence.mentions]
        tokenised = [evolve(sentence, offsets=offsets)] if document.sentences else []
        scope = sentence.annotated and by_places(sentence.annotated, partial(covered, offsets=offsets))
        forbidden = [by_characters(mention, offsets, text) for mention in sentence.forbidden]
        cut.append(Document(text, mentions, tokenised, name, metadata, annotated=scope, forbidden=forbidden))
    return cut


def _metadata_of_sentence(document: Document, index: int) -> dict[str, Any]:
    """The metadata of a document that describe one sentence: single values, and its entry in lists by sentence.

    Other lists and objects, such as mention orders and relations, describe the document as a whole.
    """
    match document.metadata:
        case {"records": [*records]} if len(records) == len(document.sentences):
            return dict(records[index])
    kept = {key: value for key, value in document.metadata.items() if isinstance(value, str | int | float)}
    match document.metadata:
        case {"chunks": [*chunks]} if len(chunks) == len(document.sentences):
            return kept | {"chunks": [chunks[index]]}
    return kept
