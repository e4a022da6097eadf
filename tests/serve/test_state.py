"""What the server says of itself: models, health, metrics, headers, its log, and its page."""

from __future__ import annotations

import inspect
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from hyperspan.errors import InputError
from hyperspan.nn import save_model
from hyperspan.render.style import style_sheet
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import DEFAULT_MODEL, bundled_models
from hyperspan.runtime.loading import load
from hyperspan.serve.app import STATIC, create_app
from hyperspan.serve.errors import Problem
from hyperspan.serve.models import places
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings
from hyperspan.types import Document
from tests.serve.running import Running, running, until
from tests.support.models import small_model
from tests.support.process import PATIENCE


def test_all_bundled_models_are_served_and_the_default_is_that_of_load() -> None:
    assert next(iter(places(()))) == DEFAULT_MODEL == inspect.signature(load).parameters["name_or_path"].default
    assert sorted(places(())) == bundled_models()


def test_models_with_their_cards(tmp_path: Path) -> None:
    save_model(small_model(), tmp_path / "small")
    (tmp_path / "small" / "README.md").write_text("# small\n\nFinds people\nand places.\n", encoding="utf-8")
    with running(Settings(models=("genia", f"zoo={tmp_path}/small"), max_texts=7), {}) as one:
        content = one.client.get("/v1/models").json()
        genia, zoo = content["models"]
        assert (genia["name"], genia["default"], zoo["name"], zoo["default"]) == ("genia", True, "zoo", False)
        assert zoo["card"]["description"] == "Finds people and places." and zoo["readme"].startswith("# small")
        assert zoo["card"]["figures"] == {"corpus": "", "dev": None, "test": None}
        assert genia["card"] == load("genia").card.to_json() and genia["card"]["labels"]["RNA"]
        assert genia["labels"] == list(load("genia").labels) and genia["parameters"] > 1_000_000
        assert (zoo["kind"], zoo["max_width"], zoo["tokenizer"], zoo["constraints"]) == (
            "segmental",
            None,
            "words",
            True,
        )
        assert content["limits"]["texts"] == 7 and "api_key" not in content["limits"]
        text = "c-Rel binds the IL-2 promoter."
        assert {m["text"] for m in one.annotate(text=text)[0]["mentions"]} == {"c-Rel", "IL-2", "IL-2 promoter"}
        assert one.annotate(text="Ada left.", model="zoo")[0]["mentions"][0]["label"] == "person"


def test_models_that_cannot_be_served(tmp_path: Path) -> None:
    save_model(small_model(), tmp_path / "small")
    with pytest.raises(InputError, match="there is no model 'gena'"):
        Service(Settings(models=("gena",)))
    with pytest.raises(InputError, match="two models are called 'small'; give one of them another name, as in other="):
        places([f"{tmp_path}/small", f"{tmp_path}/small/"])
    (tmp_path / "small" / "config.toml").write_text("[model]\nkind = 'nonsense'\n", encoding="utf-8")
    with running(Settings(models=(f"{tmp_path}/small",)), {}, ready=False) as one:
        until(lambda: one.service.failure is not None)
        assert isinstance(one.service.failure, InputError)
    with pytest.raises(InputError, match="holds no model"):  # before the server has an address
        Service(Settings(models=(str(tmp_path),)))


def test_it_is_not_ready_while_models_are_loaded(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, loading = threading.Event(), Service._load
    monkeypatch.setattr(Service, "_load", lambda self: gate.wait(PATIENCE) and loading(self))
    with running(annotators={"small": annotator}, ready=False) as one:
        assert one.client.get("/healthz").status_code == 200
        for response in (one.client.get("/readyz"), one.client.get("/v1/models"), one.post(text="Ada")):
            assert response.status_code == 503 and response.headers["retry-after"] == "1"
            assert response.json()["error"]["code"] == "not_ready"
        gate.set()
        until(lambda: one.client.get("/readyz").status_code == 200)
        assert one.post(text="Ada").status_code == 200
        one.server.stop()
        assert one.client.get("/readyz").json()["error"]["code"] == "shutting_down"


class Slow(Annotator):
    """Is not loaded before its gate is opened, and may fail then."""

    def __init__(self, error: BaseException | None = None):
        super().__init__(small_model())
        self.gate, self.error = threading.Event(), error

    def __call__(self, text: str | Document, **options: Any) -> Document:
        assert self.gate.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return super().__call__(text, **options)


def test_a_service_that_is_closed_while_it_loads_is_busy_and_computes_nothing_afterwards() -> None:
    slow = Slow()
    service = Service(Settings(), {"slow": slow})
    assert not service.is_busy
    service.start()
    assert service.is_busy
    service.close()
    assert service.is_busy and not service.is_ready
    slow.gate.set()
    until(lambda: not service.is_busy)
    assert service.batcher is None and service.failure is None


def test_whatever_native_code_raises_while_it_loads_is_a_failure() -> None:
    class PanicException(BaseException):
        pass

    slow = Slow(PanicException("no"))
    slow.gate.set()
    service = Service(Settings(), {"slow": slow})
    service.start()
    until(lambda: not service.is_busy)
    assert service.failure is slow.error
    with pytest.raises(Problem, match="could not be loaded"):
        service.check_loaded()


def test_headers_and_ids(server: Running) -> None:
    for path in ("/v1/models", "/healthz", "/nothing", "/"):
        headers = server.client.get(path).headers
        assert (
            "default-src 'self'" in headers["content-security-policy"]
            and "http" not in headers["content-security-policy"]
        )
        assert headers["x-content-type-options"] == "nosniff" and re.fullmatch("[0-9a-f]{32}", headers["x-request-id"])
        assert "server" not in headers
    assert server.client.get("/v1/models").headers["cache-control"] == "no-store"
    own = server.client.get("/healthz", headers={"X-Request-ID": "abc-1"})
    assert own.headers["x-request-id"] == "abc-1"
    for odd in ("a b", "x" * 65, '{"json"}'):
        assert server.client.get("/healthz", headers={"X-Request-ID": odd}).headers["x-request-id"] != odd


def test_the_log_has_numbers_and_no_texts(server: Running) -> None:
    response = server.post(texts=["Ada left Oz.", "Nobody slept."])
    entry = server.entry(response)
    assert (entry["method"], entry["route"], entry["status"]) == ("POST", "/v1/annotate", 200)
    assert (entry["texts"], entry["words"]) == (2, 7) and entry["ms"] > 0
    missing = server.client.get("/Ada?text=Ada")
    assert server.entry(missing)["route"] == "other"
    assert not any("Ada" in written for written in server.log)


def test_metrics_count(server: Running) -> None:
    def value(name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", server.client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    names = ['hyperspan_requests_total{route="/v1/annotate",status="200"}', 'hyperspan_words_total{model="small"}']
    names += ['hyperspan_request_seconds_count{route="/v1/annotate"}', 'hyperspan_texts_total{model="small"}']
    names += ['hyperspan_batch_words_bucket{le="+Inf"}', "hyperspan_batch_words_sum"]
    before = [value(name) for name in names]
    server.annotate(texts=["Ada left.", "Oz."])
    until(lambda: value(names[0]) == before[0] + 1)  # it is counted when the answer is on its way
    assert [value(name) - then for name, then in zip(names, before, strict=True)] == [1, 5, 1, 2, 1, 5]
    text = server.client.get("/metrics").text
    assert value("hyperspan_ready") == 1 and value("hyperspan_requests_in_flight") == 0
    assert value("process_resident_memory_bytes") > 1e6
    line = r'(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+)'
    assert all(re.fullmatch(line, one) for one in text.splitlines())


def test_the_description_has_examples_that_work(server: Running) -> None:
    content = server.client.get("/openapi.json").json()
    assert content["info"]["title"] == "hyperspan"
    tools = {
        "/health",
        "/setup",
        "/predict",
        "/versions",
        "/train",
        "/webhook",
        "/inception/predict",
        "/inception/train",
    }
    documented = tools | {
        "/v1/annotate",
        "/v1/annotate/stream",
        "/v1/hypergraph",
        "/v1/models",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    assert set(content["paths"]) == documented
    assert "http://" not in json.dumps(content).replace("http://json-schema", "")
    with running(Settings(models=("genia",)), {}) as one:
        for path in ("/v1/annotate", "/v1/hypergraph"):
            [body] = content["paths"][path]["post"]["requestBody"]["content"].values()
            for example in body["examples"].values():
                assert one.post(path, **example["value"]).status_code == 200


def test_the_page(server: Running) -> None:
    page = server.client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text and "https://" not in page.text
    assert server.client.head("/").status_code == 200
    for file in filter(Path.is_file, STATIC.rglob("*")):
        assert server.client.get(f"/static/{file.relative_to(STATIC).as_posix()}").content == file.read_bytes()
    assert server.client.get("/static/text.css").text == style_sheet()  # also of pages that are written


def test_settings_are_checked() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"max_texts": 0}, "max_texts is 0; it must be at least 1"),
        ({"seconds": float("inf")}, "seconds is inf"),
        ({"least_probability": 0.0}, "least_probability is 0.0"),
        ({"api_key": ""}, "the API key is empty"),
        ({"api_key": "clé"}, "the API key is empty or has characters"),
    )
    for wrong, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            Settings(**wrong)
    assert create_app().state.service.settings == Settings()
