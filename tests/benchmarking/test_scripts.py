"""What stands in benchmarks/ and is not a command of hyperspan."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from benchmarks import plot_speed, skip
from hyperspan.benchmarking.sentences import invented_sentences, paper_model

SPEED = {"words_per_second": 20_000.0, "fraction_of_ceiling": 0.25}
ON_CPU = {
    "machine": "a machine",
    "widths": [
        {"c": "6", **SPEED, "pytorch_alone": SPEED, "raw_text": {}, "spancat": {"words_per_second": 9_000.0}},
        {"c": "n", **SPEED, "pytorch_alone": SPEED, "bfloat16": SPEED, "raw_text": {}},
    ],
}
ON_GPU = {"machine": "a GPU", "widths": [{"c": "6", **SPEED}, {"c": "n", **SPEED}]}


def test_the_picture_has_a_bar_for_everything_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = [bar.name for bar in plot_speed.bars_of("6", [ON_CPU, ON_GPU])]
    ours = ["hyperspan, PyTorch alone", "hyperspan, float32"]
    assert names == ["published code", "spaCy's spancat", *ours, "hyperspan, GPU"]
    for name in ("one", "other"):
        plot_speed.plot([ON_CPU, ON_GPU], tmp_path / f"{name}.svg")
    picture = (tmp_path / "one.svg").read_text()
    assert "<svg" in picture and picture == (tmp_path / "other.svg").read_text()


def test_no_chain_scores_more_than_the_bound_from_the_weights() -> None:
    sentences = invented_sentences(12)
    model = paper_model("n", sentences)
    with torch.no_grad():  # states far from 0, and scores that come close to what states allow
        for parameter in model.parameters():
            parameter.mul_(5.0)
    starts = skip.starts_of(model, sentences)
    for one in starts:
        assert (one.best <= skip.bound_from_weights(model, one.room)).all()
    assert skip.saved(starts, math.inf, None) == {"words": 0, "span_lstm": 0, "most_probable": 0}
    assert skip.saved(starts, -math.inf, None)["words"] == 1
