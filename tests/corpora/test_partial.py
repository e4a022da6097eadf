"""Partial annotation in files: what JSON Lines carries, how it gets to sentences, and what other formats lose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

import hyperspan.corpora.jsonl as jsonl
from hyperspan import AnnotationScope, Document, Mention, Sentence, read_corpus, write_corpus
from hyperspan.corpora.documents import FORBIDDEN_OUTSIDE, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.corpora.splits import sentence_documents
from hyperspan.errors import CorpusError, LossError, SpanError
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED

TEXT = "The Seattle zoo sleeps. Ada left it."
MARKED = Document(
    TEXT,
    [Mention(4, 11, "GPE")],
    annotated=AnnotationScope(["GPE"], [(0, 15)]),
    forbidden=[Mention(24, 27, "GPE"), Mention(33, 35, ANY_LABEL)],
)
SCHEMA = Path(jsonl.__file__).with_name("jsonl.schema.json")


def test_jsonl_keeps_marking_of_documents_and_sentences(tmp_path: Path) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(json.loads(SCHEMA.read_text()))
    cut = with_sentences(MARKED, Problems())
    own = [evolve(cut.sentences[0], annotated=AnnotationScope()), evolve(cut.sentences[1], annotated=NOTHING_ANNOTATED)]
    given = [MARKED, cut, evolve(cut, sentences=own), Document("a")]
    write_corpus(given, tmp_path / "marked.jsonl")
    assert list(read_corpus(tmp_path / "marked.jsonl")) == given
    lines = [json.loads(line) for line in (tmp_path / "marked.jsonl").read_text().splitlines()]
    for line in lines:
        validator.validate(line)
    assert lines[0]["annotated"] == {"types": ["GPE"], "regions": [[0, 15]]}
    assert lines[0]["forbidden"][1] == {"start": 33, "end": 35, "text": "it"}
    assert [sentence["annotated"] for sentence in lines[2]["sentences"]] == [{}, {"types": []}]
    assert not {"annotated", "forbidden"} & lines[3].keys()
    wrong = {"annotated": {"types": "GPE"}, "regions": [[0, 1]]}
    assert {error.json_path for error in validator.iter_errors(lines[0] | wrong)} == {"$", "$.annotated.types"}


def test_sentences_take_the_scope_of_their_document_in_tokens() -> None:
    problems = Problems()
    zoo, ada = with_sentences(MARKED, problems).sentences
    assert zoo.annotated == AnnotationScope(["GPE"], [(0, 3)]) and not zoo.forbidden
    assert ada.annotated == AnnotationScope(["GPE"], [])
    assert ada.forbidden == {Mention(0, 1, "GPE"), Mention(2, 3, ANY_LABEL)}
    whole = evolve(MARKED, annotated=AnnotationScope(None, [(0, 23), (26, 36)]), forbidden=[Mention(5, 11, "GPE")])
    zoo, ada = with_sentences(whole, problems).sentences
    assert zoo.annotated == AnnotationScope() and ada.annotated == AnnotationScope(None, [(1, 4)])
    assert problems.notes == {FORBIDDEN_OUTSIDE: 1}
    again = with_sentences(with_sentences(MARKED, problems), problems)
    assert again == with_sentences(MARKED, problems)
    apart = sentence_documents(MARKED, problems)
    assert [part.annotated for part in apart] == [AnnotationScope(["GPE"], [(0, 15)]), AnnotationScope(["GPE"], [])]
    assert {(m.start, m.text) for m in apart[1].forbidden} == {(0, "Ada"), (9, "it")}


def test_what_is_known_follows_from_scope_and_forbidden_spans() -> None:
    words = Sentence(
        ["a", "b", "c"],
        [Mention(0, 3, "X")],
        annotated=AnnotationScope(["Y"], [(0, 2)]),
        forbidden=[Mention(2, 3, ANY_LABEL), Mention(1, 3, "X")],
    )
    known = {
        (start, end, label)
        for start in range(3)
        for end in range(start + 1, 4)
        for label in "XY"
        if words.knows(Mention(start, end, label))
    }
    assert known == {(0, 3, "X"), (0, 1, "Y"), (0, 2, "Y"), (1, 2, "Y"), (2, 3, "X"), (2, 3, "Y"), (1, 3, "X")}
    assert words.is_partial and not Sentence(["a"], annotated=AnnotationScope()).is_partial


@pytest.mark.parametrize(
    ("marking", "message"),
    [
        ('"annotated": ["GPE"]', r'"annotated" is a list of 1, but an object with "types" and "regions" is expected'),
        ('"annotated": {"type": ["GPE"]}', r'unknown key "type", did you mean "types"'),
        (
            '"annotated": {"regions": [[0, 99]]}',
            r"an annotated region is \[0, 99\], but a span within the 7 characters",
        ),
        ('"forbidden": [{"start": 0, "end": 9}]', r"reaches beyond the text of 7 characters"),
        ('"forbidden": [{"start": 4, "end": 7}]', r"'FAC' at 4:7 is both a mention and forbidden; remove one"),
    ],
)
def test_wrong_marking_is_explained(tmp_path: Path, marking: str, message: str) -> None:
    line = f'{{"text": "the zoo", "mentions": [{{"start": 4, "end": 7, "label": "FAC"}}], {marking}}}'
    (tmp_path / "wrong.jsonl").write_text(line)
    with pytest.raises(CorpusError, match=message):
        list(read_corpus(tmp_path / "wrong.jsonl"))


def test_a_region_beyond_a_sentence_is_an_error() -> None:
    with pytest.raises(SpanError, match="0:2 is annotated or forbidden, but reaches beyond the 1 tokens"):
        Sentence(["a"], annotated=AnnotationScope(regions=[(0, 2)]))


def test_formats_that_cannot_hold_marking_refuse_it(tmp_path: Path) -> None:
    with pytest.raises(LossError, match=r"conll2003 cannot say that annotation is partial.*choose jsonl.*--lossy"):
        write_corpus([MARKED], tmp_path / "zoo.conll")
    assert not list(tmp_path.iterdir())
    losses = write_corpus([MARKED, Document("a b")], tmp_path / "zoo.conll", lossy="outermost")
    assert (losses.marking_lost, losses.lost) == (1, {})
