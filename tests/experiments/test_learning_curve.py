"""Learning curves: which runs there are, that a killed command goes on, and what is printed of finished runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.study import curves as learning_curve
from experiments.study.curves import (
    CurveRunner,
    ResultFile,
    SystemRun,
    check_spacy,
    part,
    planned,
    starts_with,
    train_all,
)
from experiments.study.curves_report import draw, table
from hyperspan.errors import InputError
from hyperspan.types import Mention, Sentence

ZOO = Sentence(("the", "Seattle", "zoo"), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")], tags=("DT", "NNP", "NN"))
SENTENCES = [ZOO, Sentence(("it", "rains")), Sentence(("Ada", "left"), [Mention(0, 1, "PER")])] * 10


def result(system: str, seed: int, f1: float, sentences: int = 300) -> dict[str, Any]:
    return {
        "system": system,
        "corpus": "genia",
        "sentences": sentences,
        "seed": seed,
        "f1": f1,
        "seconds": 60.0,
        "cpu_seconds": 58.0,
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a small corpus in the place and format of GENIA."""
    folder = tmp_path / "data" / "genia"
    folder.mkdir(parents=True)
    blocks = [
        f"{' '.join(s.tokens)}\n{' '.join(s.tags or ['X'] * len(s))}\n"
        f"{'|'.join(f'{m.start},{m.end} G#{m.label}' for m in sorted(s.mentions))}\n\n"
        for s in SENTENCES
    ]
    for split in ("train", "dev"):
        (folder / f"{split}.data").write_text("".join(blocks), encoding="utf-8")
    return folder.parent


def test_all_runs_are_planned_with_the_longest_first() -> None:
    runs = planned(["*"])
    assert len({*runs}) == len(runs) == 3 * (13 + 6 + 6) + 2 * 3
    assert {run.corpus for run in runs if run.system == "spancat-wide"} == {"genia"}
    assert runs[0].sentences == 3000
    assert runs[-1].sentences == 30
    with pytest.raises(InputError, match=r"--only zoo/\* matches no run; a run is SYSTEM/CORPUS/SENTENCES/SEED"):
        planned(["zoo/*"])


def test_smaller_parts_of_a_seed_are_within_larger_ones() -> None:
    sentences = [Sentence((f"word{index}",)) for index in range(50)]
    small, large, other = part(sentences, 10, 1), part(sentences, 20, 1), part(sentences, 10, 2)
    assert large[:10] == small != other
    assert len({*large}) == 20


def test_starts_are_changed_by_corpus() -> None:
    assert starts_with(["gum=genia"]) == {"genia": "english", "litbank": "english", "gum": "genia"}
    with pytest.raises(InputError, match="--start zoo=genia is not CORPUS=MODEL"):
        starts_with(["zoo=genia"])


def test_results_survive_a_process_that_was_killed_while_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "results.jsonl"
    ResultFile(path).add(result("spancat", 1, 0.5))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"system": "spanc')
    again = ResultFile(path)
    assert again.finished == {SystemRun("spancat", "genia", 300, 1)}
    again.add(result("spancat", 2, 0.6))
    assert [each["seed"] for each in ResultFile(path).results] == [1, 2]
    path.write_text("[]\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no results of this benchmark"):
        ResultFile(path)


def test_a_finished_run_is_scored_on_all_of_dev_and_kept(tmp_path: Path, data: Path) -> None:
    """The interpreter is one that finds the mentions of the first sentence alone."""
    python = tmp_path / "python"
    lines = [[[1, 2, "GPE"], [0, 3, "FAC"]], *([] for _ in SENTENCES[1:])]
    python.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\njob = json.load(open(sys.argv[-1]))\n"
        "assert job['sizes'] == [1, 2, 3] and job['vectors'] == '' and 'NNP' not in open(job['train']).read()\n"
        "folder = pathlib.Path(job['folder'])\n"
        "(folder / 'result.json').write_text('{\"seconds\": 2, \"cpu_seconds\": 1}')\n"
        f"(folder / 'predictions.jsonl').write_text({chr(10).join(map(json.dumps, lines))!r})\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    file = ResultFile(tmp_path / "results.jsonl")
    runner = CurveRunner(tmp_path / "work", data, str(python), Path(), {}, "cpu")
    runs = [SystemRun("spancat-wide", "genia", 30, seed) for seed in (1, 2)]
    train_all(runner, runs, 2, file, sys.stderr)
    assert sorted(each["seed"] for each in file.results) == [1, 2]
    assert {(each["correct"], each["predicted"], each["gold"]) for each in file.results} == {(2, 2, 30)}
    train_all(runner, runs, 2, ResultFile(file.path), sys.stderr)  # both are finished: nothing is started


def test_a_failed_run_is_reported_and_the_others_go_on(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no memory >&2\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    runner = CurveRunner(tmp_path / "work", data, str(python), Path(), {}, "cpu")
    with pytest.raises(InputError, match=r"these runs failed: spancat/genia/30/1, spancat/genia/30/2; the others are"):
        train_all(
            runner,
            [SystemRun("spancat", "genia", 30, seed) for seed in (1, 2)],
            1,
            ResultFile(tmp_path / "r.jsonl"),
            sys.stderr,
        )
    assert "spancat/genia/30/2 failed:\nno memory" in capsys.readouterr().err


def test_an_interpreter_without_spacy_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere cannot be run .*; name an interpreter that has spaCy"):
        check_spacy(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="has no spaCy"):
        check_spacy("/bin/false")


def test_tables_have_a_row_for_each_size_and_one_for_each_variant(tmp_path: Path) -> None:
    results = [result("spancat", 1, 0.5), result("spancat", 2, 0.52), result("hyperspan", 1, 0.6, 1000)]
    lines = list(table({"runs": [*results, result("spancat-wide", 1, 0.51)]}))
    assert lines[1:] == [
        "| GENIA, sentences | hyperspan | s | hyperspan, warm start | s | spaCy's spancat | s |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        "| 300 | – | – | – | – | 51.0 ± 1.4 | 60 / 58 |",
        "| 1,000 | 60.0 | 60 / 58 | – | – | – | – |",
        "",
        "| variant | corpus | sentences | F1 | s |",
        "|---|---|---:|---:|---:|",
        "| spancat-wide | GENIA | 300 | 51.0 | 60 / 58 |",
    ]
    file = ResultFile(tmp_path / "results.jsonl")
    for each in results:
        file.add(each)
    assert [each["seed"] for each in learning_curve.run(output=file.path, report=True)["runs"]] == [1, 1, 2]


def test_curves_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw([result("spancat", 1, 0.5), result("spancat", 1, 0.6, 1000)], tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("system", ["hyperspan", "spancat-vectors"])
def test_both_systems_learn_a_small_corpus(system: str, tmp_path: Path, data: Path) -> None:
    pytest.importorskip("spacy")
    words = sorted({token.lower() for sentence in SENTENCES for token in sentence.tokens})
    values = np.eye(len(words), 8, dtype=np.float16)
    np.savez(tmp_path / "vectors.npz", words=np.array("\n".join(words).encode()), vectors=values)
    runner = CurveRunner(tmp_path / "work", data, sys.executable, tmp_path / "vectors.npz", {}, "cpu")
    file = ResultFile(tmp_path / "results.jsonl")
    train_all(runner, [SystemRun(system, "genia", 30, 1)], 1, file, sys.stderr)
    assert file.results[0]["f1"] >= 0.5
    assert file.results[0]["cpu_seconds"] > 0
