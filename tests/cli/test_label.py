"""`hyperspan label` as a process: killed in the middle, opened again, by two annotators, and with rounds of
training."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hyperspan.corpora import read_corpus
from hyperspan.labelling.decisions import Decision
from hyperspan.labelling.log import EventLog
from hyperspan.labelling.views import LabellingSettings, open_desk
from hyperspan.nn import save_model
from hyperspan.types import Mention
from tests.serve.running import until
from tests.support.models import small_model
from tests.support.process import PATIENCE, Served, call

TEXT = "Ada left the zoo of Oz. The keeper of the zoo saw Ada. Nobody slept. Oz saw the keeper. Ada fed Oz. Ada slept."


class Labelling(Served):
    """The command, and a client with the token that it printed."""

    def __init__(self, folder: Path, *arguments: str):
        super().__init__("label", "a.txt", "-m", "small", "--no-browser", "--by", "order", *arguments, cwd=folder)
        address, _, token = self.link.partition("label?token=")
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx2.Client(base_url=f"{address}v1/label/", headers=headers, timeout=PATIENCE)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.client.close()

    def session(self) -> dict[str, Any]:
        return self.client.get("session").json()

    def decide(self, item: str, action: str, **more: Any) -> dict[str, Any]:
        revision = self.client.get(f"items/{item}").json()["revision"]
        response = self.client.post(f"items/{item}/decisions", json={"revision": revision, "action": action} | more)
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(small_model(), tmp_path / "small")
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_label_loses_nothing_when_it_is_killed_and_two_annotators_are_compared(
    folder: Path, closing: ExitStack
) -> None:
    answered: list[int] = []

    def keep_deciding(one: Labelling) -> None:
        with suppress(httpx2.TransportError):
            for number in range(10_000):
                one.decide("0.0", "note", note=str(number))
                answered.append(number)

    one = closing.enter_context(Labelling(folder, "-o", "ann.jsonl", "--annotator", "ann"))
    thread = threading.Thread(target=keep_deciding, args=[one])
    thread.start()
    until(lambda: len(answered) >= 15)
    assert one.end(signal.SIGKILL)[0] == -signal.SIGKILL
    thread.join(PATIENCE)
    log = EventLog(folder / "ann.jsonl.log")
    notes = [event for event in log.events if event["event"] == "decision"]
    log.close()
    assert len(answered) <= len(notes) <= len(answered) + 1 and notes[-1]["annotator"] == "ann"

    ann = closing.enter_context(Labelling(folder, "-o", "ann.jsonl", "--annotator", "ann"))
    assert ann.client.get("items/0.0").json()["note"] == notes[-1]["note"]
    second = call("label", "a.txt", "-m", "small", "-o", "ann.jsonl", "--no-browser", cwd=folder)
    assert second.returncode == 2 and "another process labels into ann.jsonl already" in second.stderr
    bob = open_desk(str(folder / "small"), [TEXT], LabellingSettings(folder / "bob.jsonl", "bob", by="order"))
    for item in ("0.0", "0.1"):
        if item == "0.1":
            bob.decide(item, Decision("reject", Mention(0, 5, "person")), bob.session.revision(item))
        bob.decide(item, Decision("complete"), bob.session.revision(item))
        ann.decide(item, "complete")
    bob.close()
    assert ann.end(signal.SIGTERM)[0] == 0
    found = call("compare", "ann.jsonl", "bob.jsonl", "--json", cwd=folder)
    assert '"finished": 2' in found.stdout and '"only_a": 1' in found.stdout, found.stderr
    (folder / "a.txt").write_text(TEXT + " More.", encoding="utf-8")
    other = call("label", "a.txt", "-m", "small", "-o", "ann.jsonl", "--no-browser", cwd=folder)
    assert other.returncode == 2 and "was labelled on other texts than those given now" in other.stderr


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_label_trains_in_the_background_and_goes_on_with_the_new_model(
    folder: Path, closing: ExitStack, killed: bool
) -> None:
    rounds = ("-o", "new/folder/c.jsonl", "--train-every", "3", "--set", "training.epochs=1")
    one = closing.enter_context(Labelling(folder, *rounds))
    one.client.post("labels", json={"label": "verb"})
    for item in ("0.0", "0.1", "0.2"):
        one.decide(item, "add", mention={"start": 1, "end": 2, "label": "verb"})
        answer = one.decide(item, "complete")
    assert answer["session"]["round"] == 0
    until(lambda: (folder / "new/folder/c.models" / "round-1.log").exists())
    assert one.session()["training"]["state"] == "training"
    number = 2 if killed else 1
    if killed:  # the round ends with it, and another begins
        one.end(signal.SIGKILL)
        one = closing.enter_context(Labelling(folder, *rounds))
    revision = one.client.get("items/0.4").json()["revision"]
    until(lambda: one.session()["round"] == number)
    session = one.session()
    assert session["training"]["state"] == "waiting" and session["model"].endswith(f"round-{number}")
    assert session["progress"]["done"] == 3 and one.client.get("items/0.4").json()["revision"] > revision
    (folder / "new/folder/c.models" / f"round-{number}" / "config.toml").unlink()
    for item in ("0.3", "0.4", "0.5"):
        one.decide(item, "complete")
    until(lambda: one.session()["training"]["state"] == "failed")
    assert f"round {number + 1} failed: " in one.session()["training"]["message"] and one.session()["round"] == number
    one.decide("0.5", "reopen")
    assert one.end(signal.SIGTERM)[0] == 0
    [document] = read_corpus(folder / "new/folder/c.jsonl")
    assert all("verb" in {mention.label for mention in words.mentions} for words in document.sentences[:3])
