"""A file of many short lines costs little more than its distinct lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hyperspan
from hyperspan.corpora.formats import write_corpus
from hyperspan.corpora.jsonl import document_record
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import MAX_BATCH_WORDS, batches_by_length
from hyperspan.runtime.decoding import predict
from hyperspan.types import Document, Sentence


@pytest.fixture(scope="module")
def annotator() -> Annotator:
    return hyperspan.load("genia")


def test_by_length_bounds_the_words_of_a_batch() -> None:
    batches = list(batches_by_length([1] * 100_000, limit=200_000))
    assert sum(map(len, batches)) == 100_000
    assert max(map(len, batches)) <= MAX_BATCH_WORDS
    assert [len(batch) for batch in batches_by_length([50] * 100, limit=200_000)] == [80, 20], (
        "longer ones are as before"
    )


def test_predict_computes_equal_sentences_once(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["IL-2 promoter", "a", "", "Jurkat T cells", "a", "IL-2 promoter"] * 50
    sentences = [Sentence(line.split()) for line in lines]
    options = annotator.options(0.1)
    alone = [predict(annotator.model, [sentence], options)[0].mentions for sentence in sentences[:6]]
    computed: list[Sentence] = []
    real = annotator.model.quick_distribution  # for mentions of 0.1 and more
    monkeypatch.setattr(annotator.model, "quick_distribution", lambda given: computed.extend(given) or real(given))
    found = predict(annotator.model, sentences, options)
    assert [one.mentions for one in found] == alone * 50
    assert sorted(len(sentence) for sentence in computed) == [1, 2, 3]


def test_predict_distinguishes_sentences_by_everything_a_model_reads(annotator: Annotator) -> None:
    plain = Sentence(["IL-2"])
    other = Sentence(["IL-2"], before=["not"])
    assert len(predict(annotator.model, [plain, other, plain], annotator.options())) == 3
    document = Document("IL-2\nIL-2")
    constrained = annotator(document, forbid=[hyperspan.Mention(0, 4, "protein")])
    assert {mention.start for mention in constrained.mentions if mention.label == "protein"} == {5}


def test_write_jsonl_writes_long_documents_sentence_by_sentence(annotator: Annotator, tmp_path: Path) -> None:
    document = annotator("IL-2 promoter.\na\n" * 200)
    assert len(document.sentences) == 400
    write_corpus([document, Document("")], tmp_path / "a.jsonl", "jsonl")
    first, second = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert first == json.dumps(document_record(document), ensure_ascii=False)
    assert second == json.dumps(document_record(Document("")), ensure_ascii=False)
