"""The formats that are JSON: hyperspan's own, W2NER, CNN-NER and SpERT, GLiNER, doccano, Label Studio."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import Document, Mention, Sentence
from hyperspan.corpora import FORMATS, json_values, write_corpus
from hyperspan.corpora.documents import document_of, trimmed
from hyperspan.corpora.json_records import NO_PROBABILITY
from hyperspan.corpora.source import Problems, Source
from hyperspan.errors import CorpusError, InputError, LossError
from tests.fuzz.samples import JSON as SAMPLES
from tests.support.data import data_path
from tests.support.formats import everything, read, written

characters = st.characters(exclude_categories=["Cs"])
labels = st.sampled_from(["PER", "ORG", "G#protein", "label with spaces", "Ä\n🦁\u2028"])
json_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(characters)
)
json_any = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(characters), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spans(draw: st.DrawFn, length: int) -> tuple[int, int]:
    start = draw(st.integers(0, length - 1))
    return start, draw(st.integers(start + 1, length))


@st.composite
def fragments(draw: st.DrawFn, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Of a discontinuous mention from start to end; empty for one in one piece."""
    inner = sorted(draw(st.sets(st.integers(start + 1, end - 1), max_size=4))) if end - start > 2 else []
    ends = [start, *inner[: len(inner) // 2 * 2], end]
    return tuple(zip(ends[::2], ends[1::2], strict=True)) if len(ends) > 2 else ()


@st.composite
def mentions(draw: st.DrawFn, length: int, discontinuous: bool = True, rich: bool = False) -> Mention:
    start, end = draw(spans(length))
    more: dict[str, Any] = {}
    if rich:
        more["probability"] = draw(st.none() | st.floats(0, 1))
        more["head"] = draw(st.none() | spans(length))
        more["id"] = draw(st.sampled_from(["", "T1"]) | st.text(characters))
    return Mention(start, end, draw(labels), draw(fragments(start, end)) if discontinuous else (), **more)


@st.composite
def free(draw: st.DrawFn) -> Document:
    """Documents with anything that a document can hold, tokens beside their texts included."""
    text = draw(st.text(characters, max_size=20))
    found = draw(st.lists(mentions(len(text), rich=True), max_size=4)) if text else []
    sentences = []
    for _ in range(draw(st.integers(0, 2))):
        offsets = draw(st.lists(spans(len(text)), max_size=4)) if text else []
        tokens = [text[start:end] if draw(st.booleans()) else draw(st.text(characters)) for start, end in offsets]
        inside = draw(st.lists(mentions(len(tokens), rich=True), max_size=3)) if tokens else []
        tags = draw(st.sampled_from([(), tuple("N" for _ in tokens)]))
        sentences.append(
            Sentence(tokens, [*inside, *inside[:1]], tags=tags, offsets=offsets if draw(st.booleans()) else ())
        )
    metadata = draw(st.dictionaries(st.text(characters), json_any, max_size=3))
    found = found if sentences else trimmed(found, text, Problems())
    return Document(text, found, sentences, draw(st.text(characters)), metadata)


@given(documents=st.lists(free(), max_size=3))
def test_jsonl_keeps_everything(documents: list[Document]) -> None:
    data = written("jsonl", documents)
    again = read("jsonl", data)
    assert list(map(everything, again)) == list(map(everything, documents))
    assert data.count(b"\n") == len(documents) and data.endswith(b"\n" * bool(documents))
    assert written("jsonl", again) == data


def test_jsonl_is_laid_out_as_documented() -> None:
    document = document_of([Sentence(["the", "zoo"], [Mention(0, 2, "FAC", probability=0.5)])], "z", {"a": 1})
    assert written("jsonl", [document]).decode() == (
        '{"format": "hyperspan", "version": 1, "id": "z", "text": "the zoo", "mentions": [{"start": 0, "end": 7, '
        '"label": "FAC", "text": "the zoo", "probability": 0.5}], "sentences": [{"tokens": [[0, 3], [4, 7]], '
        '"mentions": [{"start": 0, "end": 2, "label": "FAC", "probability": 0.5}]}], "metadata": {"a": 1}}\n'
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_come_back_as_they_were(name: str) -> None:
    """But for the order of mentions."""
    again = written(name, read(name, SAMPLES[name])).decode()
    assert read(name, again) == read(name, SAMPLES[name]) and sorted(again) == sorted(SAMPLES[name])


# ---------------------------------------------------------------------------------------------------- real files


REAL = {
    "w2ner": "genia/other_formats/w2ner.genia.dev.json.gz",
    "cnn-ner": "genia/other_formats/yhcc.genia.dev.jsonlines.gz",
}


def real_sample(name: str, sentences: int) -> bytes:
    data = gzip.decompress(data_path(REAL[name]).read_bytes())
    if name == "w2ner":
        return json.dumps(json.loads(data)[:sentences]).encode() + b"\n"
    return b"".join(data.splitlines(keepends=True)[:sentences])


@pytest.mark.parametrize("name", REAL)
def test_real_files_come_back(name: str) -> None:
    """But for the order of mentions."""
    data = real_sample(name, 300)
    again = written(name, read(name, data))
    assert read(name, again) == read(name, data) and Counter(again) == Counter(data)


@pytest.mark.corpora
@pytest.mark.parametrize("name", REAL)
def test_whole_real_files_come_back(name: str) -> None:
    """But for the order of mentions, and the newline at the end that W2NER's file has not."""
    data = gzip.decompress(data_path(REAL[name]).read_bytes())
    documents = read(name, data)
    assert Counter(written(name, documents)) == Counter(data.removesuffix(b"\n") + b"\n")
    for other in SAMPLES:
        text = written(other, documents)
        assert FORMATS[other].looks_like(text[:65_536].decode())
        again = read(other, text)
        # Other sentences, where the text is split anew, but the same mentions.
        assert sum(len(d.mentions) for d in again) == sum(len(d.mentions) for d in documents), other


def test_sentences_with_the_same_document_are_one_document() -> None:
    documents = read("cnn-ner", real_sample("cnn-ner", 100))
    assert 1 < len(documents) < 30 and sum(len(document.sentences) for document in documents) == 100
    assert len({document.id for document in documents}) == len(documents)


# ------------------------------------------------------------------------------------------------ single formats


def test_label_studio_joins_regions_by_relations() -> None:
    """The ids that people's regions have stay; a part that two mentions share is two regions."""
    red, blue = Mention(0, 18, "cell", ((0, 3), (13, 18)), id="r", probability=0.5), Mention(8, 18, "cell", id="b")
    document = Document("red and blue  cells", [red, blue, Mention(0, 3, "colour", id="r")])
    [task] = json.loads(written("label-studio", [document]))
    [*regions, relation] = task["annotations"][0]["result"]
    assert [(one["id"], one["value"]["text"]) for one in regions] == [
        *(("r", "red"), ("r-2", "red"), ("r-2-part-2", "cell")),
        ("b", "blue  cell"),
    ]
    assert relation == {
        "type": "relation",
        "from_id": "r-2",
        "to_id": "r-2-part-2",
        "direction": "right",
        "labels": ["CONTINUES"],
    }
    [again] = read("label-studio", json.dumps([task]))
    assert {(one.parts, one.id) for one in again.mentions if one.label == "cell"} == {
        (((0, 3), (14, 18)), "r-2"),
        (((8, 18),), "b"),
    }
    [apart] = read("label-studio", json.dumps([task]), continues="")
    assert len(apart.mentions) == 4 and apart.metadata == {"about_mentions": {"other_results": [relation]}}
    regions[1]["value"]["labels"] = ["X"]
    with pytest.raises(CorpusError, match="regions that are joined have the labels X, cell, but each needs the same"):
        read("label-studio", json.dumps([task | {"annotations": [{"result": [*regions, relation]}]}]))
    with pytest.raises(CorpusError, match='a relation joins the region "r-2-part-2", but no mention has'):
        read("label-studio", json.dumps([task | {"annotations": [{"result": [regions[1], relation]}]}]))
    with pytest.raises(LossError, match="label-studio cannot hold 1 of 3 mentions"):
        written("label-studio", [document], continues="")


def test_w2ner_reads_fragments() -> None:
    first, second = read("w2ner", SAMPLES["w2ner"])
    assert first.sentences[0].mentions == {Mention(0, 4, "S", ((0, 1), (3, 4))), Mention(0, 2, "S")}
    assert first.metadata == {"word": [[0, 1]]} and second.text == ""
    assert {m.text for m in first.mentions} == {"sore arms and legs", "sore arms"}


def test_spert_is_read_as_cnn_ner() -> None:
    text = '[{"tokens": ["the", "zoo"], "entities": [{"type": "FAC", "start": 0, "end": 2}], "relations": [], "orig_id": 5}]'
    [document] = read("cnn-ner", text)
    assert document.sentences[0].mentions == {Mention(0, 2, "FAC")}
    assert document.metadata == {"orig_id": 5}
    again = json.loads(written("cnn-ner", [document], style="spert"))
    assert again == json.loads(text)


def test_relations_of_spert_follow_their_mentions_into_sorted_order() -> None:
    entities = [{"type": "X", "start": start, "end": start + 1} for start in (2, 0, 1)]
    record = {
        "tokens": ["a", "b", "c"],
        "entities": entities,
        "relations": [{"type": "R", "head": 0, "tail": 2}, "odd"],
    }
    [document] = read("cnn-ner", json.dumps([record]))
    (again,) = json.loads(written("cnn-ner", [document], style="spert"))
    assert [one["start"] for one in again["entities"]] == [0, 1, 2]
    assert again["relations"] == [{"type": "R", "head": 2, "tail": 1}, "odd"]


def test_keys_of_mentions_that_cannot_be_kept_are_noted() -> None:
    problems = Problems()
    text = '{"tokens": ["a"], "entity_mentions": [{"id": "e", "start": 0, "end": 1, "entity_type": "X", "mention_type": "NAM"}]}'
    [document] = read("cnn-ner", text, problems=problems)
    assert problems.notes == {'key "mention_type" of mentions left out': 1}
    assert b'{"id": "e", "start": 0, "end": 1, "entity_type": "X", "text": "a"}' in written("cnn-ner", [document])


def test_metadata_of_several_sentences_is_left_out_and_noted() -> None:
    problems = Problems()
    document = document_of([Sentence(["a"]), Sentence(["b"])], metadata={"source": "made"})
    assert written("gliner", [document], problems=problems, lines=True).count(b"\n") == 2
    assert problems.notes == {"metadata of a document of several sentences left out": 1}


def test_mentions_outside_every_sentence_are_losses() -> None:
    document = Document("the zoo", [Mention(4, 7, "FAC")], [Sentence(["the"], offsets=[(0, 3)])])
    with pytest.raises(LossError, match=r"w2ner cannot hold 1 of 1 mentions \(1 outside every sentence\)"):
        written("w2ner", [document])


def test_doccano_entities_and_relations() -> None:
    record = {
        "id": 1,
        "text": "the 🦁 zoo",
        "entities": [
            {"id": 12, "label": "FAC", "start_offset": 0, "end_offset": 9},
            {"id": 7, "label": "ANIMAL", "start_offset": 4, "end_offset": 5},
        ],
        "relations": [{"id": 1, "from_id": 7, "to_id": 12, "type": "lives in"}],
        "Comments": [],
    }
    [document] = read("doccano", json.dumps(record))
    assert {(m.text, m.label, m.id) for m in document.mentions} == {("the 🦁 zoo", "FAC", "12"), ("🦁", "ANIMAL", "7")}
    assert document.id == "1" and document.metadata["about_mentions"] == {"relations": record["relations"]}
    assert json.loads(written("doccano", [document])) == record
    triples = json.loads(written("doccano", [document], key="labels"))
    assert triples["labels"] == [[0, 9, "FAC"], [4, 5, "ANIMAL"]]


def test_doccano_notes_what_it_decides() -> None:
    problems = Problems()
    text = '{"text": "ab", "label": [[0, 1, "X"], [0, 1, "X"]]}\n{"text": "ab", "meta": {"a": 1}}'
    first, second = read("doccano", text, problems=problems)
    assert len(first.mentions) == 1 and second.metadata == {"meta": {"a": 1}}
    assert problems.notes == {
        "mention listed twice read as one": 1,
        "text without annotation read as one without mentions": 1,
    }


def task(text: str, *regions: dict[str, Any], **more: Any) -> dict[str, Any]:
    results = [
        {"id": f"r{n}", "from_name": "label", "to_name": "text", "type": "labels", "value": value}
        for n, value in enumerate(regions)
    ]
    return {"id": 1, "data": {"text": text}, "annotations": [{"result": results, **more}]}


def test_label_studio_labels_of_one_region_are_several_mentions() -> None:
    [document] = read("label-studio", SAMPLES["label-studio"])
    assert {(m.text, m.label, m.id) for m in document.mentions} == {("zoo", "FAC", "r1"), ("zoo", "ORG", "r1")}
    assert document.id == "3" and document.metadata["data"] == {"title": "zoo"}


@pytest.mark.parametrize("start", [5, 6])
def test_label_studio_offsets_are_code_points_or_utf_16(start: int) -> None:
    """Its versions differ; the quoted text tells."""
    problems = Problems()
    made = task("🦁 in the zoo", {"start": start, "end": start + 7, "text": "the zoo", "labels": ["X"]})
    [document] = read("label-studio", json.dumps([made]), problems=problems)
    assert {(m.text, m.span) for m in document.mentions} == {("the zoo", (5, 12))}
    assert bool(problems.notes) == (start == 6)


def test_label_studio_offset_unit_can_be_forced() -> None:
    made = json.dumps([task("🦁 in the zoo", {"start": 3, "end": 5, "labels": ["X"]})])
    problems = Problems()
    for unit, text in (("auto", "n"), ("codepoint", "n"), ("utf16", "in")):
        [document] = read("label-studio", made, offset_unit=unit, problems=problems)
        assert [m.text for m in document.mentions] == [text]
    assert problems.notes == {
        "offsets read as code points, though no text is quoted that shows it": 1,
        "white space at the ends of a mention left out": 2,
    }
    with pytest.raises(CorpusError, match="the offset 1 is inside a character that takes two UTF-16 units"):
        read(
            "label-studio",
            json.dumps([task("🦁a", {"start": 1, "end": 2, "labels": ["X"]})]),
            offset_unit="utf16",
        )


def test_label_studio_quotes_may_differ_in_blanks() -> None:
    made = task("the\r\nzoo ", {"start": 0, "end": 9, "text": "the\\n\\nzoo", "labels": ["X"]})
    [document] = read("label-studio", json.dumps([made]))
    assert [m.text for m in document.mentions] == ["the\r\nzoo"]


def test_label_studio_takes_the_first_annotation_that_counts() -> None:
    one, two, three = ({"start": 0, "end": 1, "labels": [label]} for label in "ABC")
    made = task("abc", one, was_cancelled=True)
    made["annotations"] += task("abc", two)["annotations"] + task("abc", three)["annotations"]
    problems = Problems()
    [first] = read("label-studio", json.dumps([made]), problems=problems)
    assert [m.label for m in first.mentions] == ["B"] and problems.notes == {
        "cancelled annotation left out": 1,
        "annotation left out because only the first of a task is read": 1,
    }
    every = read("label-studio", json.dumps([made]), annotation="all")
    assert [[m.label for m in document.mentions] for document in every] == [["B"], ["C"]]


def test_label_studio_predictions_have_probabilities() -> None:
    made = task("abc")
    made["predictions"] = [
        {
            "score": 0.25,
            "result": task("abc", *({"start": n, "end": n + 1, "labels": ["X"]} for n in (0, 1)))["annotations"][0][
                "result"
            ],
        }
    ]
    made["predictions"][0]["result"][1]["score"] = 0.75
    [document] = read("label-studio", json.dumps([made]), results="predictions")
    assert [m.probability for m in sorted(document.mentions)] == [0.25, 0.75]
    again = written("label-studio", [document], results="predictions")
    [document] = read("label-studio", again, results="predictions")
    assert [m.probability for m in sorted(document.mentions)] == [0.25, 0.75]
    assert "annotations" not in json.loads(again)[0]


REGION = {"start": 0, "end": 1}


@pytest.mark.parametrize("score", [7.5, -0.1, 10**9])
def test_a_score_beyond_0_and_1_is_no_probability(score: float) -> None:
    with pytest.raises(CorpusError, match=f'"probability" is {float(score)}, but a number from 0 to 1 is expected'):
        read("jsonl", json.dumps({"text": "a", "mentions": [{**REGION, "label": "X", "probability": score}]}))
    made, problems = task("a", {**REGION, "labels": ["X"]}), Problems()
    made["annotations"][0]["result"][0]["score"] = score
    [document] = read("label-studio", json.dumps([made]), problems=problems)
    assert [mention.probability for mention in document.mentions] == [None]
    assert problems.notes == {NO_PROBABILITY: 1}


def test_a_probability_may_be_rounded_up() -> None:
    line = '{"text": "a", "mentions": [{"start": 0, "end": 1, "label": "X", "probability": 1.0000002}]}'
    [document] = read("jsonl", line)
    assert [mention.probability for mention in document.mentions] == [1.0000002]


def test_label_studio_json_min_and_its_names() -> None:
    made = [
        {
            "id": 9,
            "review": "the zoo",
            "ner": [{"start": 4, "end": 7, "text": "zoo", "labels": ["FAC"]}],
            "annotator": 1,
            "tags": [],
        }
    ]
    with pytest.raises(CorpusError, match='the key "text" is missing, its keys are "id", "review", "ner"'):
        read("label-studio", json.dumps(made))
    [document] = read("label-studio", json.dumps(made), text_key="review")
    assert document.metadata == {"id": 9, "annotator": 1, "tags": [], "text_key": "review", "from_name": "ner"}
    [again] = json.loads(written("label-studio", [document]))
    assert again == {
        "id": 9,
        "annotator": 1,
        "tags": [],
        "data": {"review": "the zoo"},
        "annotations": [
            {
                "result": [
                    {
                        "id": "mention-1",
                        "from_name": "ner",
                        "to_name": "text",
                        "type": "labels",
                        "value": made[0]["ner"][0],
                    }
                ]
            }
        ],
    }
    assert read("label-studio", json.dumps([again]))[0].mentions == document.mentions


def test_label_studio_writes_no_id_twice() -> None:
    found = [
        Mention(0, 1, "A", id="x"),
        Mention(0, 1, "B", id="x"),
        Mention(1, 2, "A", id="x"),
        Mention(0, 2, "A"),
        Mention(0, 2, "B", probability=0.5),
    ]
    [made] = json.loads(written("label-studio", [Document("ab", found)]))
    regions = made["annotations"][0]["result"]
    assert [(r["id"], r["value"]["labels"]) for r in regions] == [
        ("x", ["A", "B"]),
        ("mention-3", ["A"]),
        ("mention-4", ["B"]),
        ("x-5", ["A"]),
    ]


# ------------------------------------------------------------------------------------------------ what is wrong


WRONG: dict[str, dict[str, str]] = {
    "jsonl": {
        '{"text": "a", "mentions": []}\n\n{"text": 5, "mentions": []}': (
            'made:3: "text" is 5, but a string is expected; correct the record or leave it out, as hyperspan convert --on-error skip does'
        ),
        '{"text": "a", "mentoins": []}': (
            'made:1: a document has the unknown key "mentoins", did you mean "mentions"?; '
        ),
        '{"text": "a"}': 'made:1: the key "mentions" is missing, and no "format" says',
        '{"format": "other", "text": "a"}': 'made:1: "format" is "other", but "hyperspan" is expected',
        '{"format": "hyperspan", "version": 2, "text": "a"}': (
            'made:1: "version" is 2, but this hyperspan reads version 1'
        ),
        '{"text": "a", "mentions": [{"start": 0, "end": true, "label": "X"}]}': (
            'made:1: "end" is true, but an integer is expected'
        ),
        '{"text": "a", "mentions": [{"start": 0, "end": 2, "label": "X"}]}': (
            "made:1: mention 'X' at 0:2 reaches beyond the text of 1 characters"
        ),
        '{"text": "a", "mentions": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}': (
            "made:1: mention 'X' at 0:1 is 'b', but the text there reads 'a'"
        ),
        '{"text": "abc", "mentions": [{"start": 0, "end": 3, "label": "X", "fragments": [[0, 2]]}]}': (
            "made:1: mention 'X' at 0:3 has fragments ((0, 2),), but"
        ),
        '{"text": "abc", "mentions": [{"start": 0, "end": 3, "label": "X", "head": [0, 4]}]}': (
            "made:1: a head is [0, 4], but a span within the 3 characters is expected"
        ),
        '{"text": "a", "mentions": [], "sentences": [{"tokens": [[0, 2]]}]}': (
            "made:1: a token is [0, 2], but a span within the text's 1 characters"
        ),
        '{"text": "a", "mentions": [], "sentences": [{"tokens": ["a"], "tags": ["N", "N"]}]}': (
            "made:1: a sentence of 1 tokens has 2 tags"
        ),
        '{"text": "\\ud800", "mentions": []}': (
            "made:1: a record holds half of a surrogate pair, which is no character"
        ),
        '{"text": "a",\n "mentions": []\n': "made:2: a record is no JSON: it is cut off; correct the record",
        '{"text": "a", "mentions": [}': "made:1: a record is no JSON: expecting value at '}'; ",
        "the zoo\n": "made:1: the line begins with 'the zoo', but a record is a JSON object",
        '{"text": "a", "mentions": []}\n5': "made:2: the line begins with '5', but",
    },
    "w2ner": {
        "[1]": "made:1 (record 1): a record is 1, but a JSON object is expected",
        '[{"sentence": ["a"], "ner": []},\n{"sentence": ["a"], "ner": [{"index": [1, 0], "type": "X"}]}]': (
            'made:2 (record 2): "index" is [1, 0], but ascending integers are expected'
        ),
        '[{"sentence": ["a"], "ner": [{"index": [0, 1], "type": "X"}]}]': (
            "made:1 (record 1): mention 'X' at 0:2 reaches beyond its sentence of 1 tokens"
        ),
        '[{"sentence": ["a", 1], "ner": []}]': 'made:1 (record 1): "sentence" holds 1, but only strings are expected',
        '[{"sentence": [""], "ner": [{"index": [0], "type": "X"}]}]': "made:1 (record 1): mention 'X' has span 0:0",
        '[{"sentence": [], "ner": []}\n{': (
            "made:2 (record 1): '{' follows a record of the array, but a comma or ] is expected; correct it there"
        ),
        '[{"sentence": [], "ner": []}] x': "made:1 (record 1): 'x' follows the end of the array; ",
        '[{"sentence": [], "ner": []},\n\n{"sente': (
            "made:3 (record 2): a record is no JSON: it is cut off; correct it there"
        ),
        '[{"sentence": [], "ner": []}, {"sentence" []}]': (
            "made:1 (record 2): a record is no JSON: expecting ':' delimiter at '[]}]'"
        ),
        "[" + "[" * 100_000: "made:1 (record 1): a record is nested too deeply",
        "[" + "1" * 5_000 + "]": "made:1 (record 1): a record holds a number of thousands of digits",
    },
    "cnn-ner": {
        '{"tokens": ["a"], "entity_mentions": [{"start": 0, "end": 1}]}': (
            'made:1: the key "type" is missing, its keys are "start", "end"'
        ),
        '{"tokens": ["a"]}': 'made:1: the key "entity_mentions" is missing, its keys are "tokens"',
    },
    "gliner": {
        '{"tokenized_text": ["a"], "ner": [[0, 0.0, "X"]]}': (
            'made:1: an element of "ner" is [0, 0.0, "X"], but [first token, last token, label] is expected'
        ),
        '{"tokenized_text": ["a"], "ner": [[0, -1, "X"]]}': "made:1: mention 'X' has span 0:0",
    },
    "doccano": {
        '{"text": "a", "label": [[0, 1]]}': "made:1: a mention is [0, 1], but [start, end, label] is expected",
        '{"text": "a", "label": [[0, 2, "X"]]}': (
            "made:1: mention 'X' at 0:2 reaches beyond the text of 1 characters; offsets count Unicode code points"
        ),
        '{"text": "a", "label": null}': 'made:1: "label" is null, but a list is expected',
    },
    "label-studio": {
        json.dumps(
            [task("abc", {"start": 0, "end": 2, "text": "bc", "labels": ["X"]})]
        ): 'made:1 (record 1): a region at 0:2 quotes "bc", but the text there reads "ab"',
        json.dumps(
            [task("abc", {"start": "/p[1]", "end": 2, "labels": ["X"]})]
        ): 'made:1 (record 1): "start" is "/p[1]", but an integer is expected',
        json.dumps([task("abc")]).replace(
            '"result": []', '"result": [{"type": "paragraphlabels"}]'
        ): 'made:1 (record 1): a result has type "paragraphlabels", but regions of plain text',
        json.dumps(
            [{"data": {"text": "a"}, "annotations": [7]}]
        ): 'made:1 (record 1): an element of "annotations" is 7, but a JSON object is expected',
    },
}
"""By format, what is wrong in a file, and what is said of it."""


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_wrong_is_explained(name: str) -> None:
    for text, message in WRONG[name].items():
        with pytest.raises(CorpusError) as caught:
            read(name, text)
        assert str(caught.value).startswith(message)


def test_wrong_records_are_skipped_and_counted() -> None:
    good = '{"text": "a", "mentions": []}'
    text = f'{good}\n{{"text": "b", "mentions": [\n{good}\n{{"text": 1, "mentions": []}}\nnoise\nmore noise\n{good}\n{{"text": "a",\n'
    problems = Problems("skip")
    assert len(read("jsonl", text, problems=problems)) == 3
    assert [skipped.split(": ")[0] for skipped in problems.skipped] == ["made:2", "made:4", "made:5", "made:8"]
    problems = Problems("skip")
    array = '[{"sentence": [], "ner": []}, {"sentence": 1}, {"sentence": [], "ner": []}, {"sen'
    assert len(read("w2ner", array, problems=problems)) == 2
    assert [skipped.split(": ")[0] for skipped in problems.skipped] == ["made:1 (record 2)", "made:1 (record 4)"]


def test_bytes_that_are_no_text_are_explained() -> None:
    for text, place in (
        (b'{"text": "a", "mentions": []}\n{"text": "\xff"}', "made:2: is not UTF-8"),
        (b'[{}, {},\n {"text": "\xff"}]', "made:2 (record 3): "),
    ):
        with pytest.raises(CorpusError, match="not UTF-8 text") as caught:
            list(json_values.json_values(Source("made", stream=io.BytesIO(text)), Problems()))
        assert str(caught.value).startswith(place)
    source = Source("made", stream=io.BytesIO(b'[{}, {},\n {"text": "\xff"}]'))
    assert len(list(json_values.json_values(source, Problems("skip")))) == 2


@pytest.mark.parametrize("chunk", [4, 64])
@given(
    values=st.lists(st.dictionaries(st.text(characters, max_size=3), json_any, max_size=3), max_size=5), data=st.data()
)
@settings(max_examples=40)
def test_any_layout_gives_the_same_values(chunk: int, values: list[Any], data: st.DataObject) -> None:
    """Arrays and objects, compact and indented, whatever is read at a time."""
    indent, ascii_only = data.draw(st.sampled_from([None, 1, 4])), data.draw(st.booleans())
    dump = lambda value: json.dumps(value, indent=indent, ensure_ascii=ascii_only)  # noqa: E731
    between = data.draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    texts = [
        dump(values),
        f" \n{dump(values)}\n ",
        between.join(map(dump, values)),
        "\ufeff" + between.join(map(dump, values)) + "\n",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_values, "CHUNK", chunk)
        for text in texts:
            found = json_values.json_values(Source("made", stream=io.BytesIO(text.encode())), Problems())
            assert [value for _, value in found] == values


def test_what_json_cannot_hold_is_refused() -> None:
    for document in (
        document_of([Sentence(["\ud800"])]),
        Document("a", metadata={"a": {1}}),
        Document("a", metadata={"a": float("nan")}),
    ):
        for name in SAMPLES:
            with pytest.raises(InputError, match="holds what JSON cannot"):
                written(name, [document])


def test_nan_is_read_as_null() -> None:
    problems = Problems()
    [document] = read("doccano", '{"text": "a", "label": [], "meta": NaN}', problems=problems)
    assert document.metadata == {"meta": None} and problems.notes == {"NaN read as null": 1}


# -------------------------------------------------------------------------------------------------------- fuzz


@pytest.mark.parametrize("name", ["w2ner", "cnn-ner", "gliner"])
def test_token_json_refuses_mentions_of_empty_tokens(name: str, tmp_path: Path) -> None:
    sentence = Sentence(["the", ""], [Mention(1, 2, "L")], offsets=[(0, 3), (4, 4)])
    document = Document("the zoo", [Mention(4, 7, "L")], [sentence])
    with pytest.raises(LossError, match="1 of empty tokens"):
        write_corpus([document], tmp_path / "made.json", name)
    assert not list(tmp_path.iterdir())
