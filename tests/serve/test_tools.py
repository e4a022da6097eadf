"""A real Label Studio, and the library with which INCEpTION's recommenders read documents. They need another
environment, which the variable names::

    python -m venv tools && tools/bin/pip install label-studio dkpro-cassis
    HYPERSPAN_TOOLS=tools pytest -m slow tests/serve/test_tools.py
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.settings import Settings
from tests.serve.running import TEXT, Running, running, until
from tests.serve.test_inception import LAYER, SYSTEM, body, xmi
from tests.serve.test_label_studio import CONFIG, read_back
from tests.support import coordination
from tests.support.models import small_model

TOOLS = Path(os.environ.get("HYPERSPAN_TOOLS", "tools-that-are-not-installed")).absolute()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("tools"),
    pytest.mark.skipif(
        not (TOOLS / "bin/python").exists(),
        reason="HYPERSPAN_TOOLS names no environment with label-studio and dkpro-cassis; see the head of this file",
    ),
]
PASSWORD = "the key"
ALL = {"selectedItems": {"all": True, "excluded": []}, "filters": {"conjunction": "and", "items": []}, "ordering": []}
READ = """
import json, sys
from cassis import load_cas_from_xmi, load_typesystem
document, system, layer = json.load(sys.stdin)
cas = load_cas_from_xmi(document, load_typesystem(system))
found = [one for one in cas.select(layer) if one.inception_internal_predicted]
print(json.dumps([[one.begin, one.end, one.value, one.value_score, one.get_covered_text()] for one in found]))
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Label Studio with an empty database, and a client that is logged in."""
    folder, token = tmp_path_factory.mktemp("studio"), secrets.token_hex(20)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    user = ["--username", "someone@example.org", "--password", secrets.token_hex(8), "--user-token", token]
    place = ["--no-browser", "--internal-host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder)]
    # by default, it connects with no backend at a local address, and refuses tokens
    settings = {"USE_DEFAULT_BANNED_SUBNETS": "false", "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true"}
    settings |= {"COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "HOME": str(folder)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [TOOLS / "bin/label-studio", "start", *place, *user], env=os.environ | settings, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx2.Client(base_url=url, headers={"Authorization": f"Token {token}"}, timeout=120) as client:
            for _ in range(5):  # each waits for long; creating the database takes a minute
                try:
                    until(lambda: process.poll() is not None or is_up(client))
                    break
                except AssertionError:
                    continue
            assert process.poll() is None and is_up(client), (folder / "log").read_text()
            yield client
    finally:
        process.terminate()
        process.wait(60)


def is_up(client: httpx2.Client) -> bool:
    try:
        return client.get("/api/version").status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture(scope="module")
def backend() -> Iterator[Running]:
    annotators = {"small": Annotator(small_model()), "parted": coordination.coordination_annotator()}
    with running(Settings(api_key=PASSWORD), annotators) as one:
        one.client.headers["authorization"] = f"Bearer {PASSWORD}"
        yield one


def ask(studio: httpx2.Client, path: str, **content: Any) -> Any:
    answer = studio.post(path, json=content)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def connected(
    studio: httpx2.Client, backend: Running, config: str, texts: list[str], path: str = ""
) -> tuple[int, int]:
    """A project with tasks that is connected with the backend, and their ids."""
    project = ask(studio, "/api/projects/", title="zoo", label_config=config)["id"]
    tasks = studio.post(f"/api/projects/{project}/import", json=[{"data": {"text": text}} for text in texts])
    assert tasks.status_code == 201
    given = {"url": f"{backend.url}{path}", "project": project, "is_interactive": True, "auth_method": "BASIC_AUTH"}
    given |= {"basic_auth_user": "anyone", "title": "hyperspan"}
    refused = studio.post("/api/ml/", json=given | {"basic_auth_pass": "wrong"})
    assert refused.status_code == 400 and "authentication parameters" in refused.text
    made = ask(studio, "/api/ml/", **given, basic_auth_pass=PASSWORD)
    assert made["readable_state"] == "Connected" and made["error_message"] is None
    return project, made["id"]


def predictions(studio: httpx2.Client, project: int) -> dict[str, dict[str, Any]]:
    """The prediction that Label Studio has stored for each text."""
    ask(studio, f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", **ALL)
    texts = {one["id"]: one["data"]["text"] for one in studio.get(f"/api/tasks/?project={project}").json()["tasks"]}
    found = studio.get(f"/api/predictions/?project={project}").json()
    assert len(found) == len(texts)
    return {texts[one["task"]]: one for one in found}


def test_label_studio_stores_overlapping_mentions(studio: httpx2.Client, backend: Running) -> None:
    texts = [f"🦁 {TEXT}", "Nobody slept.", TEXT]
    project, number = connected(studio, backend, CONFIG, texts)
    annotator = backend.service.model("small").annotator
    for text, prediction in predictions(studio, project).items():
        found = {(one.start, one.end, {"person": "Person"}.get(one.label, "place")) for one in annotator(text).mentions}
        assert {(one.start, one.end, one.label) for one in read_back(text, prediction)} == found
        assert prediction["model_version"] == "small" and 0 <= prediction["score"] <= 1
    assert studio.get(f"/api/ml/{number}/versions").json() == {"versions": ["small"]}
    ask(studio, f"/api/ml/{number}/train")
    assert studio.get(f"/api/ml/{number}").json()["readable_state"] == "Connected"
    task = studio.get(f"/api/tasks/?project={project}").json()["tasks"][-1]
    value = {"start": 0, "end": 20, "text": task["data"]["text"][:20], "labels": ["Person"]}
    drawn = {"id": "x", "from_name": "ner", "to_name": "txt", "type": "labels", "value": value}
    answer = ask(studio, f"/api/ml/{number}/interactive-annotating", task=task["id"], context={"result": [drawn]})
    assert {one["value"]["labels"][0] for one in answer["data"]["result"]} == {"Person"} and "errors" not in answer


def test_label_studio_stores_discontinuous_mentions(studio: httpx2.Client, backend: Running) -> None:
    annotator = coordination.coordination_annotator()
    labels = "".join(f'<Label value="{label}"/>' for label in annotator.labels)
    config = f'<View><Labels name="l" toName="t">{labels}</Labels><Text name="t" value="$text"/></View>'
    project, _ = connected(studio, backend, config, [coordination.TEXT], "label-studio/parted&threshold=0.4")
    [prediction] = predictions(studio, project).values()
    found = annotator(coordination.TEXT, threshold=0.4).mentions
    assert any(one.fragments for one in found)
    assert read_back(coordination.TEXT, prediction) == found


def test_label_studio_shows_a_configuration_without_labels_as_an_error(studio: httpx2.Client, backend: Running) -> None:
    config = '<View><Labels name="l" toName="t"><Label value="Gene"/></Labels><Text name="t" value="$text"/></View>'
    project = ask(studio, "/api/projects/", title="genes", label_config=config)["id"]
    given = {"url": backend.url, "project": project, "auth_method": "BASIC_AUTH", "basic_auth_user": "anyone"}
    answer = studio.post("/api/ml/", json=given | {"basic_auth_pass": PASSWORD})
    assert answer.status_code == 400 and "422" in answer.text and "console logs" in answer.text
    assert any("are none of the model" in line for line in backend.log)


def test_inceptions_library_reads_the_document(backend: Running) -> None:
    text = f'🦁 "{TEXT}"\n<&>'
    document = backend.post("/inception/small/predict", **body(xmi(text))).json()["document"]
    given = json.dumps([document.replace("<!-- > -->", ""), SYSTEM, LAYER])  # cassis takes no comment there
    read = subprocess.run(
        [TOOLS / "bin/python", "-c", READ], input=given, stdout=subprocess.PIPE, text=True, check=True
    )
    mentions = backend.service.model("small").annotator(text).mentions
    assert {tuple(one) for one in json.loads(read.stdout)} == {
        (one.start, one.end, one.label, one.probability, one.text) for one in mentions
    }
