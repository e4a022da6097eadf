"""The benchmark of training runs, and says what it measured."""

from __future__ import annotations

import pytest

from experiments.speed import train
from experiments.speed.invented import BenchmarkCorpus, invented_sentences


@pytest.mark.slow
def test_train_measures_each_width() -> None:
    figures = train.measure(BenchmarkCorpus(invented_sentences(20), "invented"), rounds=1)
    assert [entry["c"] for entry in figures["widths"]] == ["6", "n"]
    assert all(entry["words_per_second"] > 0 and entry["fraction_of_ceiling"] > 0 for entry in figures["widths"])
    assert figures["words"] > 0 and figures["long sentence, c = n"]["words"] == train.LONGEST
