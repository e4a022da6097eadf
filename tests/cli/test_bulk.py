"""`hyperspan bulk` as a user drives it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bulk.fakes import contents, lines_in, manifest_of, plan_of, write_jsonl
from tests.support.everyday import SHORT_OTHER
from tests.support.models import TEXT
from tests.support.process import call

Run = Callable[..., tuple[int, str]]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def hyperspan(tmp_path: Path) -> Run:
    """The command, in this process and in a folder of its own; returns its status and what it said."""

    def run(*arguments: object) -> tuple[int, str]:
        result = call(*arguments, cwd=tmp_path)
        assert result.stdout == ""
        return result.returncode, result.stderr

    return run


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hyperspan", "bulk", *map(str, arguments)]


def test_files_into_shards_and_the_same_mentions_as_one_by_one(
    hyperspan: Run, small_folder: Path, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"id": n, "text": TEXT[: 10 * n]} for n in range(8)])
    (tmp_path / "b.txt").write_text(TEXT)
    (tmp_path / "c.jsonl").write_text("nonsense\n")
    bulk = ["bulk", "a.jsonl", "b.txt", "c.jsonl", "-m", small_folder, "-o", "found/", "--shard-records", "3"]
    status, said = hyperspan(*bulk)
    assert status == 0 and "documents (4 shards)" in said
    assert "1 of 10 records were rejected; found/rejected says which and why" in said
    assert hyperspan(*bulk)[1].count("(4 shards, 4 of them before)") == 1
    single: list[dict[str, object]] = []
    for number, name in enumerate(("a.jsonl", "b.txt")):
        assert hyperspan("annotate", name, "-m", small_folder, "-o", f"{number}.jsonl")[0] == 0
        single += lines_in_file(tmp_path / f"{number}.jsonl")
    for one, other in zip(lines_in(tmp_path / "found/documents"), single, strict=True):
        assert {**other, "sentences": []} == one
    assert manifest_of(tmp_path / "found")["complete"]


def lines_in_file(path: Path) -> list[dict[str, object]]:
    (path.parent / "alone").mkdir(exist_ok=True)
    shutil.copy(path, path.parent / "alone")
    return lines_in(path.parent / "alone")[-len(path.read_text().splitlines()) :]


def test_tables_are_read(hyperspan: Run, small_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text('id,note,ward\n1,"Ada left, and\nthe keeper saw Ada.",B\n2,Nobody slept.,C\n')
    status, said = hyperspan("bulk", "notes.csv", "-m", small_folder, "-o", "found/", "--column", "note")
    assert status == 0, said
    first, second = lines_in(tmp_path / "found/documents")
    assert (first["id"], first["metadata"], second["text"]) == ("1", {"ward": "B"}, "Nobody slept.")
    assert "Ada" in {mention["text"] for mention in first["mentions"]}


def test_a_line_every_minute_where_there_is_no_terminal(
    hyperspan: Run, small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hyperspan.progress.MINUTE", 0.005)
    write_jsonl(tmp_path / "a.jsonl", [{"text": TEXT * 20} for _ in range(40)])
    status, said = hyperspan("bulk", "a.jsonl", "-m", small_folder, "-o", "found/", "--shard-records", "10")
    assert status == 0
    assert re.search(r"hyperspan: annotated \d of 4 shards, [\d,]+ words so far\n", said)


def test_stopped_by_a_user_it_goes_on(hyperspan: Run, small_folder: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"id": n, "text": TEXT * 20} for n in range(400)])
    job = ["a.jsonl", "-m", small_folder, "-o", "found", "--shard-records", "10"]
    process = subprocess.Popen(command(*job), stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while not list((tmp_path / "found/.progress").glob("part-*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said == "hyperspan: stopped; finished shards are kept, and the same command goes on\n"
    assert not [name for name in contents(tmp_path / "found") if "/." in name]
    done = len(list((tmp_path / "found/.progress").iterdir()))
    status, said = hyperspan("bulk", *job)
    assert status == 0 and f"(40 shards, {done} of them before)" in said
    assert [record["id"] for record in lines_in(tmp_path / "found/documents")] == [str(n) for n in range(400)]


def test_tests_can_interrupt_although_their_parent_ignores_it() -> None:
    """As in `make test &`: what tests start must not inherit that."""
    interrupted = [sys.executable, "-c", "import signal; signal.raise_signal(signal.SIGINT)"]
    code = f"""import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
import tests.conftest
sys.exit(subprocess.run({interrupted!r}, stderr=subprocess.DEVNULL).returncode != -signal.SIGINT)"""
    repository = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=repository, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("engine", ["plain", "ray"])
def test_a_disk_that_is_full(small_folder: Path, tmp_path: Path, engine: str) -> None:
    write_jsonl(tmp_path / "a.jsonl", [{"id": n, "text": TEXT * 20} for n in range(300)])
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        where = (str(tmp_path / "a.jsonl"), "-m", small_folder, "-o", str(disk / "found"))
        job = command(*where, "--engine", engine, "--shard-records", "10")
        result = subprocess.run(job, capture_output=True, text=True, check=False)
        assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
        assert "found cannot be written (No space left on device): make room; " in result.stderr
        done = int(result.stderr.partition("make room; ")[2].partition(" ")[0])
        assert 0 < done < 30
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        result = subprocess.run(job, capture_output=True, text=True, check=False)
        assert result.returncode == 0 and f"(30 shards, {done} of them before)" in result.stderr
        assert [record["id"] for record in lines_in(disk / "found/documents")] == [str(n) for n in range(300)]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_card_that_cannot_be_read_is_told_of_once(small_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(small_folder, folder)
    (folder / "card.toml").write_text("nonsense")
    (tmp_path / "a.txt").write_text(TEXT)
    arguments = command(str(tmp_path / "a.txt"), "-m", str(folder), "-o", str(tmp_path / "found"))
    said = subprocess.run(arguments, capture_output=True, text=True, check=True).stderr
    assert said.count("is not TOML") == 1, said


def test_summary_says_how_many_documents_look_foreign(hyperspan: Run, tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "texts.jsonl",
        [{"text": (EXAMPLES / f"{name}.txt").read_text()} for name in ("biomedical", "literary", "literary")],
    )
    status, said = hyperspan("bulk", "texts.jsonl", "-m", "genia", "-o", "found")
    assert status == 0
    assert (
        said.count("2 of 3 documents that were looked at look unlike what genia (molecular biology) was trained on")
        == 1
    )
    _, [shard] = plan_of(tmp_path / "found")
    result = shard["result"]
    assert (result["judged"], result["foreign"], result["languages"]) == (3, 2, {})


def test_summary_names_the_language_of_most_foreign_documents(hyperspan: Run, tmp_path: Path) -> None:
    german = "Der Bürgermeister dankte gestern den Handwerkern, die das Dach der alten Schule erneuert haben."
    write_jsonl(tmp_path / "texts.jsonl", [{"text": text} for text in (german, SHORT_OTHER[4], german, german)])
    status, said = hyperspan("bulk", "texts.jsonl", "-m", "english", "-o", "found")
    assert status == 0
    assert "about 1 in 20 does): 3 look like German; expect more errors there" in " ".join(said.split())
    _, [shard] = plan_of(tmp_path / "found")
    assert shard["result"]["languages"] == {"German": 3, "French": 1}
