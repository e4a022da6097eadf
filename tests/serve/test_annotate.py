"""What the server answers about texts, over real connections: the same as the library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hyperspan.corpora.json_records import metadata_record
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Mention
from tests.runtime.test_annotator import of_kind
from tests.serve.running import TEXT, Running, running

LION = "🦁 saw the zoo of Oz 👩🏽‍🔬 and Ada.\n\n𝔸da left Oz."


def keys(mentions: Any) -> list[tuple[int, int, str]]:
    if mentions and isinstance(mentions[0], Mention):
        mentions = [vars_of(mention) for mention in mentions]
    return [(m["start"], m["end"], m["label"]) for m in mentions]


def vars_of(mention: Mention) -> dict[str, Any]:
    return {"start": mention.start, "end": mention.end, "label": mention.label}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.05},
        {"threshold": {"person": 0.01, "*": 0.4}},
        {"types": ["place"], "threshold": 0.2},
        {"types": []},
        {"top_k": 3},
        {"candidates": 0.02, "top_k": 1},
        {"require": [{"start": 4, "end": 8, "label": "person"}], "top_k": 2},
        {"forbid": [{"start": 0, "end": 3, "label": "person"}], "threshold": 0.01},
    ],
)
def test_the_same_as_the_library(server: Running, annotator: Annotator, options: dict[str, Any]) -> None:
    [got] = server.annotate(text=TEXT, **options)
    known = {name: [Mention(**mention) for mention in options.get(name, [])] for name in ("require", "forbid")}
    rest = {name: value for name, value in options.items() if name not in known}
    document = annotator(TEXT, **known, **rest)
    expected = sorted(document.mentions, key=lambda m: (m.start, -m.end, m.label))
    assert keys(got["mentions"]) == keys(expected)
    for one, other in zip(got["mentions"], expected, strict=True):
        assert one["text"] == other.text and one["probability"] == pytest.approx(other.probability, abs=1e-6)
    assert got["sentences"] == [
        {"start": part.offsets[0][0], "end": part.offsets[-1][1], "tokens": [list(span) for span in part.offsets]}
        for part in document.sentences
    ]
    expected = metadata_record(document)
    for name in ("alternatives", "candidates"):
        assert (name in got) == (name in expected)
    if "candidates" in got:
        assert keys(got["candidates"]) == keys(expected["candidates"])
        assert all(TEXT[m["start"] : m["end"]] == m["text"] for m in got["candidates"])
    for entry, other in zip(got.get("alternatives", []), expected.get("alternatives", []), strict=True):
        assert [keys(ranked["mentions"]) for ranked in entry["sets"]] == [keys(r["mentions"]) for r in other["sets"]]


def test_several_texts_and_what_is_known_of_one_of_them(server: Running) -> None:
    texts = ["Ada left.", "", "Ada left.", "  "]
    mention = {"start": 0, "end": 3, "label": "person", "document": 2}
    plain = server.annotate(texts=texts)
    assert [keys(d["mentions"]) for d in plain] == [[(0, 3, "person")], [], [(0, 3, "person")], []]
    told = server.annotate(texts=texts, forbid=[mention])
    assert [keys(d["mentions"]) for d in told] == [[(0, 3, "person")], [], [], []]
    assert server.annotate(texts=[]) == []
    answer = server.post(text="Ada", probabilities=False, candidates=0.1, model="other").json()
    assert answer["model"] == "other" and answer["offset_unit"] == "codepoint"
    [document] = answer["documents"]
    assert document["mentions"] == [{"start": 0, "end": 3, "label": "person", "text": "Ada"}]
    assert "probability" not in document["candidates"][0]


def in_utf16(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def test_offsets_as_javascript_counts_them(server: Running) -> None:
    [points] = server.annotate(text=LION, threshold=0.02, top_k=2, candidates=0.01)
    [units] = server.annotate(text=LION, threshold=0.02, top_k=2, candidates=0.01, offset_unit="utf16")
    assert len(points["mentions"]) > 2
    for name in ("mentions", "candidates"):
        for one, other in zip(points[name], units[name], strict=True):
            assert LION[one["start"] : one["end"]] == one["text"] == other["text"]
            assert in_utf16(LION, other["start"], other["end"]) == other["text"]
    for one, other in zip(points["sentences"], units["sentences"], strict=True):
        for (start, end), (first, last) in zip(one["tokens"], other["tokens"], strict=True):
            assert LION[start:end] == in_utf16(LION, first, last)
        assert LION[one["start"] : one["end"]] == in_utf16(LION, other["start"], other["end"])
    listed = zip(points["alternatives"], units["alternatives"], strict=True)
    for one, other in ((a, b) for x, y in listed for a, b in zip(x["sets"], y["sets"], strict=True)):
        spans = [(LION[m["start"] : m["end"]], m["label"]) for m in one["mentions"]]
        assert spans == [(in_utf16(LION, m["start"], m["end"]), m["label"]) for m in other["mentions"]]


def test_what_is_known_is_given_in_the_same_unit(server: Running) -> None:
    start = len(LION[: LION.index("Ada")].encode("utf-16-le")) // 2
    mention = {"start": start, "end": start + 3, "label": "place"}
    [document] = server.annotate(text=LION, require=[mention], offset_unit="utf16")
    assert {"text": "Ada", "probability": 1.0, **mention} in document["mentions"]
    inside = server.post(text=LION, require=[{"start": 1, "end": 3, "label": "place"}], offset_unit="utf16")
    assert inside.status_code == 422 and "inside a character that takes two UTF-16 units" in inside.text
    beyond = server.post(text=LION, require=[{"start": 0, "end": 99, "label": "place"}], offset_unit="utf16")
    assert beyond.json()["error"]["message"].endswith("(places in code points)")


def test_half_a_surrogate_pair_is_text_too(server: Running) -> None:
    body = '{"text": "Ada \\ud83d left Oz \\ud83e\\udd81", "offset_unit": "utf16", "types": ["person"]}'
    response = server.client.post("/v1/annotate", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 200
    [document] = response.json()["documents"]
    assert [m["text"] for m in document["mentions"]] == ["Ada"]
    assert document["sentences"][-1]["end"] == 16
    body = '{"text": "\\ud83d Ada", "threshold": 0.001}'  # which a mention may cover
    response = server.client.post("/v1/annotate", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 200 and json.loads(response.content)


def test_the_hypergraph_of_a_short_sentence(server: Running) -> None:
    answer = server.post("/v1/hypergraph", text="🦁 saw Ada in Oz", offset_unit="utf16").json()
    assert answer["svg"].startswith("<svg") and answer["tokens"][0] == [0, 2] and answer["structure"] == "segmental"
    assert {(m["text"], m["label"]) for m in answer["mentions"]} >= {("Ada", "person")}
    person = server.post("/v1/hypergraph", text="saw Oz", types=["person"]).json()
    assert "person" in person["svg"] and "place" not in person["svg"]
    empty = server.post("/v1/hypergraph", text="Nobody slept").json()
    assert empty["mentions"] == [] and empty["svg"].startswith("<svg")
    for body, status, sentence in (
        ({"text": "Ada " * 13}, 413, "has 13 words, and up to 12 are drawn"),
        ({"text": "A" * 1001}, 413, "has 1,001 characters, and up to 1,000 are drawn"),
        ({"text": "Ada left. Oz slept."}, 422, "has 2 sentences"),
        ({"text": ""}, 422, "has 0 sentences"),
        ({"text": "Ada", "types": []}, 422, "0 types are asked for"),
        ({"text": "Ada", "types": ["gene"]}, 422, "'gene' is not among those of the model"),
        ({"text": "Ada", "top_k": 3}, 422, "'top_k' is not known; known are text, model, types"),
    ):
        response = server.post("/v1/hypergraph", **body)
        assert response.status_code == status and sentence in response.json()["error"]["message"]


@pytest.mark.parametrize("kind", ["joint", "linear-chain"])
def test_hypergraph_of_a_kind_that_is_not_drawn_is_refused(kind: str) -> None:
    with running(annotators={"other": of_kind(kind)}) as server:
        response = server.post("/v1/hypergraph", text="Ada saw the zoo")
    said = (
        f"the model other is of kind {kind}, whose structure is not drawn; choose a model of kind segmental or "
        "discontinuous; in a clone of the repository, python -m experiments.figures draws"
    )
    assert response.status_code == 422 and said in response.json()["error"]["message"]
