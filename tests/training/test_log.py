"""Logs survive a killed run and read as if it had never been interrupted; displays say the same with and without a
terminal."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hyperspan.cli.progress import TrainingDisplay
from hyperspan.errors import CorpusError, InputError, MissingExtraError
from hyperspan.training.events import (
    DataNote,
    EpochFinished,
    JsonLinesLog,
    RunEnded,
    RunStarted,
    SettingsChosen,
    StepsTaken,
    TensorBoardLog,
    TrainingEvent,
    read_log,
)

EPOCHS = 4
STEPS_AN_EPOCH = 3


def run(after: int = 0, with_dev: bool = True) -> Iterator[TrainingEvent]:
    """The events of a run that is resumed after this epoch."""
    steps = EPOCHS * STEPS_AN_EPOCH
    begun = after * STEPS_AN_EPOCH
    yield RunStarted(EPOCHS, steps, 1_900_000, "segmental", 15_022, 401_500, "cpu", epoch=after, step=begun)
    speed = {"words_per_second": 12_345.0, "learning_rate": 0.001}
    for epoch in range(after + 1, EPOCHS + 1):
        for step in range((epoch - 1) * STEPS_AN_EPOCH + 1, epoch * STEPS_AN_EPOCH + 1):
            yield StepsTaken(epoch, step, loss=1 / step, **speed)
        f1 = [0.5, 0.7, 0.6, 0.65][epoch - 1]
        scores = {"precision": f1 + 0.1, "recall": f1 - 0.1, "f1": f1} if with_dev else None
        last = epoch * STEPS_AN_EPOCH
        yield EpochFinished(epoch, last, 8 / epoch, scores, best=epoch < 3, seconds=75.0, too_wide=2, **speed)
    best_epoch, best_f1 = (2, 0.7) if with_dev else (EPOCHS, None)
    yield RunEnded(EPOCHS, best_epoch, best_f1, seconds=300.0, stopped="epochs")


def finished(loss: float, dev: dict[str, float] | None) -> EpochFinished:
    return EpochFinished(1, 3, loss, dev, best=False, learning_rate=0.1, seconds=1.0, words_per_second=1.0, too_wide=0)


def logged(path: Path, after: int = 0, with_dev: bool = True) -> bytes:
    log = JsonLinesLog(path, resume_from_epoch=after)
    for event in run(after, with_dev):
        log(event)
    return path.read_bytes()


def test_a_log_has_every_event_but_steps(tmp_path: Path) -> None:
    logged(tmp_path / "log.jsonl")
    assert read_log(tmp_path / "log.jsonl") == [event.record() for event in run() if not isinstance(event, StepsTaken)]


@given(after=st.integers(1, EPOCHS), killed=st.integers(0, 10_000))
def test_resumed_logs_read_like_uninterrupted_ones(
    tmp_path_factory: pytest.TempPathFactory, after: int, killed: int
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    whole = logged(folder / "whole.jsonl")
    resumable = whole.index(b"\n", whole.index(f'"epoch", "epoch": {after},'.encode())) + 1
    (folder / "cut.jsonl").write_bytes(whole[: max(resumable, killed % (len(whole) + 1))])
    assert logged(folder / "cut.jsonl", after) == whole
    assert [file.name for file in sorted(folder.iterdir())] == ["cut.jsonl", "whole.jsonl"]


def test_every_whole_line_survives(tmp_path: Path) -> None:
    whole = logged(tmp_path / "log.jsonl")
    for killed in range(len(whole)):
        (tmp_path / "cut.jsonl").write_bytes(whole[:killed])
        assert len(read_log(tmp_path / "cut.jsonl")) == whole[:killed].count(b"\n")


def test_events_are_in_the_file_at_once(tmp_path: Path) -> None:
    """A process that ends without any cleaning up leaves them there."""
    file = tmp_path / "log.jsonl"
    code = f"""
import os, signal
from hyperspan.training.events import DataNote
from hyperspan.training.events import JsonLinesLog
log = JsonLinesLog({str(file)!r}, resume_from_epoch=0)
log(DataNote("kept"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert read_log(file) == [{"event": "note", "text": "kept"}]


def test_a_run_from_the_beginning_starts_its_log_anew(tmp_path: Path) -> None:
    assert logged(tmp_path / "log.jsonl") == logged(tmp_path / "log.jsonl")


def test_a_longer_run_says_so_in_its_start(tmp_path: Path) -> None:
    logged(tmp_path / "log.jsonl")
    log = JsonLinesLog(tmp_path / "log.jsonl", resume_from_epoch=EPOCHS)
    start, *_ = run(EPOCHS)
    assert isinstance(start, RunStarted)
    log(replace(start, epochs=9))
    start = read_log(tmp_path / "log.jsonl")[0]
    assert (start["epochs"], start["epoch"], start["step"]) == (9, 0, 0)


def test_a_log_that_was_lost_begins_with_the_resumed_start(tmp_path: Path) -> None:
    logged(tmp_path / "log.jsonl", after=2)
    assert [event["epoch"] for event in read_log(tmp_path / "log.jsonl")] == [2, 3, 4, 4]


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    JsonLinesLog(tmp_path / "log.jsonl", 0)(finished(loss=float("nan"), dev={"f1": float("inf")}))
    [event] = read_log(tmp_path / "log.jsonl")
    assert event["loss"] is None and event["dev"] == {"f1": None} and event["epoch"] == 1


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "other").write_text('{"event": "start"}\n[1]\n')
    with pytest.raises(CorpusError, match=r"other:2: not an event of a training run; expected"):
        read_log(tmp_path / "other")
    with pytest.raises(InputError, match=r"missing cannot be read \(No such file or directory\); name the log"):
        read_log(tmp_path / "missing")


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    for after in (0, 2):  # the second run repeats epochs 3 and 4
        log = TensorBoardLog(tmp_path)
        for event in run(after):
            log(event)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(tmp_path)).Reload()
    assert [scalar.step for scalar in read.Scalars("loss/step")] == list(range(1, 13))
    assert [round(scalar.value, 3) for scalar in read.Scalars("dev/f1")] == [0.5, 0.7, 0.6, 0.65]


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged(tmp_path / "log.jsonl")
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"writing TensorBoard logs needs the extra `plots`"):
        TensorBoardLog(tmp_path)


def shown(terminal: bool, after: int = 0, with_dev: bool = True) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, color_system=None, legacy_windows=False)
    with TrainingDisplay(console) as display:
        for event in run(after, with_dev):
            display(event)
    return stream.getvalue()


def test_in_a_log_epochs_have_lines_ever_further_apart() -> None:
    assert shown(terminal=False).splitlines() == [
        "training segmental: 1,900,000 parameters, 15,022 sentences, 401,500 words, 4 epochs, on cpu",
        "epoch 1/4: loss 8.0000, dev P 60.0 R 40.0 F1 50.0 (best), 12,345 words/s, 1 min 15 s",
        "2 mentions are ignored in training: beyond the limits of the model, or overlapping as it cannot represent",
        "epoch 2/4: loss 4.0000, dev P 80.0 R 60.0 F1 70.0 (best), 12,345 words/s, 1 min 15 s",
        "epoch 4/4: loss 2.0000, dev P 75.0 R 55.0 F1 65.0, 12,345 words/s, 1 min 15 s",
        "all epochs are done: 4 epochs in 5 min 0 s; best dev F1 70.0, epoch 2",
    ]


def test_without_dev_no_scores_are_shown() -> None:
    lines = shown(terminal=False, with_dev=False).splitlines()
    assert lines[1] == "epoch 1/4: loss 8.0000, 12,345 words/s, 1 min 15 s"
    assert lines[-1] == "all epochs are done: 4 epochs in 5 min 0 s"
    assert "F1" not in shown(terminal=True, with_dev=False)


def test_a_log_of_a_long_run_has_few_lines() -> None:
    stream = io.StringIO()
    with TrainingDisplay(Console(file=stream, force_terminal=False, width=80)) as display:
        display(SettingsChosen(56, True, {"words.dimension": 100, "training.epochs": 1000, "training.batch_size": 8}))
        display(replace(next(run()), epochs=1000))  # type: ignore[type-var]
        for epoch in range(1, 1001):
            dev = {"precision": 0.5, "recall": 0.5, "f1": 0.5} if epoch % 3 == 0 else None
            display(replace(finished(1.0, dev), epoch=epoch))
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 20 and lines[-1].startswith("epoch 1000/1000: ")
    assert all("F1" in line for line in lines[6:-1])
    assert lines[1:3] == ["  words        dimension=100", "  training     epochs=1000, batch_size=8"]


def test_on_a_terminal_there_is_one_live_line() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system=None, legacy_windows=False)
    with TrainingDisplay(console) as display:
        for event in run():
            if isinstance(event, RunEnded):
                display(DataNote("above the line"))
                time.sleep(0.3)  # it is drawn ten times a second
            display(event)
    text = stream.getvalue()
    assert "dev P" not in text and "above the line" in text
    assert "━" in text and "epoch 4/4" in text and "loss 2.0000 · F1 65.0, best 70.0 · 12,345 words/s" in text


def test_without_a_terminal_there_is_a_line_at_least_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperspan.progress.MINUTE", 0.01)
    stream = io.StringIO()
    events = run()
    with TrainingDisplay(Console(file=stream, force_terminal=False, width=200)) as display:
        for waited_for in ("reading the data …\n", "epoch 1/4 …\n", "epoch 1/4: step "):
            while waited_for not in stream.getvalue():
                time.sleep(0.005)
            display(next(events))
    silent = io.StringIO()
    with TrainingDisplay(Console(file=silent, force_terminal=True)):
        time.sleep(0.05)
    assert "…" not in silent.getvalue()


def test_a_resumed_run_is_announced() -> None:
    lines = shown(terminal=False, after=3).splitlines()
    assert lines[1] == "resumed after epoch 3" and lines[2].startswith("epoch 4/4: ")


def test_bars_leave_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    with TrainingDisplay(Console(file=stream, force_terminal=True)) as display:
        display(next(run()))
        print(json.dumps({"result": 1}))
    assert capsys.readouterr().out == '{"result": 1}\n' and "result" not in stream.getvalue()
