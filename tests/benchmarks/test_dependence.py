"""``hyperspan benchmark dependence``: its measures, its runs, and what it prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hyperspan.benchmarks import dependence
from hyperspan.benchmarks.dependence_runs import backwards, planned_runs
from hyperspan.benchmarks.set_measures import joined_measures, measure_sets, set_figures
from hyperspan.errors import InputError
from hyperspan.structures import SegmentalHypergraph
from hyperspan.types import Mention, Sentence
from tests.structures.cases import edge_scores

OPTIONS = {"only": ["litbank/*/1"], "device": "cpu", "sentences": 12, "list_": False, "report": False, "compare": False}
SMALL = [
    "training.epochs=1",
    "encoder.hidden=8",
    "encoder.span_hidden=8",
    "encoder.layers=1",
    "words.dimension=8",
    "model.max_width=4",
]


def test_measures_are_those_of_the_distribution() -> None:
    words = SegmentalHypergraph(edge_scores((2, 3, 3, 2), torch.float64, 3, 2.0, 0.0, False), [3, 2])
    gold = [set(words.topk(4)[0][2][0]), set()]
    found = joined_measures([([1, 0], measure_sets(words, gold))])  # as batches come: not in order
    figures = set_figures(found)
    assert found.sentences[1].rank == 3 and found.sentences[1].gold == len(gold[0])
    assert figures["bits"] == pytest.approx(-float(words.log_prob(gold).sum()) / 2 / np.log(2))
    assert found.sentences[0].best == pytest.approx(np.exp(words.topk(1)[1][0][1]))
    pairs = found.pairs
    assert set(pairs.sentence) == {0, 1} and (pairs.both <= np.minimum(pairs.first, pairs.second) + 1e-9).all()
    assert sum(one["pairs"] for one in figures["pairs"].values()) == len(pairs.both)


def test_backwards_twice_is_the_sentence() -> None:
    sentence = Sentence(["a", "b", "c"], [Mention(0, 2, "X"), Mention(1, 3, "Y")])
    assert backwards(backwards(sentence)) == sentence


def test_runs_are_named_by_patterns() -> None:
    assert len(planned_runs(["genia/*/1", "gum/both/*"])) == 7
    with pytest.raises(InputError, match="matches no run"):
        planned_runs(["genia"])


def write_corpus(folder: Path) -> None:
    lines = ["Old\tB-PER\tO", "Bo\tI-PER\tB-PER", "sleeps\tO\tO", "", "Lindau\tB-GPE\tB-FAC", "sleeps\tO\tO", ""]
    (folder / "litbank").mkdir(parents=True)
    import gzip

    for split in ("train", "dev", "test"):
        with gzip.open(folder / f"litbank/{split}.data.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines * 8) + "\n")


def test_benchmark_trains_measures_and_reports_each_row(tmp_path: Path) -> None:
    write_corpus(tmp_path / "data")
    output = tmp_path / "runs"
    given = {
        **OPTIONS,
        "data": tmp_path / "data",
        "output": output,
        "vectors": Path(),
        "set_": ["words.vectors=", *SMALL],
    }
    listed = dependence.run(**{**given, "list_": True}, speed=False)["commands"]
    assert len(listed) == 4 and listed[0].endswith("--only litbank/segmental/1")
    figures = dependence.run(**given, speed=False)
    assert {one["row"] for one in figures["runs"]} == {"segmental", "together", "both", "reversed"}
    assert not any((output / "unfinished").iterdir())
    compared = dependence.run(**{**given, "compare": True}, speed=False)
    printed = "\n".join(dependence.table(compared))
    assert "| litbank | dev | segmental | 1 |" in printed and "segmental and reversed, mixed" in printed
    again = dependence.run(**given, speed=False)
    assert again["runs"] == figures["runs"]
