"""Training on several corpora that annotate different types."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperspan.config import Config, CorpusConfig
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.formats import write_corpus
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer, load_model, new_model
from hyperspan.nn.folders import compact
from hyperspan.nn.model import gold_of
from hyperspan.nn.validation import validate
from hyperspan.structures.constraints import PartialMarks
from hyperspan.training.checks import check_annotated, check_declared, check_files
from hyperspan.training.data import read_dev, read_sentences, read_train
from hyperspan.training.loop import mention_counts
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.tuning import best_temperature, best_value
from hyperspan.types import AnnotationScope, Mention, Sentence
from tests.support.models import HARBOUR, loss_of
from tests.support.runs import same_result, train

SMALL = ["encoder.hidden=8", "encoder.span_hidden=8", "words.dimension=8", "words.vectors=", "training.start="]
QUICK = [*SMALL, "characters.encoder=none", "training.batch_size=4", "training.epochs=2", "training.learning_rate=0.02"]


def of_labels(sentence: Sentence, labels: Collection[str]) -> Sentence:
    return sentence.with_mentions(mention for mention in sentence.mentions if mention.label in labels)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A corpus of PER and GPE, and one of people (PER), FAC and ORG."""
    sentences = read_sentences(HARBOUR)
    one = [of_labels(sentence, {"PER", "GPE"}) for sentence in sentences[:9]]
    other = [of_labels(sentence, {"PER", "FAC", "ORG"}) for sentence in sentences[9:18]]
    renamed = [s.with_mentions(Mention(m.start, m.end, m.label.title()) for m in s.mentions) for s in other]
    write_corpus([document_of(one)], tmp_path / "one.jsonl", "jsonl")
    write_corpus([document_of(renamed)], tmp_path / "other.jsonl", "jsonl")
    return tmp_path


def config_of(place: Path, other: dict[str, Any], *changes: str) -> Config:
    corpora = [str(place / "one.jsonl"), {"path": str(place / "other.jsonl"), **other}]
    given = {"data": {"train": corpora, "dev": str(place / "one.jsonl")}}
    return Config.from_mapping(given).override([*QUICK, *changes])


MAPPED = {"labels": {"Per": "PER", "Fac": "FAC", "Org": ""}, "repeat": 2}


def test_corpora_keep_map_and_leave_out_labels(place: Path) -> None:
    config = config_of(place, MAPPED)
    assert config == Config.from_toml(config.to_toml()) and hash(config) == hash(Config.from_toml(config.to_toml()))
    documents = read_train(config)
    assert [len(document) for document in documents] == [9, 9, 9] and documents[1] == documents[2]
    assert {sentence.annotated for sentence in documents[0]} == {AnnotationScope({"PER", "GPE"})}
    assert {sentence.annotated for sentence in documents[1]} == {AnnotationScope({"PER", "FAC"})}
    assert {mention.label for sentence in documents[1] for mention in sentence.mentions} == {"PER", "FAC"}
    assert {sentence.annotated for sentence in read_dev(config)} == {AnnotationScope({"PER", "GPE"})}
    apart = read_train(config_of(place, {}))
    assert {sentence.annotated for sentence in apart[1]} == {AnnotationScope({"Per", "Fac", "Org"})}
    own = Sentence(["Ada"], [Mention(0, 1, "PER")], annotated=AnnotationScope(["PER", "ORG"]))
    write_corpus([document_of([own])], place / "one.jsonl", "jsonl", force=True)
    assert read_train(config)[0][0].annotated == own.annotated, "it says that there is no ORG, though none occurs"
    alone = read_train(config.override([f"data.train={place}/other.jsonl"]))
    assert {sentence.annotated for sentence in alone[0]} == {None}, "one corpus annotates all that there is"


def test_a_run_on_several_corpora_is_kept_resumed_and_scored_by_what_dev_annotates(place: Path) -> None:
    config = config_of(place, MAPPED, "training.micro_batch_size=2").settled()
    train(config, place / "whole", device="cpu")
    train(config, place / "parts", overrides=["training.epochs=1"], device="cpu")
    train(config, place / "parts", overrides=["training.epochs=2"], device="cpu", resume=True)
    assert same_result(place / "whole", place / "parts")
    assert "18 sentences, some more than once: an epoch read 27" in (place / "whole" / "README.md").read_text("utf-8")
    less = config_of(place, {**MAPPED, "annotated": ["PER", "FAC", "GPE"]}, "training.epochs=3").settled()
    with pytest.raises(InputError, match="was trained on other sentences"):
        train(less, place / "parts", device="cpu", resume=True)
    model, dev = load_model(place / "whole"), read_dev(config)
    assert model.labels == ("FAC", "GPE", "PER") and isinstance(model, Recognizer)
    assert [corpus.path for corpus in compact(model).config.data.train_corpora] == ["one.jsonl", "other.jsonl"]
    found = model.distribution(dev).argmax()
    counts = mention_counts(model, dev)
    assert counts[:, 1].tolist() == [sum(kind != 0 for _, _, kind in mentions) for mentions in found]


@pytest.mark.parametrize("kind", ["segmental", "mention-hypergraph", "mention-separators"])
def test_losses_of_types_add_up(place: Path, kind: str) -> None:
    """Where types are independent, the loss of some types and that of the others are the loss of all."""
    config = Config().override([*QUICK, f"model.kind={kind}"])
    sentences = read_sentences(HARBOUR)[:5]
    model = new_model(config, sentences).eval()
    some = [frozenset({"PER"}), frozenset({"GPE", "FAC"}), frozenset(), frozenset(model.labels), frozenset({"PER"})]

    def loss(annotated: list[frozenset[str]]) -> torch.Tensor:
        given = [
            Sentence(s.tokens, of_labels(s, a).mentions, annotated=AnnotationScope(a))
            for s, a in zip(sentences, annotated, strict=True)
        ]
        return loss_of(model, given)

    together = loss(some) + loss([frozenset(model.labels) - labels for labels in some])
    torch.testing.assert_close(together, loss_of(model, sentences))
    assert loss(some)[2] == 0


def test_annotated_types_have_a_probability_where_the_empty_set_has_none() -> None:
    [sentence] = read_sentences(HARBOUR)[:1]
    model = new_model(Config().override(QUICK), [sentence]).eval()
    gold = [gold_of(sentence, model.vocabulary.labels)]
    distribution = model.distribution([sentence]).condition(require=gold)
    assert gold[0] and distribution.log_prob([set()]).isneginf().all()
    everything = np.ones((1, len(model.labels)), dtype=bool)
    found = distribution.log_prob_of_known(gold, PartialMarks(everything, [[(0, len(sentence))]], [()]))
    torch.testing.assert_close(found, distribution.log_prob(gold))
    assert distribution.log_prob_of_known(gold, PartialMarks(~everything, [None], [()])).tolist() == [0.0]


def test_a_student_learns_other_types_from_its_teacher_alone() -> None:
    sentences = read_sentences(HARBOUR)[:3]
    teacher = new_model(Config().override(QUICK), sentences).eval()
    student = new_model(
        Config().override([*QUICK, "training.seed=2", "distillation.gold_weight=0.25"]), sentences
    ).eval()
    assert isinstance(teacher, Recognizer) and isinstance(student, Recognizer)
    objective = TrainingLoss(student, [teacher])

    def loss(annotated: set[str], labelled: bool = True) -> torch.Tensor:
        given = [
            Sentence(s.tokens, of_labels(s, annotated).mentions, annotated=AnnotationScope(annotated))
            for s in sentences
        ]
        return objective(objective.collate(given, [labelled] * 3)).values

    everything = set(student.labels)
    torch.testing.assert_close(loss(set()), loss(everything, labelled=False))
    torch.testing.assert_close(loss({"PER"}) + loss(everything - {"PER"}), loss(everything) + loss(set()))


def test_tuning_looks_at_annotated_types_alone(place: Path) -> None:
    """What is not annotated changes nothing: neither mentions of such types nor how probable the model finds them."""
    sentences = read_sentences(HARBOUR)[:9]
    model = load_model(train(config_of(place, MAPPED), place / "run", device="cpu").folder)
    assert isinstance(model, Recognizer)
    only = [Sentence(s.tokens, of_labels(s, {"PER"}).mentions, annotated=AnnotationScope({"PER"})) for s in sentences]
    model.config = model.config.override(["training.tune_mention_bias=true"])
    [bias_setting] = model.settings()
    chosen = best_temperature(model, only), best_value(model, bias_setting, only)
    with torch.no_grad():
        bias = model.state_dict()["scorer.start.bias"]  # T → X of all types, then T → I
        bias[model.labels.index("FAC")] += 9
        bias[len(model.labels) + model.labels.index("GPE")] += 9
    assert chosen == (best_temperature(model, only), best_value(model, bias_setting, only))


@pytest.mark.parametrize(
    ("other", "changes", "message"),
    [
        ({"annotated": ["Per"]}, [], r"has mentions of Fac, Org, which its annotated = \[Per\] does not list"),
        ({"annotated": ["Per", "Fac", "Org", "Zoo"]}, [], r"says that Zoo is annotated, but no training corpus has"),
        ({}, ["model.kind=linear-chain"], r"the types of model\.kind linear-chain depend on each other"),
        ({"labels": {"Pers": "PER"}}, [], r"has no mention of Pers, .* it has Fac, Org, Per: correct labels"),
        ({"labels": {"Per": "", "Fac": "", "Org": ""}}, [], r"teaches nothing, since .* leave out all that it has"),
        ({"repeat": 0}, [], r"data\.train\[1\]\.repeat is 0, but must be a whole number from 1"),
        ({"label": {}}, [], r"no key data\.train\[1\]\.label; did you mean data\.train\[1\]\.labels\?"),
        ({"labels": {"Per": 3}}, [], r"data\.train\[1\]\.labels\.Per is 3, but must be a text"),
        ({"labels": {"Per": "x"}, "annotated": ["y"]}, [], r"gives the name x, which its annotated does not list"),
        ({}, ["data.train=3"], r"data\.train is 3, but must be a text or a list of texts and tables"),
        ({}, ['data.train=[""]'], r"data\.train\[0\] has no path"),
        ({}, ['data.train=["nowhere.jsonl"]'], r"data\.train\[0\]\.path is nowhere\.jsonl, but there is no such file"),
        ({}, ['data.dev=[{path="a", repeat=2}]'], r"data\.dev repeats a, but dev is read once"),
    ],
)
def test_what_is_wrong_with_corpora_is_said(
    place: Path, other: dict[str, Any], changes: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        checked(config_of(place, other, *changes))


def checked(config: Config) -> None:
    validate(config)
    check_files(config)
    corpus = [sentence for text in read_train(config) for sentence in text]
    check_declared(config, corpus)
    check_annotated(config, corpus)


def test_dependent_types_may_learn_from_corpora_that_annotate_the_same(place: Path) -> None:
    both = {"train": json.loads(json.dumps([str(place / "one.jsonl")] * 2))}
    checked(Config.from_mapping({"data": both}).override(["model.kind=linear-chain"]))
    assert CorpusConfig("a") == Config.from_mapping({"data": {"train": ["a"]}}).data.train_corpora[0]
