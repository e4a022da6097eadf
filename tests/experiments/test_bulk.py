"""The benchmark of bulk jobs runs, and says what it measures."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from experiments.speed import bulk_gpu as bulk
from experiments.speed.bulk_gpu import BulkRun, given_lines, measure, write_texts
from hyperspan.errors import InputError


def test_texts_are_given_or_invented(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "given.xz", "wt") as file:
        file.write("IL-2 binds.\n\n" * 20)
    [file] = write_texts(tmp_path, tmp_path / "given.xz", 30)
    assert Path(file).read_text().splitlines() == ["IL-2 binds. " * 7 + "IL-2 binds."] * 2
    [file] = write_texts(tmp_path, None, 1_000)
    assert 1_000 <= len(Path(file).read_text().split()) < 1_500
    with pytest.raises(InputError, match=r"none\.txt cannot be read"):
        list(given_lines(tmp_path / "none.txt"))


def test_a_run_is_measured_and_compared(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("IL-2 promoter activity in Jurkat T cells.\nNothing.\n" * 50)
    run = BulkRun([str(tmp_path / "texts.txt")], str(tmp_path / "out"), "genia", "cpu", 1, 0.5, 60.0)
    figures = measure(run)
    assert figures["words"] == 600 and figures["words_per_second"] >= 0 and not figures["stopped"]
    assert figures["gpu_busy"] is None or figures["gpu_busy"] >= 0
    json.dumps(figures)
    compared = bulk.compare(run, 5)
    assert compared["mentions_of_both"] >= 2 and not compared["only_of_the_job"] + compared["only_on_the_cpu"]
