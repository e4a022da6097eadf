"""Training on partial annotation, end to end: what is read, left out, noted, refused and scored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

import hyperspan
from hyperspan import AnnotationScope, Document, Mention, Sentence, write_corpus
from hyperspan.config import Config, CorpusConfig
from hyperspan.corpora.documents import document_of
from hyperspan.errors import InputError
from hyperspan.nn import new_model
from hyperspan.training.advice import data_notes
from hyperspan.training.checks import check_annotated
from hyperspan.training.data import expected_rates, fingerprint, read_sentences
from hyperspan.training.events import DataNote
from hyperspan.training.loop import mention_counts
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED
from tests.support.models import loss_of

QUICK = (
    "words.dimension=4 encoder.hidden=4 encoder.span_hidden=4 training.epochs=1 training.start= "
    "words.vectors= characters.encoder=none"
).split()
WORDS = ("Ada", "left", "the", "Seattle", "zoo")
PER, GPE, FAC = Mention(0, 1, "PER"), Mention(3, 4, "GPE"), Mention(2, 5, "FAC")
FULL = Sentence(WORDS, [PER, GPE, FAC])
SURE = Sentence(WORDS, [PER], annotated=NOTHING_ANNOTATED, forbidden=[Mention(1, 2, ANY_LABEL)])
TYPES = Sentence(WORDS, [PER, GPE], annotated=AnnotationScope(["PER", "GPE"]))
REGION = Sentence(WORDS, [GPE, FAC], annotated=AnnotationScope(regions=[(2, 5)]))
NOTHING = Sentence(WORDS, annotated=NOTHING_ANNOTATED)


def test_training_takes_a_file_of_partial_annotation(tmp_path: Path) -> None:
    train = [document_of([one]) for one in (FULL, SURE, TYPES, REGION, NOTHING)]
    write_corpus(train, tmp_path / "train.jsonl")
    write_corpus([document_of([FULL])], tmp_path / "dev.jsonl")
    notes: list[str] = []
    hyperspan.train(
        {"data": {"train": f"{tmp_path}/train.jsonl", "dev": f"{tmp_path}/dev.jsonl"}},
        tmp_path / "model",
        overrides=QUICK,
        device="cpu",
        listeners=[lambda event: notes.append(event.text) if isinstance(event, DataNote) else None],
    )
    assert "1 × training sentence left out because nothing of it is annotated" in notes
    assert "3 of 4 training sentences (75%) are annotated in part; what is unknown is summed over" in notes
    assert hyperspan.load(tmp_path / "model").labels == ("FAC", "GPE", "PER")


def test_training_refuses_a_file_in_which_nothing_is_annotated(tmp_path: Path) -> None:
    write_corpus([document_of([NOTHING])], tmp_path / "train.jsonl")
    with pytest.raises(InputError, match=r"nothing is annotated in the 1 sentence of .*train\.jsonl"):
        hyperspan.train({"data": {"train": f"{tmp_path}/train.jsonl"}}, tmp_path / "model", device="cpu")


def test_every_mark_changes_loss_and_fingerprint() -> None:
    given = [FULL, SURE, TYPES, REGION, evolve(SURE, forbidden=[]), evolve(REGION, annotated=None)]
    model = new_model(Config().override(QUICK), [FULL]).eval()
    assert len({round(loss_of(model, [one]).item(), 4) for one in given}) == len(given)
    assert len({fingerprint([one]) for one in given}) == len(given)
    assert loss_of(model, [NOTHING]).tolist() == [0.0]
    in_two = Mention(1, 4, ANY_LABEL, fragments=((1, 2), (3, 4)))
    assert loss_of(model, [evolve(NOTHING, forbidden=[in_two])]).tolist() == [0.0], "its span may be a mention"
    together = loss_of(model, given).tolist()
    assert together == pytest.approx([loss_of(model, [one]).item() for one in given], rel=1e-5)


def test_the_rate_keeps_unknown_mentions_from_being_free() -> None:
    config = Config().override([*QUICK, "partial.rates={PER=2.0}"])
    rates = expected_rates(config, ("FAC", "GPE", "PER"), [FULL, evolve(TYPES, mentions=[GPE])])
    assert rates is not None
    np.testing.assert_allclose(rates.rates, [1 / 5, 2 / 10, 2.0])
    model = new_model(config, [FULL]).eval()
    assert loss_of(model, [NOTHING], rates=rates).item() > 1
    assert loss_of(model, [FULL], rates=rates).tolist() == loss_of(model, [FULL]).tolist()
    unknown = expected_rates(config, ("FAC", "GPE", "PER"), [Sentence(WORDS)])
    assert unknown is not None and np.isnan(unknown.rates).tolist() == [True, True, False]
    assert expected_rates(config.override(["partial.rate_weight=0"]), ("PER",), [FULL]) is None


@pytest.mark.parametrize("kind", ["linear-chain", "mention-hypergraph"])
def test_models_that_cannot_learn_from_it_say_so(kind: str) -> None:
    config = Config().override([*QUICK, f"model.kind={kind}"])
    for one in (SURE, REGION):
        with pytest.raises(InputError, match=f"model.kind {kind} cannot sum over .*; set model.kind to segmental"):
            check_annotated(config, [FULL, one])
    check_annotated(config, [FULL])


def test_dev_scores_count_only_what_is_known() -> None:
    model = new_model(Config().override(QUICK), [FULL]).eval()
    found = next(iter(hyperspan.Annotator(model).recognize([Sentence(WORDS)]))).mentions
    everywhere = Sentence(WORDS, annotated=NOTHING_ANNOTATED)
    assert mention_counts(model, [everywhere]).tolist() == [[0, 0, 0]]
    assert mention_counts(model, [Sentence(WORDS)])[0, 1] == len(found)


def test_labels_of_marks_are_renamed_with_those_of_mentions(tmp_path: Path) -> None:
    text = "Ada left Oz"
    in_two = Mention(0, 11, "person", fragments=((0, 3), (9, 11)))
    given = Document(
        text,
        [Mention(0, 3, "person")],
        annotated=AnnotationScope(["person", "city", "org"]),
        forbidden=[Mention(4, 8, "city"), Mention(4, 8, "person"), Mention(0, 3, "org"), in_two],
    )
    write_corpus([given], tmp_path / "train.jsonl")
    names = {"person": "PER", "city": "PLACE", "country": "PLACE", "org": ""}
    [sentence] = read_sentences(CorpusConfig(f"{tmp_path}/train.jsonl", names))
    assert sentence.annotated == AnnotationScope(["PER"]), "a country may be unlisted, and organisations have no name"
    renamed = {Mention(1, 2, "PER"), Mention(0, 3, "PER", fragments=((0, 1), (2, 3)))}
    assert (sentence.mentions, sentence.forbidden) == ({Mention(0, 1, "PER")}, renamed)
    native = evolve(given, mentions=[Mention(0, 3, "PER")], forbidden=[Mention(0, 3, "person")])
    write_corpus([native], tmp_path / "train.jsonl", force=True)
    [sentence] = read_sentences(CorpusConfig(f"{tmp_path}/train.jsonl", names))
    assert (sentence.annotated, sentence.forbidden) == (NOTHING_ANNOTATED, frozenset()), (
        "PER is also a label of its own"
    )


def test_sure_mentions_alone_need_a_rate() -> None:
    model = new_model(Config().override(QUICK), [FULL])
    notes = list(data_notes(model, [SURE] * 6, []))
    assert any("list sure mentions alone, and nothing says how many" in note for note in notes)
    assert not any("sure mentions alone" in note for note in data_notes(model, [SURE] * 6, [FULL]))
