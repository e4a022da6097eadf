"""``ArrowAnnotator``: add mentions to batches of Arrow, as Ray Data, Spark, Daft and Dask hand them to functions.

For whole jobs over files, which resume, use ``hyperspan bulk``. Nothing here imports pyarrow before it is called.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from numbers import Integral
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from hyperspan.bulk.records import DocumentRecord, Rejected
from hyperspan.bulk.shards import JobSettings, annotated
from hyperspan.bulk.workers import annotator_on
from hyperspan.errors import InputError, check_kind, require
from hyperspan.kernels.threads import use_threads
from hyperspan.runtime.folders import DEFAULT_MODEL, bundled_models, folder_of
from hyperspan.types import Document

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from hyperspan.runtime.annotator import Annotator

Batch = TypeVar("Batch")

_LOADING = threading.RLock()
if hasattr(os, "register_at_fork"):  # no fork leaves the lock locked in the child
    os.register_at_fork(before=_LOADING.acquire, after_in_parent=_LOADING.release, after_in_child=_LOADING.release)


class ArrowAnnotator:
    """Adds a column of mentions to each batch that it is called with.

    A batch is a :class:`pyarrow.Table`, a :class:`pyarrow.RecordBatch` or a :class:`pandas.DataFrame`, and so is the
    result. All other columns stay as they are. Two are added:

    - `output`, by default ``mentions``: a list of ``{start, end, label, text, probability, fragments}`` for each row.
      Offsets count characters (Unicode code points). `fragments` are the parts of a discontinuous mention, and null for
      others. A row without a text (null) has null here.
    - `rejected`: why a row with a text has null in `output`, for example because a sentence is too long for the model.
      It is null in all other rows.

    A column of that name that is there already is an error. The other arguments:

    - `model`: a bundled model, or a folder that all workers can read. `text` is the column of the texts.
    - `threshold`, `recall`, `precision`, `types`, `names`, `pronouns`: as for :class:`hyperspan.Annotator`.
    - `device`, `dtype`: as for :func:`hyperspan.load`.
    - `threads`: how many threads the process of a worker uses from its first batch on. The default 1 suits one worker
      per CPU; None leaves the number as it is.

    Pickled, it is these arguments. Each process loads a model once, for all threads and all annotators. On the CPU the
    options are checked at once, on other devices at the first batch.

    >>> import pyarrow as pa
    >>> from hyperspan import ArrowAnnotator
    >>> annotate = ArrowAnnotator("genia", text="abstract", types=["protein"], threads=None)
    >>> table = annotate(pa.table({"pmid": [7, 8], "abstract": ["c-Rel binds.", None]}))
    >>> table.column_names, table["mentions"][1].as_py()
    (['pmid', 'abstract', 'mentions', 'rejected'], None)
    >>> [(mention["start"], mention["end"], mention["text"]) for mention in table["mentions"][0].as_py()]
    [(0, 5, 'c-Rel')]
    """

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        *,
        text: str = "text",
        output: str = "mentions",
        rejected: str = "rejected",
        threshold: float | dict[str, float] | None = None,
        recall: float | dict[str, float] | None = None,
        precision: float | dict[str, float] | None = None,
        types: Iterable[str] | None = None,
        names: bool = False,
        pronouns: bool = True,
        device: str = "cpu",
        dtype: str = "float32",
        threads: int | None = 1,
    ) -> None:
        require("parquet", "annotating tables of Arrow")
        for name, column in {"text": text, "output": output, "rejected": rejected}.items():
            check_kind(name, column, str)
        check_kind("types", types, Iterable, NoneType)
        check_kind("threads", threads, Integral, NoneType)
        if threads is not None and threads < 1:
            raise InputError(f"there are {threads} threads to annotate with; ask for at least 1")
        if output == rejected:
            raise InputError(
                f"two columns would have the name {output!r}; choose another one as output=… or rejected=…"
            )
        folder = folder_of(model)
        self.model = str(model) if str(model) in bundled_models() else str(folder.resolve())
        self.text, self.output, self.rejected = text, output, rejected
        self.device, self.threads = device, threads
        chosen = None if types is None else tuple([types] if isinstance(types, str) else types)
        self.settings = JobSettings(
            threshold, chosen, names=names, pronouns=pronouns, dtype=dtype, recall=recall, precision=precision
        )
        if device == "cpu":
            self._annotator.options(**self.settings.annotator_options)

    def __call__(self, batch: Batch) -> Batch:
        """The batch with its mentions, as a batch of the same type."""
        import pyarrow as pa

        given: Any = batch
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(given, pandas.DataFrame):
            return self._in_pandas(given)
        if not isinstance(given, pa.Table | pa.RecordBatch):
            raise InputError(
                f"a batch is of the type {type(given).__name__}, but a pyarrow.Table, a pyarrow.RecordBatch or a "
                'pandas.DataFrame is expected; Ray needs batch_format="pyarrow"'
            )
        schema = self.schema(given.schema)
        return type(given).from_arrays([*given.columns, *self._found(given.column(self.text))], schema=schema)

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The record batches with their mentions, for ``DataFrame.mapInArrow`` of Spark."""
        return map(self, batches)

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of annotated batches, from that of the batches."""
        import pyarrow as pa

        from hyperspan.bulk.parquet import MENTIONS, is_text

        known = ", ".join(schema.names)
        if (count := schema.names.count(self.text)) != 1:
            many = "no column" if not count else "more than one column"
            raise InputError(f"there is {many} {self.text!r}; name the one with the texts as text=…, one of {known}")
        kind = schema.field(self.text).type
        if not (is_text(kind) or pa.types.is_null(kind)):
            raise InputError(f"the column {self.text!r} holds {kind}, but texts are needed; name another as text=…")
        for argument, name in {"output": self.output, "rejected": self.rejected}.items():
            if name in schema.names:
                raise InputError(
                    f"there is a column {name!r} already; leave it out, or choose another name as {argument}=…"
                )
        return schema.append(pa.field(self.output, MENTIONS)).append(pa.field(self.rejected, pa.string()))

    @property
    def ddl(self) -> str:
        """The two columns that are added, in Spark's language of schemas."""
        from hyperspan.bulk.parquet import MENTIONS

        output, rejected = (name.replace("`", "``") for name in (self.output, self.rejected))
        return f"`{output}` {_ddl(MENTIONS)}, `{rejected}` string"

    @property
    def _annotator(self) -> Annotator:
        """The annotator of this process."""
        changed = (folder_of(self.model) / "model.safetensors").stat().st_mtime_ns
        with _LOADING:
            return _loaded(self.model, changed, self.device, self.settings.dtype)

    def _found(self, texts: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
        """The columns of mentions and of reasons, for a column of texts."""
        import pyarrow as pa

        from hyperspan.bulk.parquet import MENTIONS, ROWS, mention_rows

        annotator = self._annotator
        if self.threads is not None:
            use_threads(self.threads)
        mentions, reasons = [pa.array([], MENTIONS)], [pa.array([], pa.string())]
        results = annotated(annotator, map(_record, texts), self.settings)
        while some := list(islice(results, ROWS)):  # mentions as Python objects take far more memory than as Arrow
            documents = [one.document if isinstance(one, DocumentRecord) else None for one in some]
            mentions.append(pa.array([one and mention_rows(one.mentions) for one in documents], MENTIONS))
            reasons.append(
                pa.array([one.reason or None if isinstance(one, Rejected) else None for one in some], pa.string())
            )
        return [pa.concat_arrays(mentions), pa.concat_arrays(reasons)]

    def _in_pandas(self, frame: pd.DataFrame) -> Any:
        import pandas as pd
        import pyarrow as pa

        columns: list[Any] = [pa.nulls(len(frame))] * len(frame.columns)
        names = [str(name) for name in frame.columns]
        for place in (place for place, name in enumerate(names) if name == self.text):
            column = frame.iloc[:, place]
            try:  # of missing texts alone, the type says nothing
                columns[place] = pa.nulls(len(frame)) if column.isna().all() else pa.array(column)
            except (pa.ArrowException, UnicodeEncodeError) as error:
                reason = str(error).partition("\n")[0]
                raise InputError(
                    f"the column {self.text!r} holds more than texts ({reason}); leave the rest out"
                ) from None
        found = self(pa.Table.from_arrays(columns, names))
        added = {name: pd.arrays.ArrowExtensionArray(found[name]) for name in (self.output, self.rejected)}
        return frame.assign(**added)


@functools.lru_cache(maxsize=4)
def _loaded(model: str, changed: int, device: str, dtype: str) -> Annotator:
    """An annotator that this process keeps until the file of the model has changed."""
    return annotator_on(model, device, dtype)


def _record(text: pa.Scalar) -> DocumentRecord | Rejected:
    try:
        known = text.as_py()
    except UnicodeDecodeError as error:
        return Rejected("", {}, f"the text is not UTF-8 ({error.reason})")
    return Rejected("", {}, "") if known is None else DocumentRecord(Document(known), "", {})


def _ddl(kind: pa.DataType) -> str:
    """A type of Arrow in Spark's language."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'`{field.name}`: {_ddl(field.type)}' for field in kind)}>"
    return "bigint" if pa.types.is_int64(kind) else str(kind)
