"""``annotate_dataset``: add mentions to a :class:`ray.data.Dataset`.

For whole jobs use ``hyperspan bulk --engine ray``. Nothing here imports ray before it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan.bulk.job import model_files
from hyperspan.bulk.ray import annotator_of, own_kernels
from hyperspan.bulk.records import DocumentRecord, Rejected
from hyperspan.bulk.shards import JobSettings, annotated
from hyperspan.corpora.json_records import shown
from hyperspan.errors import InputError, require
from hyperspan.runtime.folders import DEFAULT_MODEL
from hyperspan.runtime.loading import load
from hyperspan.types import Document

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

MENTIONS, REJECTED = "mentions", "rejected"
"""The columns that are added or replaced."""


def annotate_dataset(
    dataset: Dataset,
    model: str | Path = DEFAULT_MODEL,
    *,
    text_column: str = "text",
    threshold: float | dict[str, float] | None = None,
    recall: float | dict[str, float] | None = None,
    precision: float | dict[str, float] | None = None,
    types: Iterable[str] | None = None,
    names: bool = False,
    pronouns: bool = True,
    workers: int | None = None,
    batch_size: int = 256,
    device: str = "cpu",
) -> Dataset:
    """Add a column `mentions` to a dataset: a list of ``{start, end, label, text, probability, fragments}`` per row.

    `fragments` are the parts of a discontinuous mention, and null for others.

    A row whose text cannot be annotated has null there, and the reason in a column `rejected`, which is null in all
    other rows. `threshold`, `recall`, `precision`, `types`, `names` and `pronouns` are as for
    :class:`hyperspan.Annotator`. Rows are annotated lazily, `batch_size` at a time, by up to `workers` actors that each
    hold a model (default: the CPUs of the cluster minus one, which reads; with GPUs, one per GPU)::

        import ray
        from hyperspan.bulk.ray_data import annotate_dataset

        found = annotate_dataset(ray.data.read_parquet("s3://bucket/abstracts/"), "genia", text_column="abstract")
        found.write_parquet("s3://bucket/mentions/")
    """
    require("ray", "annotating a dataset of Ray")
    import ray
    from ray.data import ActorPoolStrategy

    chosen = None if types is None else tuple([types] if isinstance(types, str) else types)
    settings = JobSettings(threshold, chosen, names=names, pronouns=pronouns, recall=recall, precision=precision)
    load(model).options(**settings.annotator_options)
    if workers is not None and workers < 1:
        raise InputError(f"there are {workers} workers to annotate with; ask for at least 1")
    on_gpu = device.startswith("cuda")
    resources = ray.cluster_resources()
    most = workers or max(int(resources.get("GPU", 1) if on_gpu else resources.get("CPU", 2) - 1), 1)
    return dataset.map_batches(
        AnnotateBatches,
        fn_constructor_kwargs={
            "files": ray.put(model_files(model)),
            "settings": settings,
            "text_column": text_column,
            "device": device,
        },
        compute=ActorPoolStrategy(min_size=1, max_size=most),
        batch_size=batch_size,
        batch_format="pyarrow",
        num_cpus=None if on_gpu else 1,
        num_gpus=1 if on_gpu else None,
        **own_kernels(),
    )


class AnnotateBatches:
    """An actor with a model that annotates tables of rows."""

    def __init__(self, files: Any, settings: JobSettings, text_column: str, device: str):
        import ray

        self.annotator = annotator_of(ray.get(files), device, settings.dtype)
        self.settings, self.text_column = settings, text_column

    def __call__(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        from hyperspan.bulk.parquet import MENTION, mention_rows

        if self.text_column not in table.column_names:
            raise InputError(
                f"the dataset has no column {self.text_column!r}; name the one with the texts, one of {', '.join(table.column_names)}"
            )
        records = [_record(text) for text in table.column(self.text_column).to_pylist()]
        found = list(annotated(self.annotator, records, self.settings))
        mentions = [mention_rows(one.document.mentions) if isinstance(one, DocumentRecord) else None for one in found]
        reasons = [one.reason if isinstance(one, Rejected) else None for one in found]
        kept = table.drop_columns([name for name in (MENTIONS, REJECTED) if name in table.column_names])
        kept = kept.append_column(MENTIONS, pa.array(mentions, pa.list_(MENTION)))
        return kept.append_column(REJECTED, pa.array(reasons, pa.string()))


def _record(text: object) -> DocumentRecord | Rejected:
    if isinstance(text, str):
        return DocumentRecord(Document(text), "", {})
    return Rejected("", {}, f"the text is {shown(text)}, but a string is expected")
