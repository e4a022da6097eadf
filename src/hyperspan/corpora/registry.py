"""Every format by name, and how to tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from hyperspan.archives import is_archive
from hyperspan.corpora.jsonl import looks_like_texts
from hyperspan.corpora.options import check_options
from hyperspan.corpora.results import from_metadata, in_metadata
from hyperspan.corpora.source import Problems, Source, sources_in
from hyperspan.corpora.target import Losses, Lossy, Target
from hyperspan.corpora.trimming import without_empty_gaps
from hyperspan.errors import CorpusError, InputError
from hyperspan.lazy import DeferredFunction
from hyperspan.plugins import PluginTable
from hyperspan.types import Document

Reader = Callable[..., Iterator[Document]]
Writer = Callable[..., None]


@dataclass(frozen=True)
class Format:
    """How to read, write and recognise a format.

    A reader takes a :class:`Source` and :class:`Problems` and yields documents; a writer takes documents, a
    :class:`Target`, :class:`Losses` and :class:`Problems`. Keyword arguments with defaults are options of the format.
    """

    read: Reader
    write: Writer | None
    looks_like: Callable[[str], bool]
    suffixes: tuple[str, ...]
    """How its files' names end: which files of a folder are read, and what a name to write to means."""
    what: str
    beside: tuple[str, ...] = ()
    """How the names of files end that it reads along with those: they are no files of their own."""
    holds: Literal["any", "nested", "flat"] = "any"
    """Which mentions it can be written with: overlapping in any way, not crossing, or not overlapping."""
    discontinuous: bool = False
    """Whether it can be written with mentions of several parts, as they are."""
    by_name: bool = False
    """Whether a file whose name ends so is in this format, whatever its content looks like."""
    holds_marking: bool = False
    """Whether its writer takes what says that annotation is partial: it writes or refuses it, or says of nothing that
    it is absent."""
    needs_sentences: bool = True
    """Whether documents are written by their sentences and tokens, and not by text and mentions alone."""
    reads: bool = True
    """Whether it can be read; where it cannot, `read` says why."""


def _built_in(
    module: str, name: str, suffixes: tuple[str, ...], what: str, *, writes: bool = True, **more: Any
) -> Format:
    """A format whose functions are read_NAME, write_NAME and looks_like_NAME of a module here, which they import when
    called."""

    def function(verb: str) -> DeferredFunction:
        return DeferredFunction(f"hyperspan.corpora.{module}:{verb}_{name}")

    return Format(
        function("read"), function("write") if writes else None, function("looks_like"), suffixes, what, **more
    )


_BUILT_IN: dict[str, Format] = {
    "jsonl": _built_in(
        "jsonl",
        "jsonl",
        (".jsonl",),
        "hyperspan's own, lossless",
        discontinuous=True,
        needs_sentences=False,
        holds_marking=True,
    ),
    "brat": _built_in(
        "brat",
        "brat",
        (".ann",),
        "stand-off, a folder of .txt and .ann",
        beside=(".txt",),
        discontinuous=True,
        by_name=True,
        needs_sentences=False,
        holds_marking=True,
    ),
    "four-lines": _built_in(
        "four_lines",
        "four_lines",
        (".data",),
        "tokens / tags / mentions / blank, as GENIA and ACE in this line of work",
    ),
    "genia-xml": _built_in("genia_xml", "genia_xml", (".xml",), "GENIA corpus 3.02", writes=False),
    "ace": _built_in(
        "ace",
        "ace",
        (".apf.xml",),
        "ACE 2004 and 2005, .sgm and .apf.xml",
        writes=False,
        beside=(".sgm", ".SGM"),
        by_name=True,
    ),
    "conll2003": _built_in("columns", "conll2003", (".conll",), "word, tag, chunk, flat mention", holds="flat"),
    "columns": _built_in(
        "columns",
        "columns",
        (".tsv", ".iob2", ".bio", ".iob", ".conll", ".data", ".txt"),
        "a word a line, any number of IOB1, IOB2, BIOES or BILOU columns",
    ),
    "w2ner": _built_in("token_json", "w2ner", (".json",), "W2NER", discontinuous=True),
    "cnn-ner": _built_in("token_json", "cnn_ner", (".jsonlines",), "CNN-NER and SpERT"),
    "gliner": _built_in("token_json", "gliner", (".json",), "GLiNER"),
    "doccano": _built_in("doccano", "doccano", (".jsonl",), "doccano", needs_sentences=False),
    "label-studio": _built_in(
        "label_studio",
        "label_studio",
        (".json",),
        "Label Studio",
        discontinuous=True,
        needs_sentences=False,
        holds_marking=True,
    ),
    "docbin": _built_in("docbin", "docbin", (".spacy",), "spaCy, extra `spacy`", discontinuous=True, by_name=True),
    "csv": _built_in(
        "mention_tables",
        "csv",
        (".csv",),
        "a table of mentions for spreadsheets",
        discontinuous=True,
        reads=False,
        holds_marking=True,
    ),
    "tsv": _built_in(
        "mention_tables", "tsv", (".tsv",), "the same with tabs", discontinuous=True, reads=False, holds_marking=True
    ),
}
"""To add a format, add an entry; the first that recognises a file gets it."""

FORMATS = PluginTable("formats", _BUILT_IN, Format)
"""By name: those that are built in, and those that other distributions add to the group ``hyperspan.formats``."""
READERS = tuple(name for name, entry in _BUILT_IN.items() if entry.reads)
"""The names of those that are built in and can be read."""
WRITERS = tuple(name for name, entry in _BUILT_IN.items() if entry.write is not None)
"""The names of those that are built in and can be written."""


class UnknownFormatError(InputError):
    """What a file holds shows no format that is known here."""


def detect(source: Source) -> str:
    """The name of the format that a source is in, by its content; by its name where that says it all."""

    def named(entry: Format) -> bool:
        return entry.by_name and _plain_name(source).endswith(entry.suffixes)

    if (found := next((name for name, entry in FORMATS.built_in.items() if named(entry)), None)) is not None:
        return found
    head = source.head().removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").replace("\r\n", "\n")
    for name, entry in FORMATS.working():  # plug-ins are loaded only if nothing that is built in fits
        if named(entry) or (head.strip() and entry.looks_like(head)):
            return name
    if not head.strip():
        raise InputError(f"{source.name} is empty, so it shows no format; name a file with text in it")
    if looks_like_texts(head):
        raise UnknownFormatError(
            f'{source.name} has texts without mentions; annotate them first, or add "mentions": [] where there are none'
        )
    raise UnknownFormatError(
        f"{source.name} is in no format that is known here; name its format (--from, or data.format in a configuration), one of "
        f"{', '.join(readable_formats())}"
    )


def read_corpus(
    given: str | Path,
    format: str | None = None,  # noqa: A002
    problems: Problems | None = None,
    *,
    split: str | Path | None = None,
    **options: Any,
) -> Iterator[Document]:
    """The documents of a file, a folder or standard input ("-"), one by one; the format is recognised unless named.

    `options` are those of the format, e.g. ``repair=True`` for columns. Of a folder of ACE, `split` names a file that
    lists the documents to read, as those of Lu & Roth do. What a reader repairs or skips is counted in `problems`.

    >>> import tempfile
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
    """What is to be read of a corpus, and its format; that of a single file is None unless it is named."""
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
    """The documents of one source; its format is recognised unless named."""
    name = name or detect(source)
    source.lenient = problems
    read = FORMATS[name].read
    return map(from_metadata, read(source, problems, **check_options(read, name, options)))


def _holds_several(given: str | Path) -> bool:
    return str(given) != "-" and (Path(given).is_dir() or is_archive(Path(given)))


def _of_one_format(sources: list[Source]) -> tuple[list[Source], str]:
    """The files of a folder that are in the format of the first one that is in any."""
    unreadable: CorpusError | None = None
    for source in sources:
        try:
            name = detect(source)
        except CorpusError as error:
            unreadable = unreadable or error
            continue
        except InputError:
            continue
        ending = next((suffix for suffix in FORMATS[name].suffixes if _plain_name(source).endswith(suffix)), "")
        return [other for other in sources if _plain_name(other).endswith(ending)], name
    raise unreadable or UnknownFormatError(
        f"none of the {len(sources)} files is in a known format; name it with --from, one of {', '.join(readable_formats())}"
    )


def _plain_name(source: Source) -> str:
    return source.name.removesuffix(".gz")


def _note_left_out(every: list[Source], read: list[Source], name: str, problems: Problems) -> None:
    """Counts the files of a folder that are not read, not even along with others."""
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
    """Writes documents to a file, a folder or standard output ("-"): all of them, or nothing and an error.

    Only into a folder that exists its files are moved one by one, so that a crash in those moments leaves some.

    The format is that of the name unless it is given; `options` are those of the format. A file that exists is replaced
    only with `force`. Mentions that the format cannot hold are an error unless `lossy` says which to keep; losses are
    returned.

    >>> import tempfile
    >>> from hyperspan.types import Mention
    >>> nested = [Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_corpus(nested, f"{folder}/zoo.jsonl")
    ...     assert list(read_corpus(f"{folder}/zoo.jsonl")) == nested
    ...     write_corpus(nested, f"{folder}/zoo.conll", lossy="outermost").lost
    {'overlapping another in flat columns': 1}
    """
    format = format or format_for(str(path), ", or name the format")  # noqa: A001
    write = FORMATS[format].write if format in FORMATS else None
    if write is None:
        raise InputError(f"the format {format!r} cannot be written; choose one of {', '.join(writable_formats())}")
    losses = Losses(lossy)
    # On standard output, jsonl alone is a stream: it refuses no mention, and each of its lines is a document.
    target = Target(str(path), force, buffered=format != "jsonl")
    noted = problems if problems is not None else Problems()
    given = (without_empty_gaps(document, noted) for document in _checked(documents))
    given = given if FORMATS[format].holds_marking else (losses.unmarked(document, format) for document in given)
    write(map(in_metadata, given), target, losses, noted, **check_options(write, format, options))
    return losses


def _checked(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, unless they are something else."""
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
    """The format that the name of a file to write means; `or_else` says how else users can choose it."""
    name = path.removesuffix(".gz")
    for format_name, entry in FORMATS.working():
        if entry.write is not None and name.endswith(entry.suffixes):
            return format_name
    endings = dict.fromkeys(entry.suffixes[0] for entry in writable_formats().values() if entry.suffixes)
    raise InputError(f"the name {path} does not say its format; let it end in one of {', '.join(endings)}{or_else}")
