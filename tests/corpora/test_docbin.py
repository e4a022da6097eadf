"""spaCy's DocBin; all but the first test need spaCy."""

from __future__ import annotations

import importlib
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import Document, Mention, Sentence
from hyperspan.corpora import docbin, token_json
from hyperspan.corpora.documents import document_of, trimmed
from hyperspan.corpora.json_records import NO_PROBABILITY
from hyperspan.corpora.source import Problems, Source
from hyperspan.errors import CorpusError, InputError, MissingExtraError
from hyperspan.training.data import read_sentences
from tests.support.data import ALL, data_path
from tests.support.formats import read as read_as
from tests.support.formats import written as written_as

read = partial(read_as, "docbin", place="made.spacy")
written = partial(written_as, "docbin")


def docs_in(data: bytes) -> list[Any]:
    vocab = importlib.import_module("spacy.vocab").Vocab()
    return list(importlib.import_module("spacy.tokens").DocBin().from_bytes(data).get_docs(vocab))


def bytes_of(*docs: Any) -> bytes:
    return importlib.import_module("spacy.tokens").DocBin(docs=docs).to_bytes()


def made_doc(words: list[str], spaces: list[bool], **options: Any) -> Any:
    vocab = importlib.import_module("spacy.vocab").Vocab()
    return importlib.import_module("spacy.tokens").Doc(vocab, words=words, spaces=spaces, **options)


@pytest.fixture(scope="module")
def spacy() -> Any:
    return pytest.importorskip("spacy")


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "spacy.tokens", None)
    with pytest.raises(MissingExtraError, match=r"reading spaCy's DocBin needs the extra `spacy`"):
        read(b"")
    with pytest.raises(MissingExtraError, match=r"writing spaCy's DocBin needs the extra `spacy`"):
        written([])
    assert not docbin.looks_like_docbin("x")


@given(text=st.text(st.sampled_from("ab.🦁 \n\t\u00a0\u3000"), max_size=12), data=st.data())
@settings(max_examples=100)
def test_text_and_offsets_are_exact(spacy: Any, text: str, data: st.DataObject) -> None:
    """Whatever blanks there are, and though mentions begin and end in the middle of words or of blanks."""
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    tokens = list(zip(places[::2], places[1::2], strict=False))
    found = []
    for _ in range(data.draw(st.integers(0, 3)) if text else 0):
        start = data.draw(st.integers(0, len(text) - 1))
        found.append(Mention(start, data.draw(st.integers(start + 1, len(text))), "X"))
    sentence = Sentence([text[start:end] for start, end in tokens], offsets=tokens)
    document = Document(text, found, [sentence])
    bytes_written = written([document])
    [doc] = docs_in(bytes_written)
    assert doc.text == text
    assert {(span.start_char, span.end_char) for span in doc.spans["sc"]} == {mention.span for mention in found}
    [again] = read(bytes_written)
    assert again.text == text
    assert set(trimmed(again.mentions, text, Problems())) == set(trimmed(document.mentions, text, Problems()))
    assert all(text[a:b] == token for s in again.sentences for token, (a, b) in zip(s.tokens, s.offsets, strict=True))


def test_plain_text_is_split(spacy: Any) -> None:
    document = Document("Dr. Grey met Lee.  Why?\n", [Mention(4, 8, "PER")], id="x")
    [again] = read(written([document]))
    assert (again.text, again.mentions, again.id) == (document.text, document.mentions, "x")
    assert [sentence.tokens[:2] for sentence in again.sentences] == [("Dr.", "Grey"), ("Why", "?")]
    unplaced = Document("the zoo", [Mention(4, 7, "FAC")], [Sentence(["the", "zoo"])])
    assert read(written([unplaced]))[0].mentions == unplaced.mentions


def test_spacys_tokens_come_back(spacy: Any) -> None:
    pipeline = spacy.blank("en")
    docs = [pipeline(text) for text in ["Dr. Grey  met\n\nLee.  \tDon't! \n 🦁 ", " leading", "a\u00a0b\u3000c  ", ""]]
    for doc in docs:
        doc.spans["sc"] = [doc[:2], doc[1:]] if len(doc) > 2 else []
    again = docs_in(written(read(bytes_of(*docs))))
    for before, after in zip(docs, again, strict=True):
        assert [token.text_with_ws for token in before] == [token.text_with_ws for token in after]
        assert {s.text.strip() for s in before.spans["sc"]} == {s.text for s in after.spans["sc"]}
        assert len(list(after.sents)) == bool(len(after))


def test_groups_are_read_together_or_one_by_one(spacy: Any) -> None:
    doc = made_doc(["the", "Seattle", "zoo"], [True, True, False])
    doc.spans["a"] = [doc.char_span(0, 15, "FAC")]
    doc.spans["b"] = [doc.char_span(4, 11, "GPE")]
    problems = Problems()
    [both] = read(bytes_of(doc), problems=problems)
    assert {(m.text, m.label) for m in both.mentions} == {("the Seattle zoo", "FAC"), ("Seattle", "GPE")}
    assert problems.notes == {
        "span groups a, b read together": 1,
        "document without sentence boundaries split into sentences": 1,
    }
    [one] = read(bytes_of(doc), spans_key="b")
    assert [m.label for m in one.mentions] == ["GPE"] and one.metadata == {"spans_key": "b"}
    assert list(docs_in(written([one]))[0].spans) == ["b"]
    assert list(docs_in(written([one], spans_key="c"))[0].spans) == ["c"]
    assert read(bytes_of(doc), spans_key="none")[0].mentions == frozenset()


def test_entities_are_read_where_there_is_no_group(spacy: Any) -> None:
    doc = made_doc(["the", "zoo"], [True, False], ents=["O", "B-FAC"], sent_starts=[True, False])
    problems = Problems()
    [document] = read(bytes_of(doc), problems=problems)
    assert {(m.text, m.label) for m in document.mentions} == {("zoo", "FAC")}
    assert problems.notes == {"mentions read from doc.ents, as there is no span group": 1}


def test_sentences_are_joined_where_a_span_crosses_them(spacy: Any) -> None:
    doc = made_doc(["a", "b", "\n", "c"], [True, False, False, False], sent_starts=[True, False, False, True])
    doc.spans["sc"] = [doc[1:4]]
    problems = Problems()
    [document] = read(bytes_of(doc), problems=problems)
    [sentence] = document.sentences
    assert sentence.tokens == ("a", "b", "c") and sentence.mentions == {Mention(1, 3, "")}
    assert problems.notes == {"sentences joined because a mention crosses them": 1}


def test_training_reads_sentences_of_spacys_tokens_with_all_overlaps(spacy: Any, tmp_path: Path) -> None:
    """Though the documents have no sentence boundaries, and a span crosses one that we would set."""
    tokens = importlib.import_module("spacy.tokens")
    doc = spacy.blank("en")("The IL-2;IL-4 gene slept. Ada did not.  So what? \n Nothing.")
    spans = [(0, 3, "DNA"), (1, 3, "DNA"), (1, 2, "P"), (1, 2, "Q"), (5, 6, "PER"), (7, 12, "X")]
    doc.spans["sc"] = [tokens.Span(doc, *span) for span in spans]
    tokens.DocBin(docs=[doc]).to_disk(tmp_path / "train.spacy")
    problems = Problems()
    first, second, third = read_sentences(str(tmp_path / "train.spacy"), problems=problems)
    assert first.tokens == ("The", "IL-2;IL-4", "gene", "slept", ".")
    assert first.mentions == {Mention(0, 3, "DNA"), Mention(1, 3, "DNA"), Mention(1, 2, "P"), Mention(1, 2, "Q")}
    assert second.tokens == ("Ada", "did", "not", ".", "So", "what", "?")
    assert second.mentions == {Mention(0, 1, "PER"), Mention(2, 6, "X")} and third.tokens == ("Nothing", ".")
    assert problems.notes == {
        "document without sentence boundaries split into sentences": 1,
        "sentences joined because a mention crosses them": 1,
    }


def test_empty_spans_are_wrong(spacy: Any) -> None:
    doc = made_doc(["a", "b"], [True, False])
    doc.spans["sc"] = [doc[1:1]]
    with pytest.raises(CorpusError, match=r"made.spacy:document 1: mention '' has span 2:2, but"):
        read(bytes_of(doc))
    problems = Problems("skip")
    assert read(bytes_of(doc), problems=problems) == [] and len(problems.skipped) == 1


def test_discontinuous_mentions_are_spans_whose_group_has_their_parts(spacy: Any) -> None:
    """Three with the same first and last token, and one over blanks that are tokens of spaCy's."""
    parts = [((0, 1), (8, 9)), ((0, 3), (8, 9)), ((0, 1), (4, 5), (8, 9))]
    text = "a b c d e\n\n f  g  h."
    first = Document(text, [*(Mention(0, 9, "X", given) for given in parts), Mention(2, 3, "Y")])
    second = Document(text, [Mention(12, 19, "X", ((12, 13), (18, 19)), probability=0.25)])
    assert [document.mentions for document in read(written([first, second]))] == [first.mentions, second.mentions]
    [doc, _] = docs_in(written([first, second]))
    assert len(doc.spans["sc"].attrs["fragments"]) == 4 and doc.spans["sc"].attrs["fragments"].count([]) == 1
    for wrong in ("none", [[]], [[[0, 1]], [[0, "1"]], [], []]):  # of another program: spans stay
        doc.spans["sc"].attrs["fragments"] = wrong
        assert {mention.span for mention in read(bytes_of(doc))[0].mentions} == {(0, 9), (2, 3)}


def test_scores_beyond_0_and_1_are_no_probabilities(spacy: Any) -> None:
    document = Document("a b c", [Mention(2 * i, 2 * i + 1, "X", probability=0.5) for i in range(3)])
    [doc] = docs_in(written([document]))
    doc.spans["sc"].attrs["scores"] = [7.5, float("nan"), 0.25]
    problems = Problems()
    [found] = read(bytes_of(doc), problems=problems)
    assert [mention.probability for mention in sorted(found.mentions)] == [None, None, 0.25]
    assert problems.notes == {NO_PROBABILITY: 1}


def test_what_spacy_cannot_hold_is_refused(spacy: Any) -> None:
    with pytest.raises(InputError, match="spaCy cannot hold document 'x'"):
        written([document_of([Sentence(["a"])], "x", {"a": {1}})])
    with pytest.raises(InputError, match="spaCy cannot hold document ''"):
        written([document_of([Sentence(["\ud800"])])])


def test_noise_is_no_docbin(spacy: Any) -> None:
    with pytest.raises(CorpusError, match=r"made.spacy: is no DocBin that spaCy can read \(ValueError"):
        read(b"noise")


@pytest.mark.parametrize("most", [20, ALL])
def test_real_sentences(spacy: Any, most: int | None) -> None:
    source = Source("real", path=data_path("genia/other_formats/yhcc.genia.dev.jsonlines.gz"))
    documents = list(islice(token_json.read_cnn_ner(source, Problems()), most))
    assert read(written(documents)) == documents
