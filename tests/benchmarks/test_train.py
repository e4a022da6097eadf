"""The benchmark of training runs, and says what it measured."""

from __future__ import annotations

from hyperspan.benchmarks import train
from hyperspan.benchmarks.invented import invented_sentences


def test_training_is_measured_for_each_width() -> None:
    figures = train.measure(invented_sentences(20), rounds=1)
    assert [entry["c"] for entry in figures["widths"]] == ["6", "n"]
    assert all(entry["words_per_second"] > 0 and entry["fraction_of_ceiling"] > 0 for entry in figures["widths"])
    lines = list(train.report(figures))
    assert len(lines) == 4 and "words/s in training" in lines[1]
