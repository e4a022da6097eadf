"""Labelling over HTTP: what is answered, what is refused, and two windows that do not overwrite each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperspan.corpora import read_corpus
from hyperspan.labelling.views import LabellingSettings, open_desk
from hyperspan.runtime.loading import load
from hyperspan.serve.settings import Settings
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention
from tests.serve.running import Running, running, until

TEXTS = [Document("Ada left the zoo of Oz. Nobody slept.", id="zoo"), "The keeper of the zoo saw Ada!"]
ADA = {"start": 0, "end": 1, "label": "person"}


class Window:
    """Somebody who labels, as the page does it."""

    def __init__(self, server: Running):
        self.server = server
        self.shown: dict[str, Any] = {}

    def ask(self, path: str, body: dict[str, Any] | None = None, status: int = 200, key: str = "secret") -> Any:
        method = "GET" if body is None else "POST"
        headers = {"Authorization": f"Bearer {key}"}
        response = self.server.client.request(method, f"/v1/label/{path}", json=body, headers=headers)
        assert response.status_code == status, response.text
        return response.json()

    def show(self, item: str) -> dict[str, Any]:
        self.shown[item] = self.ask(f"items/{item}")
        return self.shown[item]

    def decide(self, item: str, action: str, status: int = 200, **more: Any) -> dict[str, Any]:
        body = {"revision": self.shown[item]["revision"], "action": action} | more
        answer = self.ask(f"items/{item}/decisions", body, status)
        if status == 200:
            self.shown[item] = answer["item"]
        return answer


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "corrected.jsonl"


@pytest.fixture
def server(small_folder: Path, output: Path) -> Iterator[Running]:
    desk = open_desk(str(small_folder), TEXTS, LabellingSettings(output, annotator="ann", by="order"))
    with running(Settings(api_key="secret"), desk=desk) as one:
        yield one
    desk.close()


def states(item: dict[str, Any]) -> dict[tuple[int, int, str], str]:
    return {(one["start"], one["end"], one["label"]): one["state"] for one in item["mentions"]}


def test_a_session_and_what_it_writes(server: Running, output: Path) -> None:
    window = Window(server)
    session = window.ask("session")
    assert [entry["id"] for entry in session["queue"]] == ["0.0", "0.1", "1.0"] and session["annotator"] == "ann"
    item = window.show("0.0")
    assert (
        item["text"] == "Ada left the zoo of Oz."
        and item["after"] == " Nobody slept."
        and item["document"]["id"] == "zoo"
    )
    assert [item["text"][slice(*span)] for span in item["tokens"]] == ["Ada", "left", "the", "zoo", "of", "Oz", "."]
    drafted = states(item)
    assert (0, 1, "person") in drafted and set(drafted.values()) == {"draft"}
    window.decide("0.0", "reject", mention=ADA)
    window.decide(
        "0.0", "change", mention={"start": 5, "end": 6, "label": "place"}, to={"start": 4, "end": 6, "label": "place"}
    )
    window.ask("labels", {"label": "verb"})
    window.decide("0.0", "complete", 409)  # the draft may have mentions of it that were not shown
    window.show("0.0")
    answer = window.decide("0.0", "add", mention={"start": 1, "end": 5, "label": "verb"})
    after = states(answer["item"])
    assert after[0, 1, "person"] == after[5, 6, "place"] == "rejected"
    assert after[4, 6, "place"] == after[1, 5, "verb"] == "added"
    for item in ("0.1", "1.0"):
        window.show(item)
    window.decide("0.0", "note", note="crossing")
    window.decide("0.0", "complete")
    window.decide("0.1", "skip")
    window.decide("1.0", "accept", mention={"start": 0, "end": 2, "label": "person"})
    answer = window.decide("1.0", "sure")
    counts = answer["session"]["progress"]
    assert (counts["done"], counts["partial"], counts["skipped"]) == (1, 1, 1)
    assert [entry["status"] for entry in window.ask("session")["queue"]] == ["done", "skipped", "partial"]
    until(lambda: output.exists() and len(output.read_text().splitlines()) == 2)
    zoo, keeper = read_corpus(output)
    first = zoo.sentences[0]
    assert first.annotated is not None and first.annotated.types == {"person", "place", "verb"}
    assert Mention(1, 5, "verb") in first.mentions and Mention(0, 1, "person") not in first.mentions
    assert zoo.metadata["labelling"]["sentences"]["0"]["note"] == "crossing"
    assert keeper.sentences[0].mentions == {Mention(0, 2, "person")}
    assert keeper.sentences[0].annotated == NOTHING_ANNOTATED


def test_two_windows_and_undo_across_sentences(server: Running) -> None:
    one, other = Window(server), Window(server)
    for window in (one, other):
        window.show("0.0")
    one.decide("0.0", "accept", mention=ADA)
    conflict = other.decide("0.0", "reject", 409, mention=ADA)
    assert conflict["error"]["code"] == "conflict" and conflict["item"]["revision"] == one.shown["0.0"]["revision"]
    assert {mention["state"] for mention in conflict["item"]["mentions"] if mention["end"] == 1} == {"accepted"}
    one.show("1.0")
    one.decide("1.0", "complete")
    undone = [one.ask("undo", {})["item"] for _ in range(2)]
    assert [(item["id"], item["status"]) for item in undone] == [("1.0", "open"), ("0.0", "open")]
    assert set(states(undone[1]).values()) == {"draft"}
    assert one.ask("undo", {}, 422)["error"]["code"] == "nothing_to_undo"
    assert other.decide("0.0", "accept", 409, mention=ADA)["item"]["revision"] > conflict["item"]["revision"]


def test_what_is_refused(server: Running) -> None:
    window = Window(server)
    window.show("0.0")
    for path, body in (("session", None), ("items/0.0", None), ("undo", {}), ("labels", {"label": "x"})):
        window.ask(path, body, 401, key="wrong")
    other = {"Authorization": "Bearer secret", "Host": "evil.example"}
    assert server.client.get("/v1/label/session", headers=other).status_code == 421
    window.ask("items/7.7", status=404)
    revision = window.shown["0.0"]["revision"]
    for body in (
        {"action": "skip"},
        {"revision": revision, "action": "guess"},
        {"revision": revision, "action": "skip", "mention": ADA},
        {"revision": revision, "action": "add", "mention": ADA | {"end": 99}},
        {"revision": revision, "action": "note", "note": "x" * 10_001},
        {"revision": revision, "action": "skip", "more": 1},
    ):
        assert window.ask("items/0.0/decisions", body, 422)["error"]["message"]
    assert window.ask("labels", {"label": "*"}, 422)["error"]["message"].startswith("the label '*'")
    page = server.client.get("/label")
    assert page.status_code == 200 and page.headers["referrer-policy"] == "no-referrer"
    assert not window.ask("session")["progress"]["done"] and window.show("0.0")["revision"] == revision
    paths = server.client.get("/openapi.json", headers={"Authorization": "Bearer secret"}).json()["paths"]
    assert not [path for path in paths if "label" in path]
    routes = [json.loads(entry)["route"] for entry in server.log]
    assert "/v1/label/items/{item}/decisions" in routes and "secret" not in "".join(server.log)


def test_texts_are_annotated_by_the_model_that_drafts(small_folder: Path, output: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small_folder, tmp_path / "round-1")
    settings = (folder / "config.toml").read_text("utf-8")
    (folder / "config.toml").write_text(settings.replace("temperature = 1.0", "temperature = 5.0"), "utf-8")
    desk = open_desk(str(small_folder), TEXTS, LabellingSettings(output, annotator="ann", by="order"))
    one_model = {desk.drafter.name: desk.drafter.annotator}
    with running(Settings(api_key="secret"), annotators=one_model, desk=desk) as one:
        desk._use_round(folder)  # as at the end of training
        key = {"Authorization": "Bearer secret"}
        answer = one.client.post("/v1/annotate", json={"text": TEXTS[1], "candidates": 0.01}, headers=key).json()
    desk.close()
    found = {
        (each["start"], each["end"], each["label"]): each["probability"]
        for each in answer["documents"][0]["candidates"]
    }
    expected = load(folder)(str(TEXTS[1]), candidates=0.01).candidates or ()
    assert found == {(each.start, each.end, each.label): pytest.approx(each.probability, 1e-4) for each in expected}
