"""Whatever the description allows is answered as it says, and whatever else comes is refused; nothing breaks."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.serve.running import Running

SUPPRESSED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much)
TOOLS = ("/predict", "/setup", "/inception/predict")
STATUSES = {200, 400, 404, 413, 415, 422}


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        *itertools.product(["post"], ["/v1/annotate", "/v1/hypergraph", *TOOLS], GenerationMode),
        *itertools.product(
            ["get"],
            ["/v1/models", "/healthz", "/readyz", "/metrics", "/health", "/versions"],
            [GenerationMode.POSITIVE],
        ),
    ],
)
def test_the_description_is_kept(server: Running, method: str, path: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}openapi.json")

    @given(schema[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=12, suppress_health_check=SUPPRESSED)
    def check(case: Case) -> None:
        # Which labels there are depends on the model, and the description does not know them.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    check()


def test_errors_are_json_also_where_answers_are_not(server: Running) -> None:
    paths = server.client.get("/openapi.json").json()["paths"]
    for operation in (operation for path in paths.values() for operation in path.values()):
        for status, answer in operation["responses"].items():
            assert status == "200" or list(answer["content"]) == ["application/json"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
FIELDS = "text texts model threshold types top_k require forbid candidates offset_unit id".split()
known_mentions = st.fixed_dictionaries(
    {"start": st.integers(-2, 30), "end": st.integers(-2, 30), "label": st.sampled_from(["person", "x"])}
)
plausible: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(st.sampled_from("Ada Oz.\n🦁\ud83d\x00"), max_size=30),
    "texts": st.lists(st.text(max_size=9), max_size=3),
    "threshold": st.floats(0.001, 1) | st.dictionaries(st.sampled_from(["person", "*"]), st.floats(0.001, 1)),
    "types": st.lists(st.sampled_from(["person", "place"]), max_size=3),
    "top_k": st.integers(0, 3),
    "require": st.lists(known_mentions, max_size=2),
    "forbid": st.lists(known_mentions, max_size=2),
    "candidates": st.floats(0.001, 1),
    "offset_unit": st.sampled_from(["utf16", "codepoint"]),
}
bodies = st.fixed_dictionaries(
    {},
    optional={
        name: plausible.get(name, json_values) | (json_values if name != "text" else st.nothing()) for name in FIELDS
    },
)


@given(st.sampled_from(["/v1/annotate", "/v1/hypergraph"]), bodies, st.binary(max_size=6), st.integers(0, 60))
@settings(max_examples=60, suppress_health_check=SUPPRESSED)
def test_no_body_breaks_it(server: Running, path: str, body: Any, noise: bytes, place: int) -> None:
    content = json.dumps(body).encode()
    spoilt = content[:place] + noise + content[place:]
    answers = [
        server.client.post(path, content=each, headers={"content-type": "application/json"})
        for each in (content, spoilt)
    ]
    for response in answers:
        assert response.status_code in STATUSES, response.text
        assert ("error" in response.json()) == (response.status_code != 200)


@given(st.lists(bodies.map(lambda body: json.dumps(body).encode()) | st.binary(max_size=30), max_size=6))
@settings(max_examples=30, suppress_health_check=SUPPRESSED)
def test_no_line_breaks_a_stream(server: Running, given_lines: list[bytes]) -> None:
    response = server.client.post(
        "/v1/annotate/stream", content=b"\n".join(given_lines), headers={"content-type": "application/x-ndjson"}
    )
    assert response.status_code == 200
    wanted = [number for number, line in enumerate(b"\n".join(given_lines).split(b"\n"), 1) if line.strip()]
    answered = [json.loads(line) for line in response.content.splitlines()]
    assert [line["line"] for line in answered] == wanted
    assert all(("error" in line) != ("mentions" in line) for line in answered)
    assert not any(line.get("error", {}).get("code") == "internal_error" for line in answered)
