"""All formats by name, with detection, `read_corpus` and `write_corpus`."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from attrs import evolve

from hyperspan.corpora.documents import by_characters, with_sentences, without_empty_gaps
from hyperspan.corpora.file_types import is_archive
from hyperspan.corpora.guess import may_hold_mentions, nearest
from hyperspan.corpora.json_records import from_metadata, in_metadata
from hyperspan.corpora.jsonl import looks_like_texts
from hyperspan.corpora.overlaps import without_crossings, without_overlaps
from hyperspan.corpora.partial import UnheldMarksError, marks_read, marks_written
from hyperspan.corpora.source import Losses, Lossy, Problems, Source, sources_in
from hyperspan.errors import CorpusError, InputError
from hyperspan.files import Target
from hyperspan.plugins import DeferredFunction, PluginTable
from hyperspan.types import Document, Mention, Sentence

Reader = Callable[..., Iterator[Document]]
Writer = Callable[..., None]


_MARKS = {"marks": bool}
"""The option of formats with marks of partial annotation: whether these labels are marks."""


class LabelRule(NamedTuple):
    """The labels that a format can write."""

    pattern: str
    """A regular expression for all of such a label."""
    others: str
    """The other ones, as in "3 with a label that is empty"."""


@dataclass(frozen=True)
class Format:
    """How to read, write and recognise a format.

    A reader takes a :class:`Source` and :class:`Problems` and yields documents; a writer takes documents, a
    :class:`Target`, :class:`Losses` and :class:`Problems`. Keyword arguments with defaults are options of the format.
    A writer gets only what the format holds (:func:`held`), and uses each document before it asks for the next one.
    """

    read: Reader
    write: Writer | None
    looks_like: Callable[[str], bool]
    suffixes: tuple[str, ...]
    """The suffixes of its files: those read from a folder, and those that select the format for writing."""
    beside: tuple[str, ...] = ()
    """Suffixes of companion files, which are read together with its files and never alone."""
    holds: Literal["any", "nested", "flat"] = "any"
    """The mentions that can be written: overlapping in any way, not crossing, or not overlapping."""
    discontinuous: bool = False
    """Whether discontinuous mentions can be written."""
    labels: LabelRule | None = None
    """The labels that can be written; None for all."""
    by_name: bool = False
    """Whether the suffix alone decides that a file is in this format, whatever its content."""
    partial: Literal["refused", "labels", "own"] = "refused"
    """How partial annotation is written: not at all, by labels (:mod:`hyperspan.corpora.partial`), or by the writer."""
    needs_sentences: bool = True
    """Whether the writer uses sentences and tokens, rather than only text and mentions: then it gets them."""
    reads: bool = True
    """Whether it can be read; if not, `read` raises an error with the reason."""

    def options(self, verb: Literal["read", "write"]) -> dict[str, Any]:
        """The options of its reader or writer by name, with their types."""
        function = inspect.unwrap(self.read if verb == "read" else self.write or self.read)
        hints = get_type_hints(function)
        parameters = inspect.signature(function).parameters.values()
        own = {one.name: hints[one.name] for one in parameters if one.kind is one.KEYWORD_ONLY}
        return own | (_MARKS if self.partial == "labels" else {})


def _built_in(module: str, name: str, *suffixes: str, writes: bool = True, **more: Any) -> Format:
    """A format with the functions read_NAME, write_NAME and looks_like_NAME of a module here, imported when called."""

    def function(verb: str) -> DeferredFunction:
        return DeferredFunction(f"hyperspan.corpora.{module}:{verb}_{name}")

    return Format(function("read"), function("write") if writes else None, function("looks_like"), suffixes, **more)


_NO_SPACE = LabelRule(r"[^ \t\r\n]+", "with a label that is empty or holds white space")
_NO_TAB = LabelRule(r"[^\t\r\n]+", "with a label that is empty or holds a tab or newline")
_NO_BAR = LabelRule(
    r"[^\s|][^|\r\n]*", "with a label that is empty, begins with a space or has | or a line break in it"
)
SHARED_SUFFIXES = (".json", ".txt")
"""Suffixes of files in many formats: they choose none for writing."""
_COLUMNS = (".tsv", ".iob2", ".bio", ".iob", ".conll", ".data", ".txt")
_BUILT_IN: dict[str, Format] = {
    "jsonl": _built_in("jsonl", "jsonl", ".jsonl", discontinuous=True, needs_sentences=False, partial="own"),
    "brat": _built_in(
        "brat",
        "brat",
        ".ann",
        beside=(".txt",),
        discontinuous=True,
        labels=_NO_SPACE,
        by_name=True,
        needs_sentences=False,
        partial="labels",
    ),
    "four-lines": _built_in("four_lines", "four_lines", ".data", labels=_NO_BAR),
    "genia-xml": _built_in("genia_xml", "genia_xml", ".xml", writes=False),
    "ace": _built_in("ace", "ace", ".apf.xml", writes=False, beside=(".sgm", ".SGM"), by_name=True),
    "conll2003": _built_in("columns", "conll2003", ".conll", holds="flat", labels=_NO_TAB),
    "columns": _built_in("columns", "columns", *_COLUMNS, labels=_NO_TAB),
    "w2ner": _built_in("token_json", "w2ner", ".json", discontinuous=True),
    "cnn-ner": _built_in("token_json", "cnn_ner", ".jsonlines"),
    "gliner": _built_in("token_json", "gliner", ".json"),
    "doccano": _built_in("doccano", "doccano", ".jsonl", needs_sentences=False, partial="labels"),
    "label-studio": _built_in(
        "label_studio", "label_studio", ".json", discontinuous=True, needs_sentences=False, partial="labels"
    ),
    "prodigy": _built_in("prodigy", "prodigy", ".jsonl", writes=False),
    "strings": _built_in("strings", "strings", ".jsonl", ".json", writes=False),
    "docbin": _built_in("docbin", "docbin", ".spacy", discontinuous=True, by_name=True),
    "table": _built_in("mention_tables", "table", ".csv", ".tsv", writes=False),
    "csv": _built_in("tables", "csv", ".csv", discontinuous=True, reads=False, partial="own"),
    "tsv": _built_in("tables", "tsv", ".tsv", discontinuous=True, reads=False, partial="own"),
}
"""To add a format, add an entry. The first format that recognises a file reads it."""

FORMATS = PluginTable({"formats": "hyperspan.corpora.formats:Format"}, _BUILT_IN)
"""All formats by name: built-in ones, and plug-ins that other distributions register under ``hyperspan.formats``."""
READERS = tuple(name for name, entry in _BUILT_IN.items() if entry.reads)
"""The names of built-in formats that can be read."""
WRITERS = tuple(name for name, entry in _BUILT_IN.items() if entry.write is not None)
"""The names of built-in formats that can be written."""


class UnknownFormatError(InputError):
    """The content of a file matches no known format."""


def detect(source: Source) -> str:
    """Detect the format of a source from its content, or from its suffix if that is decisive."""

    def named(entry: Format) -> bool:
        return entry.by_name and _plain_name(source).endswith(entry.suffixes)

    if (found := next((name for name, entry in FORMATS.built_in.items() if named(entry)), None)) is not None:
        return found
    head = source.head().removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").replace("\r\n", "\n")
    for name, entry in FORMATS.working():  # plug-ins are loaded only if no built-in format fits
        if named(entry) or (head.strip() and entry.looks_like(head)):
            return name
    if not head.strip():
        raise InputError(f"{source.name} is empty, so it shows no format; name a file with text in it")
    if looks_like_texts(head) and not may_hold_mentions(head):
        raise UnknownFormatError(
            f'{source.name} has texts without mentions; annotate them first, add "mentions": [] where there are none, or, if '
            "the first mentions come late in a long line, name the format (--from jsonl)"
        )
    guess = nearest(source, {name: entry.read for name, entry in FORMATS.built_in.items() if entry.reads})
    raise UnknownFormatError(
        f"{source.name} is in no format that is known here; {guess}{'; ' if guess else ''}name its format (--from, or data.format in a "
        f"configuration), one of {', '.join(readable_formats())}"
    )


def read_corpus(
    given: str | Path,
    format: str | None = None,  # noqa: A002
    problems: Problems | None = None,
    *,
    split: str | Path | None = None,
    **options: Any,
) -> Iterator[Document]:
    """Yield the documents of a file, a folder or standard input ("-"); the format is detected unless given.

    `options` are those of the format, e.g. ``repair=True`` for columns. For a folder of ACE, `split` names a file that
    lists the documents to read, such as those of Lu & Roth. `problems` (:class:`hyperspan.corpora.Problems`) collects
    what the reader repairs or skips; by default an invalid record raises a `CorpusError`.

    >>> import tempfile
    >>> from hyperspan import read_corpus
    >>> with tempfile.NamedTemporaryFile("w", suffix=".data") as file:
    ...     _ = file.write("the Seattle zoo\\nDT NNP NN\\n0,3 FAC|1,2 GPE\\n\\n")
    ...     _ = file.seek(0)
    ...     [document] = read_corpus(file.name)
    >>> document, sorted(mention.text for mention in document.mentions)
    (Document('the Seattle zoo', 2 mentions, 1 sentence, id='1'), ['Seattle', 'the Seattle zoo'])
    """
    problems = problems if problems is not None else Problems()
    sources, format = sources_of(given, format, problems, split)  # noqa: A001
    return chain.from_iterable(read_source(source, format, problems, **options) for source in sources)


def sources_of(
    given: str | Path,
    format: str | None,  # noqa: A002
    problems: Problems,
    split: str | Path | None = None,
) -> tuple[list[Source], str | None]:
    """The sources of a corpus and its format; for a single file the format is None unless given."""
    if format is not None and (format not in FORMATS or not FORMATS[format].reads):
        raise InputError(f"the format {format!r} cannot be read; choose one of {', '.join(readable_formats())}")
    sources = sources_in(given, FORMATS[format].suffixes if format and _holds_several(given) else ())
    if format is None and len(sources) > 1:
        every = sources
        sources, format = _of_one_format(sources)  # noqa: A001
        _note_left_out(every, sources, format, problems)
    if split is not None:
        from hyperspan.corpora.ace import ace_split, select

        sources = select(sources, ace_split(split), problems)
    return sources, format


def read_source(source: Source, name: str | None, problems: Problems, **options: Any) -> Iterator[Document]:
    """Yield the documents of one source; its format is detected unless given."""
    name = name or detect(source)
    source.lenient = problems
    entry = FORMATS[name]
    options = check_options(entry.options("read"), name, options)
    marks = options.pop("marks", True) and entry.partial == "labels"
    found = entry.read(source, problems, **options)
    if marks:
        found = (one for each in found for one in problems.tried(source, f"document {each.id!r}", marks_read, each))
    return map(from_metadata, found)


def _holds_several(given: str | Path) -> bool:
    return str(given) != "-" and (Path(given).is_dir() or is_archive(Path(given)))


def _of_one_format(sources: list[Source]) -> tuple[list[Source], str]:
    """The files of a folder that have the format of the first recognised file."""
    unreadable: CorpusError | None = None
    unknown: list[InputError] = []
    for source in sources:
        try:
            name = detect(source)
        except CorpusError as error:
            unreadable = unreadable or error
            continue
        except InputError as error:
            unknown.append(error)
            continue
        ending = next((suffix for suffix in FORMATS[name].suffixes if _plain_name(source).endswith(suffix)), None)
        if ending is None:
            return [other for other in sources if other is source or _may_be(other, name)], name
        return [other for other in sources if _plain_name(other).endswith(ending)], name
    raise unreadable or UnknownFormatError(f"none of the {len(sources)} files is in a known format: {unknown[0]}")


def _may_be(source: Source, name: str) -> bool:
    """Whether a file shows this format, or cannot be read, which is an error that its reader reports."""
    try:
        return detect(source) == name
    except CorpusError:
        return True
    except InputError:
        return False


def _plain_name(source: Source) -> str:
    return source.name.removesuffix(".gz")


def _note_left_out(every: list[Source], read: list[Source], name: str, problems: Problems) -> None:
    """Count the files of a folder that are not read, not even as companions of others."""
    entry, kept = FORMATS[name], {source.name for source in read}
    stems = {_plain_name(source).removesuffix(end) for source in read for end in entry.suffixes}
    along = {stem + end for stem in stems for end in entry.beside}
    left_out = [one.name for one in every if one.name not in kept and _plain_name(one) not in along]
    if left_out:
        problems.note(f"file left out, such as {left_out[0]}, because the first that is known is {name}", len(left_out))


def write_corpus(
    documents: Iterable[Document],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    lossy: Lossy | None = None,
    force: bool = False,
    problems: Problems | None = None,
    **options: Any,
) -> Losses:
    """Write documents to a file, a folder or standard output ("-"), completely or not at all.

    The format follows from the suffix unless given; `options` are those of the format. An existing file is replaced
    only with `force`. Mentions that the format cannot hold are an error unless `lossy` chooses which to keep; the
    losses are returned. Files move one by one into a folder that exists, so a crash at that moment leaves some of them.

    >>> import tempfile
    >>> from hyperspan import Document, Mention, read_corpus, write_corpus
    >>> nested = [Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_corpus(nested, f"{folder}/zoo.jsonl")
    ...     assert list(read_corpus(f"{folder}/zoo.jsonl")) == nested
    ...     write_corpus(nested, f"{folder}/zoo.conll", lossy="outermost").lost
    {'overlapping another': 1}
    """
    format = format or format_for(str(path), ", or name the format")  # noqa: A001
    write = FORMATS[format].write if format in FORMATS else None
    if write is None:
        raise InputError(f"the format {format!r} cannot be written; choose one of {', '.join(writable_formats())}")
    losses = Losses(lossy)
    # On standard output only jsonl streams: it accepts every mention, and each line is a document.
    target = Target(str(path), force, buffered=format != "jsonl")
    noted = problems if problems is not None else Problems()
    options = check_options(FORMATS[format].options("write"), format, options)
    marks = options.pop("marks", True)
    given = held(_checked(documents), format, FORMATS[format], losses, noted, marks)
    write(given, target, losses, noted, **options)
    return losses


def held(
    documents: Iterable[Document], name: str, entry: Format, losses: Losses, problems: Problems, marks: bool = True
) -> Iterator[Document]:
    """Yield what a format holds of each document; after the last one, raise an error if something was lost."""
    for document in documents:
        document, marked = _marked(without_empty_gaps(document, problems), name, entry, losses, marks)
        if entry.needs_sentences:
            document = with_sentences(document, problems)
        within = sum(len(sentence.mentions) for sentence in document.sentences) if entry.needs_sentences else 0
        losses.written += max(len(document.mentions), within)
        document = _kept(document, entry, losses)
        yield in_metadata(evolve(document, mentions=document.mentions.union(marked)) if marked else document)
    losses.check(name)


def _marked(
    document: Document, name: str, entry: Format, losses: Losses, marks: bool
) -> tuple[Document, list[Mention]]:
    """The document as far as its partial annotation can be written, and the mentions that are marks of it."""
    if entry.partial == "own":
        return document, []
    if entry.partial == "refused" or not marks:
        return losses.unmarked(document, name), []
    try:
        plain, marked = marks_written(document, name)
    except UnheldMarksError as error:
        return losses.unmarked(document, name, str(error)), []
    reason = next((f"{mark.label!r} would be a mark {why}" for mark in marked if (why := _why_not(mark, entry))), "")
    return (losses.unmarked(document, name, reason), []) if reason else (plain, marked)


def _why_not(mention: Mention, entry: Format) -> str:
    """Why a format cannot hold a mention, whatever the others are; empty if it can."""
    if mention.fragments and not entry.discontinuous:
        return "discontinuous"
    if entry.labels is not None and not re.fullmatch(entry.labels.pattern, mention.label):
        return entry.labels.others
    return ""


def _kept(document: Document, entry: Format, losses: Losses) -> Document:
    """The document without the mentions that a format cannot hold, which are counted as lost."""
    if entry.discontinuous and entry.labels is None and entry.holds == "any":
        return document
    if not entry.needs_sentences:
        return evolve(document, mentions=document.mentions - _unheld(document.mentions, entry, losses))
    dropped: set[Mention] = set()
    sentences: list[Sentence] = []
    for sentence in document.sentences:
        if left_out := _unheld(sentence.mentions, entry, losses):
            repeated = [mention for mention in sentence.duplicates if mention not in left_out]
            sentence = evolve(sentence, mentions=sentence.mentions - left_out, duplicates=repeated)
            dropped |= {by_characters(mention, sentence.offsets) for mention in left_out if sentence.offsets}
        sentences.append(sentence)
    return evolve(document, mentions=document.mentions - dropped, sentences=sentences)


def _unheld(mentions: Set[Mention], entry: Format, losses: Losses) -> set[Mention]:
    """The mentions of a sentence or document that a format cannot hold."""
    reasons = {mention: why for mention in mentions if (why := _why_not(mention, entry))}
    if entry.holds != "any":
        rest = [mention for mention in mentions if mention not in reasons]
        flat = entry.holds == "flat"
        kept = without_overlaps(rest, losses.lossy == "innermost") if flat else without_crossings(rest)
        reasons |= dict.fromkeys(set(rest).difference(kept), "overlapping another")
    for reason, count in Counter(reasons.values()).items():
        losses.lose(reason, count)
    return set(reasons)


def _checked(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents, or raise an error for other objects."""
    if not isinstance(documents, Iterable):
        raise InputError(f"{documents!r:.80} cannot be written; put it into a list")
    for document in documents:
        if not isinstance(document, Document):
            raise InputError(f"{document!r:.80} cannot be written; give a list of Documents")
        yield document


def readable_formats() -> dict[str, Format]:
    """The formats that can be read, by name."""
    return {name: entry for name, entry in FORMATS.working() if entry.reads}


def writable_formats() -> dict[str, Format]:
    """The formats that can be written, by name."""
    return {name: entry for name, entry in FORMATS.working() if entry.write is not None}


def format_for(path: str, or_else: str = "") -> str:
    """The format for a file to write, by its suffix; `or_else` tells users how else to choose it.

    >>> format_for("zoo.jsonl.gz")
    'jsonl'
    """
    name = path.removesuffix(".gz")
    fitting = (one for one, entry in FORMATS.working() if entry.write is not None and name.endswith(entry.suffixes))
    if not name.endswith(SHARED_SUFFIXES) and (first := next(fitting, None)) is not None:
        return first  # plug-ins are loaded only if no built-in format fits
    names = list(fitting)
    usual = dict.fromkeys(entry.suffixes[0] for entry in writable_formats().values() if entry.suffixes)
    endings = [suffix for suffix in usual if suffix not in SHARED_SUFFIXES]
    why = f", since a file of {' or '.join(names)} may have it" if names else ""
    raise InputError(
        f"the name {path} does not say its format{why}; let it end in one of {', '.join(endings)}{or_else}"
    )


def check_options(known: Mapping[str, Any], format_name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options of a reader or writer by their types; "1,2" becomes integers if these are declared.

    >>> check_options({"columns": Sequence[int], "repair": bool}, "zoo", {"columns": "1,2", "repair": True})
    {'columns': (1, 2), 'repair': True}
    >>> check_options({"columns": Sequence[int], "repair": bool}, "zoo", {"colums": 1})
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: the format zoo has no option 'colums'; it has columns, repair
    """
    if unknown := next((name for name in given if name not in known), None):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the format {format_name} has no option {unknown!r}; {has}")
    return {name: _converted(value, known[name], name) for name, value in given.items()}


def _converted(value: Any, hint: Any, name: str) -> Any:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for member in sorted(members, key=lambda member: member is str):  # a string only if nothing else fits
        kind, arguments = get_origin(member) or member, get_args(member)
        if kind is Literal:
            if value in arguments:
                return value
        elif kind is Sequence:
            parts = (
                value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
            )
            try:
                return tuple(map(arguments[0], parts))
            except (TypeError, ValueError):
                continue
        elif type(value) is kind or (kind is str and not isinstance(value, bool | None)):
            return kind(value) if kind is str else value
    wanted = str(hint).replace("typing.", "").replace("collections.abc.", "")
    if isinstance(hint, type):
        wanted = hint.__name__
    elif choices := [choice for member in members if get_origin(member) is Literal for choice in get_args(member)]:
        wanted = f"one of {', '.join(choices)}"
    raise InputError(f"the option {name} is {value!r}, but must be {wanted}")
