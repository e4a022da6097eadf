"""Label Studio's requests, as version 1.23 sends them, and what it reads from the answers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.corpora.label_studio import read_label_studio
from hyperspan.corpora.source import Problems, Source
from hyperspan.runtime.annotator import Annotator
from hyperspan.serve import label_studio
from hyperspan.serve.settings import Settings
from hyperspan.types import Mention
from tests.serve.running import TEXT, Running, running
from tests.serve.test_description import STATUSES, SUPPRESSED, json_values
from tests.serve.test_refusals import message_of
from tests.support import coordination
from tests.support.models import small_model

LABELS = (
    '<Labels name="ner" toName="txt" smart="true"><Label value="Person"/><Label value="LOC" alias="place"/></Labels>'
)
CONFIG = f'<View><Header value="Read"/>{LABELS}<Text name="txt" value="$text" granularity="word"/></View>'


def task(text: object, number: int = 1) -> dict[str, Any]:
    """A task as Label Studio sends it, with an annotation."""
    about = {"id": number, "data": {"text": text}, "meta": {}, "is_labeled": False, "overlap": 1, "project": 1}
    region = {"id": "a", "type": "labels", "value": {"start": 0, "end": 1, "labels": ["Person"]}}
    return about | {"annotations": [{"id": 3, "result": [region]}], "predictions": [], "updated_by": None}


def body(tasks: Sequence[object], config: str = CONFIG, context: object = None) -> dict[str, Any]:
    params = {"login": None, "password": None, "context": context}
    return {"tasks": list(tasks), "project": "1.1795132701", "label_config": config, "params": params}


def predicted(server: Running, texts: Sequence[object], path: str = "/predict", **given: Any) -> list[dict[str, Any]]:
    answer = server.post(path, **body([task(text, number) for number, text in enumerate(texts)], **given))
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert len(results) == len(texts)
    return results


def spans(result: dict[str, Any]) -> list[tuple[int, int, str]]:
    regions = [region["value"] for region in result["result"] if region["type"] == "labels"]
    return [(value["start"], value["end"], value["labels"][0]) for value in regions]


def read_back(text: str, result: dict[str, Any]) -> set[Mention]:
    """The mentions that an export of the prediction has."""
    export = json.dumps([{"data": {"text": text}, "predictions": [result]}]).encode()
    [document] = read_label_studio(Source("x.json", stream=io.BytesIO(export)), Problems(), results="predictions")
    return set(document.mentions)


def test_a_project_connects(server: Running) -> None:
    assert server.client.get("/health").json()["status"] == "UP"
    setup = {"project": "1.1795132701", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "secret"}
    answer = server.post("/setup", **setup, extra_params=None)
    assert answer.status_code == 200 and answer.json() == {"model_version": "small"}
    assert "secret" not in json.dumps(server.entry(answer))
    assert server.post("/setup", project="1.1").json() == {"model_version": "small"}
    assert server.client.get("/versions").json() == {"versions": ["small"]}


def test_regions_are_the_mentions(server: Running, annotator: Annotator) -> None:
    texts = [TEXT, f"🦁🦁 {TEXT}", "", "Nobody slept."]
    for text, result in zip(texts, predicted(server, texts), strict=True):
        found = annotator(text).mentions
        own = {Mention(one.start, one.end, {"person": "Person"}.get(one.label, "place")) for one in found}
        assert read_back(text, result) == own
        probabilities = [one.probability for one in found if one.probability is not None]
        assert result["score"] == pytest.approx(sum(probabilities) / max(1, len(probabilities)))
        assert {region["score"] for region in result["result"]} == set(probabilities)
        assert all(text[start:end] for start, end, _ in spans(result))
        assert all(
            (one["from_name"], one["to_name"], one["type"]) == ("ner", "txt", "labels") for one in result["result"]
        )
        assert len({region["id"] for region in result["result"]}) == len(result["result"])
        assert result["model_version"] == "small"
    overlapping = spans(predicted(server, [TEXT])[0])
    assert any(a < c < b for a, b, _ in overlapping for c, _, _ in overlapping)


def test_parts_of_discontinuous_mentions_are_joined_by_relations() -> None:
    text, annotator = coordination.TEXT, coordination.coordination_annotator()
    labels = "".join(f'<Label value="{label}"/>' for label in annotator.labels)
    config = f'<View><Labels name="l" toName="t">{labels}</Labels><Text name="t" value="$text"/></View>'
    with running(annotators={"coordination": annotator}) as server:
        [result] = predicted(server, [text], config=config)
    assert read_back(text, result) == annotator(text).mentions
    assert any(mention.fragments for mention in annotator(text).mentions)
    regions = {region["id"] for region in result["result"] if region["type"] == "labels"}
    relations = [region for region in result["result"] if region["type"] == "relation"]
    assert relations and all({one["from_id"], one["to_id"]} <= regions for one in relations)
    assert all(one["direction"] == "right" and one["labels"] == ["CONTINUES"] for one in relations)


def test_labels_that_the_configuration_lacks_are_left_out_and_noted(server: Running) -> None:
    config = CONFIG.replace('<Label value="LOC" alias="place"/>', '<Label value="Gene"/>')
    answer = server.post("/predict", **body([task(TEXT)], config))
    assert {label for _, _, label in spans(answer.json()["results"][0])} == {"Person"}
    assert server.entry(answer)["note"].endswith("left out: 'place'")
    assert server.post("/setup", schema=config).json()["note"].endswith("left out: 'place'")


def test_labels_of_several_tags_and_of_another_text(server: Running) -> None:
    first = '<Labels name="a" toName="other,txt"><Label value="person"/><Label value="Person"/></Labels>'
    second = '<Labels name="b" toName="txt"><View><Label value="PLACE"/></View></Labels>'
    config = f'<View>{first}{second}<Text name="txt" value="$body"/><Image name="other" value="$x"/></View>'
    answer = server.post("/predict", **body([{"data": {"body": TEXT}}], config)).json()
    found = {(one["from_name"], one["value"]["labels"][0]) for one in answer["results"][0]["result"]}
    assert found == {("a", "person"), ("b", "PLACE")}


@pytest.mark.parametrize(
    ("start", "end", "labels", "kept"),
    [(0, 3, ["Person"], [(0, 3, "Person")]), (12, 14, ["place"], [(9, 22, "place"), (9, 16, "place")])],
)
def test_interactive_predictions_are_of_the_drawn_region(
    server: Running, start: int, end: int, labels: list[str], kept: list[tuple[int, int, str]]
) -> None:
    every = spans(predicted(server, [TEXT])[0])
    value = {"start": start, "end": end, "text": TEXT[start:end], "labels": labels}
    drawn = {"id": "o89TgM", "from_name": "ner", "to_name": "txt", "type": "labels", "origin": "manual", "value": value}
    found = spans(predicted(server, [TEXT], context={"result": [drawn]})[0])
    assert found == [one for one in every if one[0] < end and start < one[1] and one[2] in labels]
    assert set(found) == set(kept) & set(every) and found
    for context in ({}, {"result": []}, {"result": [{"value": {"start": "/p[1]", "end": None}}, 3]}, "x", 7):
        assert spans(predicted(server, [TEXT], context=context)[0]) == every


SPANS = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(st.lists(st.tuples(SPANS, st.sampled_from([[], ["a"], ["b"], ["a", "b", []]])), max_size=6), SPANS)
def test_what_is_drawn_is_found_among_many(
    drawn: list[tuple[tuple[int, int], list[object]]], span: tuple[int, int]
) -> None:
    result = [{"value": {"start": start, "end": end, "labels": own}} for (start, end), own in drawn]
    found = label_studio._drawn({"context": {"result": result}}, ["a", "b"])
    assert bool(found) == bool(drawn)
    for label, one in found.items():
        regions = [region for region, own in drawn if not own or label in own]
        assert one.overlap(*span) == any(span[0] < last and first < span[1] for first, last in regions)


def test_options_are_in_the_address(server: Running) -> None:
    path = "/label-studio/other&threshold=0.001&types=person/predict"
    [result] = predicted(server, [TEXT], path)
    wanted = server.annotate(text=TEXT, threshold=0.001, types=["person"])[0]["mentions"]
    assert spans(result) == [(one["start"], one["end"], "Person") for one in wanted]
    assert result["model_version"] == "other threshold=0.001 types=person"
    assert predicted(server, [TEXT], "/label-studio/model=other/predict")[0]["model_version"] == "other"
    [plain], [given_all] = (
        predicted(server, [f"🦁 {TEXT}"], f"/label-studio/{options}/predict")
        for options in ("other", "other&probabilities=false&offset_unit=utf16&top_k=2&candidates=0.5")
    )
    assert spans(given_all) == spans(plain) != [] and given_all["score"] == plain["score"]
    for wrong, status, sentence in (
        ("third", 404, "there is no model 'third'"),
        ("other&colour=1", 422, "the parameter 'colour' is not known"),
        ("threshold=2", 422, "must be a number above 0 and at most 1"),
    ):
        answer = server.post(f"/label-studio/{wrong}/setup", schema=CONFIG)
        assert answer.status_code == status and sentence in message_of(answer)


ENTITY = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><View>&b;</View>'


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("", "not well-formed XML (no element found"),
        ("<View>", "not well-formed XML"),
        (ENTITY, "has a <!DOCTYPE x>, which can declare"),
        (f"<!DOCTYPE x [<!ATTLIST a b CDATA ''>]>{CONFIG}", "has a <!DOCTYPE x>, which can declare"),
        ("<View>" * 101 + "</View>" * 101, "is nested deeper than 100 elements"),
        ("<View>" + "<a/>" * 300_000 + "</View>", "1,000,000 are the most"),
        ("<View/>", "are for nothing, but they must be for a <Text>"),
        (CONFIG.replace("<Text ", "<Paragraphs "), "are for <Paragraphs>, but they must be for a <Text>"),
        (CONFIG.replace("<Text ", "<HyperText "), "are for <HyperText>"),
        (CONFIG.replace('"$text"', '"$text" valueType="url"'), "neither valueType nor encoding"),
        (CONFIG.replace('"$text"', '"Read $text"'), 'write value="$text"'),
        (CONFIG.replace("Person", "Gene").replace("place", "Drug"), "are none of the model, 'person', 'place'; rename"),
    ],
    ids=range(12),
)
def test_configurations_without_regions_of_text_are_refused(server: Running, config: str, sentence: str) -> None:
    for answer in (server.post("/predict", **body([task(TEXT)], config)), server.post("/setup", schema=config or " ")):
        assert answer.status_code == 422 and sentence in message_of(answer)
        assert sentence in server.entry(answer)["error"]


def test_tasks_without_text_are_told_apart(server: Running) -> None:
    given = [task(TEXT), {"id": 7}, task(None), task(["a"]), {"data": "x"}, {"data": {"Text": "a"}}]
    answer = server.post("/predict", **body(given))
    first, *others = answer.json()["results"]
    assert first["result"] and "error" not in first and len(others) == 5
    assert all(one["result"] == [] and one["error"].startswith("no string under 'text'") for one in others)
    assert server.entry(answer)["error"].startswith("5 tasks of 6: no string under 'text'")
    answer = server.post("/predict", **body(given[1:]))
    assert answer.status_code == 422 and message_of(answer).startswith("no string under 'text' in the data of the task")
    assert server.post("/predict", **body([])).json()["results"] == []


def test_tasks_are_limited_as_texts_are(server: Running) -> None:
    answer = server.post("/predict", **body([task("Ada.", number) for number in range(1000)]))
    assert answer.status_code == 200 and len(answer.json()["results"]) == 1000
    answer = server.post("/predict", **body([task("", number) for number in range(1001)]))
    assert answer.status_code == 413 and "has 1,001 texts, and the limit is 1,000" in message_of(answer)
    answer = server.post("/predict", **body([{"data": {}, "x": [0] * 500_000}]))
    assert answer.status_code == 413 and "more than 400,000 values" in message_of(answer)


def test_training_is_declined_without_an_error(server: Running) -> None:
    for path in ("/train", "/webhook", "/label-studio/other/train", "/inception/train"):
        answer = server.client.post(path, content=b'{"action": "START_TRAINING", "x": "' + b"x" * 3_000_000 + b'"}')
        assert answer.status_code == 200 and answer.json()["job"] is None
        assert "not trained" in answer.json()["message"] and "hyperspan train" in answer.json()["message"]
        assert server.client.post(path, content=b"x" * 5_000_000).status_code == 413


def test_the_key_is_the_password() -> None:
    with running(Settings(api_key="key:1"), {"small": Annotator(small_model())}) as server:
        for given, status in (("any:key:1", 200), ("key:1:", 401), ("any:key", 401), ("any", 401)):
            basic = {"authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}
            assert server.client.get("/health", headers=basic).status_code == status
        assert server.client.get("/health", headers={"authorization": "Basic ???"}).status_code == 401
        of_proxy = {"authorization": f"Basic {base64.b64encode(b'me:other').decode()}"}
        assert server.client.get("/health", headers=of_proxy | {"x-api-key": "key:1"}).status_code == 200
        assert server.client.get("/health").status_code == 401


configs = st.text(st.sampled_from('<>/=" $&;'), max_size=20) | st.sampled_from([CONFIG, CONFIG[:90], ENTITY])
tasks = json_values | st.lists(json_values | st.just(task(TEXT)) | st.builds(task, json_values), max_size=3)
bodies = st.fixed_dictionaries(
    {"tasks": tasks, "label_config": configs | json_values},
    optional={"params": json_values | st.builds(lambda given: {"context": {"result": given}}, json_values)},
)


@given(bodies)
@settings(max_examples=80, suppress_health_check=SUPPRESSED)
def test_no_body_breaks_predictions(server: Running, given_body: Any) -> None:
    answer = server.client.post(
        "/predict", content=json.dumps(given_body).encode(), headers={"content-type": "application/json"}
    )
    assert answer.status_code in STATUSES, answer.text
    assert ("error" in answer.json()) == (answer.status_code != 200)
