"""Annotate a shard as a stream, write its files under temporary names, and commit them as a unit."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

from attrs import evolve

from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Kind
from hyperspan.bulk.plan import Shard, ShardLimits, with_all_fields
from hyperspan.bulk.records import DocumentRecord, Rejected, read_piece
from hyperspan.corpora.jsonl import document_line
from hyperspan.corpora.tables import Columns
from hyperspan.errors import EXIT_EXCEPTIONS, InputError, JobError, require
from hyperspan.runtime.notes import Notes
from hyperspan.runtime.options import ANY_LABEL, thresholds_by_label
from hyperspan.types import Document

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator


class WorkerDiedError(JobError):
    """A worker has died or cannot go on; another must do its shard again."""


OutputFormat = Literal["jsonl", "parquet"]
DOCUMENTS, REJECTED, PROGRESS = "documents", "rejected", ".progress"
"""The folders of a job: its documents, its rejected records and, while it runs, its progress."""


@dataclass(frozen=True)
class JobSettings:
    """The settings that determine a job's output, besides its model and inputs."""

    threshold: float | dict[str, float] | None = None
    types: tuple[str, ...] | None = None
    top_k: int = 0
    format: OutputFormat = "jsonl"
    kind: Kind | None = None
    columns: Columns = field(default_factory=Columns)
    limits: ShardLimits = field(default_factory=ShardLimits)
    names: bool = False
    pronouns: bool = True
    dtype: str = "float32"
    recall: float | dict[str, float] | None = None
    precision: float | dict[str, float] | None = None

    def __post_init__(self) -> None:
        if self.format not in get_args(OutputFormat):
            known = ", ".join(get_args(OutputFormat))
            raise InputError(f"shards cannot be written as {self.format!r}; choose one of {known}")
        if self.kind not in (None, *get_args(Kind)):
            raise InputError(f"inputs cannot be read as {self.kind!r}; choose one of {', '.join(get_args(Kind))}")
        if self.format == "parquet":
            require("parquet", "writing Parquet")

    @property
    def annotator_options(self) -> dict[str, Any]:
        """The keyword arguments of the annotator."""
        options = {"threshold": self.threshold, "types": self.types, "top_k": self.top_k}
        options |= {"names": self.names, "pronouns": self.pronouns}
        return {**options, "recall": self.recall, "precision": self.precision}

    def to_json(self) -> dict[str, Any]:
        """A JSON form that is equal for equivalent settings."""
        given = {"threshold": thresholds_by_label(self.threshold)}
        for name in ("recall", "precision"):
            share = getattr(self, name)
            given[name] = {ANY_LABEL: share} if isinstance(share, float | int) else share
        return json.loads(json.dumps(asdict(self) | given))


@dataclass
class ShardResult:
    """Counts over a shard, collected while it is written."""

    number: int
    documents: int = 0
    rejected: int = 0
    mentions: int = 0
    words: int = 0
    bytes: int = 0
    """The size of its documents file."""
    first_reason: str = ""
    """The reason of its first rejected record."""
    without_id: int = 0
    """The number of documents without an id."""
    untagged: int = 0
    """The number of documents without part-of-speech tags."""
    judged: int = 0
    """The number of documents, the first ones, that were compared with the model's training text."""
    foreign: int = 0
    """How many of these differ from the training text."""
    languages: dict[str, int] = field(default_factory=dict[str, int])
    """How many of these are in each language that the model was not trained on."""

    @staticmethod
    def from_json(record: dict[str, Any]) -> ShardResult:
        """The counts from their `asdict` form; raises TypeError if a note is invalid."""
        done = with_all_fields(ShardResult, record)
        others = {"first_reason": str, "languages": dict}
        for name, value in record.items():
            if type(value) is not others.get(name, int):
                raise TypeError(f"expected whole numbers and a reason, got {value!r:.80} as {name}")
        if any(type(count) is not int for count in done.languages.values()):
            raise TypeError(f"expected languages with whole numbers, got {done.languages!r:.80}")
        return done

    def write(self, write: Callable[[Document], Any], record: DocumentRecord | Rejected) -> Rejected | None:
        """Write a document, or return why it cannot be written."""
        if isinstance(record, DocumentRecord):
            try:
                write(record.document)
            except (*EXIT_EXCEPTIONS, OSError):  # the file cannot be written, whatever the document
                raise
            except BaseException as error:
                record = Rejected.because(error, record.input, record.place)
            else:
                self.documents += 1
                self.without_id += not record.document.id
                self.mentions += len(record.document.mentions)
                return None
        self.rejected += 1
        self.first_reason = self.first_reason or record.reason
        return record


def annotate_shard(
    annotator: Annotator,
    shard: Shard,
    settings: JobSettings,
    output: Folder,
    job: str,
    on_words: Callable[[int], None] = lambda words: None,
) -> ShardResult:
    """Annotate a shard and commit it: first rejected records, then documents, last the note that it is done.

    A killed shard leaves no note and is repeated; annotating it twice, even concurrently, gives the same files.
    """
    done, notes, rejected_name = ShardResult(shard.number), Notes(annotator), f"{REJECTED}/{shard.name}.jsonl"

    def records() -> Iterator[DocumentRecord | Rejected]:
        for piece in shard.pieces:
            for record in read_piece(piece, settings.columns):
                if isinstance(record, DocumentRecord):
                    notes.see(record.document)
                yield record

    def count_words(words: int) -> None:
        done.words += words
        on_words(words)

    with ExitStack() as uncommitted:  # closed in reverse order, so that documents follow their rejected records
        stream = uncommitted.enter_context(output.writing(f"{DOCUMENTS}/{shard.name}.{settings.format}"))
        rejected_records: IO[bytes] | None = None
        with _writer(stream, settings.format) as write:
            for record in annotated(annotator, records(), settings, count_words):
                if (rejected := done.write(write, record)) is not None:
                    if rejected_records is None:
                        rejected_records = uncommitted.enter_context(output.writing(rejected_name))
                    rejected_records.write(_rejected_line(rejected))
        done.bytes = stream.tell()
        if rejected_records is None:
            output.discard(rejected_name)  # that of an earlier attempt, which was killed between its two files
    done.untagged, done.judged, done.foreign = notes.untagged, notes.domain.texts, notes.domain.foreign
    done.languages = dict(notes.domain.languages)
    with output.writing(f"{PROGRESS}/{shard.name}.json") as stream:
        stream.write(json.dumps({"job": job, **asdict(done)}).encode())
    return done


def annotated(
    annotator: Annotator,
    records: Iterable[DocumentRecord | Rejected],
    settings: JobSettings,
    on_words: Callable[[int], None] | None = None,
) -> Iterator[DocumentRecord | Rejected]:
    """The records with their mentions, in order; only a record on which the model fails is rejected.

    Sentences and words, which take most of the space, are left out.
    """
    waiting: deque[DocumentRecord | Rejected] = deque()

    def documents() -> Iterator[Document]:
        for record in records:
            waiting.append(record)
            if isinstance(record, DocumentRecord):
                yield record.document

    options = annotator.options(**settings.annotator_options)
    for result in annotator.results(documents(), options, keep_sentences=False, on_words=on_words):
        while isinstance(record := waiting.popleft(), Rejected):
            yield record
        if isinstance(result, Document):
            yield replace(record, document=evolve(result, sentences=()))
        else:
            error = result.error
            known = isinstance(error, InputError)
            if not known:
                _check_gpu()
            yield record.reject(str(error) if known else f"the model failed: {type(error).__name__}: {error}")
    yield from waiting


def _check_gpu() -> None:
    """Raise an error if the GPU of this process has failed, which would fail every further text."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        raise WorkerDiedError(f"the GPU has failed ({str(error).strip().partition(chr(10))[0]})") from None


# -- files -------------------------------------------------------------------------------------------------------------


def _writer(stream: IO[bytes], format_name: OutputFormat) -> AbstractContextManager[Callable[[Document], Any]]:
    """A function that writes documents to a stream."""
    if format_name == "parquet":
        from hyperspan.bulk.parquet import parquet_to

        return parquet_to(stream)
    return nullcontext(lambda document: stream.write(document_line(document)))


def _rejected_line(rejected: Rejected) -> bytes:
    for record, only_ascii in ((rejected, False), (rejected, True)):
        with suppress(ValueError, RecursionError):  # what could be read may not be writable
            return json.dumps(record.to_json(), ensure_ascii=only_ascii).encode() + b"\n"
    return json.dumps(replace(rejected, record=None).to_json()).encode() + b"\n"
