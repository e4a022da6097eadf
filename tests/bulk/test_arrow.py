"""Batches of Arrow and pandas: the mentions of the annotator, whatever the column, the batch and the process."""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import ArrowAnnotator
from hyperspan.bulk import arrow, parquet
from hyperspan.errors import InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load
from hyperspan.types import MENTION_ORDER
from tests.support.coordination import LEFT, ROD
from tests.support.coordination import TEXT as PARTED
from tests.support.marked_names import FOUND_NAMES
from tests.support.marked_names import TEXT as NAMED
from tests.support.models import TEXT

pa = pytest.importorskip("pyarrow")
PAGE = Path(__file__).parents[2] / "docs/how-to/arrow.md"
GENES = ["IL-2 binds.", "", "The c-Rel 😀 protein binds the IL-2 promoter.", "Jurkat T cells\u2028in 𝔹 cells."]
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


loaded = functools.cache(load)


def found_in(texts: Sequence[str | None], model: str | Path = "genia", **options: Any) -> list[Any]:
    """What the annotator itself finds, as rows."""
    annotator = loaded(model)
    documents = [None if text is None else annotator(text, **options) for text in texts]
    return [
        document
        and [
            {
                "start": one.start,
                "end": one.end,
                "label": one.label,
                "text": one.text,
                "probability": one.probability,
                "fragments": [list(part) for part in one.fragments] or None,
            }
            for one in sorted(document.mentions, key=MENTION_ORDER)
        ]
        for document in documents
    ]


def rows_of(column: Any) -> list[Any]:
    return column.to_pylist()


@settings(max_examples=40)
@given(
    texts=st.lists(st.none() | st.sampled_from(GENES), max_size=9),
    cuts=st.lists(st.integers(0, 9), max_size=3).map(sorted),
    kind=st.sampled_from(KINDS),
    threshold=st.sampled_from([None, 0.2]),
)
def test_mentions_are_those_of_the_annotator(
    texts: list[str | None], cuts: list[int], kind: Any, threshold: float | None
) -> None:
    chunks = [texts[first:last] for first, last in itertools.pairwise([0, *cuts, len(texts)])]
    plain = [pa.array(chunk, pa.string()) for chunk in chunks]
    column = pa.chunked_array(
        [one.dictionary_encode() if pa.types.is_dictionary(kind) else one.cast(kind) for one in plain]
    )
    table = pa.table({"n": range(len(texts)), "body": column}).replace_schema_metadata({"of": "others"})
    annotate = ArrowAnnotator("genia", text="body", threshold=threshold)
    result = annotate(table)
    assert result.select(["n", "body"]).equals(table, check_metadata=True)
    assert rows_of(result["mentions"]) == found_in(texts, threshold=threshold)
    assert result["rejected"].null_count == len(texts)
    assert result.schema.equals(annotate.schema(table.schema), check_metadata=True)
    result.validate(full=True)
    batches = list(annotate.batches(iter(table.to_batches())))
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert pa.Table.from_batches(batches, result.schema).equals(result)


def test_columns_of_nulls_are_annotated() -> None:
    result = ArrowAnnotator("genia")(pa.table({"text": pa.nulls(3)}))
    assert rows_of(result["mentions"]) == [None] * 3


def test_discontinuous_mentions_have_their_parts(parted_folder: Path) -> None:
    result = ArrowAnnotator(parted_folder)(pa.record_batch({"text": [PARTED]}))
    [mentions] = rows_of(result["mentions"])
    places = [{key: one[key] for key in LEFT} for one in mentions if one["fragments"]]
    assert places == [LEFT, ROD]


def test_names_have_the_types_that_they_are_names_of(named_folder: Path) -> None:
    result = ArrowAnnotator(named_folder, names=True, pronouns=False)(pa.table({"text": [NAMED]}))
    assert {(one["text"], one["label"]) for one in rows_of(result["mentions"])[0]} == FOUND_NAMES


def test_texts_that_cannot_be_annotated_have_a_reason(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Annotator(load(small_folder).model, max_spans=20**2)
    monkeypatch.setattr(arrow, "_loaded", lambda *_: narrow)
    damaged = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\x03\0\0\0"), pa.py_buffer(b"Zo\xeb"))
    column = pa.chunked_array([pa.array([TEXT, None, "word " * 21]), damaged, pa.array([TEXT])])
    annotate = ArrowAnnotator(small_folder, output="found", rejected="why")
    result = annotate(pa.table({"text": column}))
    expected = found_in([TEXT], small_folder)[0]
    assert [one and len(one) for one in rows_of(result["found"])] == [len(expected), None, None, None, len(expected)]
    [first, null, long, broken, last] = rows_of(result["why"])
    assert (first, null, last) == (None, None, None)
    assert "has 21 words" in long and broken == "the text is not UTF-8 (unexpected end of data)"


def test_large_batches_become_arrow_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 2)
    texts = [*GENES, None, *GENES]
    assert rows_of(ArrowAnnotator("genia")(pa.record_batch({"text": texts}))["mentions"]) == found_in(texts)


def test_frames_of_pandas_keep_their_index(tmp_path: Path) -> None:
    pd: Any = pytest.importorskip("pandas")
    frame = pd.DataFrame({"body": [*GENES, None], "x": [{1}, "a", 2.0, [], None]}, index=list("edcba"))
    result = ArrowAnnotator("genia", text="body")(frame)
    assert [*result.columns] == ["body", "x", "mentions", "rejected"] and [*result.index] == [*frame.index]
    assert result[["body", "x"]].equals(frame)
    assert [None if one is pd.NA else one for one in result["mentions"]] == found_in([*GENES, None])
    result[["mentions"]].to_parquet(tmp_path / "found.parquet")
    again = pd.read_parquet(tmp_path / "found.parquet", dtype_backend="pyarrow")
    assert again["mentions"].tolist() == result["mentions"].tolist()


FORKED = """
import os, signal, threading, time
import pyarrow as pa
from hyperspan import ArrowAnnotator
from hyperspan.bulk import arrow

annotate, begun, load = ArrowAnnotator("genia"), threading.Event(), arrow.annotator_on
def slowly(*given):
    begun.set()
    time.sleep(0.2)
    return load(*given)
arrow.annotator_on = slowly
arrow._loaded.cache_clear()
thread = threading.Thread(target=annotate, args=(pa.table({"text": ["IL-2"]}),))
thread.start()
begun.wait()
if child := os.fork():
    thread.join()
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
signal.alarm(30)  # ends the child if it waits forever for the model
os._exit(0 if annotate(pa.table({"text": ["IL-2 binds."]}))["mentions"][0].as_py() else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_fork_while_another_thread_loads_can_annotate() -> None:
    assert subprocess.run([sys.executable, "-c", FORKED], timeout=60, check=False).returncode == 0


def test_columns_of_pandas_whose_name_or_type_is_a_number() -> None:
    pd: Any = pytest.importorskip("pandas")
    numbered = ArrowAnnotator("genia", text="0")(pd.DataFrame({0: GENES}))
    assert numbered["mentions"].tolist() == found_in(GENES)
    for missing in ([float("nan")] * 2, []):
        result = ArrowAnnotator("genia")(pd.DataFrame({"text": pd.Series(missing, dtype=float)}))
        assert result["mentions"].isna().all() and len(result) == len(missing)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ({"n": [1]}, "there is no column 'text'; name the one with the texts as text=…, one of n"),
        ({"text": [1]}, "the column 'text' holds int64, but texts are needed; name another as text=…"),
        (
            {"text": ["a"], "mentions": [1]},
            "there is a column 'mentions' already; leave it out, or choose another name",
        ),
        (
            {"text": ["a"], "rejected": [1]},
            "there is a column 'rejected' already; leave it out, or choose another name",
        ),
    ],
)
def test_columns_that_do_not_fit(batch: dict[str, Any], sentence: str) -> None:
    annotate = ArrowAnnotator("genia")
    for make in (pa.table, pa.record_batch, pytest.importorskip("pandas").DataFrame):
        with pytest.raises(InputError, match=re.escape(sentence)):
            annotate(make(batch))


def test_batches_that_are_none() -> None:
    annotate = ArrowAnnotator("genia")
    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])
    pd: Any = pytest.importorskip("pandas")
    mixed, half = pd.DataFrame({"text": ["a", 1]}), pd.DataFrame({"text": pd.Series(["\ud800"], dtype=object)})
    for batch, sentence in (
        ({"text": ["a"]}, 'a batch is of the type dict, but .* is expected; Ray needs batch_format="pyarrow"'),
        (twice, "there is more than one column 'text'"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "there is more than one column 'text'"),
        (half, r"the column 'text' holds more than texts \(.*surrogates not allowed\); leave the rest out"),
        (mixed, r"the column 'text' holds more than texts \(.*\); leave the rest out"),
    ):
        with pytest.raises(InputError, match=sentence):
            annotate(batch)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"types": ["gene"]}, "the label 'gene' is not among those of the model"),
        ({"threshold": 2}, "the threshold is 2"),
        ({"recall": 0.9, "threshold": 0.5}, "a threshold and a promise are given"),
        ({"text": 3}, "text is 3, but must be a string"),
        ({"types": 3}, "types is 3, but must be a list or None"),
        ({"output": "x", "rejected": "x"}, "two columns would have the name 'x'"),
        ({"threads": 0}, "there are 0 threads to annotate with; ask for at least 1"),
        ({"threads": "1"}, "threads is '1', but must be a whole number or None"),
        ({"model": "genai"}, "there is no model 'genai'"),
    ],
)
def test_options_are_checked_at_once(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ArrowAnnotator(**{"model": "genia", **options})


def test_the_schema_of_spark_has_the_types_of_arrow() -> None:
    ddl = ArrowAnnotator("genia", output="found").ddl
    plain = ddl.replace("`", "").replace("array<", "list<").replace("bigint", "int64").replace("list<", "list<item: ")
    schema = ArrowAnnotator("genia", output="found").schema(pa.schema({"text": pa.string()}))
    assert plain == f"found {schema.field('found').type}, rejected string"
    assert ArrowAnnotator("genia", output="a`b").ddl.startswith("`a``b` array<")


# -- processes and threads ---------------------------------------------------------------------------------------------

POOL = """
import multiprocessing, os, pyarrow as pa
from hyperspan import ArrowAnnotator
if __name__ == "__main__":
    annotate = ArrowAnnotator("model", threshold=0.2)
    tables = [pa.table({"text": [TEXT] * 3})] * 4
    os.chdir("/")  # a relative path would lead elsewhere
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map_async(annotate, tables, 1).get(timeout=100)
        assert pool.apply(os.getenv, ["OMP_NUM_THREADS"]) == "1"
        assert pool.apply(eval, ["'torch' in __import__('sys').modules"]) is False
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert [table["mentions"] for table in found] == [annotate(tables[0])["mentions"]] * 4
    print(len(found[0]["mentions"][0].as_py()))
"""


def test_an_annotator_is_pickled_as_its_arguments(small_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(small_folder, tmp_path / "model")
    (tmp_path / "pool.py").write_text(f"TEXT = {TEXT!r}\n{POOL}", encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "pool.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(found_in([TEXT], small_folder, threshold=0.2)[0])
    assert len(pickle.dumps(ArrowAnnotator(small_folder, types=iter(["person"])))) < 1_000


def test_a_process_loads_a_model_once_for_all_threads() -> None:
    arrow._loaded.cache_clear()
    annotators = [pickle.loads(pickle.dumps(ArrowAnnotator("genia"))) for _ in range(4)]
    table = pa.table({"text": GENES})
    arrow._loaded.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda annotate: annotate(table)["mentions"], annotators * 2))
    assert arrow._loaded.cache_info().misses == 1
    assert all(rows_of(one) == found_in(GENES) for one in found)


def test_a_model_that_has_changed_is_loaded_again(small_folder: Path, named_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(small_folder, tmp_path / "model")
    ArrowAnnotator(tmp_path / "model")
    shutil.copytree(named_folder, tmp_path / "model", dirs_exist_ok=True)
    table = ArrowAnnotator(tmp_path / "model", names=True, pronouns=False)(pa.table({"text": [NAMED]}))
    assert {(one["text"], one["label"]) for one in rows_of(table["mentions"])[0]} == FOUND_NAMES


def test_without_pyarrow_the_extra_is_named() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import hyperspan; hyperspan.ArrowAnnotator('genia')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'annotating tables of Arrow needs the extra `parquet`: pip install "hyperspan[parquet]"' in done.stderr


# -- the systems -------------------------------------------------------------------------------------------------------


def snippet(title: str) -> tuple[str, str]:
    """The code below a heading of the page, and its output."""
    block = PAGE.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("```py\n")[2]
    code, _, output = block.partition("```\n\n```text\n")
    return code, output.partition("```")[0]


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
class TestRay:
    def test_a_dataset_gets_mentions_from_actors_and_from_tasks(self, small_folder: Path) -> None:
        import ray

        rows = [{"n": n, "body": None if n == 7 else TEXT * (n % 3)} for n in range(30)]
        options: dict[str, Any] = {"model": small_folder, "text": "body", "threshold": 0.2}
        common: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": 8}
        actors = {"fn_constructor_kwargs": options, "compute": ray.data.ActorPoolStrategy(size=1)}
        dataset = ray.data.from_items(rows)
        expected = found_in([row["body"] for row in rows], small_folder, threshold=0.2)
        for found in (
            dataset.map_batches(ArrowAnnotator, **common, **actors),
            dataset.map_batches(ArrowAnnotator(**options), **common),
        ):
            table = sorted(found.take_all(), key=lambda row: row["n"])
            assert [(row["n"], row["rejected"]) for row in table] == [(n, None) for n in range(30)]
            assert [row["mentions"] for row in table] == expected

    @pytest.mark.slow
    def test_the_snippet_of_the_page(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, output = snippet("Ray Data")
        exec(compile(code, str(PAGE), "exec"), {})
        assert capsys.readouterr().out == output


@pytest.mark.slow
def test_the_snippet_for_spark_in_local_mode(tmp_path: Path) -> None:
    if find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("Spark is not here: pip install pyspark, and install Java 17")
    code, output = snippet("Spark")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == output.strip()
