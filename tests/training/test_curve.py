"""`hyperspan curve` as a user drives it: killed, resumed, extended, and with mistakes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hyperspan.config import Config
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.nn import load_model
from hyperspan.training.curve import LearningCurve, learning_curve, read_runs
from hyperspan.training.data import read_sentences
from hyperspan.training.events import TrainingEvent, read_log
from hyperspan.training.run import train
from tests.support import runs
from tests.support.models import HARBOUR
from tests.support.process import call, hyperspan

PLAIN = [
    *("words.vectors=", "words.dimension=8", "characters.encoder=none"),
    *("encoder.hidden=8", "encoder.span_hidden=8", "encoder.output_dropout=0", "training.start="),
    *("training.epochs=3", "training.patience=0", "training.eval_epochs=1", "training.learning_rate=0.02"),
    *("training.schedule=constant", "training.warmup_epochs=0", "training.lm_loss_weight=0", "training.ema_decay=0"),
    "training.weight_decay=0",
]
CONFIG = Config.from_toml(runs.CONFIG).override(PLAIN).settled()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "harbour.toml"
    file.write_text(CONFIG.to_toml(), encoding="utf-8")
    return file


def short(folder: Path, *overrides: str, **options: object) -> LearningCurve:
    given: dict[str, object] = {"sizes": [4, 8], "seeds": 1, **options}
    return learning_curve(CONFIG, folder, overrides=["training.epochs=1", *overrides], device="cpu", **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_killed_curve_goes_on_where_it_was(config: Path, tmp_path: Path) -> None:
    sizes = [6, 12, 17]
    epochs = ["training.epochs=6"]
    whole = learning_curve(CONFIG, tmp_path / "whole", sizes=sizes, seeds=1, overrides=epochs, device="cpu")
    killed = tmp_path / "killed"
    given = ["curve", config, "-o", killed, "--sizes", "6,12,17", "--seeds", "1", "--device", "cpu", "--set", *epochs]
    process = subprocess.Popen([sys.executable, "-m", "hyperspan", *map(str, given)], stderr=subprocess.DEVNULL)
    log = killed / "runs" / "12-seed-1" / "log.jsonl"
    while not (log.exists() and '"epoch": 2' in log.read_text(encoding="utf-8")):
        assert process.poll() is None, "it ended before it could be stopped"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    assert [run.size for run in read_runs(killed)] == [6]

    done = hyperspan(*map(str, given), "--keep")
    assert done.returncode == 0, done.stderr
    assert "6 sentences, seed 1: dev" not in done.stderr and "12 sentences, seed 1: dev F1" in done.stderr
    assert "(2 of 2)" in done.stderr and "F1 on dev by the size of the training corpus" in done.stdout
    assert [(run.size, run.f1) for run in read_runs(killed)] == [(run.size, run.f1) for run in whole.runs]
    assert len([event for event in read_log(log) if event["event"] == "epoch"]) == 6
    assert not (tmp_path / "whole" / "runs").exists()  # models go once they are scored
    written = json.loads((killed / "curve.json").read_text(encoding="utf-8"))
    assert [run["size"] for run in written["runs"]] == sizes
    assert (killed / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (killed / "curve.svg").read_text(encoding="utf-8")


def test_the_whole_corpus_gives_what_train_gives(tmp_path: Path) -> None:
    events: list[TrainingEvent] = []
    overrides = ["training.epochs=8"]
    every = len(read_sentences(HARBOUR))
    curve = short(tmp_path / "curve", *overrides, sizes=[9, every], listeners=[events.append])
    assert [run.sentences for run in curve.runs] == [9, every]
    whole = train(CONFIG, tmp_path / "whole", overrides=overrides, device="cpu")
    assert curve.runs[-1].f1 == whole.dev_f1
    assert whole.dev_f1 and whole.dev_f1 > curve.runs[0].f1
    assert [event.name for event in events if event.name.startswith("part")] == ["part", "part finished"] * 2


def test_text_is_cut_as_for_the_model_that_a_curve_starts_from(tmp_path: Path) -> None:
    train(CONFIG, tmp_path / "start", overrides=["training.epochs=1", "model.tokenizer=split"], device="cpu")
    file = tmp_path / "raw.jsonl"
    raw = {"text": "The IL-2-like gene.", "mentions": [{"start": 0, "end": 18, "label": "GENE"}]}
    file.write_text(f"{json.dumps(raw)}\n" * 2, encoding="utf-8")
    given = [f"data.train={file}", f"data.dev={file}", f"training.start={tmp_path / 'start'}"]
    curve = short(tmp_path / "curve", *given, sizes=[1, 2], keep=True)
    assert (
        load_model(tmp_path / "curve" / "runs" / "2-seed-1").config.model.tokenizer == "split" and len(curve.runs) == 2
    )


def test_a_curve_is_extended_by_sizes_and_seeds(tmp_path: Path) -> None:
    first = short(tmp_path)
    events: list[TrainingEvent] = []
    more = short(tmp_path, sizes=[4, 8, 12], seeds=2, listeners=[events.append])
    assert set(first.runs) < set(more.runs) and len(more.runs) == 6
    assert sum(event.name == "part" for event in events) == 4
    assert short(tmp_path).runs == first.runs
    assert {run.seed for run in short(tmp_path, "training.seed=2").runs} == {2}


def test_another_configuration_needs_another_folder_or_force(tmp_path: Path) -> None:
    folder = tmp_path / "curve"
    short(folder)
    with pytest.raises(OutputExistsError, match=r"holds a curve with another encoder\.hidden; .* --force"):
        short(folder, "encoder.hidden=9")
    short(folder, "training.micro_batch_size=2")  # which changes nothing
    assert len(short(folder, "encoder.hidden=9", sizes=[4, 9], force=True).runs) == len(read_runs(folder)) == 2
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "settings.json").write_text('{"corpora": {}}', encoding="utf-8")
    for force in (False, True):  # which deletes only what a curve has written
        with pytest.raises(OutputExistsError, match="holds other files"):
            short(tmp_path, force=force)


def test_a_part_from_which_nothing_can_be_learnt_scores_nothing(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    empty = json.dumps({"text": "Nobody came.", "mentions": []})
    one = json.dumps({"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]})
    file.write_text("\n".join([*[empty] * 11, one]), encoding="utf-8")
    curve = short(tmp_path / "out", f"data.train={file}", f"data.dev={file}", sizes=[1, 12])
    assert (curve.runs[0].mentions, curve.runs[0].f1, curve.runs[0].epochs) == (0, 0.0, 0)
    assert (curve.runs[1].mentions, curve.runs[1].epochs) == (1, 1)


def test_a_part_may_lack_a_label_that_its_corpus_declares(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    people = [{"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]}] * 11
    place = {"text": "Oslo slept.", "mentions": [{"start": 0, "end": 4, "label": "GPE"}]}
    file.write_text("\n".join(map(json.dumps, [*people, place])), encoding="utf-8")
    corpora = f'data.train=[{{path = "{file}", annotated = ["PER", "GPE"]}}]'
    curve = short(tmp_path / "out", corpora, f"data.dev={file}", sizes=[1, 12])
    assert [run.epochs for run in curve.runs] == [1, 1] and not curve.failed
    with pytest.raises(InputError, match="says that VEH is annotated, but no training corpus has such a mention"):
        short(tmp_path / "other", corpora.replace('"]', '", "VEH"]'), f"data.dev={file}", sizes=[1, 12])


def test_a_part_without_any_annotation_scores_nothing_for_a_student_too(tmp_path: Path) -> None:
    train(CONFIG, tmp_path / "teacher", overrides=["training.epochs=1"], device="cpu")
    file = tmp_path / "train.jsonl"
    blank = {"text": "Nobody came.", "mentions": [], "annotated": {"types": []}}
    one = {"text": "Ada left.", "mentions": [{"start": 0, "end": 3, "label": "PER"}]}
    file.write_text("\n".join(map(json.dumps, [*[blank] * 11, one])), encoding="utf-8")
    given = [f"data.train={file}", f"data.dev={file}", f"distillation.teacher={tmp_path / 'teacher'}"]
    curve = short(tmp_path / "out", *given, sizes=[1, 12])
    assert [run.epochs for run in curve.runs] == [0, 1] and curve.runs[0].f1 == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"overrides": ["data.dev="]}, "data.dev is empty, but all runs of a curve are scored on it"),
        ({"sizes": [5, 5000]}, "larger than the corpus"),
        ({"sizes": [5]}, "fewer than two sizes"),
        ({"seeds": 0}, "at least one run"),
    ],
)
def test_mistakes_are_explained_before_time_is_spent(tmp_path: Path, given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        learning_curve(CONFIG, tmp_path / "out", device="cpu", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_table_still_comes(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["curve", str(config), "-o", str(tmp_path / "out"), "--sizes", "4,8", "--seeds", "1", "--device", "cpu"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call(*given, "--set", "training.epochs=1")
    assert done.returncode == 0
    assert 'no picture, as drawing the curve needs the extra `plots`: pip install "hyperspan[plots]"' in done.stderr
    assert "needs three" in done.stdout and not (tmp_path / "out" / "curve.png").exists()


def test_wrong_numbers_are_one_sentence(config: Path) -> None:
    done = hyperspan("curve", str(config), "--sizes", "ten,20")
    assert done.returncode == 2 and "is not a list of whole numbers" in done.stderr and "Traceback" not in done.stderr
