"""Settings that a model has no use for are refused, not passed over."""

from __future__ import annotations

import pytest

from experiments.settings import config_of
from experiments.study.studies import DISCONTINUOUS
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import ENCODERS, MODELS, EncoderAbilities, Model, NeuralEncoder, Scorer, new_model
from hyperspan.nn.joint import choose_groups
from hyperspan.nn.validation import validate
from hyperspan.runtime.kinds import KINDS
from hyperspan.training.checks import check_lengths
from hyperspan.types import Mention, Sentence

WITHOUT_SPANS = [
    *("linear-chain", "cascaded", "mention-hypergraph", "mention-separators", "biohd", "katiyar-cardie"),
    *("layered", "transition"),
]
"""The kinds of models that score words alone."""


def model_of(kind: str) -> Model:
    """A small model, untrained."""
    changes = [f"model.kind={kind}", "words.dimension=4", "encoder.hidden=4"]
    return new_model(Config().override(changes), [Sentence(["Lindau"], [Mention(0, 1, "GPE")])])


REFUSED = [
    *((f"model.kind={kind} model.max_width=6", f'model.kind {kind} .* set it to "n"') for kind in WITHOUT_SPANS),
    *(
        (f"encoder.kind=handcrafted {setting}", f"{setting.replace('=', ' is ')}, but encoder.kind is handcrafted")
        for setting in ("words.vectors=glove.txt", "characters.encoder=lstm", "transformer.name=bert-base-cased")
    ),
    *(
        (
            f"model.kind={kind} encoder.kind=handcrafted",
            f"{kind} reads vectors of words, but encoder.kind is handcrafted; set",
        )
        for kind in ("discontinuous", "layered", "transition", "katiyar-cardie", "fofe")
    ),
    ("model.discontinuous=hull model.kind=discontinuous", "is hull, but model.kind discontinuous learns the parts"),
    ('model.kind=joint joint.groups=[["A","B"],["B"]]', "must have each label once"),
    ("model.kind=fofe training.lm_loss_weight=0.1", "lm_loss_weight is 0.1, but model.kind fofe has no LSTM"),
    ("transformer.name=bert-base-cased training.lm_loss_weight=0.1", "has read the words to predict"),
    ("model.kind=layered transformer.name=tiny encoder.layers=0", "model.kind layered is made of such layers"),
    ("model.kind=biohd discontinuous.parts=1", "discontinuous.parts is 1, but model.kind biohd joins two"),
    ("model.kind=joined discontinuous.parts=1", "discontinuous.parts is 1, but model.kind joined joins two"),
    (
        "model.kind=joined discontinuous.parts=3 model.max_width=3",
        "discontinuous.later_width is 4, but model.max_width is 3",
    ),
    ("distillation.text=all.txt", "distillation.text is .*, but there is no distillation.teacher"),
    (
        "distillation.teacher=large model.kind=linear-chain",
        "a model of kind linear-chain cannot have one; set model.kind",
    ),
    ("distillation.teacher=large words.vectors=v.npz", "distillation.copy_embeddings takes over the teacher's"),
    (
        "distillation.teacher=large transformer.name=tiny",
        "reads no encoder of its own; set distillation.copy_embeddings",
    ),
    ("distillation.teacher=large encoder.kind=handcrafted", "which has no word vectors to take over"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_validate_refuses_settings_without_a_use(changes: str, message: str) -> None:
    """Only the last of them is wrong."""
    *others, last = changes.split()
    config = Config().override(others)
    validate(config)
    with pytest.raises(InputError, match=message):
        validate(config.override([last]))


@pytest.mark.parametrize("kind", WITHOUT_SPANS)
def test_check_lengths_takes_long_sentences_without_spans(kind: str) -> None:
    check_lengths(model_of(kind), [Sentence(["Lindau"] * 1000)])


def test_validate_refuses_spans_of_an_encoder_of_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class WordsAlone(NeuralEncoder):
        abilities = EncoderAbilities(vectors=True, contextual=True)

    monkeypatch.setattr(ENCODERS, "built_in", {**ENCODERS.built_in, "words": WordsAlone})
    validate(Config().override(["encoder.kind=words", "model.kind=linear-chain"]))
    with pytest.raises(InputError, match=r"segmental scores spans, but encoder\.kind words encodes words"):
        validate(Config().override(["encoder.kind=words"]))


@pytest.mark.parametrize("kind", [kind for kind, entry in MODELS.items() if issubclass(entry, Scorer)])
def test_skip_is_refused_naming_every_kind_that_can(kind: str) -> None:
    model = model_of(kind)
    with pytest.raises(InputError, match=f"skip is nan for a model of kind '{kind}'"):
        model.for_inference(skip=float("nan"))
    if kind in KINDS:
        assert model.for_inference(skip=3.0).options.skip == 3.0
    else:
        with pytest.raises(InputError, match=r"skip is 3.*of kind segmental, joint, discontinuous skip words"):
            model.for_inference(skip=3.0)


def test_craft_configurations_share_encoder_and_schedule() -> None:
    every = {row.name: config_of(row, "craft") for row in DISCONTINUOUS.rows}
    same = ("data", "words", "characters", "transformer", "encoder", "training")
    first = every["segmental"]
    for name, config in every.items():
        assert [getattr(config, section) for section in same] == [getattr(first, section) for section in same], name
        assert config.model.tokenizer == first.model.tokenizer
        validate(config)


def test_choose_groups_joins_labels_that_meet_up_to_a_size() -> None:
    def sentence(*labels: str) -> Sentence:
        return Sentence(["Bo", "Li"], [Mention(0, 1 + number % 2, label) for number, label in enumerate(labels)])

    sentences = [sentence("A", "C"), sentence("A", "C"), sentence("B", "D"), sentence("A", "D")]
    assert choose_groups("ABCD", sentences, size=2) == (("A", "C"), ("B", "D"))
    assert choose_groups("ABCD", sentences, size=4) == (("A", "B", "C", "D"),)
    assert choose_groups("ABCD", [], size=3) == (("A",), ("B",), ("C",), ("D",))
