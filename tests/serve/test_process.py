"""`hyperspan serve` as a process: how it starts, how it is stopped, and how it comes back after being killed."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from hyperspan.errors import InputError
from hyperspan.serve import run
from hyperspan.serve.settings import Settings
from tests.serve.running import TEXT, until
from tests.support.process import PATIENCE, Served, call


@pytest.fixture(autouse=True)
def _the_log_of_the_tests_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "log_to_standard_error", lambda: None)


class Process(Served):
    """`hyperspan serve`, and a client that knows its key."""

    def __init__(self, *arguments: object):
        super().__init__("serve", *arguments, HYPERSPAN_API_KEY="key")
        self.client = httpx2.Client(base_url=self.link, timeout=PATIENCE, headers={"X-API-Key": "key"})

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.client.close()

    def wait_until_ready(self) -> None:
        until(lambda: self.client.get("/readyz").status_code == 200)


def test_it_is_killed_comes_back_and_stops_in_order(small_folder: Path, closing: ExitStack) -> None:
    first = closing.enter_context(Process("--model", small_folder, "--port", "0", "--limit", "texts=3"))
    assert first.line.startswith("hyperspan: serving at http://127.0.0.1:")
    first.wait_until_ready()
    expected = first.client.post("/v1/annotate", json={"text": TEXT}).json()
    assert first.client.post("/v1/annotate", json={"texts": ["a"] * 4}).status_code == 413
    lost: list[str] = []

    def ask(client: httpx2.Client, **body: object) -> None:
        try:
            lost.append(str(client.post("/v1/annotate", json=body).status_code))
        except httpx2.TransportError as error:
            lost.append(type(error).__name__)

    asking = threading.Thread(target=ask, args=[first.client], kwargs={"text": TEXT * 1000, "top_k": 1})
    asking.start()
    until(lambda: "hyperspan_requests_in_flight 1" in first.client.get("/metrics").text)
    first.popen.send_signal(signal.SIGKILL)
    asking.join(PATIENCE)
    assert first.end()[0] == -signal.SIGKILL and lost[0] != "200"

    second = closing.enter_context(Process("--model", small_folder, "--port", httpx2.URL(first.link).port))
    assert second.link == first.link
    second.wait_until_ready()
    assert second.client.post("/v1/annotate", json={"text": TEXT}).json() == expected
    asking = threading.Thread(target=ask, args=[second.client], kwargs={"text": "Ada saw " * 3000})
    asking.start()
    until(lambda: "hyperspan_requests_in_flight 1" in second.client.get("/metrics").text)
    second.popen.send_signal(signal.SIGTERM)
    until(lambda: second.client.get("/readyz").status_code == 503)
    refused = second.client.post("/v1/annotate", json={"text": "Ada"})
    assert refused.status_code == 503 and refused.headers["retry-after"]
    asking.join(PATIENCE)
    status, said = second.end()
    assert (status, lost[1]) == (0, "200")
    entries = [json.loads(line) for line in said.splitlines()]
    assert [entry["status"] for entry in entries if entry["route"] == "/v1/annotate"] == [200, 503, 200]
    assert "Ada" not in said and "key" not in said.replace("keeper", "")


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = call("serve", "--model", "genia", "--port", port)
    sentence = f"the address 127.0.0.1:{port} cannot be used (Address already in use); choose another"
    assert refused.returncode == 2 and refused.stderr.startswith(f"hyperspan: {sentence}")
    assert refused.stderr.count("\n") == 1
    with pytest.raises(InputError, match="cannot be used"):
        run.listen("203.0.113.7", 0)  # an address that is nobody's


def test_servers_that_anybody_may_use_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run.Server, "run", lambda *_, sockets: sockets[0].close())
    run.serve(Settings(models=("genia",)), "0.0.0.0", 0)
    assert "anybody who reaches 0.0.0.0 can use this server" in caplog.text
    caplog.clear()
    listen = run.listen
    with monkeypatch.context() as patched:  # a name and an address that only begin like those of this machine
        patched.setattr(run, "listen", lambda host, *_: listen("127.0.0.1", 0))
        for host in ("localhost.example.org", "::1234"):
            run.serve(Settings(models=("genia",)), host, 0)
            assert f"anybody who reaches {host} can use this server" in caplog.text
    caplog.clear()
    for settings, host in (
        (Settings(models=("genia",), api_key="key"), "0.0.0.0"),
        (Settings(models=("genia",)), "127.0.0.1"),
    ):
        run.serve(settings, host, 0)
        assert capfd.readouterr().err == caplog.text == ""


def test_a_model_that_cannot_be_loaded_ends_it(small_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small_folder, tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"nonsense")
    thread_errors: list[Exception] = []

    def serve() -> None:
        try:
            run.serve(Settings(models=(str(folder),)), port=0)
        except Exception as error:
            thread_errors.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert isinstance(thread_errors[0], InputError)
