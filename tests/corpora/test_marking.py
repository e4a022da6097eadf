"""Partial annotation in brat and Label Studio: what people type there, round trips, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import AnnotationScope, Document, Mention, read_corpus, write_corpus
from hyperspan.corpora.documents import trimmed, with_sentences
from hyperspan.corpora.marking import normal_scope
from hyperspan.corpora.source import Problems
from hyperspan.errors import CorpusError, InputError, LossError
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED

TEXT = "Ada left the\nSeattle zoo. It rained.\n"
MARKED = Document(
    TEXT,
    [Mention(13, 20, "GPE")],
    annotated=AnnotationScope(["GPE", "PER"], [(0, 25)]),
    forbidden=[Mention(0, 3, "GPE"), Mention(26, 28, ANY_LABEL)],
    id="zoo",
)
LINES = """T1	GPE 13 20	Seattle
A7	Forbidden T3
T3	GPE 0 3	Ada
T4	NO_MENTION 26 28	It
T5	ANNOTATED 0 12;13 25	Ada left the Seattle zoo.
#1	AnnotatorNotes T5	types = PER, GPE
#2	AnnotatorNotes T3	she is a person
"""


def brat(folder: Path, lines: str, text: str = TEXT, **options: Any) -> Document:
    (folder / "zoo.txt").write_text(text, encoding="utf-8")
    (folder / "zoo.ann").write_text(lines, encoding="utf-8")
    (document,) = read_corpus(folder / "zoo.ann", **options)
    return document


def region(start: int, end: int, *labels: str, note: str = "") -> dict[str, Any]:
    value = {"start": start, "end": end, "text": TEXT[start:end], "labels": labels}
    found = {"id": f"r{start}", "from_name": "label", "to_name": "text", "type": "labels", "value": value}
    return found | ({"meta": {"text": [note]}} if note else {})


def chosen(*names: str) -> dict[str, Any]:
    return {"from_name": "annotated_types", "to_name": "text", "type": "choices", "value": {"choices": names}}


def label_studio(folder: Path, *results: dict[str, Any], **options: Any) -> Document:
    task = {"data": {"text": TEXT, "document_id": "zoo"}, "annotations": [{"result": results}]}
    (folder / "zoo.json").write_text(json.dumps([task]), encoding="utf-8")
    (document,) = read_corpus(folder / "zoo.json", "label-studio", **options)
    return document


def same(one: Document, other: Document) -> bool:
    """Whether two documents say the same, each scope in its normal form."""
    scopes = [normal_scope(document.annotated, document.text) for document in (one, other)]
    return (one.text, one.mentions, one.forbidden, scopes[0]) == (
        other.text,
        other.mentions,
        other.forbidden,
        scopes[1],
    )


def test_what_people_type_in_brat(tmp_path: Path) -> None:
    document = brat(tmp_path, LINES)
    assert same(document, MARKED)
    write_corpus([document], tmp_path / "out", "brat")
    assert (tmp_path / "out/zoo.ann").read_text().splitlines() == [
        "T1\tGPE 13 20\tSeattle",
        "T3\tGPE 0 3\tAda",
        "T4\tNO_MENTION 26 28\tIt",
        "#2\tAnnotatorNotes T3\tshe is a person",
        "T2\tANNOTATED 0 25\tAda left the Seattle zoo.",
        "A1\tForbidden T3",
        "#1\tAnnotatorNotes T2\ttypes=GPE,PER",
    ]
    sure = brat(tmp_path, "T1\tGPE 13 20\tSeattle\nT2\tONLY_SURE 0 3\tAda\n")
    assert sure.annotated == NOTHING_ANNOTATED and len(sure.mentions) == 1
    apart = brat(tmp_path, "T1\tANNOTATED 0 3;13 25\tAda Seattle zoo.\nA1\tForbidden T1\n")
    assert apart.annotated == AnnotationScope(None, [(0, 3), (13, 25)]) and not apart.forbidden


def test_what_people_choose_in_label_studio(tmp_path: Path) -> None:
    results = [
        region(13, 20, "GPE"),
        region(0, 3, "GPE", note="forbidden"),
        region(26, 28, "NO_MENTION"),
        region(0, 25, "ANNOTATED"),
    ]
    document = label_studio(tmp_path, *results, chosen("PER", "GPE"))
    assert same(document, MARKED)
    assert label_studio(tmp_path, chosen("PER")).annotated == AnnotationScope(["PER"])
    assert label_studio(tmp_path, chosen("ONLY_SURE")).annotated == NOTHING_ANNOTATED
    write_corpus([document], tmp_path / "out.json", "label-studio")
    (task,) = json.loads((tmp_path / "out.json").read_text())
    written = task["annotations"][0]["result"]
    assert [one["id"] for one in written] == ["r13", "r0", "r26", "mark-1", "mark-2"]
    assert written[1]["meta"] == {"text": ["forbidden"]} and written[4]["value"] == {"choices": ["GPE", "PER"]}


def test_corpora_that_use_the_labels_can_say_so(tmp_path: Path) -> None:
    plain = brat(tmp_path, LINES, marks=False)
    assert len(plain.mentions) == 4 and not plain.is_partial
    assert label_studio(tmp_path, region(0, 3, "ANNOTATED"), chosen("x"), marks=False).mentions
    with pytest.raises(InputError, match=r"a mention of the label '\w+', which marks .* --write-option marks=false"):
        write_corpus([plain], tmp_path / "out", "brat")
    write_corpus([plain], tmp_path / "out", "brat", marks=False)
    assert sorted((tmp_path / "out/zoo.ann").read_text().splitlines()) == sorted(LINES.splitlines())
    renamed = brat(tmp_path, "T1\tDone 0 25\tAda left the Seattle zoo.\n", marks="Done,None,Sure")
    assert renamed.annotated == AnnotationScope(None, [(0, 25)])
    with pytest.raises(InputError, match=r"marks is 'Done', but must be false, or three other labels for ANNOTATED,"):
        brat(tmp_path, "", marks="Done")
    with pytest.raises(LossError, match="brat cannot say that annotation is partial"):
        write_corpus([MARKED], tmp_path / "refused", "brat", marks=False)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("T1\tGPE 0 3\tAda\nT2\tGPE 0 3\tAda\nA1\tForbidden T2\n", ":2: T2 is no mention, but one is listed"),
        ("T1\tNO_MENTION 0 3\tAda\nT2\tGPE 0 3\tAda\n", ":1: T1 is no mention, but one is listed"),
        (
            "T1\tANNOTATED 0 3\tAda\nT2\tANNOTATED 4 8\tleft\n#1\tAnnotatorNotes T2\ttypes=PER\n",
            ":2: the region T2 is annotated with types=PER, but an earlier one with all types; give all regions",
        ),
    ],
)
def test_contradictions_in_brat_are_explained(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(message)):
        brat(tmp_path, lines)
    brat(tmp_path, lines, problems=Problems("skip"))


def test_contradictions_in_label_studio_are_explained(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="ONLY_SURE and types, but only one of the two"):
        label_studio(tmp_path, chosen("ONLY_SURE", "PER"))
    with pytest.raises(CorpusError, match="'GPE' at 0:3 is both a mention and forbidden"):
        label_studio(tmp_path, region(0, 3, "GPE"), region(0, 3, "GPE", note="forbidden"))


LABELS = ("PER", "GPE:Nation", "Größe")


@st.composite
def marked_documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=30))
    spans = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda span: span[0] < span[1])
    labelled = st.builds(
        lambda span, label: Mention(span[0], span[1], label), spans, st.sampled_from((*LABELS, ANY_LABEL))
    )
    found = trimmed(draw(st.lists(labelled, max_size=8)), text, Problems())
    split = draw(st.integers(0, 8))
    mentions = [mention for mention in found[:split] if mention.label != ANY_LABEL]
    plain = Document(text, mentions, forbidden=[])
    forbidden = [
        mention
        for mention in found[split:]
        if mention not in plain.mentions
        and (mention.label != ANY_LABEL or all(mention.span != other.span for other in mentions))
    ]
    types = draw(st.none() | st.sets(st.sampled_from(LABELS)))
    regions = draw(st.none() | st.lists(spans, max_size=3))
    return evolve(plain, forbidden=forbidden, annotated=draw(st.none() | st.just(AnnotationScope(types, regions))))


@pytest.mark.parametrize("name", ["brat", "label-studio"])
@settings(max_examples=60, deadline=None)
@given(document=marked_documents())
def test_marked_documents_come_back(tmp_path_factory: pytest.TempPathFactory, name: str, document: Document) -> None:
    target = tmp_path_factory.mktemp("marked") / "out"
    write_corpus([document], target, name)
    (again,) = read_corpus(target, name)
    assert same(again, document)


def test_marks_of_sentences_become_those_of_the_document(tmp_path: Path) -> None:
    """As `hyperspan label` writes them: some sentences are done, of others a mention is sure or forbidden."""
    cut = with_sentences(Document(TEXT.replace("\n", " "), [Mention(13, 20, "GPE")]), Problems())
    done = evolve(cut.sentences[0], annotated=AnnotationScope(["GPE"]))
    other = evolve(cut.sentences[1], annotated=NOTHING_ANNOTATED, forbidden=[Mention(0, 1, "GPE")])
    document = evolve(cut, sentences=[done, other])
    for number, name in enumerate(("brat", "label-studio")):
        write_corpus([document], tmp_path / f"out{number}", name)
        (again,) = read_corpus(tmp_path / f"out{number}", name)
        back = with_sentences(again, Problems())
        assert again.annotated == AnnotationScope(["GPE"], [(0, 25)])
        assert [s.forbidden for s in back.sentences] == [frozenset(), {Mention(0, 1, "GPE")}]
        assert [s.annotated and s.annotated.is_empty for s in back.sentences] == [False, True]
        differing = evolve(cut, sentences=[done, evolve(other, annotated=AnnotationScope(["PER"]))])
        with pytest.raises(LossError, match=f"{name} cannot say .*its sentences differ in the types .*choose jsonl"):
            write_corpus([differing], tmp_path / "refused", name)
        losses = write_corpus([differing], tmp_path / f"lossy{number}", name, lossy="outermost")
        assert losses.marking_lost == 1 and not next(iter(read_corpus(tmp_path / f"lossy{number}", name))).is_partial
    everywhere = evolve(cut, sentences=[evolve(s, annotated=AnnotationScope(["GPE"])) for s in cut.sentences])
    write_corpus([everywhere], tmp_path / "all", "brat")
    (again,) = read_corpus(tmp_path / "all")
    assert again.annotated == AnnotationScope(["GPE"])


@pytest.mark.parametrize(
    ("name", "marking", "reason"),
    [
        ("brat", {"annotated": AnnotationScope(["a,b"])}, "holds white space or a comma"),
        ("brat", {"forbidden": [Mention(0, 3, "a b")]}, "a label that is empty or holds white space"),
        ("brat", {"forbidden": [Mention(0, 3, "ANNOTATED")]}, "one of the labels ANNOTATED, NO_MENTION, ONLY_SURE"),
        ("label-studio", {"forbidden": [Mention(0, 8, "X", ((0, 3), (4, 8)))]}, "a forbidden mention is discontinuous"),
    ],
)
def test_what_cannot_be_said_is_refused(tmp_path: Path, name: str, marking: dict[str, Any], reason: str) -> None:
    with pytest.raises(LossError, match=reason):
        write_corpus([Document(TEXT, **marking)], tmp_path / "out", name)
    assert not list(tmp_path.iterdir())
