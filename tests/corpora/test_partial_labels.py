"""Partial annotation spelled in labels: what each label says, round trips, and what labels cannot express."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import AnnotationScope, Document, Mention, read_corpus, write_corpus
from hyperspan.corpora import FORMATS
from hyperspan.corpora.documents import trimmed, with_sentences
from hyperspan.corpora.partial import marks_read, normal_scope
from hyperspan.corpora.source import Problems, WrongRecordError
from hyperspan.errors import CorpusError, InputError, LossError
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED

TEXT = "Ada left the\nSeattle zoo. It rained.\n"
SEATTLE = Mention(13, 20, "GPE")
FIRST, SECOND = (0, 25), (26, 36)
MARKED = Document(
    TEXT,
    [SEATTLE],
    annotated=AnnotationScope(["GPE", "PER"], [FIRST]),
    forbidden=[Mention(0, 3, "GPE"), Mention(26, 28, ANY_LABEL)],
    id="zoo",
)
IN_LABELS = [name for name, entry in FORMATS.built_in.items() if entry.partial == "labels"]
SAID: list[tuple[list[tuple[int, int, str]], AnnotationScope | None]] = [
    ([], None),
    ([(*FIRST, "ANNOTATED")], AnnotationScope(None, [FIRST])),
    ([(*FIRST, "ANNOTATED"), (*SECOND, "ANNOTATED")], AnnotationScope(None, [FIRST, SECOND])),
    ([(0, 36, "ANNOTATED")], None),
    ([(0, 36, "ANNOTATED_GPE")], AnnotationScope(["GPE"])),
    ([(*FIRST, "ANNOTATED_GPE"), (*FIRST, "ANNOTATED_PER")], AnnotationScope(["GPE", "PER"], [FIRST])),
    ([(*FIRST, "ANNOTATED"), (*FIRST, "ANNOTATED_PER")], AnnotationScope(None, [FIRST])),
    ([(4, 8, "ONLY_SURE")], NOTHING_ANNOTATED),
    ([(4, 8, "ONLY_SURE"), (*FIRST, "ANNOTATED")], AnnotationScope(None, [FIRST])),
]
"""Marks, and the scope that they give a document."""


def same(one: Document, other: Document) -> bool:
    """Whether two documents say the same, each scope in its normal form."""
    says = [
        (each.text, each.mentions, each.forbidden, normal_scope(each.annotated, each.text)) for each in (one, other)
    ]
    return says[0] == says[1]


@pytest.mark.parametrize(("marks", "scope"), SAID)
def test_labels_give_a_scope(marks: list[tuple[int, int, str]], scope: AnnotationScope | None) -> None:
    document = marks_read(Document(TEXT, [SEATTLE, *(Mention(*mark) for mark in marks)]))
    assert (document.mentions, document.annotated, document.forbidden) == ({SEATTLE}, scope, frozenset())


def test_labels_forbid_spans_with_their_ids_and_parts() -> None:
    apart = ((0, 3), (13, 20))
    marks = [Mention(0, 20, "NO_MENTION_GPE", apart, id="T7"), Mention(26, 28, "NO_MENTION")]
    document = marks_read(Document(TEXT, marks))
    assert document.forbidden == {Mention(0, 20, "GPE", apart), Mention(26, 28, ANY_LABEL)}
    assert {mention.id for mention in document.forbidden} == {"T7", ""} and not document.mentions
    cut = with_sentences(Document("Ada left.", [Mention(0, 3, "NO_MENTION_GPE")]), Problems())
    assert not marks_read(cut).sentences[0].mentions


def test_regions_that_differ_between_types_are_explained() -> None:
    marks = [Mention(0, 25, "ANNOTATED_GPE"), Mention(26, 36, "ANNOTATED_PER")]
    with pytest.raises(WrongRecordError, match="different regions ANNOTATED_GPE and ANNOTATED_PER, but a document has"):
        marks_read(Document(TEXT, marks))


def brat(folder: Path, lines: str, **options: Any) -> Document:
    (folder / "zoo.txt").write_text(TEXT, encoding="utf-8")
    (folder / "zoo.ann").write_text(lines, encoding="utf-8")
    (document,) = read_corpus(folder / "zoo.ann", **options)
    return document


LINES = """T1	NO_MENTION_GPE 0 3	Ada
T2	ANNOTATED_GPE 0 25	Ada left the Seattle zoo.
T3	ANNOTATED_PER 0 25	Ada left the Seattle zoo.
T4	GPE 13 20	Seattle
T5	NO_MENTION 26 28	It
#1	AnnotatorNotes T1	she is a person
"""


def test_what_people_annotate_in_brat(tmp_path: Path) -> None:
    document = brat(tmp_path, LINES)
    assert same(document, MARKED)
    assert same(brat(tmp_path, LINES.replace("GPE 0 25", "GPE 0 12;13 25")), MARKED), "brat cuts it at the line break"
    write_corpus([document], tmp_path / "out", "brat")
    lines = (tmp_path / "out/zoo.ann").read_text().splitlines()
    assert {line.split("\t", 1)[1] for line in lines} == {line.split("\t", 1)[1] for line in LINES.splitlines()}
    assert "T1\tNO_MENTION_GPE 0 3\tAda" in lines


def test_corpora_that_use_the_labels_can_say_so(tmp_path: Path) -> None:
    plain = brat(tmp_path, LINES, marks=False)
    assert len(plain.mentions) == 5 and not plain.is_partial
    with pytest.raises(InputError, match=r"a mention of the label '\w+', which marks .* --write-option marks=false"):
        write_corpus([plain], tmp_path / "out", "brat")
    write_corpus([plain], tmp_path / "out", "brat", marks=False)
    (again,) = read_corpus(tmp_path / "out", marks=False)
    assert again == plain
    with pytest.raises(LossError, match="brat cannot say that annotation is partial"):
        write_corpus([MARKED], tmp_path / "refused", "brat", marks=False)


def test_a_contradiction_names_the_document(tmp_path: Path) -> None:
    lines = "T1\tGPE 0 3\tAda\nT2\tNO_MENTION 0 3\tAda\n"
    with pytest.raises(CorpusError, match=r"zoo\.ann:document 'zoo': 'GPE' at 0:3 is both a mention and forbidden"):
        brat(tmp_path, lines)
    problems = Problems("skip")
    (tmp_path / "zoo.ann").write_text(lines)
    assert not list(read_corpus(tmp_path / "zoo.ann", problems=problems)) and len(problems.skipped) == 1


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


@pytest.mark.parametrize("name", IN_LABELS)
@settings(max_examples=60, deadline=None)
@given(document=marked_documents())
def test_marked_documents_come_back(tmp_path_factory: pytest.TempPathFactory, name: str, document: Document) -> None:
    target = tmp_path_factory.mktemp("marked") / "out"
    write_corpus([document], target, name)
    (again,) = read_corpus(target, name)
    assert same(again, document)


@pytest.mark.parametrize("name", IN_LABELS)
def test_marks_of_sentences_become_those_of_the_document(name: str, tmp_path: Path) -> None:
    """As `hyperspan label` writes them: some sentences are done, of others a mention is sure or forbidden."""
    cut = with_sentences(Document(TEXT.replace("\n", " "), [SEATTLE]), Problems())
    done = evolve(cut.sentences[0], annotated=AnnotationScope(["GPE"]))
    other = evolve(cut.sentences[1], annotated=NOTHING_ANNOTATED, forbidden=[Mention(0, 1, "GPE")])

    def read_again(document: Document, **options: Any) -> Document:
        write_corpus([document], tmp_path / "out", name, force=True, **options)
        (again,) = read_corpus(tmp_path / "out", name)
        return again

    again = read_again(evolve(cut, sentences=[done, other]))
    back = with_sentences(again, Problems())
    assert again.annotated == AnnotationScope(["GPE"], [FIRST])
    assert [s.forbidden for s in back.sentences] == [frozenset(), {Mention(0, 1, "GPE")}]
    assert [s.annotated and s.annotated.is_empty for s in back.sentences] == [False, True]
    differing = evolve(cut, sentences=[done, evolve(other, annotated=AnnotationScope(["PER"]))])
    with pytest.raises(LossError, match=f"{name} cannot say .*its sentences differ in the types .*choose jsonl"):
        write_corpus([differing], tmp_path / "refused", name)
    assert not read_again(differing, lossy="outermost").is_partial
    everywhere = evolve(cut, sentences=[evolve(s, annotated=AnnotationScope(["GPE"])) for s in cut.sentences])
    assert read_again(everywhere).annotated == AnnotationScope(["GPE"])


@pytest.mark.parametrize(
    ("name", "marking", "reason"),
    [
        ("brat", {"annotated": AnnotationScope(["a b"])}, "'ANNOTATED_a b' would be a mark with a label that is empty"),
        ("brat", {"forbidden": [Mention(0, 3, "a b")]}, "'NO_MENTION_a b' would be a mark with a label that is empty"),
        ("brat", {"forbidden": [Mention(0, 3, "ANNOTATED")]}, "has the label 'ANNOTATED', which is a mark"),
        ("doccano", {"forbidden": [Mention(0, 8, "X", ((0, 3), (4, 8)))]}, "'NO_MENTION_X' would be a mark discontin"),
    ],
)
def test_what_labels_cannot_express_is_refused(tmp_path: Path, name: str, marking: dict[str, Any], reason: str) -> None:
    with pytest.raises(LossError, match=reason):
        write_corpus([Document(TEXT, **marking)], tmp_path / "out", name)
    assert not list(tmp_path.iterdir())
