"""Hints follow from settings and epochs alone; a run that goes well gets none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hyperspan.config import Config
from hyperspan.training.advice import Adviser, EpochScore, RunOutcome, RunSettings, early_hints, final_hints
from hyperspan.training.data import TrainingData
from hyperspan.training.events import (
    DataNote,
    EpochFinished,
    Hint,
    JsonLinesLog,
    RunEnded,
    RunStarted,
    TrainingEvent,
    read_log,
)
from hyperspan.training.run import train
from hyperspan.types import Mention, Sentence
from tests.support.models import HARBOUR

EPOCHS = 24
CONFIG = Config().override(
    [
        f"training.epochs={EPOCHS}",
        "training.schedule=constant",
        "training.patience=5",
        "training.batch_size=32",
        "training.learning_rate=0.001",
        "characters.encoder=none",
        "words.vectors=",
        "encoder.input_dropout=0.2",
        "training.start=",
    ]
)
SETTINGS = RunSettings(CONFIG, english=True, usual={"training.batch_size": 8, "training.learning_rate": 0.004})
STARTABLE = replace(SETTINGS, config=CONFIG.override(["characters.encoder=lstm"]))
"""Of the shape of the model `english`."""
USUAL = "--set training.batch_size=8 (now 32), --set training.learning_rate=0.004 (now 0.001)"
FLAT = [EpochScore(epoch, 0.4) for epoch in range(1, EPOCHS + 1)]
RISING = [EpochScore(epoch, 0.02 * epoch) for epoch in range(1, EPOCHS + 1)]


def final(
    f1: float,
    train_f1: float | None,
    *,
    stopped: str = "epochs",
    scores: Sequence[EpochScore] = FLAT,
    settings: RunSettings = SETTINGS,
    recall: float | None = None,
) -> list[str]:
    dev = {"precision": f1, "recall": f1 if recall is None else recall, "f1": f1}
    return list(final_hints(settings, scores, RunOutcome(stopped, dev, train_f1)))


def test_a_good_run_gets_no_hint() -> None:
    assert final(0.85, None, scores=RISING) == []
    assert final(0.7, 0.8) == []


def test_a_low_score_names_settings_before_resources_before_data() -> None:
    (hint,) = final(0.09, 0.1)
    assert hint.startswith(f"dev F1 9.0 is low; try in this order: {USUAL}, --set words.vectors=bundled")
    assert (
        hint.index("words.vectors=bundled")
        < hint.index("characters.encoder=lstm")
        < hint.index("annotate more (hyperspan")
    )
    assert "--start" not in hint  # english reads characters, which would be an error beside characters.encoder = "none"
    (hint,) = final(0.09, 0.1, settings=STARTABLE)
    assert hint.startswith(
        f"dev F1 9.0 is low; try in this order: {USUAL}, --start english, --set words.vectors=bundled"
    )
    assert final(0.0, 0.0)[0].startswith("nothing on dev is right; try in this order: --set training.batch_size=8")


def test_what_is_set_already_is_not_advised() -> None:
    suited = CONFIG.override(["training.batch_size=8", "training.learning_rate=0.003", "training.start=genia"])
    (hint,) = final(0.3, 0.4, settings=replace(SETTINGS, config=suited))
    assert hint == (
        "dev F1 30.0 is low; try in this order: annotate more (hyperspan curve CONFIG says what twice as many sentences would bring)"
    )


def test_other_languages_are_not_offered_english_models() -> None:
    (hint,) = final(0.3, 0.4, settings=replace(SETTINGS, english=False))
    assert "--start" not in hint and "bundled" not in hint and "--set words.vectors=FILE (fastText" in hint


def test_few_but_right_mentions_ask_for_more_recall() -> None:
    assert "training.tune_mention_bias=true" in final(0.3, 0.4, recall=0.1)[0]
    assert "training.tune_mention_bias=true" not in final(0.3, 0.4)[0]


def test_a_gap_to_train_asks_for_resources_and_data_and_not_for_steps() -> None:
    (hint,) = final(0.6, 0.99, settings=STARTABLE)
    assert hint.startswith(
        "dev F1 60.0 is far below train F1 99.0, so the model knows its training sentences by heart; try in this order: --start "
    )
    assert hint.index("input_dropout=0.5 (now 0.2)") < hint.index("annotate more") and "batch_size" not in hint


def test_a_score_that_rises_at_the_end_asks_for_more_epochs() -> None:
    (hint,) = final(0.6, 0.7, scores=RISING)
    assert hint == (
        "dev F1 still rose at the end, from 36.0 to 48.0 in the last 6 epochs; train longer: --set training.epochs=48 --force"
    )
    every_third = [score for score in RISING if score.epoch % 3 == 0]
    assert "in the last 6 epochs" in final(0.6, 0.7, scores=every_third)[0]
    cosine = replace(SETTINGS, config=CONFIG.override(["training.schedule=cosine"]))
    assert final(0.6, 0.7, scores=RISING, settings=cosine)[0].endswith("--set training.epochs=48 --force")
    slowly = [EpochScore(epoch, 0.003 * epoch) for epoch in range(1, EPOCHS + 1)]
    assert final(0.6, 0.7, scores=slowly) and not final(0.6, 0.7, scores=slowly, settings=cosine)
    assert final(0.6, 0.7, scores=RISING, stopped="patience") == []
    assert final(0.6, 0.7, scores=RISING[:2]) == [], "two epochs are no trend"


def test_patience_that_ended_a_bad_run_can_be_doubled() -> None:
    first, _ = final(0.3, 0.4, stopped="patience", scores=FLAT[:9])
    assert first == (
        "the run stopped after 9 of 24 epochs, 5 without a better dev F1; wait longer with --set training.patience=10 --force"
    )


def test_a_bad_run_that_plateau_ended_can_have_more_reductions() -> None:
    first, _ = final(0.3, 0.4, stopped="plateau", scores=FLAT[:9])
    assert first == (
        "the run stopped after 9 of 24 epochs, as dev F1 no longer rose; lower the learning rate once more with "
        "--set training.plateau_reductions=3 --force"
    )
    assert final(0.6, 0.7, scores=RISING, stopped="plateau") == []


@pytest.mark.parametrize("every", [1, 3, 5])
def test_a_run_that_finds_nothing_is_told_once_after_a_third(every: int) -> None:
    nothing = [EpochScore(epoch, 0.0) for epoch in range(every, EPOCHS + 1, every)]
    told = [n for n in range(1, len(nothing) + 1) if list(early_hints(SETTINGS, nothing[:n]))]
    assert [nothing[n - 1].epoch for n in told] == [{1: 8, 3: 9, 5: 10}[every]]
    (hint,) = early_hints(SETTINGS, nothing[: told[0]])
    assert hint.startswith(
        f"nothing on dev is right after {8 if every == 1 else 9 if every == 3 else 10} of 24 epochs; if it stays so, "
    )
    something = [replace(nothing[0], f1=0.1), *nothing[1:]]
    assert not any(list(early_hints(SETTINGS, something[:n])) for n in range(1, len(something) + 1))


def epoch_finished(epoch: int, f1: float) -> EpochFinished:
    return EpochFinished(epoch, epoch, 1.0, {"precision": f1, "recall": f1, "f1": f1}, True, 0.1, 1.0, 1.0, 0)


def test_an_adviser_goes_on_where_a_run_was_stopped() -> None:
    heard: list[TrainingEvent] = []
    adviser = Adviser(SETTINGS, [heard.append], before=[EpochScore(epoch, 0.0) for epoch in range(1, 8)])
    adviser(epoch_finished(8, 0.0))
    adviser(epoch_finished(9, 0.0))
    assert [event.epoch for event in heard if isinstance(event, Hint)] == [8]
    adviser(RunEnded(9, 1, 0.0, 1.0, "epochs"))
    adviser.finish({"precision": 0.0, "recall": 0.0, "f1": 0.0}, 0.0)
    assert len(heard) == 2 and heard[-1].record()["text"].startswith("nothing on dev is right; try")


def test_a_log_keeps_hints_of_epochs_and_gives_those_of_the_end_again(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    log = JsonLinesLog(file, 0)
    log(RunStarted(2, 2, 1, "segmental", 1, 1, "cpu", epoch=0, step=0))
    for event in (epoch_finished(1, 0.0), Hint(1, "early"), epoch_finished(2, 0.0), RunEnded(2, 1, 0.0, 1.0, "epochs")):
        log(event)
    log(Hint(2, "at the end"))
    JsonLinesLog(file, resume_from_epoch=2)
    assert [event["event"] for event in read_log(file)] == ["start", "epoch", "hint", "epoch"]


def test_a_run_gives_its_hints_to_listeners_and_log(tmp_path: Path) -> None:
    """Real training with steps that are far too small: nothing is found."""
    heard: list[TrainingEvent] = []
    harbour = HARBOUR
    config = {
        "data": {"train": harbour, "dev": harbour},
        "words": {"dimension": 4, "vectors": ""},
        "encoder": {"hidden": 4, "span_hidden": 4},
        "training": {"epochs": 3, "learning_rate": 1e-6, "batch_size": 32, "start": ""},
    }
    result = train(config, tmp_path / "run", device="cpu", listeners=[heard.append])
    hints = [(event.epoch, event.text) for event in heard if isinstance(event, Hint)]
    assert [epoch for epoch, _ in hints] == [1, 3] and "after 1 of 3 epochs" in hints[0][1]
    logged = [
        (event["epoch"], event["text"]) for event in read_log(tmp_path / "run/log.jsonl") if event["event"] == "hint"
    ]
    assert logged == hints
    assert result.dev_f1 == 0 and result.dev_confidence is not None and result.dev_confidence.f1[0] == 0


@pytest.mark.parametrize("mentions", [[], [Mention(0, 1, "person")]])
def test_a_run_whose_dev_has_no_known_label_gets_no_hint(mentions: list[Mention], tmp_path: Path) -> None:
    heard: list[TrainingEvent] = []
    settings = Config().override(
        [
            *(f"data.{part}={HARBOUR}" for part in ("train", "dev")),
            "training.epochs=3",
            "encoder.hidden=4",
        ]
    )
    data = TrainingData([Sentence(["Ada", "left"], [Mention(0, 1, "PER")])], [Sentence(["Bo", "left"], mentions)])
    train(settings, tmp_path / "run", device="cpu", listeners=[heard.append], data=data)
    assert not any(isinstance(event, Hint) for event in heard)
    assert sum(isinstance(event, DataNote) and "dev" in event.text for event in heard) >= 1
