"""Parquet in and out, and folders behind URLs."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import pytest

from hyperspan.bulk import annotate_files
from hyperspan.bulk.inputs import find_inputs
from hyperspan.bulk.plan import Columns, ShardLimits
from hyperspan.bulk.records import DocumentRecord, Rejected
from hyperspan.errors import InputError
from tests.bulk.fakes import FakeAnnotator, lines_in, texts_in, write_jsonl
from tests.bulk.test_plan import make_plan, read_all, told

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_rows_become_documents_from_any_cut(tmp_path: Path) -> None:
    texts = [f"text {n}" if n % 5 else None for n in range(50)]
    day = datetime.date(2020, 2, 1)
    table = pa.table({"id": range(50), "text": texts, "day": [day] * 50, "raw": [b"x"] * 50, "x": [float("nan")] * 50})
    pq.write_table(table, tmp_path / "made.parquet", row_group_size=7)
    files, _ = find_inputs([str(tmp_path)])
    expected = [text or '"text" is null, but a string is expected' for text in texts]
    for limits in (
        ShardLimits(),
        ShardLimits(records=1),
        ShardLimits(records=3),
        ShardLimits(records=20),
        ShardLimits(bytes=30),
    ):
        plan = make_plan(files, limits)
        records = read_all(plan)
        assert told(records) == expected and [record.place["row"] for record in records] == list(range(1, 51))
    assert len(plan) > 5
    assert isinstance(records[1], DocumentRecord) and records[1].document.metadata == {"day": "2020-02-01", "x": None}


def test_rows_that_are_no_text_are_rejected(tmp_path: Path) -> None:
    column = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\x03\0\0\0\x05\0\0\0"), pa.py_buffer(b"Zo\xebOz"))
    pq.write_table(pa.table({"text": column}), tmp_path / "made.parquet")
    plan = make_plan(find_inputs([str(tmp_path)])[0], ShardLimits())
    assert told(read_all(plan)) == ["the row is not UTF-8 text (unexpected end of data)", "Oz"]


def test_columns_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "n": [1]}), tmp_path / "made.parquet")
    files, _ = find_inputs([str(tmp_path)])
    with pytest.raises(
        InputError, match="has no column 'text'; name the one with the texts with --column, one of id, n"
    ):
        make_plan(files, ShardLimits())
    with pytest.raises(InputError, match=r"the column 'n' of .* holds int64, but texts are needed"):
        make_plan(files, ShardLimits(), Columns("n"))
    pq.write_table(pa.table({"text": ["a"], "id": [b"x"]}), tmp_path / "made.parquet")
    with pytest.raises(InputError, match=r"the column 'id' of .* holds binary, but names or numbers are needed"):
        make_plan(find_inputs([str(tmp_path)])[0], ShardLimits())
    with pytest.raises(
        InputError, match=r"has no column 'pmid'; name the one with the ids with --id-column, one of text, id"
    ):
        make_plan(find_inputs([str(tmp_path)])[0], ShardLimits(), Columns("text", "pmid"))
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(twice, tmp_path / "made.parquet")
    with pytest.raises(InputError, match="has more than one column 'text'"):
        make_plan(find_inputs([str(tmp_path)])[0], ShardLimits())


def test_dates_and_times_that_python_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa.array([0])  # pyarrow looks for pandas once, and stumbles if it is hidden then
    monkeypatch.setitem(sys.modules, "pandas", None)
    far, units = 10**18, ("s", "ms", "us", "ns")
    columns = {unit: pa.array([0, 1, None], pa.timestamp(unit)) for unit in units}
    columns |= {"far": pa.array([0, far, None], pa.timestamp("us")), "day": pa.array([0, 10**8, None], pa.date32())}
    columns["zone"] = pa.array([0, 1, None], pa.timestamp("s", "Nowhere/Town"))
    columns["inside"] = pa.array([[0], [far], None], pa.list_(pa.timestamp("us")))
    pq.write_table(pa.table({"text": ["a", "b", "c"], **columns}), tmp_path / "made.parquet")
    first, second, third = read_all(make_plan(find_inputs([str(tmp_path)])[0], ShardLimits()))
    assert isinstance(first, DocumentRecord) and isinstance(third, DocumentRecord)
    assert first.document.metadata["ns"].startswith("1970-01-01 00:00:00") and third.document.metadata["zone"] is None
    assert (
        first.document.metadata["zone"].startswith("1970-01-01 00:00:00")
        and first.document.metadata["day"] == "1970-01-01"
    )
    assert isinstance(second, Rejected) and "the row cannot be read" in second.reason


def test_shards_that_somebody_has_changed_are_read(fake: FakeAnnotator, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "made.jsonl", [{"id": 1, "text": "Ada slept", "year": 1900}])
    annotate_files([tmp_path / "made.jsonl"], tmp_path / "one", format="parquet")
    table = pq.read_table(tmp_path / "one/documents/part-00000.parquet")
    variants = {
        "fewer": (table.select(["id", "text"]), {}),
        "no metadata": (table.drop_columns(["metadata"]), {}),
        "more": (table.append_column("split", pa.array(["dev"])), {"year": 1900, "split": "dev"}),
    }
    for name, (changed, metadata) in variants.items():
        pq.write_table(changed, tmp_path / f"{name}.parquet")
        annotate_files([tmp_path / f"{name}.parquet"], tmp_path / f"again {name}")
        [record] = lines_in(tmp_path / f"again {name}/documents")
        assert (record["id"], record["text"], record.get("metadata", {})) == ("1", "Ada slept", metadata)
    broken = table.set_column(3, "metadata", pa.array(["{"]))
    pq.write_table(broken, tmp_path / "broken.parquet")
    [rejected] = read_all(make_plan(find_inputs([str(tmp_path / "broken.parquet")])[0], ShardLimits()))
    assert isinstance(rejected, Rejected) and rejected.reason == "its metadata are not a JSON object"


def test_parquet_shards_hold_what_json_lines_hold_and_can_be_annotated_again(
    fake: FakeAnnotator, tmp_path: Path
) -> None:
    records = [{"id": n, "text": f"wörd{n} 👩🏽‍🔬 slept" * (n % 3), "year": 1900 + n} for n in range(30)]
    records.append({"id": 30, "text": "wörd30 👩🏽‍🔬 apart slept", "year": 1930})
    write_jsonl(tmp_path / "made.jsonl", [*records, {"no": "text"}])
    for name in ("jsonl", "parquet"):
        annotate_files([tmp_path / "made.jsonl"], tmp_path / name, format=name, shard_records=8)
    assert lines_in(tmp_path / "jsonl/rejected") == lines_in(tmp_path / "parquet/rejected")
    rows = pq.read_table(tmp_path / "parquet/documents").to_pylist()
    for row, record in zip(rows, lines_in(tmp_path / "jsonl/documents"), strict=True):
        mentions = [{"fragments": None} | mention for mention in record["mentions"]]
        assert (row["id"], row["text"], row["mentions"]) == (record["id"], record["text"], mentions)
        assert json.loads(row["metadata"]) == record["metadata"]
        assert all(row["text"][m["start"] : m["end"]] == m["text"] for m in row["mentions"])
    assert rows[-1]["mentions"][0]["fragments"] == [[0, 6], [18, 23]]
    annotate_files([tmp_path / "parquet/documents"], tmp_path / "again", shard_records=8)
    assert lines_in(tmp_path / "again/documents") == lines_in(tmp_path / "jsonl/documents")


def test_inputs_and_outputs_behind_urls(fake: FakeAnnotator, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/texts/deep/a b.jsonl", b'{"text": "one"}\nnonsense\n')
    memory.pipe("/texts/c.txt", b"two three")
    arguments = (["fsspec+memory:///texts"], "fsspec+memory:///found")
    summary = annotate_files(*arguments, shard_records=1)
    assert (summary.documents, summary.rejected, summary.shards) == (2, 1, 3)
    assert sorted(memory.find("/found")) == [
        "/found/documents/part-00000.jsonl",
        "/found/documents/part-00001.jsonl",
        "/found/documents/part-00002.jsonl",
        "/found/manifest.json",
        "/found/plan.jsonl",
        "/found/rejected/part-00002.jsonl",
    ]
    record = json.loads(memory.cat("/found/rejected/part-00002.jsonl"))
    assert record["input"] == "fsspec+memory:///texts/deep/a%20b.jsonl" and record["line"] == 2
    memory.rm("/found/documents/part-00001.jsonl")
    fake.asked.clear()
    assert annotate_files(*arguments, shard_records=1).resumed == 2 and fake.asked == ["one"]
    with pytest.raises(InputError, match="holds another job"):
        annotate_files(*arguments)
    annotate_files(["fsspec+memory:///texts/c.txt"], tmp_path / "here")
    assert texts_in(tmp_path / "here") == ["two three"]
    memory.rm("/texts", recursive=True)
    memory.rm("/found", recursive=True)
