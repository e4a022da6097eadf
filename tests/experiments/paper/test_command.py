"""`python -m experiments.paper` as a user drives it, on an invented corpus in place of GENIA."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import result as results
from experiments.paper import command
from experiments.paper.rows import ROWS, Row, rows_for
from experiments.result import Result, state_of
from experiments.runs import run_row
from experiments.settings import config_of
from hyperspan.corpora.formats import read_corpus
from hyperspan.errors import OutputExistsError, TrainingError
from tests.experiments.support import HARBOUR, SMALL, make_corpus, paper, result
from tests.support.process import PATIENCE


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data/ where the configurations of GENIA look."""
    folder = tmp_path_factory.mktemp("reproduce")
    make_corpus(folder / "data")
    return folder


def arguments(home: Path, *given: str, **changes: object) -> list[str]:
    sets = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    options = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
    where = ["--data-dir", str(home / "data"), "--output", str(home / "out"), "--device", "cpu", "--threads", "1"]
    return [*given, *where, *options]


def small_configs(folder: Path, *rows: str) -> Path:
    """The configurations of rows, made small."""
    (folder / "genia").mkdir(parents=True)
    for row in rows:
        config = config_of(ROWS[row], "genia", overrides=[f"{name}={value}" for name, value in SMALL.items()])
        (folder / "genia" / f"{row}.toml").write_text(config.to_toml(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(home: Path) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "RECORDED", Path("nowhere"))
        return paper(*arguments(home, "main", "--rows", "sh-n,sh-6", "--seeds", "1"))


def test_rows_are_trained_and_tabulated(home: Path, trained: subprocess.CompletedProcess[str]) -> None:
    assert trained.returncode == 0, trained.stderr
    assert "SH (c=n)" in trained.stdout and "74.5" in trained.stdout and "1 of 1" in trained.stdout
    assert "sh-6, seed 1 (1 of 2)" in trained.stderr
    table = json.loads((home / "out" / "genia" / "main.json").read_text(encoding="utf-8"))
    assert [row["row"] for row in table["rows"]] == ["sh-6", "sh-n"] and table["paper"]["sh-n"] == [76.1, 72.9, 74.5]
    assert table["rows"][0]["difference"]["p_randomization"] > 0 and table["rows"][1]["difference"] is None
    assert "| SH (c=n) | 76.1 |" in (home / "out" / "genia" / "main.md").read_text(encoding="utf-8")
    assert (home / "out" / "genia" / "main.png").read_bytes().startswith(b"\x89PNG")
    folder = home / "out" / "genia" / "sh-n" / "seed-1"
    found = Result.read(folder / "result.json")
    assert found.dev_f1 == found.f1  # dev and test are the same here
    assert found.epochs == 1 and found.parameters > 0 and found.report["words_per_second"] > 0 and found.seconds > 0
    assert (found.seed, found.config["training"]["epochs"], len(found.known_counts)) == (1, 1, 24)
    predicted = [sentence for document in read_corpus(folder / "predictions.jsonl") for sentence in document.sentences]
    assert sum(len(sentence.mentions) for sentence in predicted) == found.known_counts[:, 1].sum()
    assert sorted(path.name for path in folder.iterdir()) == ["model", "predictions.jsonl", "result.json"]
    assert not (folder / "model" / "checkpoint.safetensors").exists()


@pytest.mark.usefixtures("trained")
def test_what_is_finished_is_not_trained_again(home: Path) -> None:
    file = home / "out" / "genia" / "sh-n" / "seed-1" / "result.json"
    before = file.stat().st_mtime_ns
    again = paper(*arguments(home, "main", "--rows", "sh-n,sh-6", "--seeds", "1", "--format", "json"))
    assert again.returncode == 0, again.stderr
    assert "2 of 2 runs are finished already" in again.stderr and "training" not in again.stderr
    assert file.stat().st_mtime_ns == before
    assert json.loads(again.stdout)["rows"][1]["f1"] == Result.read(file).f1
    sets = [f"{name}={value}" for name, value in SMALL.items()]
    with pytest.raises(OutputExistsError, match=r"was finished with another encoder\.hidden; .* anew with --force"):
        run_row("sh-n", "genia", 1, home / "out", data_dir=home / "data", overrides=[*sets, "encoder.hidden=7"])
    assert file.stat().st_mtime_ns == before


@pytest.mark.usefixtures("trained")
def test_without_typer_and_matplotlib(home: Path) -> None:
    """As on a machine that only has what training needs: rows are run, and the table is written without its picture."""
    code = f"""
import sys
from pathlib import Path
sys.modules["typer"] = sys.modules["matplotlib"] = None
from experiments import CONFIGS
from experiments.paper.command import make_table
from experiments.request import Request
from experiments.paper.rows import Row
from experiments.runs import run_row
sets = {[f"{name}={value}" for name, value in SMALL.items()]!r}
home = Path({str(home)!r})
print(run_row("sh-n", "genia", 1, home / "out", "cpu", data_dir=home / "data", overrides=sets).row)
(home / "out" / "genia" / "main.md").unlink()
make_table("main", Request("genia", home / "data", ("sh-n",), (1,), home / "out", CONFIGS, tuple(sets), "sh-n",
                           False, False, "cpu", None), "table")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("sh-n\n"), done.stderr
    assert 'no picture, as drawing the table needs the extra `plots`: pip install "hyperspan[plots]"' in done.stderr
    assert (home / "out" / "genia" / "main.md").is_file()


@pytest.mark.usefixtures("trained")
def test_speed_is_measured_in_one_run(home: Path) -> None:
    where = ["--data-dir", str(home / "data"), "--output", str(home / "out"), "--device", "cpu", "--seeds", "1"]
    done = paper("speed", *where, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {row["row"] for row in rows} >= {"sh-6", "sh-n"} and all(row["words_per_second"] > 0 for row in rows)
    assert (home / "out" / "genia" / "speed.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_killed_run_goes_on(home: Path) -> None:
    rows = ["main", "--rows", "sh-n", "--seeds", "4"]
    given = arguments(home, *rows, training__epochs=40)
    process = subprocess.Popen([sys.executable, "-m", "experiments.paper", *given], stderr=subprocess.DEVNULL)
    folder = home / "out" / "genia" / "sh-n" / "seed-4"
    while state_of(folder).epoch < 2:
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    reached = state_of(folder).epoch
    assert reached < 40 and not (folder / "result.json").exists()
    listed = paper(*arguments(home, "--list", "--seeds", "4", "--rows", "sh-n,fofe-6")).stdout.splitlines()
    assert len(listed) == 3 and listed[0].split()[0] == "row" and listed[2].endswith(f"epoch {reached} of 40")
    done = paper(*arguments(home, *rows, training__epochs=reached + 1))
    assert done.returncode == 0, done.stderr
    assert "resumed after epoch" in done.stderr and "1 of 1" in done.stdout
    assert Result.read(folder / "result.json").epochs == reached + 1
    assert str(state_of(folder)).startswith("finished, F1")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows that were run, each of which ends at once: the one with c=6 fails, the others have a result."""
    names: list[str] = []

    def fail_or_finish(row: Row, *given: object, **options: object) -> Result:
        names.append(row.name)
        if row.name == "sh-6":
            raise TrainingError("the loss is nan")
        return result(row.name, 7, [1, 2])

    monkeypatch.setattr("experiments.runs.run_row", fail_or_finish)
    return names


@pytest.mark.usefixtures("begun")
def test_one_row_that_fails_does_not_stop_the_others(home: Path) -> None:
    done = paper(*arguments(home, "main", "--rows", "sh-6,sh-n", "--seeds", "7"))
    assert done.returncode == 2 and "SH (c=6)" in done.stdout
    assert "not all rows could be trained: sh-6, seed 7: the loss is nan" in done.stderr
    assert "sh-n, seed 7: finished, test F1 75.00" in done.stderr


@pytest.mark.usefixtures("begun")
def test_rows_without_a_configuration_are_left_out(home: Path, tmp_path: Path) -> None:
    """But not those that override the configuration of a row that has one."""
    configs = small_configs(tmp_path, "fofe-n")
    said = paper(*arguments(home, "main", "--seeds", "7", "--configs", str(configs))).stderr
    assert "fofe-6, seed 7: finished" in said and "fofe-n, seed 7: finished" in said
    assert "left out, as their configurations are missing: crf, cascaded, " in said and "sh-6, seed 7" not in said


@pytest.mark.slow
@pytest.mark.usefixtures("trained")
def test_rows_are_trained_side_by_side(home: Path, tmp_path: Path) -> None:
    """With the same results as one after the other, though the other row fails."""
    (tmp_path / "genia").mkdir()
    for name, changes in {"sh-6": [], "sh-n-char": ["training.lm_loss_weight=1e300"]}.items():
        config = config_of(ROWS[name], "genia", overrides=changes)
        (tmp_path / "genia" / f"{name}.toml").write_text(config.to_toml(), encoding="utf-8")
    rows = ["--rows", "sh-6,sh-n-char"]
    given = arguments(home, "main", *rows, "--seeds", "1", "--jobs", "2", "--configs", str(tmp_path))
    given[given.index("--output") + 1] = str(tmp_path)
    done = paper(*given)
    assert done.returncode == 2 and "SH (c=6)" in done.stdout
    assert "not all rows could be trained: sh-n-char, seed 1: " in done.stderr.splitlines()[-1]
    one, other = (Result.read(out / "genia" / "sh-6" / "seed-1" / "result.json") for out in (tmp_path, home / "out"))
    assert "sh-6, seed 1 (" in done.stderr and f"finished, F1 {100 * one.f1:.2f}" in done.stderr
    assert (one.f1, one.dev_f1, one.config) == (other.f1, other.dev_f1, other.config)
    assert (one.counts == other.counts).all()


@pytest.mark.parametrize(
    ("jobs", "rows"), [("1", ["paper-6-narrow", "paper-n-zeroed"]), ("2", ["paper-n-zeroed", "paper-n-decoded-6"])]
)
def test_rows_that_decode_come_last_and_in_turn(home: Path, begun: list[str], jobs: str, rows: list[str]) -> None:
    """Two at once might train the same missing model."""
    done = paper(*arguments(home, "main", "--rows", ",".join(rows), "--seeds", "7", "--jobs", jobs))
    assert begun == rows and done.stderr.count("finished, test F1 75.00") == 2


@pytest.mark.slow
def test_an_interrupt_stops_all_processes(home: Path, tmp_path: Path) -> None:
    """And the rows that wait are not begun."""
    rows = ["main", "--rows", "sh-6,sh-n,sh-n-char,sh-6-char", "--seeds", "1", "--jobs", "2"]
    given = arguments(home, *rows, training__epochs=4000)
    given[given.index("--output") + 1] = str(tmp_path)
    command = [sys.executable, "-m", "experiments.paper", *given]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while len(list(tmp_path.rglob("log.jsonl"))) < 2:
            assert process.poll() is None, "it ended before it could be stopped"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "stopped; the same command goes on in" in said
    assert len(list(tmp_path.rglob("log.jsonl"))) == 2


@pytest.mark.usefixtures("trained")
def test_recorded_runs_are_tabulated_without_the_output_folder(
    home: Path, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of experiments/configs, whatever --set and --configs say."""
    printed: list[str] = []
    main_rows = ["main", "--rows", "sh-6,sh-n", "--seeds", "1", "--no-train"]
    sets = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]
    small = small_configs(tmp_path / "small", "sh-6", "sh-n")
    for more in ([], sets, ["--configs", str(small)]):
        done = paper(*main_rows, "--record", "--output", str(home / "out"), *more)
        assert done.returncode == 2 and "cannot be recorded: it was trained with another" in done.stderr
    monkeypatch.setattr(command, "CONFIGS", small)
    for output, more in ((home / "out", ["--record"]), (tmp_path / "new", [])):
        for table in ("main", "overlap"):
            given = [table, "--rows", "sh-6,sh-n", "--seeds", "1", "--no-train", "--data-dir", "nowhere", *more]
            done = paper(*given, "--output", str(output))
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
    assert printed[:2] == printed[2:] and "1 of 1" in printed[0]
    text = (recorded / "genia.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["row"] for line in lines][:2] == ["sh-6", "sh-n"] and {line["seed"] for line in lines} == {1}
    assert str(home) not in text and "by_label" not in lines[0]["test"]
    assert text.count("\n") == len(lines) and len(text) < 4000 * len(lines)


def test_results_of_another_machine_are_tabulated(tmp_path: Path) -> None:
    """Without data, configurations or torch."""
    for row, right in (("crf", [1, 1, 0]), ("sh-n", [2, 2, 1])):
        folder = tmp_path / "genia" / row / "seed-2"
        folder.mkdir(parents=True)
        result(row, 2, right).write(folder / "result.json")
    where = ["--output", str(tmp_path), "--configs", str(tmp_path), "--data-dir", str(tmp_path)]
    code = f"""
import sys
sys.argv = ["experiments.paper", "main", "--no-train", *{where!r}]
from pathlib import Path
from experiments.cli import make_single
from experiments.paper.__main__ import paper
from experiments import result as results
results.RECORDED = Path("nowhere")
make_single(paper)(standalone_mode=False)
sys.exit('torch' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = next(line.split() for line in done.stdout.splitlines() if line.startswith("CRF (linear)"))
    assert line[2:9] == ["77.1", "63.3", "69.5", "70.00", "33.33", "33.33", "33.33"] and "+50.00" in line
    assert done.stdout.count("1 of 3") == 2 and done.stdout.count("0 of 3") == len(rows_for("genia")) - 2
    for table, expected in (("overlap", "83.33"), ("ablation", "− dropout")):
        done = paper(table, "--no-train", *where)
        assert done.returncode == 0 and expected in done.stdout and (tmp_path / "genia" / f"{table}.md").is_file()


def test_settings_of_the_paper_are_tabulated_with_choices_on_dev(tmp_path: Path) -> None:
    """β is scored on other sentences than the rest, and compared with nothing."""
    answers = {
        "paper-n": [2, 2, 1],
        "paper-n-beta-2": [1, 1],
        "paper-n-no-margin": [1, 1, 0],
        "paper-n-width-4": [1, 2, 1],
    }
    for row, right in answers.items():
        folder = tmp_path / "genia" / row / "seed-1"
        folder.mkdir(parents=True)
        made = result(row, 1, right, test=None) if "beta" in row else result(row, 1, right)
        made.write(folder / "result.json")
    done = paper("paper", "--no-train", "--output", str(tmp_path), "--format", "markdown")
    assert done.returncode == 0, done.stderr
    lines = {line.split(" | ")[0].strip("| "): line for line in reversed(done.stdout.splitlines())}
    assert "| 74.5 | 70.00 | 83.33 |" in lines["SH (c=n), paper's settings"]
    assert "| β = 2 |" in done.stdout and "| – | 50.00 (1) | – |" in done.stdout
    assert "| 73.3 | +1.2 |" in lines["− softmax-margin"] and "| +50.00 |" in lines["− softmax-margin"]
    assert "| +16.67 |" in lines["c = 4"]


def test_named_rows_without_a_run_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "genia" / "paper-6-char" / "seed-1"
    folder.mkdir(parents=True)
    result("paper-6-char", 1, [2, 1]).write(folder / "result.json")
    done = paper("paper", "--no-train", "--rows", "paper-6-char-wider", "--output", str(tmp_path))
    assert done.returncode == 0 and "hyperspan: without a finished run: paper-6-char-wider\n" in done.stderr


def test_a_choice_is_trained_with_its_own_number_of_seeds_and_scored_on_dev(home: Path, tmp_path: Path) -> None:
    make_corpus(tmp_path / "data")
    (tmp_path / "data" / "genia" / "dev.data").write_text(
        "".join(HARBOUR.read_text(encoding="utf-8").splitlines(True)[:20]), encoding="utf-8"
    )
    given = arguments(home, "paper", "--rows", "paper-6-beta-4")
    given[given.index("--data-dir") + 1] = str(tmp_path / "data")
    done = paper(*given)
    assert done.returncode == 0, done.stderr
    assert "paper-6-beta-4, seed 1 (1 of 1)" in done.stderr
    found = Result.read(home / "out" / "genia" / "paper-6-beta-4" / "seed-1" / "result.json")
    assert len(found.known_counts) == 5 and found.f1 == found.dev_f1 and found.config["training"]["beta"] == 4


def test_statistics(home: Path) -> None:
    done = paper("statistics", "--data-dir", str(home / "data"), "--output", str(home / "s"))
    assert done.returncode == 0, done.stderr
    assert "14,836" in done.stdout and "3,199 (22%)" in done.stdout
    assert json.loads((home / "s" / "genia" / "statistics.json").read_text(encoding="utf-8"))["test"]["sentences"] == 24
