"""What a labelling desk keeps, and how it trains, without a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hyperspan.errors import InputError
from hyperspan.labelling import rounds
from hyperspan.labelling import views as desks
from hyperspan.labelling.rounds import RoundSettings, RoundState, TrainingRounds
from hyperspan.labelling.texts import QueueItem
from hyperspan.labelling.views import LabellingDesk
from hyperspan.runtime.documents import SentencePrediction
from tests.labelling.test_session import opened


class CountingDrafter:
    """Drafts nothing, and knows for which sentences."""

    def __init__(self) -> None:
        self.annotator: Any = type("NoModel", (), {"context": 0})
        self.drafted: list[str] = []

    def draft(self, item: QueueItem, *_: Any) -> SentencePrediction:
        self.drafted.append(item.id)
        return SentencePrediction()


def test_desk_keeps_the_drafts_that_were_shown_most_recently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "KEPT_DRAFTS", 2)
    drafter: Any = CountingDrafter()
    unused: Any = None
    with opened(tmp_path / "out.jsonl") as session:
        desk = LabellingDesk(session, drafter, unused)
        for item in ("0.0", "0.1", "0.0", "1.0", "0.0"):
            desk.show(item)
    assert drafter.drafted == ["0.0", "0.1", "1.0"]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not bind processes to CPUs")
def test_training_round_leaves_one_of_the_cpus_that_it_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    class Ended:
        def wait(self) -> int:
            return 0

        def terminate(self) -> None: ...

    def started(command: list[str], log: object) -> Any:
        commands.append(command)
        return Ended()

    monkeypatch.setattr(rounds, "_started", started)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 7})
    with opened(tmp_path / "out.jsonl") as session:
        training = TrainingRounds(session, RoundSettings(100, tmp_path), lambda *_: None)
        assert training._train(tmp_path / "round-1.toml", tmp_path / "round-1") is None
        training.close()
    [command] = commands
    assert command[command.index("--threads") + 1] == "1"


def test_rounds_go_on_where_they_stopped_and_write_over_no_round_of_another_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: TrainingRounds, config: Path) -> None:
        config.touch()
        raise InputError("no disk")

    monkeypatch.setattr(TrainingRounds, "_write", fail)
    folder = tmp_path / "out.models"

    def states(output: str, times: int) -> list[tuple[int, int, str]]:
        with opened(tmp_path / output) as session:
            training = TrainingRounds(session, RoundSettings(100, folder), lambda *_: None)
            for _ in range(times):
                training._run()
            training.close()
            state = RoundState.read(folder, session)
            return [(state.ended, state.round, state.failure)]

    assert states("one.jsonl", 2) == [(2, 0, "no disk")]
    assert states("one.jsonl", 1) == [(3, 0, "no disk")]
    monkeypatch.setattr("hyperspan.labelling.session._now", lambda: "later")
    assert states("two.jsonl", 0) == [(0, 0, "")]
    assert states("two.jsonl", 1) == [(4, 0, "no disk")]
    (folder / "rounds.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"rounds\.json is damaged"):
        states("two.jsonl", 0)
