"""`hyperspan suggest` as a user drives it."""

from __future__ import annotations

import json
from pathlib import Path

from hyperspan.corpora import read_corpus, write_corpus
from hyperspan.types import Document
from tests.support.process import call as hyperspan

TEXT = "IL-2 binds c-Rel in Jurkat T cells.\n\nThe weather was fine.\n\nNF-kappa B p50 is a protein."


def test_suggest_writes_a_corpus_of_drafts(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(TEXT, encoding="utf-8")
    result = hyperspan("suggest", "notes.txt", "-m", "genia", "-n", "2", "-o", "next.jsonl", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "")
    assert "suggested 2 sentences of " in result.stderr
    documents = list(read_corpus(tmp_path / "next.jsonl"))
    assert all(one.annotated is not None and one.annotated.is_empty for one in documents)
    assert [one.metadata["source"]["document"] for one in documents] == ["notes", "notes"]
    again = hyperspan("suggest", "notes.txt", "-m", "genia", "-n", "2", "-o", "next.jsonl", cwd=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr
    rest = hyperspan("suggest", "notes.txt", "-m", "genia", "--labelled", "next.jsonl", cwd=tmp_path)
    [left] = map(json.loads, rest.stdout.splitlines())
    assert left["id"] not in {one.id for one in documents}


def test_suggest_reads_standard_input_within_a_budget(tmp_path: Path) -> None:
    result = hyperspan("suggest", "-m", "genia", "--budget-words", "10", stdin=TEXT)
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert records and sum(len(record["sentences"][0]["tokens"]) for record in records) <= 10
    write_corpus([Document("Ada left.", id="a"), Document("Oz slept.", id="b")], tmp_path / "two.jsonl")
    result = hyperspan("suggest", "two.jsonl", "-m", "genia", "--unit", "document", cwd=tmp_path)
    assert {json.loads(line)["id"] for line in result.stdout.splitlines()} == {"a", "b"}


def test_one_word_is_a_mistyped_name(tmp_path: Path) -> None:
    for command in (["suggest", "nofile"], ["label", "nofile", "-o", "found.jsonl", "--no-browser"]):
        refused = hyperspan(*command, "-m", "genia", cwd=tmp_path)
        assert refused.returncode == 2 and refused.stdout == ""
        assert refused.stderr == "hyperspan: nofile does not exist; name a file or a folder with texts\n"
