"""`convert` and `view` as a user drives them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hyperspan import Document, Mention
from hyperspan.cli import view as view_module
from hyperspan.cli.options import ReadingGroup, ReportingGroup
from hyperspan.corpora import write_corpus
from hyperspan.types import Sentence
from tests.support.process import call as hyperspan

SAMPLE = """\
The head of the Oz bank left .
DT NN IN DT NNP NN VBD .
0,6 PER|3,6 ORG|4,5 GPE

Nobody knew .
NN VBD .


"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.data"
    path.write_text(SAMPLE, encoding="utf-8")
    return path


def test_convert_there_and_back(sample: Path, tmp_path: Path) -> None:
    steps = [sample, tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz", tmp_path / "c", tmp_path / "d.data"]
    options = [[], [], ["--format", "brat"], ["--format", "four-lines"]]
    for before, after, extra in zip(steps, steps[1:], options, strict=False):
        result = hyperspan("convert", str(before), str(after), *extra)
        assert result.returncode == 0 and result.stdout == "" and "wrote 3 mentions" in result.stderr, result.stderr
    assert gzip.decompress(steps[2].read_bytes()) == steps[1].read_bytes()
    assert "0,6 PER|3,6 ORG|4,5 GPE" in steps[-1].read_text(encoding="utf-8")


def test_streams(sample: Path) -> None:
    first = hyperspan("convert", "-", "-", "--format", "jsonl", stdin=SAMPLE)
    assert first.returncode == 0 and len(first.stdout.splitlines()) == 2
    assert json.loads(first.stdout.splitlines()[0])["text"] == "The head of the Oz bank left ."
    second = hyperspan("convert", "-", "-", "--format", "columns", stdin=first.stdout)
    assert second.stdout.splitlines()[0].split("\t")[:2] == ["The", "B-PER"]


def test_losses_and_errors(sample: Path, tmp_path: Path) -> None:
    flat = hyperspan("convert", str(sample), str(tmp_path / "flat.conll"))
    assert flat.returncode == 2 and "cannot hold 2 of 3 mentions" in flat.stderr and len(flat.stderr.splitlines()) == 1
    kept = hyperspan("convert", str(sample), str(tmp_path / "flat.conll"), "--lossy", "innermost")
    assert kept.returncode == 0 and "left out 2 mentions" in kept.stderr
    sample.write_text(SAMPLE.replace("0,6 PER", "0,60 PER"), encoding="utf-8")
    wrong = hyperspan("convert", str(sample), str(tmp_path / "x.jsonl"))
    assert wrong.returncode == 2 and f"{sample}:3" in wrong.stderr
    skipped = hyperspan("convert", str(sample), str(tmp_path / "x.jsonl"), "--on-error", "skip")
    assert skipped.returncode == 0 and "left out 1 record that" in skipped.stderr


def test_view_counts(sample: Path) -> None:
    table = hyperspan("view", str(sample), "--stats")
    assert table.returncode == 0 and "one of the same type and first word" in table.stdout
    found = json.loads(hyperspan("view", str(sample), "--stats", "--json").stdout)[str(sample)]
    assert (found["mentions"], found["overlapping"], found["depth"], found["types"]["ORG"]) == (3, 3, 3, 1)
    markdown = hyperspan("view", str(sample), str(sample), "--stats", "--markdown").stdout
    assert markdown.splitlines()[3].startswith("| ---")


def test_view_counts_discontinuous_mentions(sample: Path) -> None:
    corpus = "src/hyperspan/corpora/examples/coordination.jsonl"
    found = json.loads(hyperspan("view", corpus, "--stats", "--json").stdout)[corpus]
    assert found["discontinuous"] == found["sentences_with_discontinuous"] == 53
    assert found["parts"] == {"2": 53} and found["gaps"] == {"2": 53} and found["later_widths"] == {"1": 48, "2": 5}
    table = [line.rsplit(maxsplit=2) for line in hyperspan("view", corpus, str(sample), "--stats").stdout.splitlines()]
    assert ["  parts: 2", "53", "0"] in table and ["  words in the widest gap: 2", "53", "0"] in table
    assert ["  widest gap, words", "2", "0"] in table and ["  widest later part, words", "2", "0"] in table
    assert ["  widest first part of any mention, words", str(max(map(int, found["first_widths"]))), "6"] in table
    assert "widest gap" not in hyperspan("view", str(sample), "--stats").stdout


def test_view(sample: Path) -> None:
    shown = hyperspan("view", str(sample), "--width", "60")
    assert shown.stdout.splitlines()[:4] == [
        "The head of the Oz bank left .",
        "                ╰╯GPE",
        "            ╰───ORG───╯",
        "╰─────────PER─────────╯",
    ]
    assert "\x1b" not in shown.stdout
    assert "Nobody" not in hyperspan("view", str(sample), "--overlapping").stdout
    assert hyperspan("view", str(sample), "--first", "2", "-n", "1").stdout.startswith("Nobody knew")


def test_view_says_why_it_shows_nothing(sample: Path) -> None:
    for options, what in (
        (["--first", "9"], "2 sentences"),
        (["--overlapping", "--first", "2"], "1 sentence with overl"),
    ):
        result = hyperspan("view", str(sample), *options)
        first = options[options.index("--first") + 1]
        assert (result.returncode, result.stdout) == (0, "")
        assert result.stderr.startswith(f"hyperspan: nothing to show from sentence {first} on: {sample} has {what}")
        assert result.stderr.count("\n") == 1
    assert hyperspan("view", str(sample), "--first", "9", "-n", "0").stderr == ""
    assert hyperspan("view", str(sample), "--first", "2").stderr == ""


def test_view_never_changes_the_colour_of_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ["PER", "ORG", "GPE"]
    write_corpus([Document("Ada", [Mention(0, 3, label)]) for label in labels], tmp_path / "made.jsonl")
    seen: list[dict[str, str]] = []

    def render(sentence: Sentence, width: int, styles: Mapping[str, str]) -> Any:
        seen.append(dict(styles))
        return ""

    monkeypatch.setattr(view_module, "render_sentence", render)
    view_module.view([str(tmp_path / "made.jsonl")], reading=ReadingGroup(), reporting=ReportingGroup())
    assert [list(styles) for styles in seen] == [labels[:1], labels[:2], labels]
    assert all(styles[label] == seen[-1][label] for styles in seen for label in styles)
