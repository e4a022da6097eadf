"""What stands around a sentence reaches the models that read it, however a text comes in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from hyperspan.config import Config
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.errors import InputError
from hyperspan.evaluation import evaluate_model
from hyperspan.nn import load_model, new_model
from hyperspan.nn.folders import compact
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.decoding import first_alike
from hyperspan.runtime.loading import load
from hyperspan.text.sentences import with_context
from hyperspan.training.data import read_sentences
from hyperspan.training.events import DataNote, TrainingEvent
from hyperspan.types import Document, Mention, Sentence
from tests.support.models import HARBOUR
from tests.support.runs import train

TEXT = "The keeper of Port Amsel waved. Why did she? Nobody knows in Lindau. The crew slept on the Marigold."


@given(st.lists(st.lists(st.text(max_size=1), max_size=4), max_size=6), st.integers(0, 9))
def test_sentences_with_context(given: list[list[str]], words: int) -> None:
    mentions = [Mention(0, 1, "GPE")]
    sentences = [Sentence(tokens, mentions if tokens else (), offsets=[(0, 1)] * len(tokens)) for tokens in given]
    found = list(with_context(sentences, words))
    assert found == sentences
    for number, sentence in enumerate(found):
        earlier = [token for tokens in given[:number] for token in tokens]
        later = [token for tokens in given[number + 1 :] for token in tokens]
        assert sentence.before == tuple(earlier[len(earlier) - words :] if words < len(earlier) else earlier)
        assert sentence.after == tuple(later[:words])
        assert sentence.offsets == sentences[number].offsets


def test_equal_words_in_another_context_are_predicted_anew() -> None:
    plain, after, before = Sentence(["Why"]), Sentence(["Why"], before=["zoo"]), Sentence(["Why"], after=["zoo"])
    assert first_alike([plain, after, before, plain, after, before], {}) == [0, 1, 2, 0, 1, 2]


def test_sentences_are_taken_no_further_ahead_than_needed() -> None:
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield Sentence(["word"])

    around = with_context(endless(), 3)
    assert next(around).after == ("word",) * 3 and len(taken) == 4
    assert next(around).before == ("word",) and len(taken) == 5


@pytest.fixture
def model(tiny_encoder: Path):
    changes = ["words.dimension=4", "encoder.hidden=6", "encoder.span_hidden=6", f"transformer.name={tiny_encoder}"]
    return new_model(
        Config().override([*changes, "transformer.context=5"]),
        read_sentences(HARBOUR),
    ).eval()


def probabilities(document: Document) -> list[tuple[int, int, str, float]]:
    return sorted((m.start, m.end, m.label, round(m.probability or 0, 4)) for m in document.mentions)


def test_an_annotator_reads_the_context_of_each_sentence(model) -> None:
    annotator = Annotator(model)
    whole = annotator(TEXT, threshold=0.01)
    second = annotator.split(TEXT).sentences[1]
    assert second.before == ("of", "Port", "Amsel", "waved", ".")
    assert second.after == ("Nobody", "knows", "in", "Lindau", ".")
    assert all(sentence.before == sentence.after == () for sentence in whole.sentences), "it is not kept"

    (alone,) = annotator.recognize([Sentence(second.tokens)], threshold=0.01)
    (around,) = annotator.recognize([second], threshold=0.01)
    here = next(sentence for sentence in whole.sentences if sentence.tokens == second.tokens)
    probable = [[m.probability or 0.0 for m in sorted(one.mentions)] for one in (here, around, alone)]
    assert probable[0] == pytest.approx(probable[1], abs=1e-5) and probable[0] != pytest.approx(probable[2], abs=1e-5)

    in_parts = Annotator(model, window=8, long_text=10)
    (part_by_part,) = in_parts.pipe([TEXT], threshold=0.01, keep_sentences=False)
    assert not part_by_part.sentences and probabilities(part_by_part) == probabilities(whole)


def test_training_and_evaluation_read_it_too(tiny_encoder: Path, tmp_path: Path) -> None:
    sentences = read_sentences(HARBOUR)
    corpus = tmp_path / "corpus.jsonl"
    write_corpus([document_of(sentences[:8], "one"), document_of(sentences[8:12], "two")], corpus, "jsonl")
    changes = [
        f"data.train={corpus}",
        f"data.dev={corpus}",
        "transformer.context=9",
        f"transformer.name={tiny_encoder}",
    ]
    small = ["encoder.hidden=6", "encoder.span_hidden=6", "training.epochs=1", "words.dimension=4"]
    config = Config().override([*changes, *small])
    read = read_sentences(str(corpus), config)
    assert read[0].before == () and read[1].before == sentences[0].tokens[-9:] and len(read[1].after) == 9
    assert read[7].after == read[8].before == (), "documents end"

    notes: list[str] = []

    def listen(event: TrainingEvent) -> None:
        if isinstance(event, DataNote):
            notes.append(event.text)

    result = train(config, tmp_path / "run", device="cpu", listeners=[listen])
    assert "`" + tiny_encoder.name + "`" in (tmp_path / "run" / "README.md").read_text("utf-8")
    annotator = load(tmp_path / "run")
    gold = [document_of(sentences[:8], "one"), document_of(sentences[8:12], "two")]
    assert evaluate_model(annotator, gold, samples=0).report.micro.f1 == pytest.approx(result.dev_f1)
    assert not any("nothing to read" in note for note in notes)

    alone = config.override([f"data.train={HARBOUR}", "data.dev="])
    train(alone, tmp_path / "alone", device="cpu", listeners=[listen])
    assert any("transformer.context has nothing to read" in note for note in notes)


def test_documents_of_one_sentence_are_one_text_where_that_is_said(tiny_encoder: Path, tmp_path: Path) -> None:
    changes = [
        f"data.train={HARBOUR}",
        f"data.dev={HARBOUR}",
        "data.joined=true",
    ]
    small = ["encoder.hidden=6", "encoder.span_hidden=6", "training.epochs=1", "words.dimension=4"]
    config = Config().override([*changes, *small, "transformer.context=9", f"transformer.name={tiny_encoder}"])
    sentences = read_sentences(HARBOUR, config)
    tokens = [token for sentence in sentences for token in sentence.tokens]
    first = len(sentences[0])
    assert sentences[1].before == tuple(tokens[max(first - 9, 0) : first])
    result = train(config, tmp_path / "run", device="cpu")
    gold = list(read_corpus(HARBOUR))
    assert all(len(document.sentences) == 1 for document in gold)
    annotator = load(tmp_path / "run")
    assert evaluate_model(annotator, gold, samples=0).report.micro.f1 == pytest.approx(result.dev_f1)
    small_one = compact(load_model(tmp_path / "run"))
    assert small_one.joins_documents and small_one.context == 9

    longer = config.override(["training.epochs=2"])
    with pytest.raises(InputError, match="was trained on other sentences"):
        train(longer.override(["data.joined=false"]), tmp_path / "run", device="cpu", resume=True)
    train(longer, tmp_path / "run", device="cpu", resume=True)


def test_frozen_layers_that_were_exchanged_are_noticed(tiny_encoder: Path, tmp_path: Path) -> None:
    encoder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    small = ["encoder.hidden=6", "encoder.span_hidden=6", "training.epochs=1", "words.dimension=4"]
    config = Config().override(
        [
            *small,
            f"data.train={HARBOUR}",
            f"transformer.name={encoder}",
            "transformer.freeze=0",
        ]
    )
    train(config, tmp_path / "run", device="cpu")
    tensors = load_file(encoder / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, encoder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"or transformer\.name has changed meanwhile"):
        train(config.override(["training.epochs=2"]), tmp_path / "run", device="cpu", resume=True)
