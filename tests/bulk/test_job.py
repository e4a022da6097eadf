"""Jobs that crash, are resumed, meet bad records and each other: every document once, whole, or not yet."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.bulk import Progress, annotate_files, folder, records
from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import find_inputs
from hyperspan.bulk.job import Job
from hyperspan.bulk.shards import JobSettings, ShardResult, annotate_shard
from hyperspan.errors import InputError, JobError, OutputExistsError
from hyperspan.runtime.folders import DEFAULT_MODEL
from tests.bulk.fakes import CRASHES, FakeAnnotator, contents, lines_in, manifest_of, plan_of, texts_in, write_jsonl
from tests.support.data import places_in

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twenty documents in two files; one line is none."""
    (tmp_path / "texts").mkdir()
    write_jsonl(tmp_path / "texts/a.jsonl", [{"id": n, "text": f"text {n}"} for n in range(15)])
    write_jsonl(tmp_path / "texts/b.jsonl", [{"text": "no name"}] * 4 + [{"txet": "typo"}, {"text": ""}])
    return tmp_path / "texts"


def test_shards_dead_letters_and_a_manifest_that_tells_all(corpus: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    summary = annotate_files([corpus], tmp_path / "out", shard_records=4, on_progress=seen.append)
    assert (summary.documents, summary.rejected, summary.shards, summary.resumed) == (20, 1, 6, 0)
    assert seen[-1] == Progress(6, 6, summary.words) and summary.words == 15 * 2 + 4 * 2
    assert [step.words for step in seen] == sorted(step.words for step in seen)
    assert texts_in(tmp_path / "out") == [f"text {n}" for n in range(15)] + ["no name"] * 4 + [""]
    assert lines_in(tmp_path / "out/rejected") == [
        {
            "input": str(corpus / "b.jsonl"),
            "line": 5,
            "reason": 'the key "text" is missing, its keys are "txet"',
            "record": {"txet": "typo"},
        }
    ]
    manifest = manifest_of(tmp_path / "out")
    assert manifest["complete"] and manifest["model"]["hash"].startswith("sha256:")
    inputs, shards = plan_of(tmp_path / "out")
    assert [file["bytes"] for file in inputs] == [file.stat().st_size for file in sorted(corpus.iterdir())]
    assert sum(shard["result"]["documents"] for shard in shards) == manifest["totals"]["documents"] == 20
    assert shards[1]["pieces"][0]["first"] == 5
    assert {Path(name).parts[0] for name in contents(tmp_path / "out")} == {
        "documents",
        "rejected",
        "manifest.json",
        "plan.jsonl",
    }


def in_a_process(do: Callable[[], Any]) -> int:
    """The status of a process in which this is done; it may be killed on the way."""
    process = os.fork()
    if process == 0:
        try:
            do()
        finally:
            os._exit(0)
    return os.waitpid(process, 0)[1]


def test_killed_at_any_step_it_goes_on_where_it_was(
    corpus: Path, tmp_path: Path, fake: FakeAnnotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every rename in turn, right before it and right after it."""
    annotate_files([corpus], tmp_path / "whole", shard_records=7)
    renamed: Callable[..., Any] = Path.replace
    step = 0
    for step in range(100):
        out = tmp_path / f"out{step}"
        left = step

        def kill_or_replace(path: Path, target: Path) -> Any:
            nonlocal left
            for act in (lambda: None, lambda: renamed(path, target)):
                act()
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", kill_or_replace)
            status = in_a_process(lambda out=out: annotate_files([corpus], out, shard_records=7))
        if status == 0:
            break
        assert status == signal.SIGKILL
        finished = len(list((out / ".progress").glob("part-*")))
        fake.asked.clear()
        summary = annotate_files([corpus], out, shard_records=7)
        assert contents(out) == contents(tmp_path / "whole")
        assert (summary.resumed, summary.documents) == (finished if summary.shards == 3 else 3, 20)
    assert step == 2 * (
        2 + 3 * 2 + 1 + 2
    )  # plan and manifest twice; of three shards documents and note, of one a rejected record
    assert fake.asked == []


@settings(max_examples=25)
@given(
    st.lists(
        st.sampled_from(["good", "good too", "a long one", *CRASHES, "split panic", "split crash", 3, None, ""]),
        max_size=20,
    ),
    st.integers(1, 6),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_records_are_documents_or_dead_letters_in_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[Any], records: int, lost: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("job")
    write_jsonl(folder / "made.jsonl", [{"id": n, "text": text} for n, text in enumerate(texts)])
    (folder / "more.txt").write_text("more")
    arguments = ([folder / "made.jsonl", folder / "more.txt"], folder / "out")
    annotate_files(*arguments, shard_records=records)
    good = [n for n, text in enumerate(texts) if text in ("good", "good too", "")]
    assert [record["id"] for record in lines_in(folder / "out/documents")] == [*map(str, good), "more"]
    bad = [record["line"] - 1 for record in lines_in(folder / "out/rejected")]
    assert bad == [n for n in range(len(texts)) if n not in good]
    whole = contents(folder / "out")
    for index in lost:  # whatever is lost is made again, but for the manifest, without which nothing is known
        name = sorted(whole)[index % len(whole)]
        if name != "manifest.json":
            (folder / "out" / name).unlink(missing_ok=True)
    annotate_files(*arguments, shard_records=records)
    assert contents(folder / "out") == whole


def test_reasons_of_the_model_itself(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "made.jsonl", [{"text": text} for text in ("fine", "a long one", "crash", "fine too")])
    assert annotate_files([tmp_path / "made.jsonl"], tmp_path / "out").words == 1 + 2
    one, other = lines_in(tmp_path / "out/rejected")
    assert (one["line"], one["reason"]) == (2, "the sentence has too many words")
    assert (other["line"], other["reason"]) == (3, "the model failed: RuntimeError: out of cheese")
    assert other["record"]["text"] == "crash"


@pytest.mark.parametrize("word", CRASHES)
@pytest.mark.parametrize("format_name", ["jsonl", "parquet"])
def test_whatever_one_record_raises_the_others_are_done(tmp_path: Path, word: str, format_name: Any) -> None:
    texts = [f"text {n}" for n in range(6)]
    texts[2], texts[4] = f"{word}", f"split {word}"
    write_jsonl(tmp_path / "made.jsonl", [{"text": text} for text in texts])
    summary = annotate_files([tmp_path / "made.jsonl"], tmp_path / "out", shard_records=5, format=format_name)
    assert (summary.documents, summary.rejected) == (4, 2)
    failed = f"the model failed: {type(CRASHES[word]).__name__}: "
    # The batch of a model that has too little memory was halved down to one sentence.
    inside = "there is not enough memory for one of its sentences" if word == "memory" else str(CRASHES[word])
    assert [(record["line"], record["reason"]) for record in lines_in(tmp_path / "out/rejected")] == [
        (3, failed + inside),
        (5, failed + str(CRASHES[word])),
    ]


@pytest.mark.parametrize("format_name", ["jsonl", "parquet"])
def test_a_record_that_cannot_be_read_or_written_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_name: Any
) -> None:
    lines = ['{"text": "one"}', '{"text": "\\ud800 half"}', "[" * 100_000, '{"text": "memory"}', '{"text": "two"}']
    (tmp_path / "made.jsonl").write_text("\n".join(lines))
    read = records.document_of

    def run_out_of_memory(record: Any, columns: Any) -> Any:
        if record["text"] == "memory":
            raise MemoryError
        return read(record, columns)

    monkeypatch.setattr(records, "document_of", run_out_of_memory)
    summary = annotate_files([tmp_path / "made.jsonl"], tmp_path / "out", format=format_name)
    assert (summary.documents, summary.rejected) == (2, 3)
    assert [record["line"] for record in lines_in(tmp_path / "out/rejected")] == [2, 3, 4]


def test_a_text_too_long_to_be_held_in_tokens_comes_alone(tmp_path: Path, fake: FakeAnnotator) -> None:
    fake.long_text = 10
    texts = ["short", "one that is longer", "short", "crash in the long one", "another longer one", "short"]
    write_jsonl(tmp_path / "made.jsonl", [{"text": text} for text in texts])
    annotate_files(tmp_path / "made.jsonl", tmp_path / "out")
    assert texts_in(tmp_path / "out") == [text for text in texts if "crash" not in text]
    assert [record["line"] for record in lines_in(tmp_path / "out/rejected")] == [4]


def test_another_job_is_refused_and_nothing_of_the_first_is_touched(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    annotate_files([corpus], out)
    whole = contents(out)
    for changes, sentence in [
        ({"model": "litbank"}, f"its model {DEFAULT_MODEL} is not this litbank"),
        ({"threshold": 0.5}, "with threshold none, and now 0.5"),
        ({"threshold": {"*": 0.5}}, "with threshold none, and now 0.5"),
        ({"types": ["protein"]}, "with types none, and now protein"),
        ({"format": "parquet"}, "with format jsonl, and now parquet"),
        ({"shard_records": 3}, "with limits records="),
        ({"text_column": "body"}, "with columns"),
    ]:
        with pytest.raises(OutputExistsError, match="holds another job") as refused:
            annotate_files([corpus], out, **changes)
        assert sentence in str(refused.value) and "start over with --force" in str(refused.value)
    with pytest.raises(OutputExistsError, match=r"b.jsonl is no longer among its inputs"):
        annotate_files([corpus / "a.jsonl"], out)
    (corpus / "c.txt").write_text("c")
    with pytest.raises(OutputExistsError, match=r"c.txt is now among its inputs"):
        annotate_files([corpus], out)
    assert contents(out) == whole
    annotate_files([corpus], out, shard_records=5, force=True)
    assert len(list((out / "documents").iterdir())) == 5 and texts_in(out)[-1] == "c"
    annotate_files([corpus / "c.txt"], out, force=True)
    assert texts_in(out) == ["c"] and not (out / "rejected").exists()


def test_a_folder_of_shards_does_not_get_the_name_of_a_file(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"found\.jsonl is the name of a file, but a bulk job writes a folder of shards"
    ):
        annotate_files(corpus, tmp_path / "found.jsonl")
    assert not (tmp_path / "found.jsonl").exists()


def test_an_input_that_is_missing_when_a_job_is_resumed_is_an_error_at_once(corpus: Path, tmp_path: Path) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    inputs = [corpus / "a.jsonl", corpus / "b.jsonl"]
    with pytest.raises(KeyboardInterrupt):
        annotate_files(inputs, tmp_path / "out", shard_records=1, on_progress=stop)
    begun = contents(tmp_path / "out")
    (corpus / "b.jsonl").unlink()
    with pytest.raises(InputError, match=r"b\.jsonl does not exist"):
        annotate_files(inputs, tmp_path / "out", shard_records=1)
    assert contents(tmp_path / "out") == begun


def test_a_job_given_up_leaves_nothing_even_if_the_next_is_killed_at_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotate_files(corpus, tmp_path / "out", shard_records=2)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "sweep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            annotate_files(corpus, tmp_path / "out", shard_records=8, force=True)
    assert len(list((tmp_path / "out/documents").iterdir())) == 11 and not manifest_of(tmp_path / "out")["complete"]
    assert annotate_files(corpus, tmp_path / "out", shard_records=8).resumed == 0
    annotate_files(corpus, tmp_path / "whole", shard_records=8)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_folders_that_hold_something_else(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious.txt").write_text("precious")
    with pytest.raises(OutputExistsError, match="is not empty and holds no job"):
        annotate_files([corpus], tmp_path / "full")
    annotate_files([corpus], tmp_path / "full", force=True)
    assert (tmp_path / "full/precious.txt").read_text() == "precious" and len(texts_in(tmp_path / "full")) == 20
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputExistsError, match="is no folder"):
        annotate_files([corpus], tmp_path / "file")
    with pytest.raises(InputError, match="is not a directory; create it first"):
        annotate_files([corpus], tmp_path / "no/out")
    (tmp_path / "theirs/documents").mkdir(parents=True)
    (tmp_path / "theirs/documents/part-00000.jsonl").write_text("precious")
    with pytest.raises(OutputExistsError, match="is not empty and holds no job"):
        annotate_files([corpus], tmp_path / "theirs", force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/manifest.json").write_text('{"format": "npm"}')
    with pytest.raises(OutputExistsError, match="is not one that this hyperspan writes"):
        annotate_files([corpus], tmp_path / "other", force=True)


@pytest.mark.parametrize("damage", ["missing", "null"])
def test_a_damaged_manifest_or_plan_is_answered_in_one_sentence(corpus: Path, tmp_path: Path, damage: str) -> None:
    given, out = corpus / "b.jsonl", tmp_path / "out"
    annotate_files([given], out, shard_records=3)
    plan = list(map(json.loads, (out / "plan.jsonl").read_text().splitlines()))
    whole, refused = {"manifest.json": manifest_of(out), "plan.jsonl": plan}, set[tuple[Any, ...]]()
    for place in [place for place in places_in(whole) if len(place) > 1]:
        record = json.loads(json.dumps(whole))
        around = reduce(getitem, place[:-1], record)
        if damage == "null":
            around[place[-1]] = None
        else:
            del around[place[-1]]
        (out / "manifest.json").write_text(json.dumps(record["manifest.json"]))
        (out / "plan.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in record["plan.jsonl"]))
        try:  # what is not needed, or can be made again, may be missing
            assert annotate_files([given], out, shard_records=3).documents == 5, place
        except OutputExistsError as error:
            if str(error).endswith(f"{place[0]} is damaged; choose another folder, or start over with --force"):
                refused.add(place)
    manifest = {("manifest.json", *rest) for rest in [("job",), ("totals", "shards"), ("options",), ("model", "hash")]}
    assert manifest <= refused
    needed = [(1,), (1, "input"), (2, "shard"), (3, "pieces"), (3, "pieces", 0, "end")]
    needed += [] if damage == "null" else [(1, "bytes"), (2, "result")]
    assert {("plan.jsonl", *rest) for rest in needed} <= refused


def test_a_job_whose_plan_is_lost_starts_over(corpus: Path, tmp_path: Path, fake: FakeAnnotator) -> None:
    annotate_files([corpus], tmp_path / "out", shard_records=5)
    whole = contents(tmp_path / "out")
    (tmp_path / "out/plan.jsonl").unlink()
    assert annotate_files([corpus], tmp_path / "out", shard_records=5).resumed == 0
    assert contents(tmp_path / "out") == whole


def test_thresholds_that_mean_the_same_are_one_job(corpus: Path, tmp_path: Path) -> None:
    annotate_files([corpus], tmp_path / "out", threshold=0.5)
    assert annotate_files([corpus], tmp_path / "out", threshold={"*": 0.5}).resumed == 1
    with pytest.raises(OutputExistsError, match=r"with threshold 0\.5, and now 0\.5, first=0\.3"):
        annotate_files([corpus], tmp_path / "out", threshold={"first": 0.3})


def test_a_manifest_of_another_version_can_only_be_given_up(corpus: Path, tmp_path: Path) -> None:
    annotate_files([corpus], tmp_path / "out")
    manifest = manifest_of(tmp_path / "out")
    (tmp_path / "out/manifest.json").write_text(json.dumps({**manifest, "version": 1}))
    with pytest.raises(OutputExistsError, match=r"has the version 1, but .* jobs of version 4; choose another folder"):
        annotate_files([corpus], tmp_path / "out")
    assert annotate_files([corpus], tmp_path / "out", force=True).resumed == 0


def test_the_output_may_lie_among_the_inputs(corpus: Path) -> None:
    for _ in range(2):
        assert annotate_files([corpus], corpus / "out").documents == 20


def test_two_runs_at_once_are_told_apart(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "PATIENCE", 0.1)
    with (
        Folder(str(tmp_path / "out")).created(),
        pytest.raises(OutputExistsError, match="another run is writing to"),
    ):
        annotate_files([corpus], tmp_path / "out")
    assert annotate_files([corpus], tmp_path / "out").documents == 20


def test_inputs_without_records(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "none.txt").write_text("")
    summary = annotate_files([tmp_path], tmp_path / "out")
    assert (summary.documents, summary.rejected) == (1, 0)  # an empty file of text is a document without words
    summary = annotate_files([tmp_path / "none.jsonl"], tmp_path / "out2")
    assert (summary.documents, summary.shards) == (0, 0) and manifest_of(tmp_path / "out2")["complete"]
    assert annotate_files([tmp_path / "none.jsonl"], tmp_path / "out2").shards == 0


def test_a_job_that_rejects_everything_says_so(corpus: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(
            JobError, match=r'all records \(21\) were rejected, the first because the key "body" is missing'
        ):
            annotate_files([corpus], tmp_path / "out", text_column="body")


def test_a_disk_that_is_full_for_a_while(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Folder.writing
    calls = 0

    def full(folder: Folder, name: str) -> Any:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise OSError(28, "No space left on device")
        return written(folder, name)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "writing", full)
        with pytest.raises(JobError) as raised:
            annotate_files([corpus], tmp_path / "out", shard_records=5)
    assert "(No space left on device): make room; 3 of 5 shards are finished and kept" in str(raised.value)
    assert annotate_files([corpus], tmp_path / "out", shard_records=5).resumed == 3
    annotate_files([corpus], tmp_path / "whole", shard_records=5)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"engine": "abacus"}, "there is no engine 'abacus'"),
        ({"ray_address": "auto"}, "an address is for the engine ray"),
        ({"workers": -1}, "there are -1 workers to annotate with; ask for at least 0"),
        ({"format": "html"}, "shards cannot be written as 'html'; choose one of jsonl, parquet"),
        ({"kind": "brat"}, "inputs cannot be read as 'brat'; choose one of jsonl, parquet, csv, tsv, text, lines"),
        ({"shard_bytes": 0}, "a shard of 0 bytes holds nothing"),
    ],
)
def test_wrong_options(corpus: Path, tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        annotate_files([corpus], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_notes_of_progress_are_whole_when_the_manifest_is_not(corpus: Path, tmp_path: Path) -> None:
    """What a run that was killed while it finished leaves: a manifest, and notes that it has already."""
    annotate_files([corpus], tmp_path / "out", shard_records=5)
    whole = contents(tmp_path / "out")
    _, shards = plan_of(tmp_path / "out")
    (tmp_path / "out/.progress").mkdir()
    note = {"job": manifest_of(tmp_path / "out")["job"], "number": 0, **shards[0]["result"]}
    (tmp_path / "out/.progress/part-00000.json").write_text(json.dumps(note))
    (tmp_path / "out/.progress/part-00002.json").write_text(
        json.dumps({**note, "job": "another", "number": 2, "words": -1})
    )
    (tmp_path / "out/documents/.part-00001.jsonl.xyz").write_text("half of a docu")
    assert annotate_files([corpus], tmp_path / "out", shard_records=5).resumed == 5
    assert contents(tmp_path / "out") == whole


def test_a_shard_whose_documents_were_cut_off_is_done_again(corpus: Path, tmp_path: Path) -> None:
    annotate_files([corpus], tmp_path / "out", shard_records=5)
    whole = contents(tmp_path / "out")
    cut = tmp_path / "out/documents/part-00001.jsonl"
    cut.write_bytes(cut.read_bytes()[:-10])
    assert annotate_files([corpus], tmp_path / "out", shard_records=5).resumed == 4
    assert contents(tmp_path / "out") == whole


def test_an_input_that_was_written_anew_is_noticed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("Ada")
    annotate_files([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out", shard_records=1)
    (tmp_path / "b.txt").write_text("Bob")
    with pytest.raises(OutputExistsError, match=r"its input .*b\.txt has changed"):
        annotate_files([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out", shard_records=1)
    assert texts_in(tmp_path / "out") == ["Ada", "Ada"]


def test_what_cannot_be_read_does_not_stop_the_rest(corpus: Path, tmp_path: Path) -> None:
    (corpus / "a0.txt.gz").write_bytes(gzip.compress(os.urandom(5_000))[:-1_000])
    summary = annotate_files([corpus], tmp_path / "out", shard_records=4)
    assert (summary.documents, summary.rejected) == (20, 2)
    assert "cannot be unpacked" in lines_in(tmp_path / "out/rejected")[0]["reason"]


def test_notes_that_are_damaged_are_done_again(corpus: Path, tmp_path: Path, fake: FakeAnnotator) -> None:
    with pytest.raises(KeyboardInterrupt):
        annotate_files([corpus], tmp_path / "out", shard_records=4, on_progress=_stop_after(3))
    notes = sorted((tmp_path / "out/.progress").iterdir())
    assert len(notes) == 3
    for note, content in zip(notes, (b"", b"[]", b'{"job": 1'), strict=True):
        note.write_bytes(content)
    summary = annotate_files([corpus], tmp_path / "out", shard_records=4)
    assert summary.documents == 20 and summary.resumed == 0


def _stop_after(shards: int) -> Callable[[Progress], None]:
    def stop(progress: Progress) -> None:
        if progress.shards >= shards:
            raise KeyboardInterrupt

    return stop


def test_names_under_a_key_that_no_record_has(corpus: Path, tmp_path: Path) -> None:
    summary = annotate_files([corpus], tmp_path / "out", id_column="pmid")
    assert summary.notes == ("no document has a name under 'pmid' (--id-column); their ids are empty",)


def test_manifest_stays_small_with_many_inputs(tmp_path: Path) -> None:
    sizes: list[int] = []
    for files in (10, 200):
        folder = tmp_path / f"{files} texts"
        folder.mkdir()
        for number in range(files):
            (folder / f"{number:03}.txt").write_text("text")
        annotate_files([folder], tmp_path / f"out{files}")
        sizes.append((tmp_path / f"out{files}" / "manifest.json").stat().st_size)
    assert sizes[1] < 1.5 * sizes[0]


def test_rejected_records_of_an_earlier_attempt_are_removed(
    corpus: Path, tmp_path: Path, fake: FakeAnnotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker is out of memory at one text, and killed between its two renames; the second has enough."""
    write_jsonl(corpus / "a.jsonl", [{"text": "memory"}])
    output, wanted = Folder(str(tmp_path / "out")), JobSettings()
    output.path.mkdir()
    job = Job.open(output, {"name": "m", "hash": "h"}, wanted, find_inputs([str(corpus / "a.jsonl")])[0])
    [shard] = job.missing()
    renamed = Path.replace

    def annotate() -> ShardResult:
        return annotate_shard(fake, shard, wanted, output, job.id)

    def kill_before_documents(path: Path, target: Path) -> Any:
        if Path(target).parent.name == "documents":
            os.kill(os.getpid(), signal.SIGKILL)
        return renamed(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", kill_before_documents)
        assert in_a_process(annotate) == signal.SIGKILL
    assert len(lines_in(tmp_path / "out/rejected")) == 1
    monkeypatch.delitem(CRASHES, "memory")
    assert annotate().documents == 1
    assert texts_in(tmp_path / "out") == ["memory"] and lines_in(tmp_path / "out/rejected") == []
