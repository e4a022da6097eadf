"""Discontinuous mentions: a run that is trained, kept and not repeated, folds, scores, and significance of
differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from experiments import CONFIGS
from experiments.study import discontinuous
from experiments.study.discontinuous_report import comparisons, score_table, table
from experiments.study.discontinuous_runs import (
    ROWS,
    DiscontinuousRun,
    Splits,
    folded,
    planned_runs,
    read_found,
    read_splits,
    write_run,
)
from experiments.study.discontinuous_scores import scores
from hyperspan.corpora.registry import write_corpus
from hyperspan.errors import InputError
from hyperspan.types import Document, Mention

TEXT = "Rod and cone cells."
ROD, CONE = Mention(0, 18, "CL", ((0, 3), (13, 18))), Mention(8, 18, "CL")
SMALL = ["training.epochs=1", "encoder.hidden=4", "encoder.span_hidden=4", "encoder.layers=1", "words.dimension=4"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small corpus in the place and format of CRAFT."""
    folder = tmp_path / "data" / "craft"
    folder.mkdir(parents=True)
    documents = [Document(TEXT, [ROD, CONE], id=str(number)) for number in range(40)]
    for split in ("train", "dev", "test"):
        write_corpus(documents, folder / f"{split}.jsonl.gz")
    return folder.parent


def finish(output: Path, row: str, seed: int, splits: Splits, right: int) -> None:
    """A run of a row that has found all mentions of some documents, and one of the others."""
    found = {
        split: [
            evolve(document, mentions=[ROD, CONE] if index < right else [CONE])
            for index, document in enumerate(splits[split])
        ]
        for split in ("dev", "test")
    }
    run = DiscontinuousRun("craft", row, seed)
    write_run(output, run, {**vars(run), **{split: scores(splits[split], found[split]) for split in found}}, found)


def test_a_run_is_trained_once_and_its_mentions_are_kept(data: Path, tmp_path: Path) -> None:
    output, only = tmp_path / "out", ["craft/segmental/1"]
    options: dict[str, Any] = {"data": data, "vectors": Path(), "output": output, "only": only, "documents": 30}
    figures = discontinuous.run(**options, set_=[*SMALL, "words.vectors="])
    [one] = figures["runs"]
    assert one["test"]["all"]["gold"] == 60 and one["test"]["discontinuous"]["gold"] == 30
    assert one["words"] == {"dev": 150, "test": 150} and one["seconds"]["train"] > 0
    found = read_found(output, DiscontinuousRun("craft", "segmental", 1), read_splits(data, "craft", 30))
    assert sum(len(document.mentions) for document in found["dev"]) == one["dev"]["all"]["predicted"]
    assert discontinuous.run(**options, set_=["training.epochs=nonsense"]) == figures  # nothing is left to train
    listed = discontinuous.run(**{**options, "only": ["craft/segmental/*"]}, list_=True)["commands"]
    assert [command.rpartition(" ")[2] for command in listed] == ["craft/segmental/2", "craft/segmental/3"]


def test_folds_test_each_article_once_and_never_learn_from_it() -> None:
    documents = [Document(f"article {number}", id=str(number)) for number in range(23)]
    every = [folded(documents, fold) for fold in range(1, 6)]
    assert sorted(document.id for splits in every for document in splits["test"]) == sorted(d.id for d in documents)
    for splits in every:
        ids = [document.id for documents in splits.values() for document in documents]
        assert len(ids) == len(set(ids)) == 23 and splits["dev"]


def test_differences_on_discontinuous_mentions_are_told_from_chance(data: Path, tmp_path: Path) -> None:
    splits = read_splits(data, "craft")
    for row, right in {"segmental": 0, "biohd": 19, "discontinuous": 20, "discontinuous-3": 40}.items():
        for seed in (1, 2):
            finish(tmp_path, row, seed, splits, right)
    finish(tmp_path, "segmental", 3, splits, 40)  # a seed that other rows lack is not compared
    figures = discontinuous.run(data=data, output=tmp_path, report=True, compare="discontinuous")
    found = {(one["split"], one["measured"], one["other"]): one for one in figures["comparisons"]}
    assert len(found) == 2 * 3 * 3
    below, same = found["test", "discontinuous", "segmental"], found["test", "discontinuous", "biohd"]
    assert below["difference"] == pytest.approx(2 / 3) and below["p"] < 0.001
    assert 0 < same["difference"] < 0.03 and same["p"] > 0.5
    assert found["dev", "discontinuous", "discontinuous-3"]["difference"] == pytest.approx(-1 / 3)
    assert "| craft | test | discontinuous | discontinuous | segmental | +66.67 |" in "\n".join(table(figures))


def test_scores_are_means_over_seeds_of_all_folds_together() -> None:
    def run(corpus: str, seed: int, correct: int, gold: int) -> dict[str, object]:
        score = {"correct": correct, "predicted": gold, "gold": gold}
        split = dict.fromkeys(("all", "discontinuous", "with_discontinuous"), score)
        return {"corpus": corpus, "row": "biohd", "seed": seed, "dev": split, "test": split}

    runs = [run("genia-1", 1, 10, 10), run("genia-2", 1, 0, 30), run("genia-1", 2, 10, 10), run("genia-2", 2, 10, 30)]
    assert "| genia | test | biohd | 2 | 37.50 ± 17.68 | 37.50 ± 17.68 |" in "\n".join(score_table(runs))
    assert json.loads(json.dumps(comparisons([], Path(), Path(), "biohd"))) == []


def test_planned_runs_must_exist() -> None:
    assert len(planned_runs(["*"])) == 6 * len(ROWS) * 3
    with pytest.raises(InputError, match="matches no run; a run is CORPUS/ROW/SEED"):
        planned_runs(["craft/luck/*"])
    with pytest.raises(InputError, match="--compare luck is no row"):
        discontinuous.run(compare="luck")
    assert (CONFIGS / "craft" / f"{ROWS[0]}.toml").is_file()
