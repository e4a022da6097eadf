"""Simulated labelling: a chain that goes on where it was stopped, and what is printed of finished rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.study.active import planned, read_rounds
from experiments.study.active_chain import ActiveJob, Simulation
from experiments.study.active_report import draw, savings, table, words_to_reach
from hyperspan.errors import InputError

NAMES = "Ada Bob Cleo Dora Emil Fay Gus Hal Ina Jon".split()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small corpus in the place and format of GENIA."""
    folder = tmp_path / "data" / "genia"
    folder.mkdir(parents=True)
    lines = [f"{name} saw the {animal}\nX X X X\n0,1 G#PER\n\n" for name in NAMES for animal in ("cat", "dog", "owl")]
    for split in ("train", "dev", "test"):
        (folder / f"{split}.data").write_text("".join(lines), encoding="utf-8")
    return folder.parent


def test_a_chain_labels_in_rounds_and_resumes(data: Path, tmp_path: Path) -> None:
    small = ("training.epochs=1", "encoder.hidden=4", "encoder.span_hidden=4", "words.vectors=", "words.dimension=4")
    job = ActiveJob("genia", "mix", 1, str(data), str(tmp_path / "out" / "a.jsonl"), (4, 8), "cpu", small)
    Simulation(job).run()
    path = Path(job.output)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["words"], second["words"]) == (16, 32) and second["new"] == first["next"]
    assert not set(first["new"]) & set(second["new"]) and not second["next"]
    assert set(second["f1"]) == {"dev", "test"}
    path.write_text(json.dumps(first) + '\n{"corpus"')  # killed while it wrote
    Simulation(job).run()
    again = json.loads(path.read_text().splitlines()[1])
    assert {**again, "seconds": 0} == {**second, "seconds": 0}
    assert [one["round"] for one in read_rounds(path.parent)] == [0, 1]


def test_report_counts_the_words_that_are_saved(tmp_path: Path) -> None:
    def rounds(by: str, seed: int, *scores: float) -> list[dict[str, object]]:
        one = {"corpus": "genia", "by": by, "seed": seed}
        return [
            {**one, "round": i, "words": 100 * (i + 1), "f1": {"dev": f1, "test": f1}} for i, f1 in enumerate(scores)
        ]

    found = [
        *rounds("random", 1, 0.2, 0.4, 0.5),
        *rounds("mix", 1, 0.2, 0.5, 0.6),
        *rounds("longest", 1, 0.1, 0.2, 0.3),
    ]
    saved = savings(found, "dev")
    assert saved["mix"] == pytest.approx([1 / 3]) and saved["random"] == [0.0] and saved["longest"] == [None]
    text = "\n".join(table({"rounds": found}))
    assert "| mix | 20.0 | 50.0 | 60.0 | 1 | 33% | 33% |" in text and "not reached" in text
    draw(found, tmp_path / "active.svg")
    assert "<svg" in (tmp_path / "active.svg").read_text(encoding="utf-8")
    assert words_to_reach([(100, 0.4), (200, 0.4), (300, 0.6)], 0.4) == 100


def test_planned_chains_must_exist() -> None:
    assert len(planned(["*/random/*"], 3)) == 6
    with pytest.raises(InputError, match="matches no chain"):
        planned(["genia/luck/*"], 3)
